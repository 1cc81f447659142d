/* SPDX-License-Identifier: MIT */
/* The end of a sender to which a line end is owed: what it leaves in its ring's file, and how long it may take. */
#include <errno.h>
#include <signal.h>
#include <sys/time.h>
#include <time.h>

#include "unit.h"
#include "file_help.h"
#include "sender/writer.h"
#include "writer_help.h"

static struct k2hft_sender *file_sender_make(const char *path, uint32_t full)
{
	struct k2hft_ring_options options = {.size = sizeof(options), .path = path, .ring_bytes = K2HFT_RING_BYTES_MIN};
	struct k2hft_sender *sender;

	assert_int_equal(k2i_sender_create(&options, full, &sender), 0);
	return sender;
}

/* Takes and releases the next chunk; its flags. */
static uint16_t chunk_take(struct k2hft_sender *sender, struct k2hft_chunk_view *view)
{
	struct k2hft_span span;
	size_t offset = 0;

	assert_int_equal(k2hft_ring_read(sender->lanes[0]->ring, 1, 1, &span, NULL), 1);
	assert_int_equal(k2hft_chunk_next(span.data, span.bytes, span.position, &offset, view), 1);
	assert_int_equal(k2hft_ring_release(sender->lanes[0]->ring, span.position + span.bytes), 0);
	return view->chunk.flags;
}

/* The begin of a line is out, and for its rest, and for a line end in its place, there is no room. */
static void line_break(struct k2hft_writer *writer)
{
	static const char large[K2HFT_RING_BYTES_MIN] = {'l'};

	for (int part = 0; part < 2; part++)
		assert_int_equal(k2hft_writer_lines(writer, large, sizeof(large), NULL), 0);
	pieces_fill(writer);
	k2hft_writer_close(writer);
}

/* Or the next sender's first line would be glued to it; `push`: as k2hft push ends, which waits before by itself. */
static void broken_line_try(const char *path, bool push)
{
	struct k2hft_sender *sender = file_sender_make(path, K2HFT_FULL_DROP);
	struct k2hft_chunk_view view = {.chunk.flags = 0};

	line_break(writer_make(sender));
	/* There is room again, but not all is acknowledged. */
	assert_int_equal(chunk_take(sender, &view), K2HFT_CHUNK_CONTINUES);
	if (push)
		k2i_sender_free(sender);
	else
		assert_int_equal(k2hft_sender_close(sender, 0), -ETIMEDOUT);

	sender = file_sender_make(path, K2HFT_FULL_DROP);
	while (chunk_take(sender, &view) & K2HFT_CHUNK_CONTINUES)
		continue;
	assert_int_equal(view.chunk.flags, K2HFT_CHUNK_CONTINUED);
	assert_int_equal(view.payload_bytes, 1);
	assert_int_equal(view.payload[0], '\n');
	k2i_sender_free(sender);
}

TEST(the_end_of_a_broken_line_is_in_it)
{
	char folder[256], path[300];

	folder_make(folder, sizeof(folder));
	(void)snprintf(path, sizeof(path), "%s/ring", folder);
	broken_line_try(path, false);
	broken_line_try(path, true);
	folder_remove(folder);
}

static int drain_timeouts_ms[2];
static unsigned drain_calls;

/* Everything is acknowledged, but not at once. */
int __wrap_k2hft_client_drain(struct k2hft_client *client, int timeout_ms);
int __wrap_k2hft_client_drain(struct k2hft_client *client, int timeout_ms)
{
	const struct timespec pause = {.tv_nsec = 5000000};

	(void)client;
	assert_true(drain_calls < 2);
	drain_timeouts_ms[drain_calls++] = timeout_ms;
	return nanosleep(&pause, NULL);
}

TEST(the_end_of_a_broken_line_has_no_time_of_its_own)
{
	const struct k2hft_sender_options options = {
		.size = sizeof(options),
		.host = "127.0.0.1",
		.port = "1",
		.ring_bytes = K2HFT_RING_BYTES_MIN,
		.full = K2HFT_FULL_DROP,
	};
	struct k2hft_sender *sender;

	assert_int_equal(k2hft_sender_open(&options, &sender), 0);
	line_break(writer_make(sender));
	assert_int_equal(k2hft_sender_close(sender, 600000), 0);
	assert_int_equal(drain_calls, 2);
	assert_true(drain_timeouts_ms[0] <= 600000);
	assert_true(drain_timeouts_ms[1] < drain_timeouts_ms[0]);
}

static void nothing_do(int number)
{
	(void)number;
}

/* A signal handler ran while the writer waited for room, so its line's end is owed: the sender does not wait for that. */
TEST(who_waited_for_room_may_owe_an_end)
{
	const struct itimerval often = {{0, 1000}, {0, 1000}}, never = {{0, 0}, {0, 0}};
	struct k2hft_sender *sender = sender_make(K2HFT_RING_BYTES_MIN, K2HFT_FULL_BLOCK);
	struct k2hft_writer *writer = writer_make(sender);
	struct sigaction action = {.sa_handler = nothing_do}, before;
	static const char large[20000] = {'l'};
	struct k2hft_sender_stats stats = {.size = sizeof(stats)};

	assert_int_equal(sigaction(SIGALRM, &action, &before), 0);
	assert_int_equal(k2hft_writer_lines(writer, large, sizeof(large), NULL), 0);
	pieces_fill(writer);
	assert_int_equal(setitimer(ITIMER_REAL, &often, NULL), 0);
	k2hft_writer_close(writer);
	assert_int_equal(setitimer(ITIMER_REAL, &never, NULL), 0);
	assert_int_equal(sigaction(SIGALRM, &before, NULL), 0);
	assert_int_equal(k2hft_sender_stats(sender, &stats), 0);
	assert_int_equal(stats.dropped_records, 1);
	assert_non_null(sender->unended);
	assert_int_equal(k2hft_sender_close(sender, 0), -ETIMEDOUT);
}
