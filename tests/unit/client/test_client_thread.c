/* SPDX-License-Identifier: MIT */
/* A client that runs on a thread of its own. */
#include "unit.h"
#include "client_drain.h"
#include "client_peer.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>

#include "client/state.h"
#include "base/clock.h"
#include "base/thread.h"

/* Greets one connection and acknowledges all that comes, or up to a position, until it ends. */
struct echo {
	int listener;
	uint64_t bytes, acked_max;
	pthread_t thread;
};

static bool receive_all(int peer, uint8_t *bytes, size_t count)
{
	while (count > 0) {
		ssize_t got = recv(peer, bytes, count, 0);

		if (got <= 0)
			return false;
		bytes += got;
		count -= (size_t)got;
	}
	return true;
}

static int echo_answer(const struct echo *echo, const struct k2hft_frame *frame, const uint8_t *body, uint8_t *answer,
		       size_t room)
{
	struct k2hft_welcome welcome = welcome_make(0, PEER_WINDOW);
	struct k2hft_ack ack = {.position = frame->position + frame->raw_bytes, .level = K2HFT_LEVEL_WRITTEN};
	struct k2hft_hello hello;

	if (ack.position > echo->acked_max)
		ack.position = echo->acked_max;
	ack.window_end = ack.position + PEER_WINDOW;
	if (frame->type == K2HFT_FRAME_DATA)
		return k2hft_ack_encode(&ack, answer, room);
	if (frame->type != K2HFT_FRAME_HELLO || k2hft_hello_decode(body, frame->body_bytes, &hello) < 0)
		return 0;
	welcome.position = hello.acked;
	welcome.window_end += hello.acked;
	return k2hft_welcome_encode(&welcome, answer, room);
}

static void *echo_main(void *argument)
{
	struct echo *echo = argument;
	struct pollfd listener = {.fd = echo->listener, .events = POLLIN};
	uint8_t *body = malloc(PEER_BODY_BYTES), header[K2HFT_FRAME_HEADER_BYTES], answer[512];
	struct k2hft_frame frame;

	(void)poll(&listener, 1, 10000);
	int peer = accept(echo->listener, NULL, NULL);
	while (receive_all(peer, header, sizeof(header)) &&
	       k2hft_frame_header_decode(header, sizeof(header), PEER_BODY_BYTES, &frame) == 0 &&
	       receive_all(peer, body, frame.body_bytes)) {
		int count = echo_answer(echo, &frame, body, answer, sizeof(answer));

		if (frame.type == K2HFT_FRAME_DATA)
			echo->bytes += frame.raw_bytes;
		if (count < 0 || (count > 0 && send(peer, answer, (size_t)count, MSG_NOSIGNAL) != count))
			break;
	}
	(void)close(peer);
	free(body);
	return NULL;
}

static void echo_start_up_to(struct echo *echo, struct fixture *f, uint64_t acked_max)
{
	*echo = (struct echo){.listener = f->listener, .acked_max = acked_max};
	assert_int_equal(pthread_create(&echo->thread, NULL, echo_main, echo), 0);
}

static void echo_start(struct echo *echo, struct fixture *f)
{
	echo_start_up_to(echo, f, UINT64_MAX);
}

static void echo_end(struct echo *echo, struct fixture *f)
{
	k2hft_client_close(f->client);
	f->client = NULL;
	assert_int_equal(pthread_join(echo->thread, NULL), 0);
}

/* The hook that hears of progress is the thread's. */
static int without_progress(void **state)
{
	int status = fixture_open(state);

	((struct fixture *)*state)->options.progress = NULL;
	return status;
}

static void client_start(struct fixture *f)
{
	client_open(f);
	assert_int_equal(k2hft_client_thread_start(f->client), 0);
}

static uint64_t now(void)
{
	return k2i_clock_ns(CLOCK_MONOTONIC);
}

#define CASE(name) FIXTURE_TEST(name, struct fixture *f, without_progress, fixture_close)

CASE(drain_waits_for_the_acknowledgement)
{
	struct echo echo;

	client_open(f);
	assert_int_equal(k2hft_client_drain(f->client, 0), -EINVAL);
	assert_int_equal(k2hft_client_thread_start(f->client), 0);
	assert_int_equal(k2hft_client_thread_start(f->client), -EALREADY);
	assert_int_equal(k2hft_client_drain(f->client, -1), 0); /* nothing is there */
	push(f, "one\n");
	assert_int_equal(k2hft_client_drain(f->client, 20), -ETIMEDOUT); /* nobody is there */
	echo_start(&echo, f);
	assert_int_equal(k2hft_client_drain(f->client, 20000), 0);
	uint64_t end = ring_stats_of(f).tail;
	assert_int_equal(stats_of(f).acked, end);
	/* Out of its sleep, time and again. */
	for (unsigned time = 0; time < 200; time++) {
		push(f, "more\n");
		assert_int_equal(k2hft_client_drain(f->client, 20000), 0);
	}
	end = ring_stats_of(f).tail;
	assert_int_equal(stats_of(f).acked, end);
	echo_end(&echo, f);
	assert_int_equal(echo.bytes, end);
}

/* The client's thread is at work now and then, and gives way to others only when it waits. */
static void lease_await(struct fixture *f)
{

	for (unsigned time = 0; time < 20000; time++) {
		if (k2i_lease_take(f->client, now()))
			return;
		(void)poll(NULL, 0, 1);
	}
	fail_msg("no lease in 20 s");
}

CASE(a_lease_is_of_a_connected_client)
{
	struct echo echo;

	client_open(f);
	assert_false(k2i_lease_take(f->client, now()));
	assert_int_equal(k2hft_client_thread_start(f->client), 0);
	assert_false(k2i_lease_take(f->client, now()));
	echo_start(&echo, f);
	lease_await(f);
	assert_false(k2i_lease_take(f->client, now()));
	k2i_lease_give(f->client);
	echo_end(&echo, f);
}

/* Nobody else sends meanwhile, and afterwards the thread does, whatever it was told before. */
CASE(a_lease_is_for_one_at_a_time)
{
	struct echo echo;

	client_start(f);
	echo_start(&echo, f);
	lease_await(f);
	push(f, "by the lease\n");
	(void)poll(NULL, 0, 50);
	assert_int_equal(stats_of(f).sent_records, 0);
	assert_int_equal(k2hft_client_process(f->client, now()), 0);
	assert_int_equal(stats_of(f).sent_records, 1);
	push(f, "sent by the thread\n");
	k2i_lease_give(f->client);
	assert_int_equal(k2hft_client_drain(f->client, 20000), 0);
	assert_int_equal(stats_of(f).sent_records, 2);
	echo_end(&echo, f);
}

/* The lease lasts while commits are large, then the thread sends again. */
CASE(large_commits_are_sent_by_their_thread)
{
	struct k2hft_lease lease = {.client = NULL};
	uint64_t now_ns = now();
	struct echo echo;

	client_start(f);
	lease.client = f->client;
	echo_start(&echo, f);
	lease_await(f);
	k2i_lease_give(f->client);
	k2hft_lease_committed(&lease, 1000, now_ns);
	assert_int_equal(k2hft_lease_send(&lease, now_ns), -1);
	assert_int_equal(k2hft_lease_descriptor(&lease), -1);
	/* The thread can be at work yet. */
	for (unsigned time = 0; time < 20000 && !lease.held; time++) {
		now_ns = now();
		k2hft_lease_committed(&lease, 64 * 1024, now_ns);
		if (k2hft_lease_send(&lease, now_ns) < 0)
			(void)poll(NULL, 0, 1);
	}
	assert_true(lease.held);
	assert_int_equal(k2hft_lease_descriptor(&lease), k2hft_client_descriptor(f->client));
	k2hft_lease_waited(&lease);
	push(f, "by the lease\n");
	assert_int_equal(stats_of(f).sent_records, 0);
	assert_in_range(k2hft_lease_send(&lease, now_ns), 0, 2);
	assert_int_equal(stats_of(f).sent_records, 1);
	push(f, "sent by the thread\n");
	assert_int_equal(k2hft_lease_send(&lease, now_ns + 2000001), -1);
	assert_false(lease.held);
	assert_int_equal(k2hft_client_drain(f->client, 20000), 0);
	assert_int_equal(stats_of(f).sent_records, 2);
	k2hft_lease_end(&lease);
	echo_end(&echo, f);
}

/* A producer that takes a lease when it can, beside a thread that sends what it can. */
CASE(leases_lose_nothing)
{
	struct echo echo;
	unsigned leases = 0;

	client_start(f);
	echo_start(&echo, f);
	lease_await(f);
	k2i_lease_give(f->client);
	for (unsigned time = 0; time < 2000 || leases == 0; time++) {
		bool held = k2i_lease_take(f->client, now());

		push(f, "some\n");
		if (held) {
			leases++;
			assert_int_equal(k2hft_client_process(f->client, now()), 0);
			push(f, "more\n");
			k2i_lease_give(f->client);
		}
	}
	assert_int_equal(k2hft_client_drain(f->client, 20000), 0);
	uint64_t end = ring_stats_of(f).tail;
	assert_int_equal(stats_of(f).acked, end);
	echo_end(&echo, f);
	assert_int_equal(echo.bytes, end);
}

/* Asked by whoever is in process: `told` becomes true in the thread that the test runs in. */
struct asked {
	pthread_t test;
	atomic_bool told;
};

static void asked_note(void *argument)
{
	struct asked *asked = argument;

	if (pthread_equal(pthread_self(), asked->test))
		atomic_store(&asked->told, true);
}

static void asked_start(struct fixture *f, struct asked *asked, struct echo *echo)
{
	*asked = (struct asked){.test = pthread_self()};
	client_open(f);
	k2i_client_claim_hook_set(f->client, asked_note, asked);
	assert_int_equal(k2hft_client_thread_start(f->client), 0);
	echo_start(echo, f);
	lease_await(f);
	k2i_lease_give(f->client);
}

/* A claim in the way makes process call the hook: in this thread, when it has the lease. */
static void a_lease_is_taken_once(struct fixture *f, struct asked *asked)
{
	void *payload;

	assert_int_equal(k2hft_producer_reserve(f->producer, 100, &payload), 0);
	for (unsigned time = 0; time < 20000 && !atomic_load(&asked->told); time++) {
		errno = 1234;
		k2i_client_send_once(f->client);
		assert_int_equal(errno, 1234);
		(void)poll(NULL, 0, 1);
	}
	assert_int_equal(k2hft_producer_discard(f->producer), 0);
	assert_true(atomic_load(&asked->told));
}

/* Nobody comes after the last lease, and nobody asks for what is left: the thread looks by itself. */
CASE(the_thread_goes_on_after_a_lease)
{
	struct asked asked;
	struct echo echo;

	asked_start(f, &asked, &echo);
	for (uint64_t time = 1; time <= 20; time++) {
		atomic_store(&asked.told, false);
		a_lease_is_taken_once(f, &asked);
		push(f, "left\n");
		for (unsigned wait = 0; wait < 20000 && stats_of(f).sent_records < time; wait++)
			(void)poll(NULL, 0, 1);
		assert_int_equal(stats_of(f).sent_records, time);
	}
	echo_end(&echo, f);
}

/*
 * Interrupts end the yield, however many leases there are: a drain's, and those of a full ring's producer that does not
 * wait.
 */
CASE(leases_for_one_call_lose_nothing)
{
	struct asked asked;
	struct echo echo;

	asked_start(f, &asked, &echo);
	for (unsigned time = 0; time < 2000; time++) {
		push(f, "some\n");
		k2i_client_send_once(f->client);
		push(f, "more\n");
		if (time % 3 == 0)
			k2i_client_yield_end(f->client);
		if (time % 64 == 0)
			assert_int_equal(k2hft_client_drain(f->client, 20000), 0);
	}
	assert_int_equal(k2hft_client_drain(f->client, 20000), 0);
	uint64_t end = ring_stats_of(f).tail;
	assert_int_equal(stats_of(f).acked, end);
	echo_end(&echo, f);
	assert_int_equal(echo.bytes, end);
}

/* There is no other thread that could. Without a connection the turn is not to be had. */
STATE_TEST(who_waits_for_room_makes_it, without_progress, fixture_close)
{
	struct fixture *f = *state;
	uint8_t *block = calloc(1, 100000);
	struct k2hft_chunk chunk = {.stream_id = f->stream_id, .record_count = 1, .time_ns = 1};
	unsigned waits = 0;
	struct echo echo;

	client_open(f);
	assert_int_equal(k2i_client_room_wait(f->client, 1000000, 20000), -EBUSY);
	echo_start(&echo, f);
	for (unsigned time = 0; time < 20000 && stats_of(f).state != K2HFT_CLIENT_CONNECTED; time++) {
		assert_int_equal(k2hft_client_process(f->client, now()), 0);
		(void)poll(NULL, 0, 1);
	}
	for (unsigned index = 0; index < 1000; index++) {
		int error;

		for (; (error = k2hft_producer_push(f->producer, &chunk, block, 100000)) == -EAGAIN; waits++)
			assert_int_equal(k2i_client_room_wait(f->client, 100000, 20000), 0);
		assert_int_equal(error, 0);
	}
	assert_in_range(waits, 1, 1000);
	echo_end(&echo, f);
	free(block);
}

static void nothing_do(int number)
{
	(void)number;
}

/* As the writer promises. A single signal could come before the wait. */
CASE(a_wait_for_room_ends_with_a_signal)
{
	const struct itimerval often = {.it_interval.tv_usec = 20000, .it_value.tv_usec = 20000}, never = {0};
	const struct sigaction caught = {.sa_handler = nothing_do, .sa_flags = SA_RESTART};
	struct k2hft_chunk chunk = {.stream_id = f->stream_id, .record_count = 1, .time_ns = 1};
	void *payload;

	client_open(f);
	(void)peer_connect(f, 0, PEER_WINDOW);
	while (k2hft_producer_reserve(f->producer, 1000000, &payload) == 0)
		assert_int_equal(k2hft_producer_commit(f->producer, &chunk, 0, 1000000), 0);
	assert_int_equal(k2i_client_room_wait(f->client, 1000000, 1), 0);
	assert_int_equal(sigaction(SIGALRM, &caught, NULL), 0);
	assert_int_equal(setitimer(ITIMER_REAL, &often, NULL), 0);
	errno = 77;
	assert_int_equal(k2i_client_room_wait(f->client, 1000000, 20000), -EINTR);
	assert_int_equal(errno, 77);
	assert_int_equal(setitimer(ITIMER_REAL, &never, NULL), 0);
}

/*
 * As a program does that shuts itself in: poll(2) takes no descriptor then. A thread that can't wait here waits as the
 * others do.
 */
CASE(a_wait_for_room_that_may_not_poll_is_left_to_the_thread)
{
	struct k2hft_chunk chunk = {.stream_id = f->stream_id, .record_count = 1, .time_ns = 1};
	struct rlimit before;
	void *payload;
	int status;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	client_open(f);
	(void)peer_connect(f, 0, PEER_WINDOW);
	while (k2hft_producer_reserve(f->producer, 1000000, &payload) == 0)
		assert_int_equal(k2hft_producer_commit(f->producer, &chunk, 0, 1000000), 0);
	assert_int_equal(k2i_client_room_wait(f->client, 1000000, 1), 0);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &(struct rlimit){.rlim_max = before.rlim_max}), 0);
	status = k2i_client_room_wait(f->client, 1000000, 20000);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_int_equal(status, -EBUSY);
}

CASE(drain_does_not_wait_for_what_was_given_back)
{
	struct k2hft_producer *first, *second;
	struct echo echo;
	void *payload;

	client_start(f);
	for (unsigned time = 0; time < 2; time++) {
		assert_int_equal(k2hft_producer_open(f->ring, &first), 0);
		assert_int_equal(k2hft_producer_open(f->ring, &second), 0);
		assert_int_equal(k2hft_producer_reserve(first, 100, &payload), 0);
		assert_int_equal(k2hft_producer_reserve(second, 100, &payload), 0);
		assert_int_equal(k2hft_producer_discard(first), 0);
		k2hft_producer_close(first);
		k2hft_producer_close(second);
		/* Without a connection at first, then with one. */
		assert_int_equal(k2hft_client_drain(f->client, 20000), 0);
		if (time == 0) {
			push(f, "one\n");
			echo_start(&echo, f);
			assert_int_equal(k2hft_client_drain(f->client, 20000), 0);
		}
	}
	echo_end(&echo, f);
}

/* A frame of which a part is on its way, and another that is read and may not go yet. */
CASE(a_drain_waits_for_what_was_read)
{
	size_t bytes = 1024u * 1024;
	uint8_t *block = calloc(1, bytes);
	int small = 4096;

	client_open(f);
	(void)peer_connect(f, 0, PEER_WINDOW);
	(void)setsockopt(f->peer, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
	(void)setsockopt(f->client->dial.transport.descriptor, SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
	push_to(f, f->stream_id, block, bytes);
	rounds_go(f, 5);
	assert_true(f->client->output.frame && f->client->sent.count == 0);
	for (unsigned time = 0; time < 2; time++) {
		f->client->published.drainers = 1;
		rounds_go(f, 5);
		assert_int_equal(f->client->published.drained_to, 0);
		assert_int_equal(f->client->published.drained_all_count, 0);
		f->client->published.drainers = 0;
		(void)peer_connect(f, 0, 8);
	}
	assert_true(f->client->data.batch.span.bytes > 0);
	free(block);
}

/* Else it would never end where others write on. */
CASE(drain_does_not_wait_for_what_comes_later)
{
	struct echo echo;
	pthread_t drain;

	client_start(f);
	push(f, "one\n");
	uint64_t end = ring_stats_of(f).tail;
	drain_begin(f, &drain);
	push(f, "two\n");
	echo_start_up_to(&echo, f, end);
	drain_end(drain, 0);
	assert_int_equal(ring_stats_of(f).acked, end);
	echo_end(&echo, f);
}

/* A drain can wait for a claim that is given back: then the tail that it saw is never reached. */
CASE(drain_ends_when_the_tail_goes_back)
{
	struct k2hft_producer *producer;
	struct echo echo;
	pthread_t drain;
	void *payload;

	client_start(f);
	assert_int_equal(k2hft_producer_open(f->ring, &producer), 0);
	/* Without a connection in the beginning, then with one. */
	for (unsigned time = 0; time < 3; time++) {
		push(f, "one\n");
		assert_int_equal(k2hft_producer_reserve(producer, 1000, &payload), 0);
		drain_begin(f, &drain);
		assert_int_equal(k2hft_producer_discard(producer), 0);
		if (time == 0)
			echo_start(&echo, f);
		drain_end(drain, 0);
	}
	k2hft_producer_close(producer);
	echo_end(&echo, f);
}

CASE(a_thread_moves_a_full_ring)
{
	struct echo echo;
	uint8_t *block = calloc(1, 100000);
	struct k2hft_chunk chunk = {.stream_id = f->stream_id, .record_count = 1, .time_ns = 1};

	client_start(f);
	echo_start(&echo, f);
	for (unsigned index = 0; index < 1000; index++) {
		int error;

		while ((error = k2hft_producer_push(f->producer, &chunk, block, 100000)) == -EAGAIN)
			assert_int_equal(k2hft_ring_space_wait(f->ring, 100000, 20000), 0);
		assert_int_equal(error, 0);
	}
	assert_int_equal(k2hft_client_drain(f->client, 20000), 0);
	assert_int_equal(stats_of(f).sent_records, 1000);
	echo_end(&echo, f);
	assert_true(echo.bytes >= 100000u * 1000);
	free(block);
}

static void signals_keep(void *argument, uint64_t acked)
{
	sigset_t blocked;

	(void)acked;
	(void)pthread_sigmask(SIG_SETMASK, NULL, &blocked);
	*(int *)argument = sigismember(&blocked, SIGTERM) + sigismember(&blocked, SIGALRM);
}

/* They are the program's, and its threads'. */
CASE(the_thread_takes_no_signals)
{
	sigset_t blocked;
	struct echo echo;
	int kept = -1;

	f->options.progress = signals_keep;
	f->options.progress_argument = &kept;
	client_start(f);
	(void)pthread_sigmask(SIG_SETMASK, NULL, &blocked);
	assert_int_equal(sigismember(&blocked, SIGTERM), 0);
	echo_start(&echo, f);
	push(f, "one\n");
	assert_int_equal(k2hft_client_drain(f->client, 20000), 0);
	echo_end(&echo, f);
	assert_int_equal(kept, 2);
}

/* However small a program makes its own: compression and the look-up of a name don't fit into the least that there is. */
CASE(the_thread_has_a_stack_that_is_large_enough)
{
	pthread_attr_t before, small, own;
	size_t stack_bytes;

	assert_int_equal(pthread_getattr_default_np(&before), 0);
	assert_int_equal(pthread_attr_init(&small), 0);
	assert_int_equal(pthread_attr_setstacksize(&small, (size_t)sysconf(_SC_THREAD_STACK_MIN)), 0);
	client_open(f);
	assert_int_equal(pthread_setattr_default_np(&small), 0);
	assert_int_equal(k2hft_client_thread_start(f->client), 0);
	assert_int_equal(pthread_setattr_default_np(&before), 0);
	assert_int_equal(pthread_getattr_np(f->client->thread.thread, &own), 0);
	assert_int_equal(pthread_attr_getstacksize(&own, &stack_bytes), 0);
	assert_in_range(stack_bytes, K2I_THREAD_STACK_BYTES_MIN, SIZE_MAX);
	assert_int_equal(pthread_attr_destroy(&own), 0);
	assert_int_equal(pthread_attr_destroy(&small), 0);
	assert_int_equal(pthread_attr_destroy(&before), 0);
}

CASE(close_stops_a_thread_that_sleeps)
{
	for (unsigned time = 0; time < 3; time++) {
		client_start(f);
		k2hft_client_close(f->client);
		f->client = NULL;
	}
}

/* As a program does that closes all it finds open. */
CASE(a_client_without_descriptors_ends)
{
	client_start(f);
	/* ThreadSanitizer, which knows close(3), would find that the thread uses it at the same time: so it is meant. */
	assert_int_equal(syscall(SYS_close, k2hft_client_descriptor(f->client)), 0);
	push(f, "one\n");
	assert_int_equal(k2hft_client_drain(f->client, 20000), -EIO);
	assert_int_equal(k2hft_client_drain(f->client, -1), -EIO);
}

CASE(an_interrupt_that_fails_leaves_errno)
{
	client_open(f);
	assert_int_equal(close(f->client->wake.interrupt), 0);
	f->client->wake.interrupt = -1;
	errno = 77;
	k2i_client_interrupt(f->client);
	assert_int_equal(errno, 77);
}
