/* SPDX-License-Identifier: MIT */
#ifndef K2I_RECEIVER_DAEMON_STATE_H
#define K2I_RECEIVER_DAEMON_STATE_H

#include <limits.h>
#include <stdbool.h>

#include "receiver/commit/commit.h"
#include "app/format/format.h"
#include "config/settings.h"

/* The state that outlives a receiver: its sinks, and in STATEDIR its ledger and its quarantine. Zero at first. */
struct k2i_state {
	struct k2i_destination destination;
	char path[PATH_MAX]; /* STATEDIR */
	bool temporary;      /* it ends with the state */
	int lock;            /* on it, if it does */
	char retracted_path[PATH_MAX + sizeof("/retracted")];
	struct k2i_log_limit ledger_limit;
};

struct k2i_state_options { /* all of it must outlive the state */
	const struct k2i_settings *settings;
	const struct k2i_format *format;
	const struct k2i_sink_listener *listener;
	struct k2i_counters *counters;
	size_t targets_max; /* for each sink, open at a time */
};

/*
 * Opens all of it, and deals with what the receiver before has left; a full disk is waited for. An error was logged,
 * and wants k2i_state_close, too.
 */
int k2i_state_open(const struct k2i_state_options *options, struct k2i_state *state);
/* Open files are opened anew. */
void k2i_state_reopen(struct k2i_state *state);
/* Has the sinks keep ready what other settings say, or go by it, or forget it: see struct k2i_sink_ops. */
int k2i_state_prepare(struct k2i_state *state, const struct k2i_settings *settings, char *message, size_t message_room);
void k2i_state_change(struct k2i_state *state, bool take);
/* Once a second: notices what others have removed or put in its place. */
void k2i_state_tick(struct k2i_state *state);
/* `in_order`: nothing is under way, and all of it gets to the disk; else an error, which was logged. */
int k2i_state_close(struct k2i_state *state, bool in_order);

#endif
