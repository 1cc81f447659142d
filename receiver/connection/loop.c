/* SPDX-License-Identifier: MIT */
#include "receiver/connection/state.h"

void k2i_loop_left(struct k2i_loop *loop)
{
	atomic_fetch_sub(&loop->connection_count, 1);
	atomic_fetch_sub(&loop->service->connections, 1);
}

struct k2i_connection *k2i_connection_next(const struct k2i_loop *loop, const struct k2i_connection *connection)
{
	return K2I_LIST_ENTRY(connection ? connection->link.newer : loop->connections.oldest, struct k2i_connection,
			      link);
}
