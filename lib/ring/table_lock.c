/* SPDX-License-Identifier: MIT */
#include "ring/handle.h"

#include <errno.h>
#include <time.h>

#include "base/caller.h"
#include "base/clock.h"

/*
 * The lock of the table of streams: threads of a process exclude each other by the handle's mutex, processes by a word
 * in the header that names the holder. A lock of the file would do as well, but whoever may read the file could hold
 * that for ever. The word is taken from a holder that is dead; one that is only stopped is waited for, for a limited
 * time: the consumer may serve others, as a mount does.
 */
#define CONSUMER_WAIT_NS (20 * K2I_MILLISECOND_NS)
#define ATTACHED_WAIT_NS K2I_SECOND_NS
#define PAUSE_NS_MIN 20000u
#define PAUSE_NS_MAX 200000u

/* Each process that declares is the consumer, or has a slot. */
static bool holder_gone(const struct k2hft_ring *ring, uint64_t holder)
{
	/* relaxed: it names a process, and nothing goes with that. */
	struct k2i_process consumer = {
		.owner = atomic_load_explicit(&ring->header->consumer, memory_order_relaxed),
		.namespace = atomic_load_explicit(&ring->header->consumer_namespace, memory_order_relaxed),
	};

	if (holder == consumer.owner)
		return !k2i_process_alive(&ring->process, &consumer);
	return !k2i_slot_held_by(ring, holder);
}

/* Returns the holder that stands in the way; 0: the lock is this process's. */
static uint64_t word_take(struct k2hft_ring *ring, uint64_t from)
{
	/* A13. relaxed on failure: only the holder's name is read. */
	return atomic_compare_exchange_strong_explicit(&ring->header->streams_locked, &from, ring->process.owner,
						       memory_order_acquire, memory_order_relaxed)
		       ? 0
		       : from;
}

static int word_wait(struct k2hft_ring *ring, uint64_t holder)
{
	uint64_t limit_ns = ring->consumer ? CONSUMER_WAIT_NS : ATTACHED_WAIT_NS;
	uint64_t begin_ns = k2i_clock_ns(CLOCK_MONOTONIC), pause_ns = PAUSE_NS_MIN;

	while (holder) {
		struct timespec pause = k2i_timespec(pause_ns);

		(void)nanosleep(&pause, NULL);
		pause_ns = pause_ns < PAUSE_NS_MAX ? 2 * pause_ns : PAUSE_NS_MAX;
		holder = word_take(ring, holder_gone(ring, holder) ? holder : 0);
		if (holder && k2i_clock_ns(CLOCK_MONOTONIC) - begin_ns >= limit_ns)
			return -EBUSY;
	}
	return 0;
}

int k2i_table_lock(struct k2hft_ring *ring)
{
	uint64_t holder;
	int status = 0;
	K2I_CANCEL_DISABLED;
	K2I_ERRNO_KEPT;

	(void)pthread_mutex_lock(&ring->stream_mutex);
	holder = word_take(ring, 0);
	if (holder)
		status = word_wait(ring, holder);
	if (status)
		(void)pthread_mutex_unlock(&ring->stream_mutex);
	return status;
}

void k2i_table_unlock(struct k2hft_ring *ring)
{
	uint64_t holder = ring->process.owner;

	/* R13. relaxed on failure: it was taken away, and stays so. */
	(void)atomic_compare_exchange_strong_explicit(&ring->header->streams_locked, &holder, 0, memory_order_release,
						      memory_order_relaxed);
	(void)pthread_mutex_unlock(&ring->stream_mutex);
}
