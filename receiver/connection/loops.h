/* SPDX-License-Identifier: MIT */
#ifndef K2I_RECEIVER_CONNECTION_LOOPS_H
#define K2I_RECEIVER_CONNECTION_LOOPS_H

#include <sys/socket.h>

#include "receiver/connection/service.h"

/* Event loops, each on a thread of its own with all signals blocked. A connection stays on one of them. */
struct k2i_loops;

/* Errors as pthread_create(3) and eventfd(2). */
int k2i_loops_start(struct k2i_service *service, unsigned loop_count, struct k2i_loops **loops);
/* The most connections beyond connections_max that get an answer at a time. */
#define K2I_LOOPS_CROWD_MAX 64u
/*
 * Hands a connected socket to the loop with the fewest connections. A connection beyond connections_max goes to a loop
 * with an ungreeted connection, whose place it can take. The loop closes the socket; with an error it is closed
 * already:
 * -EUSERS there are K2I_LOOPS_CROWD_MAX too many; -ENOMEM.
 */
int k2i_loops_serve(struct k2i_loops *loops, int descriptor, const struct sockaddr *address, socklen_t address_bytes);
/*
 * Now and then, from the thread that calls k2i_loops_serve and waits for no disk: tells the peers of a loop that does,
 * and has not moved since the last time, that it is slow. A loop that moves answers them itself. Returns whether all loops
 * make progress: false if one waits for no disk and has not come round for K2I_LOOPS_HANG_NS.
 */
#define K2I_LOOPS_HANG_NS UINT64_C(10000000000)
bool k2i_loops_watch(struct k2i_loops *loops);
/* The answer to HELLO grants them. */
struct k2i_loops_limits {
	uint64_t window_bytes;
	uint32_t frame_bytes_max;
	size_t host_connections_max;
	bool sync_always;
};
/* Peers that greet from now on get these. Any thread. -ENOMEM: nothing has changed. */
int k2i_loops_limit(struct k2i_loops *loops, const struct k2i_loops_limits *limits);
/* Ends all connections in good order, and the threads. NULL is allowed, also below. */
void k2i_loops_stop(struct k2i_loops *loops);
/* Behind that, when the sinks are closed: until then they can hand reports back. */
void k2i_loops_free(struct k2i_loops *loops);

/* For k2i_rings_create: an owner's place is its loop. */
void k2i_loops_fence(struct k2i_owner owner);
/* For k2i_sinks_open, likewise. */
void k2i_loops_stored(struct k2i_sink_report *report);
void k2i_loops_ready(struct k2i_owner owner);
/* For k2i_admission_open, likewise. */
void k2i_loops_admit(struct k2i_owner owner);

#endif
