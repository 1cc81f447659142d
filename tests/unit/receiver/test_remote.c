/* SPDX-License-Identifier: MIT */
/* The queue and the worker of sinks whose destination is another machine, with a delivery that does as it is told. */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unit.h"
#include "base/clock.h"
#include "file_help.h"
#include "receiver/ledger/ledger.h"
#include "receiver/sink/remote/internal.h"

#define TRIES_MAX 8u

/* Fates that a try gives to its pieces, in their order: s stored, r refused, w left at the sink's end, others left. */
static const char *plan[TRIES_MAX];
static char seen[TRIES_MAX][400]; /* what a try was given: "position:records|" of each piece */
static unsigned tries;
static sem_t begun, tried, let; /* a try has its pieces; has ended; the next may go on */
static bool renewed;

static char put_aside[400];
static int quarantine_error;

static struct {
	struct k2i_sink_report list[64];
	unsigned count, ready;
	sem_t told;
} told;

static char root[200], state_path[300];
static struct k2i_ledger *ledger;
static struct k2i_counters counters;
static struct k2i_settings settings;
static struct k2i_sink *sink;
static struct k2i_group group;

static void wait_for(sem_t *semaphore)
{
	struct timespec until = k2i_timespec(k2i_clock_ns(CLOCK_REALTIME) + 60 * K2I_SECOND_NS);

	assert_int_equal(sem_timedwait(semaphore, &until), 0);
}

static void seen_add(char *text, size_t room, const struct k2i_remote_piece *piece)
{
	size_t at = strlen(text);

	(void)snprintf(text + at, room - at, "%u:%.*s|", (unsigned)piece->position, (int)piece->bytes, piece->records);
}

static void deliver(void *argument, struct k2i_remote_batch *batch)
{
	struct pollfd stop = {.fd = batch->stop, .events = POLLIN};
	const char *fates;
	size_t at;

	(void)argument;
	(void)sem_post(&begun);
	(void)sem_wait(&let);
	renewed |= batch->renew;
	fates = tries < TRIES_MAX && plan[tries] ? plan[tries] : "ssssssss";
	for (at = 0; at < batch->count; at++) {
		if (batch->pieces[at]->fate != K2I_REMOTE_LEFT)
			continue;
		seen_add(seen[tries], sizeof(seen[tries]), batch->pieces[at]);
		if (*fates == 's' || *fates == 'r')
			batch->pieces[at]->fate = *fates == 's' ? K2I_REMOTE_STORED : K2I_REMOTE_REFUSED;
		if (*fates == 'w')
			(void)poll(&stop, 1, -1);
		fates += *fates != '\0';
	}
	(void)snprintf(batch->reason, sizeof(batch->reason), "not\tyet");
	(void)snprintf(batch->refusal, sizeof(batch->refusal), "too ugly");
	tries++;
	(void)sem_post(&tried);
}

static int quarantine(void *argument, const uint8_t ring[16], const struct k2i_group *refused,
		      const struct k2i_group_target *target)
{
	const struct k2i_group_entry *entry = &refused->entries[target->first];
	int error = quarantine_error;
	size_t at = strlen(put_aside);

	(void)argument;
	quarantine_error = 0;
	if (error)
		return error;
	(void)snprintf(put_aside + at, sizeof(put_aside) - at, "%.4s %u %s %s %.*s|", (const char *)ring,
		       (unsigned)entry->position, entry->stream->path, target->reason, (int)entry->payload_bytes,
		       (const char *)entry->payload);
	return 0;
}

static void on_stored(struct k2i_sink_report *report)
{
	told.list[told.count++] = *report;
	free(report);
	(void)sem_post(&told.told);
}

static void on_ready(struct k2i_owner owner)
{
	told.ready += owner.id == 7;
	(void)sem_post(&told.told);
}

static void argument_free(void *argument)
{
	assert_ptr_equal(argument, &counters);
}

static void remote_open(void)
{
	static const struct k2i_sink_listener listener = {on_stored, on_ready};
	const struct k2i_sink_options options = {.settings = &settings,
						 .listener = &listener,
						 .ledger = ledger,
						 .counters = &counters,
						 .state_directory = state_path,
						 .quarantine = quarantine};
	const struct k2i_remote_kind kind = {.name = "remote",
					     .peer = "there:1",
					     .batch_bytes = 1000,
					     .batch_pieces = 4,
					     .deliver = deliver,
					     .free = argument_free,
					     .argument = &counters,
					     .records = &counters.records,
					     .retries = &counters.frames,
					     .waiting_bytes = &counters.buffer_bytes,
					     .waiting_seconds = &counters.held_now};

	assert_int_equal(k2i_remote_open(&kind, &options, &sink), 0);
	sink->listener = &listener;
	sink->number = 3;
	sink->ops->start(sink);
	assert_int_equal(k2i_group_start(&group, sink), 0);
}

static int remote_setup(void **state)
{
	struct k2i_ledger_report report;

	(void)state;
	folder_make(root, sizeof(root));
	path_in(state_path, sizeof(state_path), root, "state");
	assert_int_equal(k2i_ledger_open(state_path, (const uint8_t *)"this boot, 16 b.", &ledger, &report), 0);
	assert_int_equal(k2i_ledger_begin(ledger), 0);
	memset(plan, 0, sizeof(plan));
	memset(seen, 0, sizeof(seen));
	memset(&told, 0, sizeof(told));
	memset(&counters, 0, sizeof(counters));
	put_aside[0] = '\0';
	quarantine_error = 0;
	tries = 0;
	renewed = false;
	settings.buffer_bytes = 1000;
	(void)sem_init(&begun, 0, 0);
	(void)sem_init(&tried, 0, 0);
	(void)sem_init(&let, 0, 100);
	(void)sem_init(&told.told, 0, 0);
	remote_open();
	return 0;
}

static void remote_close(void)
{
	k2i_group_free(&group);
	assert_int_equal(sink->ops->close(sink, true), 0);
	sink = NULL;
}

static int remote_teardown(void **state)
{
	(void)state;
	if (sink)
		remote_close();
	k2i_ledger_close(ledger, true);
	folder_remove(root);
	return 0;
}

static const char *ring = "ring";
static struct k2i_stream stream = {.id = 1, .path = "a/b", .host = "host", .ring = (const uint8_t[16]){"ring"}};

static void add(uint64_t position, uint16_t flags, const char *text)
{
	struct k2hft_chunk_view view = {
		.chunk = {.stream_id = 1, .record_count = 1, .time_ns = 5, .writer_pid = 9, .flags = flags},
		.payload = (const uint8_t *)text,
		.payload_bytes = strlen(text),
		.position = position,
		.end = position + 8};

	assert_int_equal(k2i_group_add(&group, &stream, &view), 0);
}

/* As k2i_committer_commit does, up to `position`. */
static int store(uint64_t position)
{
	struct k2i_sink_report *made = calloc(1, sizeof(*made));
	int result;

	assert_non_null(made);
	*made = (struct k2i_sink_report){.owner = {&told, 7}, .sink = 3, .position = position};
	(void)snprintf((char *)made->ring, sizeof(made->ring), "%s", ring);
	result = sink->ops->begin(&group, false);
	if (!result)
		result = sink->ops->store(&group, made);
	if (result)
		free(made);
	sink->ops->end(&group, !result);
	k2i_group_clear(&group);
	return result;
}

static void expect_told(unsigned number, uint64_t position, int error)
{
	wait_for(&told.told);
	assert_int_equal(told.list[number].position, position);
	assert_int_equal(told.list[number].error, error);
}

/* A try, and what it was given. */
static void expect_try(unsigned number, const char *pieces)
{
	wait_for(&tried);
	assert_string_equal(seen[number], pieces);
}

static void expect_shown(const char *part)
{
	struct k2i_report shown = {0};
	struct k2i_sink_state state = {0};

	k2i_report_open(&shown, NULL, '{');
	sink->ops->show(sink, &shown, 10, &state);
	k2i_report_close(&shown, '}');
	assert_non_null(shown.text);
	if (!strstr(shown.text, part))
		fail_msg("%s is not in %s", part, shown.text);
	free(shown.text);
}

#define REMOTE_TEST(name) FIXTURE_TEST(name, void *fixture, remote_setup, remote_teardown)

REMOTE_TEST(test_delivered_in_order)
{
	add(0, 0, "one\ntwo\n");
	add(8, 0, "three");
	assert_int_equal(store(16), 0);
	expect_try(0, "0:one\ntwo\n|8:three\n|");
	expect_told(0, 16, 0);
	add(16, 0, "four\n");
	assert_int_equal(store(24), 0);
	expect_try(1, "16:four\n|");
	expect_told(1, 24, 0);
	assert_int_equal(counters.records, 4);
	assert_int_equal(counters.frames, 0);
}

/* Those that are left come again, in the same pieces, and nothing behind them before. */
REMOTE_TEST(test_left_comes_again)
{
	plan[0] = "sl";
	plan[1] = "";
	(void)sem_init(&let, 0, 0);
	add(0, 0, "one\n");
	add(8, 0, "two\n");
	assert_int_equal(store(16), 0);
	wait_for(&begun);
	add(16, 0, "three\n");
	assert_int_equal(store(24), 0);
	(void)sem_post(&let);
	expect_try(0, "0:one\n|8:two\n|");
	(void)sem_post(&let);
	expect_try(1, "8:two\n|");
	assert_int_equal(told.count, 0);
	sink->ops->reload(sink);
	(void)sem_post(&let);
	expect_try(2, "8:two\n|");
	assert_true(renewed);
	expect_told(0, 16, 0);
	(void)sem_post(&let);
	expect_try(3, "16:three\n|");
	expect_told(1, 24, 0);
	assert_int_equal(counters.frames, 2);
}

/* A group waits while the queue has the window, and its owner is told of room. */
REMOTE_TEST(test_full_waits)
{
	char text[1200];

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	(void)sem_init(&let, 0, 0);
	add(0, 0, text);
	assert_int_equal(store(8), 0);
	add(8, 0, "next\n");
	assert_int_equal(store(16), K2I_SINK_WAITS);
	sink->ops->tick(sink, k2i_clock_now_ns() + 5 * K2I_SECOND_NS);
	assert_in_range(counters.buffer_bytes, 1200, 2000);
	assert_in_range(counters.held_now, 4, 60);
	assert_int_equal(told.ready, 0);
	(void)sem_post(&let);
	wait_for(&tried);
	wait_for(&told.told);
	wait_for(&told.told);
	assert_int_equal(told.ready, 1);
	add(8, 0, "next\n");
	assert_int_equal(store(16), 0);
	(void)sem_post(&let);
	expect_try(1, "8:next\n|");
	expect_told(1, 16, 0);
	sink->ops->tick(sink, k2i_clock_now_ns());
	assert_int_equal(counters.held_now, 0);
}

/* Each ring has twice what is free: one alone two thirds of the memory, and with it there is some for others. */
REMOTE_TEST(test_rings_share)
{
	char text[1001];
	unsigned taken = 0, other = 0;

	memset(text, 'x', 1000);
	text[1000] = '\0';
	remote_close();
	settings.buffer_bytes = 60000;
	remote_open();
	(void)sem_init(&let, 0, 0);
	for (add(0, 0, text); store(8 * (taken + 1)) == 0; add(8 * taken, 0, text))
		taken++;
	ring = "another";
	for (add(0, 0, text); store(8 * (other + 1)) == 0; add(8 * other, 0, text))
		other++;
	assert_in_range(taken, 24, 40);
	assert_in_range(other, taken / 4, taken / 2);
	ring = "ring";
	plan[0] = "w";
	(void)sem_post(&let);
}

/* Refused for good: put aside, with the peer's words, and stored; those beside it are delivered. */
REMOTE_TEST(test_refused_is_put_aside)
{
	plan[0] = "srs";
	add(0, 0, "one\n");
	add(8, 0, "two\n");
	add(16, 0, "three\n");
	assert_int_equal(store(24), 0);
	expect_told(0, 24, 0);
	assert_string_equal(put_aside, "ring 8 a/b too ugly two\n|");
	expect_shown("\"refused_chunks\": 1");
}

/* A quarantine without room holds all, and nothing is delivered twice meanwhile. */
REMOTE_TEST(test_quarantine_full)
{
	plan[0] = "rs";
	quarantine_error = -EDQUOT;
	add(0, 0, "one\n");
	add(8, 0, "two\n");
	assert_int_equal(store(16), 0);
	expect_told(0, 16, 0);
	assert_string_equal(put_aside, "ring 0 a/b too ugly one\n|");
	assert_int_equal(tries, 1);
}

/* A record of three chunks is one, under the last one's position; what stands behind it there is a piece of its own. */
REMOTE_TEST(test_pieces_are_joined)
{
	add(0, K2HFT_CHUNK_CONTINUES, "be");
	assert_int_equal(store(8), 0);
	expect_told(0, 8, 0);
	add(8, K2HFT_CHUNK_CONTINUES | K2HFT_CHUNK_CONTINUED, "gin ");
	add(16, K2HFT_CHUNK_CONTINUED, "end\nnext\n");
	assert_int_equal(store(24), 0);
	expect_try(0, "16:begin end\n|17:next\n|");
	expect_told(1, 24, 0);
}

/* The ring's next connection brings again what the queue has. */
REMOTE_TEST(test_not_taken_twice)
{
	(void)sem_init(&let, 0, 0);
	add(0, 0, "one\n");
	assert_int_equal(store(8), 0);
	wait_for(&begun);
	add(0, 0, "one\n");
	add(8, 0, "two\n");
	assert_int_equal(store(16), 0);
	(void)sem_post(&let);
	expect_try(0, "0:one\n|");
	(void)sem_post(&let);
	expect_try(1, "8:two\n|");
	expect_told(0, 8, 0);
	expect_told(1, 16, 0);
}

/* Neither a delivery nor a pause keeps the end; what is left is reported as not stored. */
REMOTE_TEST(test_ends_at_once)
{
	plan[0] = "sw";
	add(0, 0, "one\n");
	add(8, 0, "two\n");
	assert_int_equal(store(16), 0);
	add(16, 0, "three\n");
	assert_int_equal(store(24), 0);
	remote_close();
	expect_told(0, 16, -ECANCELED);
	expect_told(1, 24, -ECANCELED);
}

REMOTE_TEST(test_shown)
{
	plan[0] = "l";
	add(0, 0, "one\n");
	expect_shown("\"held\": \"\"");
	assert_int_equal(store(8), 0);
	expect_told(0, 8, 0);
	plan[tries] = "w";
	add(8, 0, "two\n");
	assert_int_equal(store(16), 0);
	wait_for(&begun);
	wait_for(&begun);
	wait_for(&begun);
	/* Silent for long enough. */
	k2i_remote_say((struct k2i_remote *)(void *)sink, "waits for %s", "an answer");
	((struct k2i_remote *)(void *)sink)->doing_ns -= 2 * K2I_SECOND_NS;
	expect_shown("\"held\": \"waits for an answer\"");
	expect_shown("\"waiting_chunks\": 1");
	expect_shown("\"retries\": 1");
}

TEST(test_delays)
{
	assert_int_equal(k2i_remote_delay_ms(0, 0), 100);
	assert_int_equal(k2i_remote_delay_ms(1, 0), 200);
	assert_int_equal(k2i_remote_delay_ms(8, 0), 25600);
	assert_int_equal(k2i_remote_delay_ms(9, 0), 30000);
	assert_int_equal(k2i_remote_delay_ms(4000000000u, 0), 30000);
	assert_int_equal(k2i_remote_delay_ms(0, 1500), 1500);
	assert_int_equal(k2i_remote_delay_ms(9, 1500), 30000);
	assert_int_equal(k2i_remote_delay_ms(0, UINT64_MAX), 300000);
}
