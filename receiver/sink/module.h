/* SPDX-License-Identifier: MIT */
#ifndef K2I_RECEIVER_SINK_MODULE_H
#define K2I_RECEIVER_SINK_MODULE_H

#include <k2hft/version.h>

#include "receiver/sink/sink.h"

#define K2I_SINK_MODULE_VERSION K2HFT_VERSION_STRING

/*
 * A module is a shared object with a sink that needs libraries of its own, built and packaged apart. It exports one
 * symbol, k2i_sink_module. The receiver and a module share structures without a stable layout, so both are of the same
 * version.
 */
struct k2i_sink_module {
	const char *version; /* K2I_SINK_MODULE_VERSION */
	/* Opens the sink as the settings say. The error was logged. */
	int (*open)(const struct k2i_sink_options *options, struct k2i_sink **sink);
};
extern const struct k2i_sink_module k2i_sink_module __attribute__((visibility("default")));

#endif
