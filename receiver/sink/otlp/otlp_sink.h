/* SPDX-License-Identifier: MIT */
#ifndef K2I_RECEIVER_SINK_OTLP_OTLP_SINK_H
#define K2I_RECEIVER_SINK_OTLP_OTLP_SINK_H

#include "receiver/sink/sink.h"

/*
 * OpenTelemetry: records go to a collector, or to what understands it, by OTLP/HTTP with protobuf. They are stored when it
 * has answered with 2xx. Without such an answer they are sent again, and the same record has the same position then.
 */

/* Opens the sink as the settings say. The error was logged. */
int k2i_otlp_sink_open(const struct k2i_sink_options *options, struct k2i_sink **sink);

#endif
