/* SPDX-License-Identifier: MIT */
#ifndef K2I_RECEIVER_STATE_H
#define K2I_RECEIVER_STATE_H

#include <limits.h>
#include <stdbool.h>

#include "receiver/commit/commit.h"
#include "config/settings.h"

/* The state of a receiver on its disk: output files, and in STATEDIR its ledger and its quarantine. Zero at first. */
struct k2i_state {
	struct k2i_destination destination; /* `format` and `unify_file` are the caller's */
	char path[PATH_MAX];                /* STATEDIR */
	char *refused_prefix;
	struct k2i_log_limit ledger_limit;
};

/*
 * Opens all of it, with at most `files_max` output files at a time, and deals with what the receiver before has left; a
 * full disk is waited for. An error was logged, and wants k2i_state_close, too.
 */
int k2i_state_open(const struct k2i_settings *settings, size_t files_max, struct k2i_counters *counters,
		   struct k2i_state *state);
/* Once a second: notices what others have removed or put in its place. */
void k2i_state_tick(struct k2i_state *state);
/* `in_order`: nothing is under way, and all of it gets to the disk; else an error, which was logged. */
int k2i_state_close(struct k2i_state *state, bool in_order);

#endif
