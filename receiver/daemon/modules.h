/* SPDX-License-Identifier: MIT */
#ifndef K2I_RECEIVER_DAEMON_MODULES_H
#define K2I_RECEIVER_DAEMON_MODULES_H

#include "receiver/sink/sink.h"

/* Loads the module `name`, for as long as the process lives, and opens its sink. The error was logged. */
int k2i_module_sink_open(const char *name, const struct k2i_sink_options *options, struct k2i_sink **sink);

#endif
