/* SPDX-License-Identifier: MIT */
#include "unit.h"
#include "ring_help.h"

#include <errno.h>

struct seen {
	unsigned streams;
	char path[2][32], host[2][32];
	uint64_t records[2], bytes[2], oldest_ns[2];
};

static void seen_take(void *argument, const struct k2hft_backlog *backlog)
{
	struct seen *seen = argument;
	unsigned at = seen->streams++;

	assert_true(at < 2);
	(void)snprintf(seen->path[at], sizeof(seen->path[at]), "%s", backlog->path);
	(void)snprintf(seen->host[at], sizeof(seen->host[at]), "%s", backlog->host);
	seen->records[at] = backlog->records;
	seen->bytes[at] = backlog->bytes;
	seen->oldest_ns[at] = backlog->oldest_ns;
}

static struct seen backlog_of(const char *path)
{
	struct seen seen = {0};

	errno = 77;
	assert_int_equal(k2hft_ring_backlog(path, seen_take, &seen), 0);
	assert_int_equal(errno, 77);
	return seen;
}

static void chunk_push(struct k2hft_producer *producer, uint32_t stream_id, uint64_t time_ns, uint32_t records)
{
	struct k2hft_chunk chunk = {.stream_id = stream_id, .time_ns = time_ns, .record_count = records};

	assert_int_equal(k2hft_producer_push(producer, &chunk, "a\nb\nc\nd\n", 8), 0);
}

FILES_TEST(each_stream_has_its_sum)
{
	struct k2hft_ring *ring = file_ring(files->path, 0);
	struct k2hft_producer *producer = producer_of(ring);
	uint32_t one = stream_of(ring, "one"), other = stream_of(ring, "other");
	void *payload;
	struct seen seen = backlog_of(files->path);

	assert_int_equal(seen.streams, 0);
	chunk_push(producer, other, 1000, 4);
	chunk_push(producer, one, 2000, 3);
	chunk_push(producer, other, 3000, 2);
	/* A claim is no record yet. */
	assert_int_equal(k2hft_producer_reserve(producer, 100, &payload), 0);
	seen = backlog_of(files->path);
	assert_int_equal(seen.streams, 2);
	assert_string_equal(seen.path[0], "one");
	assert_int_equal(seen.records[0], 3);
	assert_int_equal(seen.bytes[0], 8);
	assert_int_equal(seen.oldest_ns[0], 2000);
	assert_string_equal(seen.path[1], "other");
	assert_int_equal(seen.records[1], 6);
	assert_int_equal(seen.bytes[1], 16);
	assert_int_equal(seen.oldest_ns[1], 1000);
	k2hft_producer_close(producer);
	k2hft_ring_close(ring);
}

/* Chunks of 40 bytes begin at each of the places around the end of the data, so that headers go on at its beginning. */
FILES_TEST(a_lap_makes_no_difference)
{
	struct k2hft_ring *ring = file_ring(files->path, 0);
	struct k2hft_producer *producer = producer_of(ring);
	uint32_t stream = stream_of(ring, "s");
	uint64_t laps = stats_of(ring).ring_bytes * 3 / 40;
	struct k2hft_span span;
	struct seen seen;

	for (uint64_t time = 1; time <= laps; time++) {
		chunk_push(producer, stream, time, 1);
		if (time <= 10)
			continue;
		seen = backlog_of(files->path);
		assert_int_equal(seen.records[0], 11);
		assert_int_equal(seen.oldest_ns[0], time - 10);
		assert_int_equal(k2hft_ring_read(ring, 40, 0, &span, NULL), 1);
		assert_int_equal(k2hft_ring_release(ring, span.position + span.bytes), 0);
	}
	k2hft_producer_close(producer);
	k2hft_ring_close(ring);
}

static void each_taken(void *argument, const struct k2hft_backlog *backlog)
{
	(void)backlog;
	*(bool *)argument = true;
}

TEST(what_is_no_ring_is_refused)
{
	bool taken = false;

	assert_int_equal(k2hft_ring_backlog("/nowhere", each_taken, &taken), -ENOENT);
	assert_int_equal(k2hft_ring_backlog("/dev/null", each_taken, &taken), -EPROTO);
	assert_int_equal(k2hft_ring_backlog(NULL, each_taken, &taken), -EINVAL);
	assert_int_equal(k2hft_ring_backlog("/nowhere", NULL, NULL), -EINVAL);
	assert_false(taken);
}
