/* SPDX-License-Identifier: MIT */
#include "receiver/connection/acceptor.h"

#include <errno.h>
#include <netdb.h>

#include "base/clock.h"

void k2i_acceptor_take(void *argument, int descriptor, const struct sockaddr *address, socklen_t address_bytes)
{
	struct k2i_acceptor *acceptor = argument;
	struct k2i_counters *counters = acceptor->counters;
	char peer[64] = "a connection";
	int error;

	k2i_count(&counters->connections, 1);
	error = k2i_loops_serve(acceptor->loops, descriptor, address, address_bytes);
	if (!error)
		return;
	(void)getnameinfo(address, address_bytes, peer, sizeof(peer), NULL, 0, NI_NUMERICHOST);
	k2i_count(error == -ENOMEM ? &counters->accept_errors : &counters->refused_connections, 1);
	k2i_log_limited(&acceptor->refused_limit, k2i_clock_now_ns(), K2HFT_LOG_WARNING, "listener: %s is refused: %s",
			peer, error == -ENOMEM ? "no memory" : "there are as many connections as CONNMAX allows");
}
