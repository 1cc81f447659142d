/* SPDX-License-Identifier: MIT */
/* Threads that are let through one by one, and writers of a full ring, of whom one waits for room. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>

#include <k2hft/frame.h>
#include <k2hft/sender.h>

#include "unit.h"
#include "base/futex.h"
#include "ring/handle.h"
#include "sender/sender.h"
#include "base/turnstile.h"

#define THREADS 6u
#define RECORD_BYTES 2000u

static struct k2i_turnstile turnstile;
static unsigned order[THREADS];
static atomic_uint through, wakes;

struct visitor {
	pthread_t thread;
	unsigned number;
	int status;
};

static void moment(void)
{
	const struct timespec pause = {.tv_nsec = 1000000};

	(void)nanosleep(&pause, NULL);
}

static unsigned places(struct k2i_turnstile *at)
{
	unsigned count = 0;

	(void)pthread_mutex_lock(&at->mutex);
	for (const struct k2i_turnstile_place *place = at->first; place; place = place->next)
		count++;
	(void)pthread_mutex_unlock(&at->mutex);
	return count;
}

static void *pass(void *argument)
{
	struct visitor *visitor = argument;
	/* As one that was called before, and stood before others. */
	struct k2i_turnstile_place place = {.next = &place, .called = 1};

	errno = 77;
	visitor->status = k2i_turnstile_enter(&turnstile, &place);
	if (errno != 77 || place.entered != (visitor->status >= 0))
		visitor->status = -EPERM;
	if (visitor->status >= 0)
		order[atomic_fetch_add(&through, 1)] = visitor->number;
	k2i_turnstile_leave(&turnstile, &place);
	return NULL;
}

/* Each is in its place before the next one comes. */
static void visitors_come(struct visitor *visitors)
{
	for (unsigned i = 0; i < THREADS; i++) {
		visitors[i].number = i;
		assert_int_equal(pthread_create(&visitors[i].thread, NULL, pass, &visitors[i]), 0);
		while (places(&turnstile) < i + 2)
			moment();
	}
}

static void on_signal(int number)
{
	(void)number;
}

static void interrupt(struct visitor *visitor)
{
	while (pthread_kill(visitor->thread, SIGUSR1) == 0 && pthread_tryjoin_np(visitor->thread, NULL) == EBUSY)
		moment();
}

static int open_turnstile(void **state)
{
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};

	(void)state;
	atomic_store(&through, 0);
	k2i_turnstile_init(&turnstile);
	return sigaction(SIGUSR1, &action, NULL);
}

static int close_turnstile(void **state)
{
	(void)state;
	k2i_turnstile_destroy(&turnstile);
	return 0;
}

#define CASE(name) FIXTURE_TEST(name, void *fixture, open_turnstile, close_turnstile)

CASE(who_is_alone_goes_on)
{
	struct k2i_turnstile_place place = {0};

	k2i_turnstile_leave(&turnstile, &place);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(k2i_turnstile_enter(&turnstile, &place), 0);
		assert_int_equal(k2i_turnstile_enter(&turnstile, &place), 0);
		assert_int_equal(places(&turnstile), 1);
		k2i_turnstile_leave(&turnstile, &place);
		assert_int_equal(places(&turnstile), 0);
	}
}

CASE(others_follow_as_they_came)
{
	struct k2i_turnstile_place place = {0};
	struct visitor visitors[THREADS];

	assert_int_equal(k2i_turnstile_enter(&turnstile, &place), 0);
	visitors_come(visitors);
	/* Longer than they wait without looking around. */
	(void)nanosleep(&(struct timespec){.tv_sec = 1, .tv_nsec = 200000000}, NULL);
	assert_int_equal(atomic_load(&through), 0);
	atomic_store(&wakes, 0);
	k2i_turnstile_leave(&turnstile, &place);
	for (unsigned i = 0; i < THREADS; i++) {
		assert_int_equal(pthread_join(visitors[i].thread, NULL), 0);
		assert_int_equal(visitors[i].status, 1);
		assert_int_equal(order[i], i);
	}
	/* Else each would look by itself, a second later. */
	assert_int_equal(atomic_load(&wakes), THREADS);
}

/* In the middle, as the last, as the first behind who has the turn: nobody else notices. */
CASE(interrupted_ones_leave_their_places)
{
	static const unsigned interrupted[] = {2, THREADS - 1, 0}, rest[] = {1, 3, 4, THREADS - 1};
	struct k2i_turnstile_place place = {0};
	struct visitor visitors[THREADS], *late = &visitors[THREADS - 1];

	assert_int_equal(k2i_turnstile_enter(&turnstile, &place), 0);
	visitors_come(visitors);
	for (unsigned i = 0; i < 3; i++) {
		interrupt(&visitors[interrupted[i]]);
		assert_int_equal(visitors[interrupted[i]].status, -EINTR);
		assert_int_equal(places(&turnstile), THREADS - i);
	}
	/* A thread that comes then stands behind those that are left. */
	assert_int_equal(pthread_create(&late->thread, NULL, pass, late), 0);
	while (places(&turnstile) < THREADS - 1)
		moment();
	assert_int_equal(atomic_load(&through), 0);
	k2i_turnstile_leave(&turnstile, &place);
	for (unsigned i = 0; i < 4; i++) {
		assert_int_equal(pthread_join(visitors[rest[i]].thread, NULL), 0);
		assert_int_equal(order[i], rest[i]);
	}
	assert_int_equal(places(&turnstile), 0);
}

/* A place is on the stack of who may be gone when it is woken. */
CASE(turns_go_round)
{
	struct visitor visitors[THREADS] = {0};

	for (unsigned lap = 0; lap < 200; lap++) {
		atomic_store(&through, 0);
		for (unsigned i = 0; i < THREADS; i++)
			assert_int_equal(pthread_create(&visitors[i].thread, NULL, pass, &visitors[i]), 0);
		for (unsigned i = 0; i < THREADS; i++)
			assert_int_equal(pthread_join(visitors[i].thread, NULL), 0);
		assert_int_equal(atomic_load(&through), THREADS);
		assert_int_equal(places(&turnstile), 0);
	}
}

struct logger {
	pthread_t thread;
	struct k2hft_sender *sender;
	struct k2hft_writer *writer;
	unsigned count; /* records to write */
	int status;
};

static void *records_write(void *argument)
{
	struct logger *logger = argument;
	char record[RECORD_BYTES];

	memset(record, 'x', sizeof(record));
	for (unsigned i = 0; i < logger->count && logger->status == 0; i++)
		logger->status = k2hft_writer_write(logger->writer, record, sizeof(record));
	k2hft_writer_close(logger->writer);
	return NULL;
}

static struct k2hft_sender *loggers_start(struct logger *loggers, unsigned record_count)
{
	struct k2hft_ring_options options = {.size = sizeof(options), .ring_bytes = K2HFT_RING_BYTES_MIN};
	struct k2hft_sender *sender;

	assert_int_equal(k2i_sender_create(&options, K2HFT_FULL_BLOCK, &sender), 0);
	for (unsigned i = 0; i < THREADS; i++) {
		loggers[i] = (struct logger){.sender = sender, .count = record_count};
		assert_int_equal(k2hft_writer_open(sender, "a.log", &loggers[i].writer), 0);
	}
	for (unsigned i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&loggers[i].thread, NULL, records_write, &loggers[i]), 0);
	return sender;
}

/* Bytes of records that were committed, and are released. */
static uint64_t take(struct k2hft_sender *sender)
{
	struct k2hft_chunk_view view;
	struct k2hft_span span;
	uint64_t bytes = 0;
	size_t offset = 0;

	(void)k2i_sender_seal(sender);
	if (k2hft_ring_read(sender->lanes[0]->ring, 16384, 0, &span, NULL) <= 0)
		return 0;
	while (k2hft_chunk_next(span.data, span.bytes, span.position, &offset, &view) == 1)
		bytes += view.payload_bytes;
	assert_int_equal(k2hft_ring_release(sender->lanes[0]->ring, span.position + span.bytes), 0);
	return bytes;
}

/* So what is acknowledged wakes one of them, and not all. */
CASE(one_writer_waits_for_room)
{
	const uint64_t all = (uint64_t)THREADS * 200 * (RECORD_BYTES + 1);
	struct logger loggers[THREADS];
	struct k2hft_sender *sender = loggers_start(loggers, 200);
	uint64_t taken = 0;

	while (places(&sender->lanes[0]->room) < THREADS)
		moment();
	while (atomic_load(&sender->lanes[0]->ring->header->space_waiters) == 0)
		moment();
	for (int i = 0; i < 20; i++, moment())
		assert_int_equal(atomic_load(&sender->lanes[0]->ring->header->space_waiters), 1);
	while (taken < all)
		taken += take(sender);
	for (unsigned i = 0; i < THREADS; i++) {
		assert_int_equal(pthread_join(loggers[i].thread, NULL), 0);
		assert_int_equal(loggers[i].status, 0);
	}
	assert_int_equal(taken, all);
	assert_int_equal(places(&sender->lanes[0]->room), 0);
	k2i_sender_free(sender);
}

/* The one that waits for room and those behind it. */
CASE(each_wait_ends_with_a_signal)
{
	struct logger loggers[THREADS];
	struct k2hft_sender *sender = loggers_start(loggers, 200);

	while (places(&sender->lanes[0]->room) < THREADS)
		moment();
	for (unsigned i = 0; i < THREADS; i++) {
		while (pthread_kill(loggers[i].thread, SIGUSR1) == 0 &&
		       pthread_tryjoin_np(loggers[i].thread, NULL) == EBUSY)
			moment();
		assert_int_equal(loggers[i].status, -EINTR);
	}
	assert_int_equal(places(&sender->lanes[0]->room), 0);
	k2i_sender_free(sender);
}

/* How many waits for room are refused as by a filter of system calls. */
static atomic_uint refusals;
static atomic_bool wakes_refused;

long __real_syscall(long number, ...);
long __wrap_syscall(long number, void *first, long second, long third, void *fourth, void *fifth, long sixth);
long __wrap_syscall(long number, void *first, long second, long third, void *fourth, void *fifth, long sixth)
{
	if (number == K2I_FUTEX_NUMBER && second == FUTEX_WAKE_PRIVATE)
		atomic_fetch_add(&wakes, 1);
	if (number == K2I_FUTEX_NUMBER && (second & FUTEX_CMD_MASK) == FUTEX_WAKE && atomic_load(&wakes_refused)) {
		errno = EPERM;
		return -1;
	}
	if (number == K2I_FUTEX_NUMBER && second == FUTEX_WAIT_BITSET && atomic_load(&refusals) > 0) {
		atomic_fetch_sub(&refusals, 1);
		errno = EPERM;
		return -1;
	}
	return __real_syscall(number, first, second, third, fourth, fifth, sixth);
}

CASE(a_wake_that_is_refused_leaves_errno)
{
	struct k2i_turnstile_place first = {0}, second = {.entered = true};
	struct k2hft_ring_options options = {.size = sizeof(options)};
	struct k2hft_ring *ring;

	assert_int_equal(k2hft_ring_open(&options, &ring), 0);
	assert_int_equal(k2i_turnstile_enter(&turnstile, &first), 0);
	first.next = turnstile.last = &second;
	atomic_store(&wakes_refused, true);
	errno = 77;
	k2i_space_wake(ring);
	k2i_turnstile_leave(&turnstile, &first);
	assert_int_equal(errno, 77);
	atomic_store(&wakes_refused, false);
	k2i_turnstile_leave(&turnstile, &second);
	k2hft_ring_close(ring);
}

CASE(who_may_not_wait_is_told)
{
	struct logger loggers[THREADS];
	struct k2hft_sender *sender;

	atomic_store(&refusals, 1000);
	sender = loggers_start(loggers, 200);
	for (unsigned i = 0; i < THREADS; i++) {
		while (pthread_tryjoin_np(loggers[i].thread, NULL) == EBUSY) {
			if (atomic_load(&refusals) == 0)
				(void)take(sender);
			moment();
		}
		assert_int_equal(loggers[i].status, -EIO);
	}
	assert_int_equal(places(&sender->lanes[0]->room), 0);
	atomic_store(&refusals, 0);
	k2i_sender_free(sender);
}
