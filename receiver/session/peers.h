/* SPDX-License-Identifier: MIT */
#ifndef K2I_RECEIVER_SESSION_PEERS_H
#define K2I_RECEIVER_SESSION_PEERS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <k2hft/frame.h>

#include "receiver/base/flow.h"
#include "receiver/base/list.h"

/*
 * The table of connections for the status. A connection is its loop's alone; its numbers are copied here now and then,
 * so that the status does not wait for a loop, which can stand still in a write.
 */
struct k2i_session;

struct k2i_peer {
	struct k2i_link link;
	const char *address;
	uint64_t connected_ns;
	bool counted; /* among its host's, with this ring; under the list's lock */
	/* Written once, under the list's lock, before `greeted`. */
	char host[K2HFT_STREAM_HOST_BYTES_MAX + 1];
	uint8_t ring_uuid[16];
	atomic_bool greeted;
	atomic_uint level;
	atomic_int stall_error; /* 0: it has not failed */
	atomic_uint_fast64_t committed, records, bytes, duplicates;
	atomic_uint_fast64_t bytes_per_s;
	atomic_uint_fast64_t record_ns; /* when records were written, or it connected */
	struct k2i_histogram latency;
	/* The loop's. */
	uint64_t ticked_ns, ticked_bytes;
};

struct k2i_peers {
	pthread_mutex_t mutex;
	struct k2i_list list;
};

void k2i_peers_start(struct k2i_peers *peers);
void k2i_peers_end(struct k2i_peers *peers);

/* `address` must outlive it. */
void k2i_peer_add(struct k2i_peers *peers, struct k2i_peer *peer, const char *address, uint64_t now_ns);
void k2i_peer_remove(struct k2i_peers *peers, struct k2i_peer *peer);
/* Copies what the session has now. */
void k2i_peer_update(struct k2i_peers *peers, struct k2i_peer *peer, const struct k2i_session *session, bool stalled);
/* Records of it were written. */
void k2i_peer_wrote(struct k2i_peer *peer, uint64_t now_ns);
/* Once a second, for the rate. */
void k2i_peer_tick(struct k2i_peer *peer, uint64_t now_ns);

/*
 * Counts the one that was added with this very `address` among those of its host, whatever ports they have, from now on; false:
 * there are `count_max` with other rings already.
 */
bool k2i_peers_take_place(struct k2i_peers *peers, const char *address, const uint8_t ring_uuid[16], size_t count_max);

/* Calls `each` for every connection, under the lock: it must not wait for anything. */
void k2i_peers_each(struct k2i_peers *peers, void (*each)(void *argument, struct k2i_peer *peer), void *argument);

#endif
