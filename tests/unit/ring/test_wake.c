/* SPDX-License-Identifier: MIT */
/* A thread that waits for room in a ring is woken when there is some, and not given up before. */
#include "unit.h"
#include "ring_help.h"

#include <pthread.h>
#include <time.h>

#include "base/futex.h"
#include "ring/handle.h"

#define SLEEPERS 3u

static void milliseconds(long count)
{
	const struct timespec pause = {.tv_sec = count / 1000, .tv_nsec = count % 1000 * 1000000};

	(void)nanosleep(&pause, NULL);
}

static struct k2hft_producer *full_by(struct k2hft_ring *ring, uint32_t stream_id)
{
	struct k2hft_producer *producer = producer_of(ring);
	void *payload;

	while (k2hft_producer_reserve(producer, SMALL / 8, &payload) == 0)
		assert_int_equal(commit(producer, stream_id, 0, SMALL / 8), 0);
	return producer;
}

static void room_make(struct k2hft_ring *ring)
{
	struct k2hft_span span;

	assert_int_equal(k2hft_ring_read(ring, 0, 0, &span, NULL), 1);
	assert_int_equal(k2hft_ring_release(ring, span.position + span.bytes), 0);
}

struct sleeper {
	struct k2hft_ring *ring;
	pthread_t thread;
	uint32_t sequence;
	long answer;
	int error;
};

static void *sleeper_run(void *argument)
{
	const struct timespec limit = {.tv_sec = 20};
	struct sleeper *sleeper = argument;

	sleeper->answer = k2i_futex(&sleeper->ring->header->space_sequence, FUTEX_WAIT, sleeper->sequence, &limit);
	sleeper->error = errno;
	return NULL;
}

/* Else each would look again by itself, a second later. */
RING_TEST(all_are_woken)
{
	struct k2hft_producer *producer = full_by(ring, stream_of(ring, "s"));
	uint32_t sequence = atomic_load(&ring->header->space_sequence);
	struct sleeper sleepers[SLEEPERS];

	atomic_store(&ring->header->space_waiters, SLEEPERS);
	for (unsigned number = 0; number < SLEEPERS; number++) {
		sleepers[number] = (struct sleeper){.ring = ring, .sequence = sequence};
		assert_int_equal(pthread_create(&sleepers[number].thread, NULL, sleeper_run, &sleepers[number]), 0);
	}
	milliseconds(50);
	room_make(ring);
	assert_int_not_equal(atomic_load(&ring->header->space_sequence), sequence);
	for (unsigned number = 0; number < SLEEPERS; number++) {
		assert_int_equal(pthread_join(sleepers[number].thread, NULL), 0);
		/* A waiter that had not begun to sleep saw that there is no need to. */
		assert_true(sleepers[number].answer == 0 || sleepers[number].error == EAGAIN);
	}
	atomic_store(&ring->header->space_waiters, 0);
	k2hft_producer_close(producer);
}

static void *room_make_late(void *argument)
{
	milliseconds(1200);
	room_make(argument);
	return NULL;
}

/* Longer than one look around. */
RING_TEST(without_a_limit_it_waits_on)
{
	struct k2hft_producer *producer = full_by(ring, stream_of(ring, "s"));
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, room_make_late, ring), 0);
	assert_int_equal(k2hft_ring_space_wait(ring, 1000, -1), 0);
	assert_int_equal(atomic_load(&ring->header->space_waiters), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	k2hft_producer_close(producer);
}
