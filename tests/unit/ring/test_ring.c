/* SPDX-License-Identifier: MIT */
#include "unit.h"
#include "ring_help.h"

#include <pthread.h>
#include <stdatomic.h>

#include "base/clock.h"

RING_TEST(pushed_is_read)
{
	struct k2hft_producer *producer = producer_of(ring);
	uint32_t stream_id = stream_of(ring, "a/b.log");
	struct k2hft_chunk chunk = {stream_id, 3, 1234567890123, 4321, K2HFT_CHUNK_CONTINUES, 0};
	struct k2hft_chunk_view view;
	struct k2hft_span span;
	size_t offset = 0;

	assert_nothing(ring, 0);
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
	assert_nothing(ring, 0);
	assert_int_equal(k2hft_ring_release(ring, 88), 0);
	assert_int_equal(stats_of(ring).head, 88);
	assert_int_equal(stats_of(ring).committed_records, 4);
	assert_int_equal(stats_of(ring).committed_bytes, 11);
	assert_int_equal(stats_of(ring).acked_records, 4);
	k2hft_producer_close(producer);
}

RING_TEST(span_is_bounded)
{
	struct k2hft_producer *producer = producer_of(ring);
	uint32_t stream_id = stream_of(ring, "s");
	struct k2hft_chunk chunk = chunk_of(stream_id);
	struct k2hft_span span;

	chunk.record_count = 3;
	for (int count = 0; count < 10; count++)
		assert_int_equal(k2hft_producer_push(producer, &chunk, "12345678", 8), 0);
	assert_int_equal(k2hft_ring_read(ring, 39, 1, &span, NULL), 1);
	assert_int_equal(span.record_count, 3);
	assert_int_equal(k2hft_ring_read(ring, 119, 0, &span, NULL), 2);
	assert_int_equal(span.bytes, 80);
	assert_int_equal(k2hft_ring_read(ring, 120, 0, &span, NULL), 3);
	assert_int_equal(k2hft_ring_read(ring, SIZE_MAX, 8, &span, NULL), 2);
	assert_int_equal(k2hft_ring_read(ring, SIZE_MAX, 9, &span, NULL), 2);
	assert_int_equal(span.position, 320);
	k2hft_producer_close(producer);
}

RING_TEST(many_laps)
{
	struct k2hft_producer *producer = producer_of(ring);
	uint32_t stream_id = stream_of(ring, "laps");
	char text[2001];
	uint64_t bytes = 0;

	for (unsigned count = 0; bytes < 50 * SMALL; count++) {
		size_t length = 1 + count * 7919u % (sizeof(text) - 1);

		memset(text, 'a' + (int)(count % 26), length);
		text[length == sizeof(text) ? length - 1 : length] = '\0';
		assert_int_equal(push(producer, stream_id, text), 0);
		assert_int_equal(take(ring, text), 0);
		bytes += length;
	}
	assert_int_equal(k2hft_ring_validate(ring), 0);
	k2hft_producer_close(producer);
}

/* Filled to the last byte, emptied and filled again from another offset: an entry lies across the end. */
RING_TEST(full_is_again_and_room_comes_back)
{
	struct k2hft_producer *producer = producer_of(ring);
	uint32_t stream_id = stream_of(ring, "full");
	char text[1024 - 32 + 1];
	struct k2hft_span span;
	void *payload;

	memset(text, 'f', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	assert_int_equal(push(producer, stream_id, "shift"), 0);
	(void)take(ring, "shift");
	for (int lap = 0; lap < 3; lap++) {
		for (unsigned count = 0; count < SMALL / 1024; count++)
			assert_int_equal(push(producer, stream_id, text), 0);
		assert_int_equal(stats_of(ring).tail - stats_of(ring).head, SMALL);
		assert_int_equal(k2hft_producer_reserve(producer, 0, &payload), -EAGAIN);
		assert_int_equal(push(producer, stream_id, "x"), -EAGAIN);
		assert_int_equal(k2hft_ring_read(ring, SIZE_MAX, 0, &span, NULL), SMALL / 1024);
		assert_int_equal(span.bytes, SMALL);
		assert_nothing(ring, 0);
		assert_int_equal(push(producer, stream_id, "x"), -EAGAIN);
		assert_int_equal(k2hft_ring_release(ring, span.position + span.bytes), 0);
	}
	k2hft_producer_close(producer);
}

TEST(too_large_is_never)
{
	struct k2hft_ring_options options = {.size = sizeof(options), .ring_bytes = UINT64_C(16) << 20};
	struct k2hft_ring *small = memory_ring(), *large;
	struct k2hft_producer *producer = producer_of(small);
	void *payload;

	assert_int_equal(k2hft_producer_reserve(producer, SMALL / 4 - 31, &payload), -EMSGSIZE);
	assert_int_equal(k2hft_producer_reserve(producer, SIZE_MAX, &payload), -EMSGSIZE);
	assert_int_equal(k2hft_producer_reserve(producer, SMALL / 4 - 32, &payload), 0);
	k2hft_producer_close(producer);
	assert_int_equal(k2hft_ring_open(&options, &large), 0);
	producer = producer_of(large);
	assert_int_equal(k2hft_producer_reserve(producer, K2HFT_CHUNK_BYTES_MAX - 31, &payload), -EMSGSIZE);
	assert_int_equal(k2hft_producer_reserve(producer, K2HFT_CHUNK_BYTES_MAX - 32, &payload), 0);
	memset(payload, 'm', K2HFT_CHUNK_BYTES_MAX - 32);
	assert_int_equal(commit(producer, stream_of(large, "m"), 0, K2HFT_CHUNK_BYTES_MAX - 32), 0);
	k2hft_producer_close(producer);
	k2hft_ring_close(large);
	k2hft_ring_close(small);
}

TEST(calls_out_of_order)
{
	struct k2hft_ring *ring = memory_ring();
	struct k2hft_producer *producer = producer_of(ring);
	struct k2hft_chunk chunk = chunk_of(stream_of(ring, "s"));
	void *payload;

	assert_int_equal(k2hft_producer_commit(producer, &chunk, 0, 1), -EINVAL);
	assert_int_equal(k2hft_producer_discard(producer), -EINVAL);
	(void)reserve(producer, 10);
	assert_int_equal(k2hft_producer_reserve(producer, 10, &payload), -EBUSY);
	assert_int_equal(k2hft_producer_commit(producer, &chunk, 0, 0), -EINVAL);
	assert_int_equal(k2hft_producer_commit(producer, &chunk, 0, 11), -EINVAL);
	assert_int_equal(k2hft_producer_commit(producer, &chunk, 11, 1), -EINVAL);
	assert_int_equal(k2hft_producer_commit(producer, &chunk, 4, 7), -EINVAL);
	assert_int_equal(k2hft_producer_commit(producer, &chunk, SIZE_MAX, 2), -EINVAL);
	chunk.record_count = 2;
	assert_int_equal(k2hft_producer_commit(producer, &chunk, 0, 1), -EINVAL);
	chunk.record_count = 0;
	assert_int_equal(k2hft_producer_commit(producer, &chunk, 0, 1), -EINVAL);
	chunk.record_count = 1;
	chunk.flags = 4;
	assert_int_equal(k2hft_producer_commit(producer, &chunk, 0, 1), -EINVAL);
	chunk.flags = 0;
	chunk.reserved = 1;
	assert_int_equal(k2hft_producer_commit(producer, &chunk, 0, 1), -EINVAL);
	chunk.reserved = 0;
	chunk.stream_id++;
	assert_int_equal(k2hft_producer_commit(producer, &chunk, 0, 1), -EINVAL);
	chunk.stream_id--;
	assert_nothing(ring, 1);
	assert_int_equal(k2hft_producer_commit(producer, &chunk, 9, 1), 0);
	assert_int_equal(k2hft_producer_commit(producer, &chunk, 9, 1), -EINVAL);
	assert_int_equal(k2hft_producer_push(producer, &chunk, "", 0), -EINVAL);
	chunk.record_count = 2;
	for (int time = 0; time < 2; time++)
		assert_int_equal(k2hft_producer_push(producer, &chunk, "x", 1), -EINVAL);
	k2hft_producer_close(producer);
	k2hft_producer_close(NULL);
	k2hft_ring_close(ring);
	k2hft_ring_close(NULL);
}

/* Every way to cut a claim: what is committed arrives, the tail goes back to its end. */
RING_TEST(front_and_rear_go_back)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMN";
	const size_t all = sizeof(letters) - 1;
	struct k2hft_producer *producer = producer_of(ring);
	uint32_t stream_id = stream_of(ring, "cut");

	for (size_t offset = 0; offset < all; offset++) {
		for (size_t bytes = 1; offset + bytes <= all; bytes++) {
			uint64_t before = stats_of(ring).tail, end = before + 32 + (offset + bytes + 7) / 8 * 8;
			char expected[sizeof(letters)] = "";

			memcpy(reserve(producer, all), letters, all);
			memcpy(expected, letters + offset, bytes);
			assert_int_equal(commit(producer, stream_id, offset, bytes), 0);
			assert_int_equal(stats_of(ring).tail, end);
			assert_int_equal(take(ring, expected), offset / 8 * 8);
			assert_int_equal(stats_of(ring).head, end);
		}
	}
	k2hft_producer_close(producer);
}

/* The same with another claim behind: the rear stays as a gap. */
RING_TEST(rear_behind_which_another_claimed)
{
	struct k2hft_producer *first = producer_of(ring), *second = producer_of(ring);
	uint32_t stream_id = stream_of(ring, "s");
	struct k2hft_span span;
	size_t offset = 0;

	memcpy(reserve(first, 100), "0123456789", 10);
	assert_int_equal(push(second, stream_id, "behind"), 0);
	assert_nothing(ring, 1);
	assert_int_equal(commit(first, stream_id, 3, 5), 0);
	assert_int_equal(stats_of(ring).tail, 136 + 40);
	assert_int_equal(k2hft_ring_read(ring, SIZE_MAX, 0, &span, NULL), 1);
	assert_chunk(&span, &offset, "34567");
	assert_int_equal(span.bytes, 40);
	assert_int_equal(k2hft_ring_release(ring, 40), 0);
	assert_int_equal(stats_of(ring).acked, 40);
	assert_int_equal(stats_of(ring).head, 136);
	assert_int_equal(take(ring, "behind"), 96);
	k2hft_producer_close(first);
	k2hft_producer_close(second);
}

RING_TEST(discard_goes_back_or_is_skipped)
{
	struct k2hft_producer *first = producer_of(ring), *second = producer_of(ring);
	uint32_t stream_id = stream_of(ring, "s");

	for (int count = 0; count < 100000; count++) {
		(void)reserve(first, 1000);
		assert_int_equal(k2hft_producer_discard(first), 0);
	}
	assert_int_equal(stats_of(ring).tail, 0);
	assert_nothing(ring, 0);
	(void)reserve(first, 8);
	assert_int_equal(push(second, stream_id, "behind"), 0);
	assert_nothing(ring, 1);
	assert_int_equal(k2hft_producer_discard(first), 0);
	assert_int_equal(take(ring, "behind"), 40);
	assert_int_equal(stats_of(ring).discarded_claims, 0);
	(void)reserve(first, 8);
	k2hft_producer_close(first);
	assert_nothing(ring, 0);
	k2hft_producer_close(second);
}

/* Gaps alone, which nobody will ever acknowledge, do not fill the ring. */
RING_TEST(gaps_alone_are_freed)
{
	struct k2hft_producer *first = producer_of(ring), *second = producer_of(ring);

	for (int count = 0; count < 1000; count++) {
		(void)reserve(first, 1000);
		(void)reserve(second, 1000);
		assert_int_equal(k2hft_producer_discard(first), 0);
		assert_int_equal(k2hft_producer_discard(second), 0);
		assert_nothing(ring, 0);
	}
	assert_int_equal(stats_of(ring).head, stats_of(ring).tail);
	assert_int_equal(stats_of(ring).acked, 0);
	assert_int_equal(push(first, stream_of(ring, "s"), "x"), 0);
	assert_int_equal(take(ring, "x"), 1000 * 1032);
	k2hft_producer_close(first);
	k2hft_producer_close(second);
}

RING_TEST(release_and_rewind)
{
	struct k2hft_producer *producer = producer_of(ring);
	uint32_t stream_id = stream_of(ring, "s");
	struct k2hft_span span;

	for (int count = 0; count < 4; count++)
		assert_int_equal(push(producer, stream_id, "12345678"), 0);
	assert_int_equal(k2hft_ring_release(ring, 40), -EINVAL);
	assert_int_equal(k2hft_ring_read(ring, 80, 0, &span, NULL), 2);
	assert_int_equal(k2hft_ring_release(ring, 120), -EINVAL);
	assert_int_equal(k2hft_ring_release(ring, 48), -EINVAL);
	assert_int_equal(k2hft_ring_release(ring, 40), 0);
	assert_int_equal(k2hft_ring_release(ring, 40), 0);
	assert_int_equal(k2hft_ring_release(ring, 0), -EINVAL);
	assert_int_equal(k2hft_ring_rewind(ring, 0), -EINVAL);
	assert_int_equal(k2hft_ring_rewind(ring, 48), -EINVAL);
	assert_int_equal(k2hft_ring_rewind(ring, 168), -EINVAL);
	assert_int_equal(k2hft_ring_rewind(ring, 40), 0);
	assert_int_equal(k2hft_ring_read(ring, SIZE_MAX, 0, &span, NULL), 3);
	assert_int_equal(span.position, 40);
	assert_int_equal(k2hft_ring_rewind(ring, 80), 0);
	assert_int_equal(k2hft_ring_read(ring, 0, 0, &span, NULL), 1);
	assert_int_equal(span.position, 80);
	assert_int_equal(span.gap_bytes, 0);
	assert_int_equal(k2hft_ring_rewind(ring, 160), 0);
	assert_nothing(ring, 0);
	assert_int_equal(k2hft_ring_release(ring, 160), 0);
	assert_int_equal(stats_of(ring).acked_records, 4);
	k2hft_producer_close(producer);
}

/* Wherever in the gap behind the last acknowledged chunk the receiver stands, the next chunk's gap reaches it. */
RING_TEST(rewind_into_acknowledged_gap)
{
	struct k2hft_producer *first = producer_of(ring), *second = producer_of(ring);
	uint32_t stream_id = stream_of(ring, "s");
	struct k2hft_span span;

	assert_int_equal(push(first, stream_id, "1"), 0);
	(void)reserve(first, 8);
	assert_int_equal(push(second, stream_id, "2"), 0);
	assert_int_equal(k2hft_producer_discard(first), 0);
	(void)take(ring, "1");
	assert_int_equal(stats_of(ring).acked, 40);
	assert_int_equal(stats_of(ring).head, 80);
	for (uint64_t position = 40; position <= 80; position += 8) {
		assert_int_equal(k2hft_ring_rewind(ring, position), 0);
		assert_int_equal(k2hft_ring_read(ring, SIZE_MAX, 0, &span, NULL), 1);
		assert_int_equal(span.gap_bytes, 40);
		assert_int_equal(k2hft_ring_release(ring, position), 0);
		assert_int_equal(stats_of(ring).head, 80);
	}
	k2hft_producer_close(first);
	k2hft_producer_close(second);
}

RING_TEST(commit_wakes_the_sleeper)
{
	struct k2hft_producer *producer = producer_of(ring);
	uint32_t stream_id = stream_of(ring, "s");

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
}

/* Its producer can be dead: who sleeps without knowing of it would never ask. */
RING_TEST(sleep_waits_for_known_claims_only)
{
	struct k2hft_producer *producer = producer_of(ring);
	struct k2hft_span span;
	int claimed = 0;

	assert_int_equal(k2hft_ring_read(ring, SMALL, 0, &span, &claimed), 0);
	assert_int_equal(claimed, 0);
	(void)reserve(producer, 8);
	assert_int_equal(k2hft_ring_sleep(ring), 0);
	assert_int_equal(k2hft_ring_read(ring, SMALL, 0, &span, &claimed), 0);
	assert_int_equal(claimed, 1);
	assert_int_equal(k2hft_ring_sleep(ring), 1);
	k2hft_producer_close(producer);
}

struct waiter {
	struct k2hft_ring *ring;
	struct k2hft_producer *producer;
};

static void *space_waiter(void *argument)
{
	struct waiter *waiter = argument;
	char text[5000];
	int pushed;

	memset(text, 'w', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	while ((pushed = push(waiter->producer, 1, text)) == -EAGAIN) {
		int status = k2hft_ring_space_wait(waiter->ring, sizeof(text) - 1, -1);

		if (status)
			return (void *)(intptr_t)status;
	}
	return (void *)(intptr_t)pushed;
}

RING_TEST(space_wait_ends_with_room)
{
	struct k2hft_producer *producer = producer_of(ring), *other = producer_of(ring);
	struct waiter waiter = {ring, producer};
	uint32_t stream_id = stream_of(ring, "s");
	struct k2hft_span span;
	pthread_t thread;
	void *result, *payload;

	for (int round = 0; round < 20; round++) {
		while (push(other, stream_id, "filler") == 0)
			continue;
		assert_int_equal(k2hft_ring_space_wait(ring, 8, 1), -ETIMEDOUT);
		assert_int_equal(pthread_create(&thread, NULL, space_waiter, &waiter), 0);
		while (k2hft_ring_read(ring, 1000, 0, &span, NULL) > 0)
			assert_int_equal(k2hft_ring_release(ring, span.position + span.bytes), 0);
		assert_int_equal(pthread_join(thread, &result), 0);
		assert_int_equal((intptr_t)result, 0);
		assert_int_equal(k2hft_ring_read(ring, 0, 0, &span, NULL) >= 0, 1);
		assert_int_equal(k2hft_ring_release(ring, stats_of(ring).read), 0);
	}
	/* Room that a producer gives back counts as well. */
	while (k2hft_producer_reserve(other, SMALL / 4 - 32, &payload) == 0)
		assert_int_equal(commit(other, stream_id, 0, SMALL / 4 - 32), 0);
	assert_int_equal(k2hft_ring_read(ring, SMALL / 4, 0, &span, NULL), 1);
	assert_int_equal(k2hft_ring_release(ring, span.position + span.bytes), 0);
	(void)reserve(other, SMALL / 4 - 64);
	assert_int_equal(pthread_create(&thread, NULL, space_waiter, &waiter), 0);
	assert_int_equal(k2hft_producer_discard(other), 0);
	assert_int_equal(pthread_join(thread, &result), 0);
	assert_int_equal((intptr_t)result, 0);
	k2hft_producer_close(producer);
	k2hft_producer_close(other);
}

/* Several rings, several threads: what was free when somebody else found too little changes nothing. */
STATE_TEST(a_wait_is_for_what_is_asked, ring_make, ring_end)
{
	static const size_t fills[] = {SMALL / 16, SMALL / 4, SMALL / 4, SMALL / 4, SMALL / 16};
	struct k2hft_ring *ring = *state, *other = memory_ring();
	struct k2hft_producer *producer = producer_of(ring), *others = producer_of(other);
	uint32_t stream_id = stream_of(ring, "s");
	struct k2hft_span span;
	void *payload;

	for (size_t at = 0; at < sizeof(fills) / sizeof(*fills); at++) {
		(void)reserve(producer, fills[at] - 32);
		assert_int_equal(commit(producer, stream_id, 0, fills[at] - 32), 0);
	}
	assert_int_equal(k2hft_producer_reserve(producer, SMALL / 6, &payload), -EAGAIN);
	while (push(others, stream_of(other, "s"), "filler") == 0)
		continue;
	assert_int_equal(k2hft_ring_space_wait(other, 8, 0), -ETIMEDOUT);
	assert_int_equal(k2hft_ring_space_wait(ring, SMALL / 6, 1), -ETIMEDOUT);
	assert_int_equal(k2hft_ring_space_wait(ring, SMALL / 8 - 32, 0), 0);
	assert_int_equal(k2hft_ring_space_wait(ring, SMALL / 8 - 31, 0), -ETIMEDOUT);
	assert_int_equal(k2hft_ring_read(ring, SMALL / 16, 0, &span, NULL), 1);
	assert_int_equal(k2hft_ring_release(ring, span.position + span.bytes), 0);
	assert_int_equal(k2hft_ring_space_wait(ring, SMALL / 4 - 32, 1), -ETIMEDOUT);
	assert_int_equal(k2hft_ring_space_wait(ring, SMALL / 4 - 31, 1), -EMSGSIZE);
	assert_int_equal(k2hft_ring_space_wait(ring, SMALL / 6, 1000), 0);
	assert_int_equal(k2hft_producer_reserve(producer, SMALL / 6, &payload), 0);
	k2hft_producer_close(producer);
	k2hft_producer_close(others);
	k2hft_ring_close(other);
}

RING_TEST(counts_survive_producers)
{
	uint32_t stream_id = stream_of(ring, "s");
	struct k2hft_producer *producers[1025];

	for (int count = 0; count < 50; count++) {
		struct k2hft_producer *producer = producer_of(ring);

		assert_int_equal(push(producer, stream_id, "12"), 0);
		assert_int_equal(stats_of(ring).producers, 1);
		k2hft_producer_close(producer);
	}
	assert_int_equal(stats_of(ring).committed_records, 50);
	assert_int_equal(stats_of(ring).committed_bytes, 100);
	assert_int_equal(stats_of(ring).producers, 0);
	for (int count = 0; count < 1024; count++)
		producers[count] = producer_of(ring);
	assert_int_equal(k2hft_producer_open(ring, &producers[1024]), -ENOSPC);
	assert_int_equal(stats_of(ring).producers, 1024);
	for (int count = 0; count < 1024; count++)
		k2hft_producer_close(producers[count]);
}

TEST(options_are_checked)
{
	struct k2hft_ring_options options = {.size = sizeof(options)}, bad;
	struct {
		struct k2hft_ring_stats known;
		uint64_t newer;
	} stats = {.known = {.size = sizeof(stats)}, .newer = 1};
	struct k2hft_ring *ring;

	assert_int_equal(k2hft_ring_open(&options, &ring), 0);
	assert_int_equal(stats_of(ring).ring_bytes, K2HFT_RING_BYTES_DEFAULT);
	assert_int_equal(stats_of(ring).epoch, 1);
	assert_int_equal(k2hft_ring_stats(ring, &stats.known), 0);
	assert_int_equal(stats.known.epoch, 1);
	assert_int_equal(stats.known.size, sizeof(stats));
	assert_int_equal(stats.newer, 0);
	k2hft_ring_close(ring);
	bad = options;
	bad.flags = 4;
	assert_int_equal(k2hft_ring_open(&bad, &ring), -EINVAL);
	bad = options;
	bad.reserved = 1;
	assert_int_equal(k2hft_ring_open(&bad, &ring), -EINVAL);
	bad = options;
	bad.ring_bytes = K2HFT_RING_BYTES_MIN - 1;
	assert_int_equal(k2hft_ring_open(&bad, &ring), -EINVAL);
	bad.ring_bytes = K2HFT_RING_BYTES_MAX + 1;
	assert_int_equal(k2hft_ring_open(&bad, &ring), -EINVAL);
	bad = options;
	bad.flags = K2HFT_RING_TEMPORARY;
	assert_int_equal(k2hft_ring_open(&bad, &ring), -EINVAL);
	bad = options;
	bad.size = sizeof(bad.size) - 1;
	assert_int_equal(k2hft_ring_open(&bad, &ring), -EINVAL);
	options.ring_bytes = K2HFT_RING_BYTES_MIN + 1;
	assert_int_equal(k2hft_ring_open(&options, &ring), 0);
	assert_int_equal(stats_of(ring).ring_bytes, 2 * K2HFT_RING_BYTES_MIN);
	k2hft_ring_close(ring);
}

RING_TEST(drops_are_counted)
{
	struct k2hft_producer *producer = producer_of(ring);

	k2hft_producer_drop(producer, 5);
	k2hft_producer_drop(producer, 0);
	assert_int_equal(stats_of(ring).dropped_records, 5);
	k2hft_producer_close(producer);
}

RING_TEST(all_payload_lies_in_the_rings_memory)
{
	struct k2hft_producer *producer = producer_of(ring);
	size_t bytes, payload_bytes = (size_t)stats_of(ring).payload_bytes_max;
	char *memory = k2hft_ring_memory(ring, &bytes);
	struct k2hft_span span;
	void *payload;

	assert_int_equal(bytes, 2 * SMALL);
	assert_int_equal(k2hft_producer_reserve(producer, payload_bytes + 1, &payload), -EMSGSIZE);
	for (unsigned lap = 0; lap < 9; lap++) {
		payload = reserve(producer, payload_bytes);
		assert_true((char *)payload >= memory && (char *)payload + payload_bytes <= memory + bytes);
		assert_int_equal(commit(producer, stream_of(ring, "s"), 0, payload_bytes), 0);
		assert_int_equal(stats_of(ring).unacked_records, 1);
		assert_int_equal(k2hft_ring_read(ring, 0, 0, &span, NULL), 1);
		assert_int_equal(k2hft_ring_release(ring, span.position + span.bytes), 0);
	}
	assert_int_equal(stats_of(ring).unacked_records, 0);
	k2hft_producer_close(producer);
}

RING_TEST(space_wait_takes_its_time)
{
	struct k2hft_producer *producer = producer_of(ring);
	uint32_t stream_id = stream_of(ring, "s");
	uint64_t begin_ns;

	while (push(producer, stream_id, "filler") == 0)
		continue;
	begin_ns = k2i_clock_ns(CLOCK_MONOTONIC);
	assert_int_equal(k2hft_ring_space_wait(ring, 8, 20), -ETIMEDOUT);
	assert_true(k2i_clock_ns(CLOCK_MONOTONIC) - begin_ns >= 20 * UINT64_C(1000000));
	k2hft_producer_close(producer);
}
