/* SPDX-License-Identifier: MIT */
/* Producers that wait for room. */
#include "ring/handle.h"

#include <errno.h>
#include <limits.h>

#include "base/caller.h"
#include "base/clock.h"
#include "base/futex.h"

/* A wait for room looks around at least this often. */
#define TURN_NS K2I_SECOND_NS

void k2i_space_wake(struct k2hft_ring *ring)
{
	/* R11 */
	(void)atomic_fetch_add_explicit(&ring->header->space_sequence, 1, memory_order_release);
	k2i_futex_wake(&ring->header->space_sequence, FUTEX_WAKE, INT_MAX);
}

uint64_t k2i_ring_free_bytes(const struct k2hft_ring *ring)
{
	/* A7: room that this does not see is freed by somebody who sees that there is a waiter. */
	uint64_t tail = atomic_load_explicit(&ring->header->tail, memory_order_seq_cst);
	uint64_t head = atomic_load_explicit(&ring->header->head, memory_order_seq_cst);
	uint64_t used = k2i_position(tail) - k2i_position(head);

	return used < ring->capacity ? ring->capacity - used : 0;
}

bool k2i_ring_room(const struct k2hft_ring *ring, size_t bytes)
{
	return k2i_ring_free_bytes(ring) >= k2i_align_up(K2HFT_CHUNK_HEADER_BYTES + (uint64_t)bytes, 8);
}

uint64_t k2hft_ring_space_lack(const struct k2hft_ring *ring, size_t bytes)
{
	uint64_t used = ring->capacity - k2i_ring_free_bytes(ring), most = ring->areas[K2I_AREA_COUNT - 1].bytes;
	uint64_t wanted = used + k2i_align_up(K2HFT_CHUNK_HEADER_BYTES + (uint64_t)bytes, 8);
	/* relaxed: claims look for themselves. */
	uint64_t tail = atomic_load_explicit(&ring->header->tail, memory_order_relaxed);

	if (most == 0)
		most = ring->capacity;
	else if ((tail & K2I_PLACE_AREA) >> 1 == K2I_AREA_ALL)
		most /= 2; /* as area_choose has it */
	return wanted > most ? wanted - most : 0;
}

static int wait_changed(struct k2hft_ring *ring, uint32_t sequence, const struct timespec *deadline)
{
	/* A11 */
	while (atomic_load_explicit(&ring->header->space_sequence, memory_order_acquire) == sequence) {
		if (k2i_futex(&ring->header->space_sequence, FUTEX_WAIT_BITSET, sequence, deadline) == 0 ||
		    errno == EAGAIN)
			continue;
		return errno == ETIMEDOUT || errno == EINTR ? -errno : -EIO;
	}
	return 0;
}

/* In turns: after each it asks whether there still is anybody who could free room. */
static int room_wait(struct k2hft_ring *ring, size_t bytes, uint64_t until_ns)
{
	int status;

	do {
		/*
		 * A11: read before the positions are: they show what was freed for this value, and a later one ends the
		 * wait.
		 */
		uint32_t sequence = atomic_load_explicit(&ring->header->space_sequence, memory_order_acquire);
		uint64_t now_ns = k2i_clock_ns(CLOCK_MONOTONIC), turn_ns = now_ns + TURN_NS;
		struct timespec deadline = k2i_timespec(turn_ns < until_ns ? turn_ns : until_ns);

		if (k2i_ring_room(ring, bytes))
			return 0;
		status = wait_changed(ring, sequence, &deadline);
		if (status == -ETIMEDOUT && k2i_ring_abandoned(ring))
			return -EPIPE;
		if (status == -ETIMEDOUT && turn_ns < until_ns)
			status = 0;
	} while (status == 0);
	return status;
}

int k2hft_ring_space_wait(struct k2hft_ring *ring, size_t bytes, int timeout_ms)
{
	uint64_t until_ns = UINT64_MAX;
	int status;
	K2I_ERRNO_KEPT;

	if (bytes > k2i_payload_bytes_max(ring))
		return -EMSGSIZE;
	if (k2i_ring_abandoned_known(ring))
		return -EPIPE;
	if (k2i_ring_room(ring, bytes))
		return 0;
	if (timeout_ms >= 0)
		until_ns = k2i_clock_ns(CLOCK_MONOTONIC) + (uint64_t)timeout_ms * K2I_MILLISECOND_NS;
	/* R7 */
	(void)atomic_fetch_add_explicit(&ring->header->space_waiters, 1, memory_order_seq_cst);
	status = room_wait(ring, bytes, until_ns);
	/* relaxed: the consumer may wake once in vain. */
	(void)atomic_fetch_sub_explicit(&ring->header->space_waiters, 1, memory_order_relaxed);
	return status;
}
