/* SPDX-License-Identifier: MIT */
#ifndef K2I_RECEIVER_CONNECTION_ACCEPTOR_H
#define K2I_RECEIVER_CONNECTION_ACCEPTOR_H

#include "base/log.h"
#include "receiver/connection/loops.h"

/* Hands connections from the listener to the loops, and says which ones are refused. */
struct k2i_acceptor {
	struct k2i_loops *loops;
	struct k2i_counters *counters;
	struct k2i_log_limit refused_limit; /* zero at first */
};

/* The `take` of a k2i_listen_taker whose argument is a struct k2i_acceptor. */
void k2i_acceptor_take(void *argument, int descriptor, const struct sockaddr *address, socklen_t address_bytes);

#endif
