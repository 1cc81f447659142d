/* SPDX-License-Identifier: MIT */
/* Threads that are cancelled while they are in the library. */
#include <pthread.h>
#include <sys/wait.h>

#include <k2hft/client.h>
#include <k2hft/log.h>

#include "unit.h"
#include "base/log.h"
#include "ring_help.h"
#include "sender/sender.h"
#include "sender/call.h"
#include "sender/writer.h"

struct call {
	void (*function)(void *argument);
	void *argument;
	pthread_barrier_t cancelled;
	bool returned;
};

static void *call_main(void *argument)
{
	struct call *call = argument;

	(void)pthread_barrier_wait(&call->cancelled); /* which is no cancellation point */
	call->function(call->argument);
	call->returned = true;
	pthread_testcancel();
	return NULL;
}

/* Whether the function returns in a thread that is cancelled before. */
static bool returns(void (*function)(void *argument), void *argument)
{
	struct call call = {.function = function, .argument = argument};
	pthread_t thread;
	void *end;

	assert_int_equal(pthread_barrier_init(&call.cancelled, NULL, 2), 0);
	assert_int_equal(pthread_create(&thread, NULL, call_main, &call), 0);
	assert_int_equal(pthread_cancel(thread), 0);
	(void)pthread_barrier_wait(&call.cancelled);
	assert_int_equal(pthread_join(thread, &end), 0);
	assert_ptr_equal(end, PTHREAD_CANCELED);
	(void)pthread_barrier_destroy(&call.cancelled);
	return call.returned;
}

static void push_one(void *producer)
{
	assert_int_equal(push(producer, 1, "x"), 0);
}

RING_TEST(a_commit_that_wakes_is_finished)
{
	struct k2hft_producer *producer = producer_of(ring);

	assert_int_equal(stream_of(ring, "s"), 1);
	assert_int_equal(k2hft_ring_sleep(ring), 1);
	assert_true(returns(push_one, producer));
	(void)take(ring, "x");
	assert_int_equal(push(producer, 1, "y"), 0);
	(void)take(ring, "y");
	k2hft_producer_close(producer);
}

static void write_one(void *writer)
{
	assert_int_equal(k2hft_writer_write(writer, "x", 1), 0);
}

/* It looks whether the ring of a process that may be gone for good is sent, before it begins. */
RING_TEST(a_write_into_the_ring_of_another_is_finished)
{
	struct k2hft_sender *attached;
	struct k2hft_writer *writer;
	char target[64];

	(void)snprintf(target, sizeof(target), "/proc/self/fd/%d", k2hft_ring_descriptor(ring));
	assert_int_equal(k2hft_sender_attach(target, &attached), 0);
	assert_int_equal(k2hft_writer_open(attached, "a", &writer), 0);
	assert_true(returns(write_one, writer));
	(void)take(ring, "x\n");
	k2hft_writer_close(writer);
	assert_int_equal(k2hft_sender_close(attached, 0), 0);
}

static void declare_one(void *ring)
{
	assert_int_equal(stream_of(ring, "s"), 1);
}

RING_TEST(a_declaration_unlocks_the_table)
{
	assert_true(returns(declare_one, ring));
	assert_int_equal(stream_of(ring, "t"), 2);
}

/* The thread that declared it is gone, which is looked for in the middle. */
STATE_TEST(a_declaration_after_a_death_unlocks_the_table, ring_make, ring_end)
{
	struct k2hft_ring *ring = *state, *attached;
	char target[64];
	pid_t child;

	(void)snprintf(target, sizeof(target), "/proc/%d/fd/%d", (int)getpid(), k2hft_ring_descriptor(ring));
	child = fork();
	if (child == 0)
		_exit(k2hft_ring_attach(target, &attached) || stream_of(attached, "s") != 1);
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_true(returns(declare_one, ring));
	assert_int_equal(stream_of(ring, "t"), 2);
}

static void wait_for_seal(void *sender)
{
	(void)k2i_sender_sealed_wait(sender, k2i_sender_seal(sender), K2I_DEADLINE_NONE);
}

TEST(a_wait_for_a_seal_unlocks_the_sender)
{
	struct k2hft_ring_options options = {.size = sizeof(options)};
	struct k2hft_sender *sender;
	struct k2hft_writer *writer;

	assert_int_equal(k2i_sender_create(&options, K2HFT_FULL_BLOCK, &sender), 0);
	assert_int_equal(k2hft_writer_open(sender, "a", &writer), 0);
	assert_int_equal(k2hft_writer_write(writer, "line", 4), 0);
	k2i_writer_enter(writer);
	assert_false(returns(wait_for_seal, sender));
	k2i_writer_leave(writer);
	k2hft_writer_close(writer);
	(void)take(sender->lanes[0]->ring, "line\n");
	k2i_sender_free(sender);
}

static void drain(void *client)
{
	(void)k2hft_client_drain(client, -1);
}

/* Nothing listens at that port, or nothing that is a receiver. */
RING_TEST(a_wait_for_acknowledgements_unlocks_the_client)
{
	struct k2hft_client_options options = {.size = sizeof(options), .host = "127.0.0.1", .port = "1"};
	struct k2hft_producer *producer = producer_of(ring);
	struct k2hft_client *client;

	assert_int_equal(push(producer, stream_of(ring, "s"), "x"), 0);
	assert_int_equal(k2hft_client_open(ring, &options, &client), 0);
	assert_int_equal(k2hft_client_thread_start(client), 0);
	assert_false(returns(drain, client));
	assert_int_equal(k2hft_client_drain(client, 0), -ETIMEDOUT);
	k2hft_client_close(client);
	k2hft_producer_close(producer);
}

static void process(void *client)
{
	assert_int_equal(k2hft_client_process(client, 1), 0);
}

STATE_TEST(a_call_of_process_is_finished, ring_make, ring_end)
{
	struct k2hft_client_options options = {.size = sizeof(options), .host = "127.0.0.1", .port = "1"};
	struct k2hft_client *client;

	assert_int_equal(k2hft_client_open(*state, &options, &client), 0);
	assert_true(returns(process, client));
	k2hft_client_close(client);
}

static void message(void *argument, enum k2hft_log_level level, const char *text)
{
	(void)argument;
	(void)level;
	(void)text;
	pthread_testcancel();
}

static void log_one(void *argument)
{
	(void)argument;
	k2i_log(K2HFT_LOG_ERROR, "test: a message");
}

TEST(a_message_ends_no_thread)
{
	k2hft_log_callback_set(message, NULL, K2HFT_LOG_ERROR);
	assert_true(returns(log_one, NULL));
	k2hft_log_callback_set(NULL, NULL, K2HFT_LOG_ERROR);
}
