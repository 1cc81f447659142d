/* SPDX-License-Identifier: MIT */
#ifndef K2I_RECEIVER_CONNECTION_BUFFER_H
#define K2I_RECEIVER_CONNECTION_BUFFER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Memory that connections receive into. A connection keeps a large buffer only while a frame of it is incomplete: else
 * the buffer goes on to the next connection of the loop that has something to read. So a thousand connections need
 * hardly more memory than a few, and the buffer is still in the processor's cache.
 */
#define K2I_BUFFER_BYTES_MIN ((size_t)64 * 1024)
/* Room for a frame of the usual largest size, or for many small ones. */
#define K2I_BUFFER_BYTES ((size_t)1024 * 1024 + 4096)
#define K2I_BUFFER_SPARES_MAX 16u

/*
 * Shared by all connections: each may have K2I_BUFFER_BYTES_MIN, and takes from the budget what its buffer has beyond.
 * The last eighth is for proved connections. Measured with BUFFERMAX = 64M and 300 frames that go on slowly and keep
 * all the rest: a sender brings 350 MB in 1.6 s, as against 6.0 s without that eighth, when it stands still until
 * frames are 5 s old.
 */
struct k2i_buffer_budget {
	atomic_size_t bytes_max; /* the last eighth of it is for proved connections */
	atomic_size_t taken;
	atomic_size_t starved; /* connections that wait for such bytes */
};

struct k2i_buffer {
	uint8_t *bytes;
	size_t capacity, used;
	bool proved; /* records of its connection were written a moment ago */
};

struct k2i_buffer_pool { /* a loop's, for its thread alone */
	struct k2i_buffer_budget *budget;
	uint8_t *spares[K2I_BUFFER_SPARES_MAX]; /* each has K2I_BUFFER_BYTES, and stays taken of the budget */
	unsigned count, count_min;              /* count_min: the least since the last tick */
};

void k2i_buffer_pool_start(struct k2i_buffer_pool *pool, struct k2i_buffer_budget *budget);
void k2i_buffer_pool_free(struct k2i_buffer_pool *pool);
/* Once a second: frees spares that nobody needed since the last time, and all but one while a connection is starved. */
void k2i_buffer_pool_tick(struct k2i_buffer_pool *pool);

/* Before reading: makes a small buffer a large one. It stays as it is if there is no memory. */
void k2i_buffer_widen(struct k2i_buffer_pool *pool, struct k2i_buffer *buffer);
/*
 * After reading: gives the large buffer up if little or nothing is in it. A larger part of a frame stays where it is:
 * the rest will come soon.
 */
void k2i_buffer_settle(struct k2i_buffer_pool *pool, struct k2i_buffer *buffer);
/* Doubles the room, up to `limit`: memory follows the bytes that have come. 0; -ENOBUFS others have it now; -ENOMEM. */
int k2i_buffer_grow(struct k2i_buffer_pool *pool, struct k2i_buffer *buffer, size_t limit);
/* Shrinks the buffer of a frame that is long in coming to the bytes that are in it. */
void k2i_buffer_fit(struct k2i_buffer_pool *pool, struct k2i_buffer *buffer);
/* Gives the buffer up, with its bytes. */
void k2i_buffer_release(struct k2i_buffer_pool *pool, struct k2i_buffer *buffer);

#endif
