/* SPDX-License-Identifier: MIT */
#include "receiver/connection/loop.h"

void k2i_loop_left(struct k2i_loop *loop)
{
	atomic_fetch_sub(&loop->connection_count, 1);
	atomic_fetch_sub(&loop->service->connections, 1);
}
