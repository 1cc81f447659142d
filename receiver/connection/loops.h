/* SPDX-License-Identifier: MIT */
#ifndef K2I_RECEIVER_CONNECTION_LOOPS_H
#define K2I_RECEIVER_CONNECTION_LOOPS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "receiver/connection/buffer.h"
#include "receiver/commit/commit.h"
#include "receiver/base/counters.h"
#include "receiver/session/peers.h"
#include "receiver/session/rings.h"
#include "receiver/session/session.h"

/* What all loops need. */
struct k2i_admission;
struct k2i_secure;
struct k2i_service {
	const struct k2i_destination *destination;
	struct k2i_rings *rings;
	struct k2i_counters *counters;
	const uint8_t *receiver_uuid;
	struct k2i_syncer *syncer;
	bool sync_always;                /* FILE_SYNC = always */
	struct k2i_secure *secure;       /* NULL: connections without TLS */
	struct k2i_admission *admission; /* who may connect */
	uint64_t window_bytes;
	uint32_t frame_bytes_max;
	size_t connections_max;
	size_t host_connections_max; /* of one address; 0: any number */
	struct k2i_stream_room streams;
	struct k2i_buffer_budget budget;
	atomic_size_t connections; /* now */
	atomic_uint_fast64_t next_id;
	struct k2i_peers peers;
};

/*
 * Event loops, each on a thread of its own with all signals blocked; a connection stays on one of them. Errors as
 * pthread_create(3) and eventfd(2).
 */
struct k2i_loops;
int k2i_loops_start(struct k2i_service *service, unsigned loop_count, struct k2i_loops **loops);
/* How many connections beyond connections_max get an answer at a time. */
#define K2I_LOOPS_CROWD_MAX 64u
/*
 * Hands a connected socket to the loop with the fewest connections, which closes it, or, if it is one too many, to one with a
 * connection whose place it can take. It was closed: -EUSERS there are far too many; -ENOMEM.
 */
int k2i_loops_serve(struct k2i_loops *loops, int descriptor, const struct sockaddr *address, socklen_t address_bytes);
/* Ends all connections in good order and the threads. NULL is allowed. */
void k2i_loops_stop(struct k2i_loops *loops);

/* For k2i_rings_create: the owner's place is its loop. */
void k2i_loops_fence(struct k2i_owner owner);
/* For k2i_admission_open, likewise. */
void k2i_loops_admit(struct k2i_owner owner);

/* For connection.c. */
struct event_base;
struct k2i_connection;
struct k2i_loop {
	struct k2i_service *service;
	struct event_base *base;
	struct k2i_session_shared shared;
	struct k2i_committer committer;
	struct k2i_buffer_pool buffers;
	struct k2i_connection *connections; /* a list */
	atomic_size_t connection_count;     /* those that are on their way to it, too */
	struct k2i_connection *stranger_first, *stranger_last;
	atomic_size_t stranger_count;
	bool stopping;
};

/* A connection that was handed to it has ended. */
void k2i_loop_left(struct k2i_loop *loop);

#endif
