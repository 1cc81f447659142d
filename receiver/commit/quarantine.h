/* SPDX-License-Identifier: MIT */
#ifndef K2I_RECEIVER_COMMIT_QUARANTINE_H
#define K2I_RECEIVER_COMMIT_QUARANTINE_H

#include "receiver/base/counters.h"
#include "receiver/sink/group.h"
#include "receiver/sink/sink.h"

/*
 * Chunks that can't be stored where they belong, for a reason of their own, are kept in a directory: a file
 * RINGUUID-POSITION with the payload for each, and a line for each in its index: name, bytes, reason, host, path,
 * separated by tabs, control characters replaced. A chunk that comes again is there once.
 */
struct k2i_quarantine;

/* `directory`, which is made when it is needed first, takes `bytes_max`, counted by k2i_group_cost. -ENOMEM */
int k2i_quarantine_create(const char *directory, uint64_t bytes_max, struct k2i_counters *counters,
			  struct k2i_quarantine **quarantine);
void k2i_quarantine_free(struct k2i_quarantine *quarantine);
/* It takes so many bytes from now on. */
void k2i_quarantine_limit(struct k2i_quarantine *quarantine, uint64_t bytes_max);

/*
 * All chunks of a group's target, whose `error` says why. -EDQUOT there is no room left for them,
 * else errors as mkdir(2), open(2) and write(2). Any thread.
 */
int k2i_quarantine_put(struct k2i_quarantine *quarantine, const uint8_t ring_uuid[16], const struct k2i_group *group,
		       const struct k2i_group_target *target);

/*
 * Tells of the chunks of a ring that are there at `position` or behind, under `retract`, which is that of
 * k2i_settling. Errors of retract, and as opendir(3).
 */
int k2i_quarantine_settle(const struct k2i_quarantine *quarantine, const uint8_t ring_uuid[16], uint64_t position,
			  int (*retract)(void *argument, const struct k2i_retraction *retraction), void *argument);

/* Chunks that were put there before survive a power cut. Errors as syncfs(2). Any thread. */
int k2i_quarantine_sync(struct k2i_quarantine *quarantine);

/* Once a second: a file system that is not there any more is let go. */
void k2i_quarantine_tick(struct k2i_quarantine *quarantine);

#endif
