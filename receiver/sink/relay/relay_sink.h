/* SPDX-License-Identifier: MIT */
#ifndef K2I_RECEIVER_SINK_RELAY_RELAY_SINK_H
#define K2I_RECEIVER_SINK_RELAY_RELAY_SINK_H

#include "receiver/sink/sink.h"

/*
 * TYPE = trans: chunks go on to the next stage, through a ring of the relay's own for each receiver there, with host, path,
 * writer and time of their origin. They are committed when they are in the ring: the ledger has the ring's end as the mark, a
 * start cuts the ring back to it, and nothing behind it is sent. With ACKEND they are stored when the next stage has
 * acknowledged them.
 */

/* Opens the sink as the settings say. The error was logged. */
int k2i_relay_sink_open(const struct k2i_sink_options *options, struct k2i_sink **sink);

#endif
