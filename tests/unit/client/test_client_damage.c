/* SPDX-License-Identifier: MIT */
/* The client with a ring that was damaged. */
#include "unit.h"
#include "client_peer.h"

#include "ring/layout.h"

/* Writes into the ring's data as a process that went wild would. */
static void ring_scribble(struct fixture *f, uint64_t position, size_t bytes)
{
	uint8_t junk[256];

	memset(junk, 0xa5, sizeof(junk));
	assert_true(bytes <= sizeof(junk));
	assert_int_equal(pwrite(k2hft_ring_descriptor(f->ring), junk, bytes, (off_t)(K2I_DATA_AT + position)),
			 (ssize_t)bytes);
}

/* Chunks in front of it, DISCARD, and chunks behind it. */
static void expect_around_hole(struct fixture *f, uint64_t from, uint64_t to)
{
	struct peer_frame got = peer_connect_data(f, 0);

	assert_int_equal(got.frame.raw_bytes, from);
	(void)expect_discard(f, from, to, K2HFT_DISCARD_REPAIRED);
	got = peer_frame(f, K2HFT_FRAME_DATA);
	assert_int_equal(got.frame.position, to);
	assert_int_equal(got.frame.gap_bytes, 0);
}

CLIENT_TEST(damage_is_announced)
{
	client_open(f);
	uint64_t damaged_from, damaged_to;
	push_three(f, &damaged_from, &damaged_to);
	ring_scribble(f, damaged_from, 32);
	expect_around_hole(f, damaged_from, damaged_to);
	assert_int_equal(stats_of(f).discarded_ranges, 1);
	assert_non_null(strstr(f->log, "0 client: the ring is damaged"));
	/* The end of a hole can be acknowledged, and the hole is told again to whoever did not hear of it. */
	peer_acks(f, damaged_from);
	(void)peer_connect(f, damaged_from, PEER_WINDOW);
	(void)expect_discard(f, damaged_from, damaged_to, K2HFT_DISCARD_REPAIRED);
	peer_acks(f, damaged_to);
	(void)peer_data(f);
	peer_acks(f, f->end);
	assert_int_equal(ring_stats_of(f).head, ring_stats_of(f).tail);
}

/*
 * Damage of one, two, ... five chunks in every other place, which is mended at once. As often as something is between
 * them.
 */
CLIENT_TEST(each_damage_is_announced)
{
	client_open(f);
	(void)peer_connect(f, 0, PEER_WINDOW);
	for (unsigned places = 1; places <= 5; places++) {
		uint64_t begin = ring_stats_of(f).tail, chunk_bytes = 40;

		for (unsigned chunk = 0; chunk < 2 * places; chunk++)
			push(f, "a\n");
		for (unsigned place = 0; place < places; place++)
			ring_scribble(f, begin + 2 * place * chunk_bytes, 32);
		for (unsigned place = 0; place < places; place++) {
			struct k2hft_discard discard = peer_discard(f);

			assert_int_equal(discard.from, begin + 2 * place * chunk_bytes);
			assert_int_equal(discard.to, discard.from + chunk_bytes);
			assert_int_equal(peer_data(f).frame.position, discard.to);
		}
	}
	assert_int_equal(stats_of(f).discarded_ranges, 1 + 2 + 3 + 4 + 5);
}

/* The place that was sent last is in the middle of what is mended, so it is no place to go on from. */
CLIENT_TEST(damage_on_both_sides_of_what_was_sent)
{
	struct k2hft_producer *first, *second;
	void *payload;

	client_open(f);
	push(f, "one\n");
	push(f, "two\n");
	uint64_t sent = ring_stats_of(f).tail;
	(void)peer_connect_data(f, 0);
	assert_int_equal(k2hft_producer_open(f->ring, &first), 0);
	assert_int_equal(k2hft_producer_open(f->ring, &second), 0);
	assert_int_equal(k2hft_producer_reserve(first, 8, &payload), 0);
	assert_int_equal(k2hft_producer_reserve(second, 8, &payload), 0);
	k2hft_producer_close(first);
	peer_quiet(f, 5);
	k2hft_producer_close(second);
	push(f, "three\n");
	ring_scribble(f, sent / 2, (size_t)(ring_stats_of(f).tail - sent / 2));
	push(f, "four\n");
	state_await(f, K2HFT_CLIENT_WAITING);
	assert_string_equal(stats_of(f).last_error, "the ring was damaged and is mended");
	(void)peer_connect(f, sent, PEER_WINDOW);
	struct k2hft_discard discard = peer_discard(f);
	assert_int_equal(discard.from, sent);
	assert_int_equal(peer_data(f).frame.position, discard.to);
	assert_int_equal(f->end, ring_stats_of(f).tail);
	peer_acks(f, f->end);
}

/* Found when the ring was opened, before there was a client. */
CLIENT_TEST(damage_of_before_is_announced)
{
	uint64_t damaged_from, damaged_to;
	push_three(f, &damaged_from, &damaged_to);
	ring_scribble(f, damaged_from, 32);
	assert_int_equal(k2hft_ring_repair(f->ring), 1);
	/* By another one even. */
	client_open(f);
	k2hft_client_close(f->client);
	f->log[f->log_bytes = 0] = '\0';
	client_open(f);
	assert_non_null(strstr(f->log, "0 client: the ring was damaged when it was opened"));
	expect_around_hole(f, damaged_from, damaged_to);
}

static void damage_where_the_receiver_stands(struct fixture *f, unsigned damaged_from, unsigned damaged_to,
					     unsigned receiver_at, unsigned goes_on_at)
{
	client_open(f);
	for (unsigned chunk = 0; chunk < 6; chunk++)
		push(f, "a record\n");
	uint64_t chunk_bytes = ring_stats_of(f).tail / 6;
	(void)peer_connect_data(f, 0);
	for (unsigned chunk = damaged_from; chunk < damaged_to; chunk++)
		ring_scribble(f, chunk * chunk_bytes, (size_t)chunk_bytes);
	(void)peer_connect(f, receiver_at * chunk_bytes, PEER_WINDOW);
	if (goes_on_at > receiver_at)
		(void)expect_discard(f, receiver_at * chunk_bytes, goes_on_at * chunk_bytes, K2HFT_DISCARD_REPAIRED);
	struct peer_frame got = peer_data(f);
	assert_int_equal(got.frame.position, goes_on_at * chunk_bytes);
	/* No news, though it can be among what is damaged, where the ring is not yet acknowledged. */
	peer_ack(f, receiver_at * chunk_bytes);
	peer_quiet(f, 5);
	assert_int_equal(stats_of(f).state, K2HFT_CLIENT_CONNECTED);
	peer_ack(f, f->end);
	acked_await(f, 6 * chunk_bytes);
	assert_int_equal(ring_stats_of(f).head, ring_stats_of(f).tail);
}

STATE_TEST(damage_below_the_receiver_does_not_matter, fixture_open, fixture_close)
{
	damage_where_the_receiver_stands(*state, 1, 2, 3, 3);
}

STATE_TEST(damage_up_to_the_receiver_does_not_matter, fixture_open, fixture_close)
{
	damage_where_the_receiver_stands(*state, 0, 3, 3, 3);
}

STATE_TEST(damage_around_the_receiver_is_announced, fixture_open, fixture_close)
{
	damage_where_the_receiver_stands(*state, 2, 5, 3, 5);
}

STATE_TEST(damage_from_the_head_on_is_announced, fixture_open, fixture_close)
{
	damage_where_the_receiver_stands(*state, 0, 5, 3, 5);
}

CLIENT_TEST(damage_to_the_end_is_announced)
{
	client_open(f);
	for (unsigned chunk = 0; chunk < 4; chunk++)
		push(f, "a record\n");
	uint64_t tail = ring_stats_of(f).tail;
	(void)peer_connect_data(f, 0);
	ring_scribble(f, tail / 2, (size_t)tail / 2);
	(void)peer_connect(f, tail / 4 * 3, PEER_WINDOW);
	peer_quiet(f, 5);
	push(f, "more\n");
	(void)expect_discard(f, tail / 4 * 3, tail, K2HFT_DISCARD_REPAIRED);
	(void)peer_data(f);
	peer_acks(f, f->end);
}

/* Each for its own reason, since only of the second it is known how much it was. */
CLIENT_TEST(damage_in_front_of_what_expired_is_announced)
{
	struct k2hft_chunk old = {.stream_id = f->stream_id, .record_count = 1, .time_ns = 1};

	f->options.expire_s = 3600;
	client_open(f);
	push(f, "damaged\n");
	uint64_t damaged_to = ring_stats_of(f).tail;
	assert_int_equal(k2hft_producer_push(f->producer, &old, "old\n", 4), 0);
	ring_scribble(f, 0, 32);
	(void)peer_connect(f, 0, PEER_WINDOW);
	assert_int_equal(expect_discard(f, 0, damaged_to, K2HFT_DISCARD_REPAIRED), 0);
	assert_int_equal(expect_discard(f, damaged_to, ring_stats_of(f).tail, K2HFT_DISCARD_EXPIRED), 1);
}
