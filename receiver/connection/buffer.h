/* SPDX-License-Identifier: MIT */
#ifndef K2I_RECEIVER_CONNECTION_BUFFER_H
#define K2I_RECEIVER_CONNECTION_BUFFER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Memory for what connections receive. A connection has more than a little only while a frame of it is incomplete: its
 * buffer goes on to the next connection of the loop that has something to read. So a thousand connections need hardly
 * more memory than a few, and what they read into is still in the processor's cache.
 */
#define K2I_BUFFER_BYTES_MIN ((size_t)64 * 1024)
/* A frame of the usual largest size, or as many small ones. */
#define K2I_BUFFER_BYTES ((size_t)1024 * 1024 + 4096)
#define K2I_BUFFER_SPARES_MAX 16u

/* Shared by all connections: what a buffer has beyond K2I_BUFFER_BYTES_MIN, which is everybody's right, is taken of it. */
struct k2i_buffer_budget {
	size_t bytes_max; /* the last eighth of it only for who has proved worth it */
	atomic_size_t taken;
	atomic_size_t starved; /* connections that wait for such bytes */
};

struct k2i_buffer {
	uint8_t *bytes;
	size_t capacity, used;
	bool proved; /* its connection has brought something a short while ago */
};

struct k2i_buffer_pool { /* of a loop, for its thread */
	struct k2i_buffer_budget *budget;
	uint8_t *spares[K2I_BUFFER_SPARES_MAX]; /* of K2I_BUFFER_BYTES each, which stay taken of the budget */
	unsigned count, count_min;              /* count_min: since the last tick */
};

void k2i_buffer_pool_start(struct k2i_buffer_pool *pool, struct k2i_buffer_budget *budget);
void k2i_buffer_pool_free(struct k2i_buffer_pool *pool);
/* Once a second: gives up what nobody needed since the last time, and all but one if somebody is starved. */
void k2i_buffer_pool_tick(struct k2i_buffer_pool *pool);

/* Before reading: makes a small buffer a large one. It stays as it is if there is no memory. */
void k2i_buffer_widen(struct k2i_buffer_pool *pool, struct k2i_buffer *buffer);
/*
 * After reading: gives up what is not needed for what is in it. More than a little data stays where it is: the rest of
 * its frame will come soon.
 */
void k2i_buffer_settle(struct k2i_buffer_pool *pool, struct k2i_buffer *buffer);
/* Twice as much, up to `limit`: memory follows what has come. 0; -ENOBUFS others have it now; -ENOMEM. */
int k2i_buffer_grow(struct k2i_buffer_pool *pool, struct k2i_buffer *buffer, size_t limit);
/* For a frame that is long in coming: no more than what is in it needs. */
void k2i_buffer_fit(struct k2i_buffer_pool *pool, struct k2i_buffer *buffer);
/* Its content is forgotten. */
void k2i_buffer_release(struct k2i_buffer_pool *pool, struct k2i_buffer *buffer);

#endif
