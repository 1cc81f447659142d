/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <k2hft/frame.h>
#include <k2hft/ring.h>

#define SMALL K2HFT_RING_BYTES_MIN

static struct k2hft_ring *memory_ring(uint64_t bytes)
{
	struct k2hft_ring_options options = {.size = sizeof(options), .ring_bytes = bytes};
	struct k2hft_ring *ring;

	assert_int_equal(k2hft_ring_open(&options, &ring), 0);
	return ring;
}

static uint32_t stream_of(struct k2hft_ring *ring, const char *path)
{
	struct k2hft_stream stream = {.path = path};
	uint32_t stream_id = 0;

	assert_int_equal(k2hft_stream_declare(ring, &stream, &stream_id), 0);
	return stream_id;
}

static struct k2hft_producer *producer_of(struct k2hft_ring *ring)
{
	struct k2hft_producer *producer;

	assert_int_equal(k2hft_producer_open(ring, &producer), 0);
	return producer;
}

static struct k2hft_ring_stats stats_of(const struct k2hft_ring *ring)
{
	struct k2hft_ring_stats stats = {.size = sizeof(stats)};

	assert_int_equal(k2hft_ring_stats(ring, &stats), 0);
	return stats;
}

static struct k2hft_chunk chunk_of(uint32_t stream_id)
{
	return (struct k2hft_chunk){.stream_id = stream_id, .record_count = 1, .time_ns = 7, .writer_pid = 8};
}

/* Pushes `text` and answers what push answers. */
static int push(struct k2hft_producer *producer, uint32_t stream_id, const char *text)
{
	struct k2hft_chunk chunk = chunk_of(stream_id);

	return k2hft_producer_push(producer, &chunk, text, strlen(text));
}

/* The next chunk of a span is `text`. */
static void assert_chunk(const struct k2hft_span *span, size_t *offset, const char *text)
{
	struct k2hft_chunk_view view;

	assert_int_equal(k2hft_chunk_next(span->data, span->bytes, span->position, offset, &view), 1);
	assert_int_equal(view.payload_bytes, strlen(text));
	assert_memory_equal(view.payload, text, view.payload_bytes);
}

/* Reads one chunk that is `text` and acknowledges it. Returns its gap. */
static uint32_t take(struct k2hft_ring *ring, const char *text)
{
	struct k2hft_span span;
	size_t offset = 0;

	assert_int_equal(k2hft_ring_read(ring, 0, 0, &span, NULL), 1);
	assert_chunk(&span, &offset, text);
	assert_int_equal(offset, span.bytes);
	assert_int_equal(k2hft_ring_release(ring, span.position + span.bytes), 0);
	return span.gap_bytes;
}

static void assert_empty(struct k2hft_ring *ring)
{
	struct k2hft_span span;
	int claimed = 7;

	assert_int_equal(k2hft_ring_read(ring, SIZE_MAX, 0, &span, &claimed), 0);
	assert_int_equal(claimed, 0);
}

static void pushed_is_read(void **state)
{
	struct k2hft_ring *ring = memory_ring(SMALL);
	struct k2hft_producer *producer = producer_of(ring);
	uint32_t stream_id = stream_of(ring, "a/b.log");
	struct k2hft_chunk chunk = {stream_id, 3, 1234567890123, 4321, K2HFT_CHUNK_CONTINUES, 0};
	struct k2hft_chunk_view view;
	struct k2hft_span span;
	size_t offset = 0;

	(void)state;
	assert_empty(ring);
	assert_int_equal(k2hft_producer_push(producer, &chunk, "one\ntwo\nth", 10), 0);
	assert_int_equal(push(producer, stream_id, "x"), 0);
	assert_int_equal(k2hft_ring_read(ring, SIZE_MAX, 0, &span, NULL), 2);
	assert_int_equal(span.position, 0);
	assert_int_equal(span.bytes, 48 + 40);
	assert_int_equal(span.record_count, 4);
	assert_int_equal(span.chunk_count, 2);
	assert_int_equal(span.gap_bytes, 0);
	assert_int_equal(k2hft_chunk_next(span.data, span.bytes, span.position, &offset, &view), 1);
	assert_memory_equal(&view.chunk, &chunk, sizeof(chunk));
	assert_int_equal(view.payload_bytes, 10);
	assert_memory_equal(view.payload, "one\ntwo\nth", 10);
	assert_int_equal(view.end, 48);
	assert_chunk(&span, &offset, "x");
	assert_int_equal(k2hft_chunk_next(span.data, span.bytes, span.position, &offset, &view), 0);
	assert_empty(ring);
	assert_int_equal(k2hft_ring_release(ring, 88), 0);
	assert_int_equal(stats_of(ring).head, 88);
	assert_int_equal(stats_of(ring).committed_records, 4);
	assert_int_equal(stats_of(ring).committed_bytes, 11);
	assert_int_equal(stats_of(ring).acked_records, 4);
	k2hft_producer_close(producer);
	k2hft_ring_close(ring);
}

static int readable(struct k2hft_ring *ring, int timeout_ms)
{
	struct pollfd wait = {.fd = k2hft_ring_wake_descriptor(ring), .events = POLLIN};

	return poll(&wait, 1, timeout_ms);
}

static void commit_wakes_the_sleeper(void **state)
{
	struct k2hft_ring *ring = memory_ring(SMALL);
	struct k2hft_producer *producer = producer_of(ring);
	uint32_t stream_id = stream_of(ring, "s");

	(void)state;
	assert_int_equal(push(producer, stream_id, "not asleep"), 0);
	assert_int_equal(readable(ring, 0), 0);
	assert_int_equal(k2hft_ring_sleep(ring), 0);
	(void)take(ring, "not asleep");
	for (int lap = 0; lap < 3; lap++) {
		assert_int_equal(k2hft_ring_sleep(ring), 1);
		assert_int_equal(readable(ring, 0), 0);
		assert_int_equal(push(producer, stream_id, "wake"), 0);
		assert_int_equal(readable(ring, -1), 1);
		k2hft_ring_awake(ring);
		assert_int_equal(readable(ring, 0), 0);
		(void)take(ring, "wake");
	}
	k2hft_producer_close(producer);
	k2hft_ring_close(ring);
}

static void many_laps(void **state)
{
	struct k2hft_ring *ring = memory_ring(SMALL);
	struct k2hft_producer *producer = producer_of(ring);
	uint32_t stream_id = stream_of(ring, "laps");
	char text[2001];
	uint64_t bytes = 0;

	(void)state;
	for (unsigned count = 0; bytes < 50 * SMALL; count++) {
		size_t length = 1 + count * 7919u % (sizeof(text) - 2);

		memset(text, 'a' + (int)(count % 26), length);
		text[length] = '\0';
		if (length == sizeof(text))
			length--;
		assert_int_equal(push(producer, stream_id, text), 0);
		assert_int_equal(take(ring, text), 0);
		bytes += length;
	}
	assert_int_equal(k2hft_ring_validate(ring), 0);
	k2hft_producer_close(producer);
	k2hft_ring_close(ring);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pushed_is_read),
		cmocka_unit_test(commit_wakes_the_sleeper),
		cmocka_unit_test(many_laps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
