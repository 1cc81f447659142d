/* SPDX-License-Identifier: MIT */
#ifndef K2I_RECEIVER_SINK_EXEC_EXEC_SINK_H
#define K2I_RECEIVER_SINK_EXEC_EXEC_SINK_H

#include "receiver/sink/sink.h"

/*
 * PLUGIN: records go to a program, a process for each file that the file sink would write, which is the process's
 * standard output. Records are stored when it has read them.
 */

/* Opens the sink as the settings say. The error was logged. */
int k2i_exec_sink_open(const struct k2i_sink_options *options, struct k2i_sink **sink);

#endif
