/* SPDX-License-Identifier: MIT */
#ifndef K2I_RECEIVER_SINK_SINKS_H
#define K2I_RECEIVER_SINK_SINKS_H

#include "app/format/format.h"
#include "config/settings.h"
#include "receiver/base/counters.h"
#include "receiver/sink/sink.h"

/* Arguments that a sink is opened with. All of them must outlive the sink. */
struct k2i_sink_options {
	const struct k2i_settings *settings;
	const struct k2i_format *format;
	const struct k2i_sink_listener *listener;
	struct k2i_ledger *ledger;
	struct k2i_counters *counters;
	const char *state_directory; /* the receiver's own: no stream may get there */
	size_t targets_max;          /* that may be open at a time */
	bool killed;                 /* the receiver before may not have brought to the disk what it wrote */
};

/* Before the ledger is opened: makes the directories that it can be in. The error was logged. */
int k2i_sinks_make(const struct k2i_settings *settings);
/* Opens all sinks that the settings ask for. The error was logged, and wants k2i_sinks_close, too. */
int k2i_sinks_open(const struct k2i_sink_options *options, struct k2i_sinks *sinks);

#endif
