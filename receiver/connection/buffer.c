/* SPDX-License-Identifier: MIT */
#include "receiver/connection/buffer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"

/* A rest up to this size costs less to copy than a large buffer costs that waits for more. */
#define REST_BYTES_MAX K2I_BUFFER_BYTES_MIN

/* The bytes of the budget that a buffer takes. */
static size_t capacity_share(size_t capacity)
{
	return capacity > K2I_BUFFER_BYTES_MIN ? capacity - K2I_BUFFER_BYTES_MIN : 0;
}

static bool budget_take(struct k2i_buffer_budget *budget, size_t bytes, bool proved)
{
	size_t most = atomic_load(&budget->bytes_max), limit = proved ? most : most - most / 8;

	/* Other threads may be above the limit for a moment, which must not refuse a request for 0 bytes. */
	if (bytes == 0 || atomic_fetch_add(&budget->taken, bytes) + bytes <= limit)
		return true;
	atomic_fetch_sub(&budget->taken, bytes);
	return false;
}

static void memory_free(struct k2i_buffer_pool *pool, uint8_t *bytes, size_t capacity)
{
	free(bytes);
	atomic_fetch_sub(&pool->budget->taken, capacity_share(capacity));
}

/* Spares --------------------------------------------------------------------------------------------------------- */

static uint8_t *spare_take(struct k2i_buffer_pool *pool, bool proved)
{
	uint8_t *bytes;

	if (pool->count > 0) {
		bytes = pool->spares[--pool->count];
		if (pool->count_min > pool->count)
			pool->count_min = pool->count;
		return bytes;
	}
	pool->count_min = 0;
	if (!budget_take(pool->budget, capacity_share(K2I_BUFFER_BYTES), proved))
		return NULL;
	bytes = malloc(K2I_BUFFER_BYTES);
	if (!bytes)
		atomic_fetch_sub(&pool->budget->taken, capacity_share(K2I_BUFFER_BYTES));
	return bytes;
}

/* While connections are starved a loop keeps one spare, for its own; other loops need the rest. */
static unsigned spares_max(const struct k2i_buffer_pool *pool)
{
	return atomic_load(&pool->budget->starved) > 0 ? 1 : K2I_BUFFER_SPARES_MAX;
}

/* A stack: the spare that was used last, which the cache still has, is the next. */
static void memory_give(struct k2i_buffer_pool *pool, uint8_t *bytes, size_t capacity)
{
	if (capacity == K2I_BUFFER_BYTES && pool->count < spares_max(pool))
		pool->spares[pool->count++] = bytes;
	else
		memory_free(pool, bytes, capacity);
}

void k2i_buffer_pool_start(struct k2i_buffer_pool *pool, struct k2i_buffer_budget *budget)
{
	memset(pool, 0, sizeof(*pool));
	pool->budget = budget;
}

static void spares_free(struct k2i_buffer_pool *pool, unsigned count)
{
	unsigned index;

	for (index = 0; index < count; index++)
		memory_free(pool, pool->spares[index], K2I_BUFFER_BYTES);
	pool->count -= count;
	memmove(pool->spares, pool->spares + count, pool->count * sizeof(pool->spares[0]));
}

void k2i_buffer_pool_free(struct k2i_buffer_pool *pool)
{
	spares_free(pool, pool->count);
}

void k2i_buffer_pool_tick(struct k2i_buffer_pool *pool)
{
	spares_free(pool, pool->count_min);
	if (pool->count > spares_max(pool))
		spares_free(pool, pool->count - spares_max(pool));
	pool->count_min = pool->count;
}

/* Buffers -------------------------------------------------------------------------------------------------------- */

void k2i_buffer_widen(struct k2i_buffer_pool *pool, struct k2i_buffer *buffer)
{
	uint8_t *bytes;

	if (buffer->capacity > K2I_BUFFER_BYTES_MIN)
		return;
	bytes = spare_take(pool, buffer->proved);
	if (!bytes)
		return;
	if (buffer->used > 0)
		memcpy(bytes, buffer->bytes, buffer->used);
	free(buffer->bytes);
	buffer->bytes = bytes;
	buffer->capacity = K2I_BUFFER_BYTES;
}

void k2i_buffer_release(struct k2i_buffer_pool *pool, struct k2i_buffer *buffer)
{
	memory_give(pool, buffer->bytes, buffer->capacity);
	*buffer = (struct k2i_buffer){.proved = buffer->proved};
}

void k2i_buffer_settle(struct k2i_buffer_pool *pool, struct k2i_buffer *buffer)
{
	uint8_t *rest;

	if (buffer->used == 0) {
		k2i_buffer_release(pool, buffer);
		return;
	}
	if (buffer->capacity <= K2I_BUFFER_BYTES_MIN || buffer->used > REST_BYTES_MAX)
		return;
	rest = malloc(buffer->used);
	if (!rest)
		return;
	memcpy(rest, buffer->bytes, buffer->used);
	memory_give(pool, buffer->bytes, buffer->capacity);
	buffer->bytes = rest;
	buffer->capacity = buffer->used;
}

int k2i_buffer_grow(struct k2i_buffer_pool *pool, struct k2i_buffer *buffer, size_t limit)
{
	size_t capacity = buffer->capacity * 2, added;
	uint8_t *bytes;

	if (capacity > limit)
		capacity = limit;
	if (capacity < K2I_BUFFER_BYTES_MIN)
		capacity = K2I_BUFFER_BYTES_MIN;
	if (capacity <= buffer->capacity)
		return 0;
	added = capacity_share(capacity) - capacity_share(buffer->capacity);
	if (!budget_take(pool->budget, added, buffer->proved)) {
		spares_free(pool, pool->count);
		if (!budget_take(pool->budget, added, buffer->proved))
			return -ENOBUFS;
	}
	bytes = realloc(buffer->bytes, capacity);
	if (!bytes) {
		atomic_fetch_sub(&pool->budget->taken, added);
		return -ENOMEM;
	}
	buffer->bytes = bytes;
	buffer->capacity = capacity;
	return 0;
}

void k2i_buffer_fit(struct k2i_buffer_pool *pool, struct k2i_buffer *buffer)
{
	size_t capacity = (size_t)k2i_align_up(buffer->used, K2I_BUFFER_BYTES_MIN);
	uint8_t *bytes;

	if (capacity >= buffer->capacity || capacity == 0)
		return;
	bytes = realloc(buffer->bytes, capacity);
	if (!bytes)
		return;
	atomic_fetch_sub(&pool->budget->taken, capacity_share(buffer->capacity) - capacity_share(capacity));
	buffer->bytes = bytes;
	buffer->capacity = capacity;
}
