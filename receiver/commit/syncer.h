/* SPDX-License-Identifier: MIT */
#ifndef K2I_RECEIVER_COMMIT_SYNCER_H
#define K2I_RECEIVER_COMMIT_SYNCER_H

#include <stdint.h>

#include "receiver/commit/commit.h"

/*
 * Group commit: one thread brings to the disk what all loops have committed, and tells them how far that is. While it
 * waits for the disk the loops go on, and what they commit meanwhile is the next group. So one fdatasync(2) of each file
 * that was written, and one of the ledger, serve all senders that wait, and no other sender waits.
 *
 * The kernel can write the ledger's pages before those of the data. That takes nothing from anybody: of a ledger that was
 * not closed before its machine went down the last checkpoint counts, which is written when the data are on the disk,
 * and an acknowledgement of level synced goes out when the checkpoint is there, too.
 */
struct k2i_syncer;

/* `interval_ms`: what was committed is synced as often as that, also if nobody waits; 0: not. Errors as pthread_create(3). */
int k2i_syncer_start(const struct k2i_destination *destination, uint64_t interval_ms, struct k2i_syncer **syncer);
/* Another interval, from the next round on. Any thread. */
void k2i_syncer_interval(struct k2i_syncer *syncer, uint64_t interval_ms);
/* The loops have ended. NULL is allowed. */
void k2i_syncer_stop(struct k2i_syncer *syncer);

/* Calls `tell` after each round, from the syncer's thread, under a lock; NULL: no longer, not even now. */
void k2i_syncer_listen(struct k2i_syncer *syncer, void (*tell)(void *argument), void *argument);

/* There are commits that somebody waits for. Any thread, as all that follow. */
void k2i_syncer_want(struct k2i_syncer *syncer);
/* Commits up to this number (k2i_ledger_ring.number) are on the disk. */
uint64_t k2i_syncer_done(const struct k2i_syncer *syncer);
/* The number up to which some commits, not yet on the disk, have failed to get there. */
uint64_t k2i_syncer_failed(const struct k2i_syncer *syncer);
/* How many rounds have failed so. As long as it is the same, what the ledger said of commits before still holds. */
uint64_t k2i_syncer_rounds_failed(const struct k2i_syncer *syncer);
/* Waits until a commit is on the disk. -EIO it can't get there, or not now. */
int k2i_syncer_wait(struct k2i_syncer *syncer, uint64_t number);

#endif
