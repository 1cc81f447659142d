/* SPDX-License-Identifier: MIT */
#ifndef K2I_RECEIVER_DAEMON_SINKS_H
#define K2I_RECEIVER_DAEMON_SINKS_H

#include "config/settings.h"
#include "receiver/sink/sink.h"

/* Before the ledger is opened: makes the directories that it can be in. The error was logged. */
int k2i_sinks_make(const struct k2i_settings *settings);
/* Opens all sinks that the settings ask for. The error was logged, and wants k2i_sinks_close, too. */
int k2i_sinks_open(const struct k2i_sink_options *options, struct k2i_sinks *sinks);

#endif
