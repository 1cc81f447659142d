/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unit.h"
#include "counting_sink.h"
#include "session_world.h"
#include "wrapped_names.h"

/* Sessions, commits, the ledger and the syncer with sinks that are not files. */

static struct counting_sink first, second;
static struct k2i_sink_report report; /* the last one */
static struct k2i_owner reported, ready;

static void on_stored(struct k2i_sink_report *told)
{
	reported = told->owner;
	report = *told;
	free(told);
}

static void on_ready(struct k2i_owner owner)
{
	ready = owner;
}

static const struct k2i_sink_listener listener = {on_stored, on_ready};

static int ledger_error;

/* Named by the linker: the ledger's writes. */
ssize_t __real_pwrite(int descriptor, const void *bytes, size_t byte_count, off_t offset);
ssize_t __wrap_pwrite(int descriptor, const void *bytes, size_t byte_count, off_t offset);
ssize_t __wrap_pwrite(int descriptor, const void *bytes, size_t byte_count, off_t offset)
{
	errno = ledger_error;
	return ledger_error ? -1 : __real_pwrite(descriptor, bytes, byte_count, offset);
}

static bool memory_short;

/* Likewise: reports. */
void *__real_malloc(size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_malloc(size_t bytes)
{
	return memory_short && bytes == sizeof(struct k2i_sink_report) ? NULL : __real_malloc(bytes);
}

static void sinks_open(struct world *world)
{
	world_open(world);
	first.ledger = second.ledger = world->ledger;
	session_open(world, world->session.owner.id + 1);
}

/* With sinks of these traits; the second is there if `count` is 2. */
static struct world *sinks_make(void **state, unsigned traits, unsigned second_traits, uint32_t count)
{
	struct world *world = world_make();

	memset(&first, 0, sizeof(first));
	memset(&second, 0, sizeof(second));
	memset(&report, 0, sizeof(report));
	counting_setup(&first, traits, 0, &listener);
	counting_setup(&second, second_traits, 1, &listener);
	world->sinks = (struct k2i_sinks){{&first.sink, &second.sink}, count};
	sinks_open(world);
	*state = world;
	return world;
}

/* A receiver that was killed starts again. */
static void sinks_again(struct world *world)
{
	world_close(world);
	sinks_open(world);
}

static void *sink_tell(void *argument)
{
	counting_report(argument, 0);
	return NULL;
}

/* The sink has stored all that it was given, says a thread of its own, and the owner's loop hands it on. */
static void tell_stored(struct world *world, struct counting_sink *sink)
{
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, sink_tell, sink), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(reported.id, world->session.owner.id);
	assert_int_equal(report.sink, sink->sink.number);
	k2i_session_stored(&world->session, &report);
}

/* All that was put in is taken, and not acknowledged yet. */
static void expect_silent(struct world *world)
{
	assert_int_equal(take(world), K2I_SESSION_MORE);
	assert_int_equal(world->session.output_bytes, 0);
}

static uint64_t ledger_position(struct world *world, uint32_t sink)
{
	struct k2i_ledger_ring row = {0};
	uint8_t uuid[16] = "ring";

	return k2i_ledger_find(world->ledger, uuid, sink, &row) ? row.position : 0;
}

static bool ledger_knows(struct world *world, uint32_t sink)
{
	uint8_t uuid[16] = "ring";
	struct k2i_ledger_ring row;

	return k2i_ledger_find(world->ledger, uuid, sink, &row);
}

/* Greets again, and goes on at this position, with the streams 1 and 2. */
static void open_at(struct world *world, uint64_t acked, uint64_t position)
{
	put_hello(world, "ring", 1, acked);
	put_stream(world, 1, "one");
	put_stream(world, 2, "two");
	assert_int_equal(take(world), K2I_SESSION_MORE);
	assert_int_equal(expect_welcome(world).position, position);
}

#define SINK_TEST(name) STATE_TEST(name, NULL, teardown)

SINK_TEST(test_undo_in_order)
{
	struct world *world = sinks_make(state, K2I_SINK_UNDO, 0, 1);

	open_at(world, 0, 0);
	put_data(world, 0, 0, 1, "ab");
	put_data(world, 80, 0, 2, "c");
	put_data(world, 120, 0, 1, "d");
	expect_taken(world, 160);
	expect_counted(&first, "one", "abd");
	expect_counted(&first, "two", "c");
	assert_int_equal(first.stored, 1);
	assert_int_equal(ledger_position(world, 0), 160);
	assert_int_equal(atomic_load(&world->counters.records), 4);
}

/* A commit that the ledger does not have has not happened, and comes again as a whole. */
SINK_TEST(test_undo_when_the_ledger_fails)
{
	struct world *world = sinks_make(state, K2I_SINK_UNDO, 0, 1);

	open_at(world, 0, 0);
	put_data(world, 0, 0, 1, "a");
	expect_taken(world, 40);
	put_data(world, 40, 0, 1, "b");
	ledger_error = ENOSPC;
	assert_int_equal(take(world), K2I_SESSION_STALL);
	ledger_error = 0;
	assert_string_equal(world->session.stall_place, "the ledger");
	assert_int_equal(first.undone, 1);
	expect_counted(&first, "one", "a");
	expect_taken(world, 80);
	expect_counted(&first, "one", "ab");
}

static void expect_failed(struct world *world, int error, unsigned status)
{
	first.result = error;
	assert_int_equal(take(world), K2I_SESSION_STALL);
	assert_int_equal(world->session.stall_error, error);
	assert_string_equal(world->session.stall_place, "counting");
	k2i_session_ack(&world->session);
	expect_ack(world, 0, status);
}

SINK_TEST(test_failed_is_tried_again)
{
	struct world *world = sinks_make(state, K2I_SINK_UNDO, 0, 1);

	open_at(world, 0, 0);
	put_data(world, 0, 0, 1, "a");
	expect_failed(world, -EIO, K2HFT_STATUS_FAILED);
	expect_failed(world, -ENOSPC, K2HFT_STATUS_FULL);
	first.result = 0;
	expect_taken(world, 40);
	assert_false(world->session.stalled);
	expect_counted(&first, "one", "a");
}

/* A sink that has no room just now has not failed: the sender is told nothing, and the sink says when to try again. */
SINK_TEST(test_waits_are_silent)
{
	struct world *world = sinks_make(state, K2I_SINK_LATER, 0, 1);

	open_at(world, 0, 0);
	put_data(world, 0, 0, 1, "a");
	first.result = K2I_SINK_WAITS;
	assert_int_equal(take(world), K2I_SESSION_STALL);
	assert_true(world->session.stalled);
	assert_int_equal(world->session.stall_error, 0);
	assert_int_equal(world->session.status, K2HFT_STATUS_OK);
	assert_int_equal(world->session.output_bytes, 0);
	assert_int_equal(ledger_position(world, 0), 0);
	first.result = 0;
	k2i_sink_ready(&first.sink, world->session.owner);
	assert_int_equal(ready.id, world->session.owner.id);
	assert_int_equal(take(world), K2I_SESSION_MORE);
	expect_counted(&first, "one", "a");
}

SINK_TEST(test_own_fault_goes_to_quarantine)
{
	struct world *world = sinks_make(state, K2I_SINK_UNDO, 0, 1);

	first.refuses = "two";
	open_at(world, 0, 0);
	put_data(world, 0, 0, 1, "a");
	put_data(world, 40, 0, 2, "b");
	expect_taken(world, 80);
	expect_counted(&first, "one", "a");
	expect_counted(&first, "two", "");
	assert_int_equal(atomic_load(&world->counters.quarantined_chunks), 1);
}

/* Chunks that it stored behind its mark were not acknowledged, and come again. */
SINK_TEST(test_undo_after_a_kill)
{
	struct world *world = sinks_make(state, K2I_SINK_UNDO, 0, 1);

	open_at(world, 0, 0);
	put_data(world, 0, 0, 1, "ab");
	expect_taken(world, 80);
	first.targets[0].text[2] = 'c';
	first.targets[0].bytes = first.targets[0].chunks = 3;
	sinks_again(world);
	assert_int_equal(first.recovered, 1);
	open_at(world, 0, 80);
	put_data(world, 80, 0, 1, "c");
	expect_taken(world, 120);
	expect_counted(&first, "one", "abc");
}

/* With first alone, or with a sink of a number that is not the next one. */
static void type_change(struct world *world, uint32_t count)
{
	world_close(world);
	world->sinks.count = count;
	sinks_open(world);
}

/* A sink that TYPE names from this start on begins at what was acknowledged, and misses only what is acknowledged without it. */
SINK_TEST(test_new_and_left_out)
{
	struct world *world = sinks_make(state, K2I_SINK_UNDO, K2I_SINK_UNDO, 1);

	second.sink.number = K2I_SINKS_MAX - 1;
	open_at(world, 0, 0);
	put_data(world, 0, 0, 1, "a");
	expect_taken(world, 40);
	type_change(world, 2);
	open_at(world, 40, 40);
	put_data(world, 40, 0, 1, "b");
	expect_taken(world, 80);
	expect_counted(&second, "one", "b");
	assert_int_equal(ledger_position(world, K2I_SINKS_MAX - 1), 80);
	type_change(world, 1);
	open_at(world, 80, 80);
	put_data(world, 80, 0, 1, "c");
	expect_taken(world, 120);
	type_change(world, 2);
	open_at(world, 120, 120);
	put_data(world, 120, 0, 1, "d");
	expect_taken(world, 160);
	expect_counted(&first, "one", "abcd");
	expect_counted(&second, "one", "bd");
	assert_int_equal(atomic_load(&world->counters.ledger_lost), 0);
}

/* Nothing is acknowledged, nor in the ledger, before it is stored, and then all up to what is. */
SINK_TEST(test_later_acknowledges_what_is_stored)
{
	struct world *world = sinks_make(state, K2I_SINK_LATER, 0, 1);

	open_at(world, 0, 0);
	put_data(world, 0, 0, 1, "a");
	expect_silent(world);
	put_data(world, 40, 0, 1, "bc");
	expect_silent(world);
	assert_int_equal(world->input_bytes, 0);
	/* Else its ring would count as one that has ended. */
	assert_true(ledger_knows(world, 0));
	assert_int_equal(ledger_position(world, 0), 0);
	assert_int_equal(atomic_load(&world->counters.records), 0);
	assert_int_equal(atomic_load(&world->counters.latency.chunks[K2I_LATENCY_BUCKETS - 1]), 0);
	tell_stored(world, &first);
	expect_taken(world, 120);
	assert_int_equal(ledger_position(world, 0), 120);
	assert_int_equal(atomic_load(&world->counters.records), 3);
	/* Their time is the year 1970. */
	assert_int_equal(atomic_load(&world->counters.latency.chunks[K2I_LATENCY_BUCKETS - 1]), 3);
	/* A report that is late changes nothing. */
	report.position = 40;
	k2i_session_stored(&world->session, &report);
	assert_int_equal(take(world), K2I_SESSION_MORE);
	assert_int_equal(ledger_position(world, 0), 120);
	expect_counted(&first, "one", "abc");
}

/* Stored chunks are not stored again because the ledger could not be written. */
SINK_TEST(test_later_and_the_ledger_fails)
{
	struct world *world = sinks_make(state, K2I_SINK_LATER, 0, 1);

	open_at(world, 0, 0);
	put_data(world, 0, 0, 1, "a");
	expect_silent(world);
	tell_stored(world, &first);
	ledger_error = EIO;
	assert_int_equal(take(world), K2I_SESSION_STALL);
	assert_int_equal(world->session.stall_error, -EIO);
	ledger_error = 0;
	expect_taken(world, 40);
	assert_int_equal(first.stored, 1);
}

SINK_TEST(test_later_lost_comes_again)
{
	struct world *world = sinks_make(state, K2I_SINK_LATER, 0, 1);

	open_at(world, 0, 0);
	put_data(world, 0, 0, 1, "a");
	expect_silent(world);
	tell_stored(world, &first);
	expect_taken(world, 40);
	put_data(world, 40, 0, 1, "b");
	expect_silent(world);
	counting_report(&first, -EIO);
	k2i_session_stored(&world->session, &report);
	assert_int_equal(world->session.state, K2I_SESSION_ENDED);
	assert_int_equal(take(world), K2I_SESSION_CLOSE);
	session_again(world, 7);
	open_at(world, 40, 40);
	put_data(world, 40, 0, 1, "b");
	expect_silent(world);
	tell_stored(world, &first);
	expect_taken(world, 80);
}

/* The ring has connected again: what the sink says of the connection before is nothing for the ledger. */
SINK_TEST(test_later_report_of_a_fenced_ring)
{
	struct world *world = sinks_make(state, K2I_SINK_LATER, 0, 1);
	static struct k2i_session before;
	size_t consumed, wanted;

	open_at(world, 0, 0);
	put_data(world, 0, 0, 1, "a");
	expect_silent(world);
	before = world->session;
	session_open(world, 9);
	open_at(world, 0, 0);
	assert_int_equal(fenced_id, before.owner.id);
	counting_report(&first, 0);
	assert_int_equal(reported.id, before.owner.id);
	k2i_session_stored(&before, &report);
	assert_int_equal(k2i_session_input(&before, (const uint8_t *)"", 0, &consumed, &wanted), K2I_SESSION_CLOSE);
	assert_int_equal(ledger_position(world, 0), 0);
	k2i_session_end(&before);
	put_data(world, 0, 0, 1, "a");
	expect_silent(world);
	tell_stored(world, &first);
	expect_taken(world, 40);
}

/* Records count when they are stored, however many groups wait for that. */
SINK_TEST(test_later_counts_what_is_stored)
{
	struct world *world = sinks_make(state, K2I_SINK_LATER, 0, 1);
	uint64_t position = 0;

	open_at(world, 0, 0);
	for (; position < 40 * (K2I_COMMIT_WAITING_MAX + 4); position += 40) {
		put_data(world, position, 0, 1, "a");
		expect_silent(world);
	}
	assert_int_equal(atomic_load(&world->counters.records), 0);
	assert_int_equal(world->session.commit.counts.bytes, 0);
	tell_stored(world, &first);
	expect_taken(world, position);
	assert_int_equal(atomic_load(&world->counters.records), K2I_COMMIT_WAITING_MAX + 4);
	assert_int_equal(world->session.commit.counts.bytes, K2I_COMMIT_WAITING_MAX + 4);
}

/* Without memory for its report a group does not get to the sink at all: nothing can be stored that nobody hears of. */
SINK_TEST(test_later_without_memory)
{
	struct world *world = sinks_make(state, K2I_SINK_LATER, 0, 1);

	open_at(world, 0, 0);
	put_data(world, 0, 0, 1, "a");
	expect_silent(world);
	put_data(world, 40, 0, 1, "b");
	memory_short = true;
	assert_int_equal(take(world), K2I_SESSION_STALL);
	memory_short = false;
	assert_int_equal(world->session.stall_error, -ENOMEM);
	assert_int_equal(first.stored, 1);
	expect_silent(world);
	tell_stored(world, &first);
	expect_taken(world, 80);
	expect_counted(&first, "one", "ab");
}

SINK_TEST(test_later_goes_on_at_the_ledger)
{
	struct world *world = sinks_make(state, K2I_SINK_LATER, 0, 1);

	open_at(world, 0, 0);
	put_data(world, 0, 0, 1, "a");
	expect_silent(world);
	tell_stored(world, &first);
	expect_taken(world, 40);
	put_data(world, 40, 0, 1, "b");
	expect_silent(world);
	sinks_again(world);
	open_at(world, 0, 40);
	put_data(world, 0, 0, 1, "ab");
	expect_silent(world);
	assert_int_equal(atomic_load(&world->counters.duplicate_chunks), 1);
	tell_stored(world, &first);
	expect_taken(world, 80);
}

/* The acknowledgement is the least of all sinks', and each has each chunk once, also over a restart. */
SINK_TEST(test_two_sinks)
{
	struct world *world = sinks_make(state, K2I_SINK_UNDO, K2I_SINK_LATER, 2);

	open_at(world, 0, 0);
	put_data(world, 0, 0, 1, "a");
	expect_silent(world);
	assert_int_equal(ledger_position(world, 0), 40);
	tell_stored(world, &second);
	expect_taken(world, 40);
	assert_int_equal(ledger_position(world, 1), 40);
	put_data(world, 40, 0, 1, "b");
	expect_silent(world);
	sinks_again(world);
	open_at(world, 40, 40);
	put_data(world, 40, 0, 1, "bc");
	expect_silent(world);
	tell_stored(world, &second);
	expect_taken(world, 120);
	expect_counted(&first, "one", "abc");
	expect_counted(&second, "one", "abbc");
	assert_int_equal(ledger_position(world, 0), 120);
	assert_int_equal(ledger_position(world, 1), 120);
	assert_int_equal(k2i_ledger_ring_count(world->ledger), 1);
	put_bye(world, 120);
	assert_int_equal(take(world), K2I_SESSION_CLOSE);
	assert_int_equal(k2i_ledger_ring_count(world->ledger), 0);
}

/* A sink that fails keeps the other from nothing, and its chunks come again to it alone. */
SINK_TEST(test_one_of_two_fails)
{
	struct world *world = sinks_make(state, K2I_SINK_UNDO, K2I_SINK_UNDO, 2);

	open_at(world, 0, 0);
	put_data(world, 0, 0, 1, "a");
	first.result = -EIO;
	second.result = K2I_SINK_WAITS;
	assert_int_equal(take(world), K2I_SESSION_STALL);
	assert_int_equal(world->session.stall_error, -EIO);
	second.result = 0;
	assert_int_equal(take(world), K2I_SESSION_STALL);
	assert_int_equal(ledger_position(world, 0), 0);
	assert_int_equal(ledger_position(world, 1), 40);
	put_data(world, 40, 0, 1, "b");
	assert_int_equal(take(world), K2I_SESSION_STALL);
	expect_counted(&second, "one", "ab");
	assert_int_equal(atomic_load(&world->counters.records), 0);
	first.result = 0;
	expect_taken(world, 80);
	expect_counted(&first, "one", "ab");
	expect_counted(&second, "one", "ab");
	assert_int_equal(atomic_load(&world->counters.records), 2);
}

/* Where one has no room for a chunk the group ends before it for all. */
SINK_TEST(test_two_groups_end_together)
{
	struct world *world = sinks_make(state, K2I_SINK_UNDO, K2I_SINK_UNDO, 2);
	char path[16], wanted[K2I_LEDGER_FILES_MAX + 3];
	uint32_t i;

	first.one_target = true;
	open_at(world, 0, 0);
	for (i = 0; i < K2I_LEDGER_FILES_MAX + 2; i++) {
		(void)snprintf(path, sizeof(path), "path%u", i);
		put_stream(world, 10 + i, path);
	}
	for (i = 0; i < K2I_LEDGER_FILES_MAX + 2; i++)
		put_data(world, UINT64_C(40) * i, 0, 10 + i, "x");
	memset(wanted, 'x', sizeof(wanted));
	wanted[sizeof(wanted) - 1] = '\0';
	expect_taken(world, UINT64_C(40) * i);
	expect_counted(&first, "path0", wanted);
	expect_counted(&second, "path0", "x");
	expect_counted(&second, "path49", "x");
	assert_int_equal(first.stored, 2);
	assert_int_equal(second.stored, 2);
}

static void synced_open(struct world *world)
{
	struct k2hft_hello hello = hello_make("ring", 1, 0);

	assert_int_equal(k2i_syncer_start(&world->destination, 0, &world->shared.syncer), 0);
	hello.level = K2HFT_LEVEL_SYNCED;
	put_greeting(world, &hello);
	put_stream(world, 1, "one");
	assert_int_equal(take(world), K2I_SESSION_MORE);
	(void)expect_welcome(world);
}

/* Level synced waits for all sinks to store, and then for all to be synced. */
SINK_TEST(test_two_sinks_synced)
{
	struct world *world = sinks_make(state, K2I_SINK_UNDO, K2I_SINK_LATER, 2);

	synced_open(world);
	put_data(world, 0, 0, 1, "a");
	assert_int_equal(take(world), K2I_SESSION_MORE);
	assert_int_equal(world->session.output_bytes, 0);
	tell_stored(world, &second);
	assert_int_equal(take(world), K2I_SESSION_MORE);
	assert_int_equal(world->session.output_bytes, 0);
	assert_int_equal(k2i_syncer_wait(world->shared.syncer, world->session.number), 0);
	assert_true(k2i_session_synced(&world->session));
	expect_ack(world, 40, K2HFT_STATUS_OK);
	assert_true(first.synced > 0);
	assert_true(second.synced > 0);
}

SINK_TEST(test_sync_fails)
{
	struct world *world = sinks_make(state, K2I_SINK_UNDO, 0, 1);

	synced_open(world);
	first.sync_result = -EIO;
	put_data(world, 0, 0, 1, "a");
	assert_int_equal(take(world), K2I_SESSION_MORE);
	assert_int_equal(k2i_syncer_wait(world->shared.syncer, world->session.number), -EIO);
	assert_true(k2i_session_synced(&world->session));
	assert_int_equal(world->session.state, K2I_SESSION_ENDED);
	first.sync_result = 0;
}
