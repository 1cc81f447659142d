/* SPDX-License-Identifier: MIT */
#ifndef K2I_RECEIVER_SINK_KAFKA_KAFKA_SINK_H
#define K2I_RECEIVER_SINK_KAFKA_KAFKA_SINK_H

#include "receiver/sink/sink.h"

/*
 * TYPE = kafka: records go to topics, in transactions that have the rings' positions, too. So a record is there once,
 * whatever dies, also if its ring goes on at another receiver.
 */

/* Opens the sink as the settings say; brokers can be away. The error was logged. */
int k2i_kafka_sink_open(const struct k2i_sink_options *options, struct k2i_sink **sink);

#endif
