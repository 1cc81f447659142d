/* SPDX-License-Identifier: MIT */
#include "unit.h"
#include "ring_help.h"

/* The consumer does not see chunks behind the limit, and they do not wake it. */
FIXTURE_TEST(a_limit_holds_the_consumer, struct k2hft_ring *ring, ring_make, ring_end)
{
	struct k2hft_producer *producer = producer_of(ring);
	uint32_t stream = stream_of(ring, "s");
	struct k2hft_span span;
	uint64_t noted;

	assert_int_equal(k2hft_ring_limit(ring, 0), 0);
	assert_int_equal(k2hft_ring_sleep(ring), 1);
	assert_int_equal(push(producer, stream, "one"), 0);
	noted = stats_of(ring).tail;
	assert_int_equal(push(producer, stream, "two"), 0);
	assert_int_equal(k2hft_ring_sleep(ring), 1);
	assert_int_equal(k2hft_ring_read(ring, SMALL, 0, &span, NULL), 0);
	assert_int_equal(poll(&(struct pollfd){.fd = k2hft_ring_wake_descriptor(ring), .events = POLLIN}, 1, 0), 0);
	assert_int_equal(k2hft_ring_limit(ring, noted), 0);
	assert_int_equal(poll(&(struct pollfd){.fd = k2hft_ring_wake_descriptor(ring), .events = POLLIN}, 1, 0), 1);
	k2hft_ring_awake(ring);
	assert_int_equal(k2hft_ring_read(ring, SMALL, 0, &span, NULL), 1);
	assert_int_equal(span.record_count, 1);
	assert_int_equal(k2hft_ring_read(ring, SMALL, 0, &span, NULL), 0);
	assert_int_equal(k2hft_ring_limit(ring, UINT64_MAX), 0);
	assert_int_equal(k2hft_ring_read(ring, SMALL, 0, &span, NULL), 1);
	assert_int_equal(k2hft_ring_cut(ring, 3), -EINVAL);
	k2hft_producer_close(producer);
}

/* A successor finds what was noted, and goes on behind what was not. */
FIXTURE_TEST(a_cut_takes_what_was_not_noted, struct files *files, files_make, files_remove)
{
	struct k2hft_ring *ring = file_ring(files->path, 0);
	struct k2hft_producer *producer = producer_of(ring);
	struct k2hft_span span;
	uint64_t noted;

	assert_int_equal(push(producer, stream_of(ring, "s"), "noted"), 0);
	noted = stats_of(ring).tail;
	assert_int_equal(push(producer, stream_of(ring, "s"), "not"), 0);
	assert_int_equal(push(producer, stream_of(ring, "s"), "noted"), 0);
	(void)reserve(producer, 100);
	k2hft_producer_close(producer);
	k2hft_ring_close(ring);
	ring = file_ring(files->path, 0);
	assert_int_equal(k2hft_ring_cut(ring, noted), 0);
	producer = producer_of(ring);
	assert_int_equal(push(producer, stream_of(ring, "s"), "next"), 0);
	assert_int_equal(stats_of(ring).unacked_records, 2);
	assert_int_equal(k2hft_ring_read(ring, SMALL, 0, &span, NULL), 1);
	assert_int_equal(span.position, 0);
	assert_int_equal(k2hft_ring_read(ring, SMALL, 0, &span, NULL), 1);
	assert_true(span.position > noted);
	assert_int_equal(span.gap_bytes, span.position - noted);
	assert_int_equal(k2hft_ring_release(ring, span.position + span.bytes), 0);
	assert_int_equal(stats_of(ring).unacked_records, 0);
	assert_int_equal(k2hft_ring_cut(ring, stats_of(ring).tail), 0);
	k2hft_producer_close(producer);
	k2hft_ring_close(ring);
}
