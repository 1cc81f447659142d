/* SPDX-License-Identifier: MIT */
/* Errors of writers whose ring is damaged time and again, so that the client gives it up. */
#include "unit.h"
#include "client_peer.h"

#include <k2hft/sender.h>

#include "ring/handle.h"

#define DAMAGES 4 /* one more than the client mends without a chunk between them */

static struct k2hft_sender *sender_make(const struct fixture *f)
{
	struct k2hft_sender_options options = {
		.size = sizeof(options), .host = "127.0.0.1", .port = f->port, .ring_bytes = K2HFT_RING_BYTES_MIN};
	struct k2hft_sender *sender;

	assert_int_equal(k2hft_sender_open(&options, &sender), 0);
	return sender;
}

static struct k2hft_ring_stats stats_get(struct k2hft_sender *sender)
{
	struct k2hft_ring_stats stats = {.size = sizeof(stats)};

	assert_int_equal(k2hft_ring_stats(k2hft_sender_ring(sender), &stats), 0);
	return stats;
}

/* A chunk that is damaged, and a claim behind it, up to which the ring can be mended: several of them. */
static void damages_make(struct k2hft_sender *sender, struct k2hft_producer *claims[DAMAGES])
{
	struct k2hft_ring *ring = k2hft_sender_ring(sender);
	struct k2hft_stream stream = {.path = "damaged"};
	struct k2hft_chunk chunk = {.record_count = 1};
	struct k2hft_producer *producer;
	void *payload;

	assert_int_equal(k2hft_stream_declare(ring, &stream, &chunk.stream_id), 0);
	assert_int_equal(k2hft_producer_open(ring, &producer), 0);
	for (unsigned at = 0; at < DAMAGES; at++) {
		uint64_t position = stats_get(sender).tail;

		assert_int_equal(k2hft_producer_push(producer, &chunk, "x", 1), 0);
		atomic_store(&k2i_entry_at(ring, position)->mark, 1);
		assert_int_equal(k2hft_producer_open(ring, &claims[at]), 0);
		assert_int_equal(k2hft_producer_reserve(claims[at], 8, &payload), 0);
	}
	k2hft_producer_close(producer);
}

/* The sender has a thread of its own, so the peer waits for it. */
static void connection_accept(struct fixture *f)
{
	struct pollfd wait = {.fd = f->listener, .events = POLLIN};
	struct k2hft_welcome welcome = welcome_make(0, PEER_WINDOW);

	assert_int_equal(poll(&wait, 1, -1), 1);
	f->peer = accept4(f->listener, NULL, NULL, SOCK_CLOEXEC);
	assert_true(f->peer >= 0);
	(void)peer_hello(f);
	peer_welcome(f, &welcome);
}

FIXTURE_TEST(who_waits_for_room_is_told_that_none_comes, struct fixture *f, fixture_open, fixture_close)
{
	struct k2hft_producer *claims[DAMAGES];
	struct k2hft_sender *sender;
	struct k2hft_writer *writer;
	uint64_t damaged_bytes = 0;
	char record[1000] = {'x'};
	int status;

	k2hft_log_callback_set(NULL, NULL, K2HFT_LOG_ERROR); /* the fixture's is for one thread */
	sender = sender_make(f);
	damages_make(sender, claims);
	connection_accept(f);
	for (unsigned at = 0; at < DAMAGES; at++) {
		while (stats_get(sender).damaged_bytes == damaged_bytes)
			(void)poll(NULL, 0, 1);
		damaged_bytes = stats_get(sender).damaged_bytes;
		k2hft_producer_close(claims[at]);
	}
	assert_int_equal(k2hft_writer_open(sender, "a.log", &writer), 0);
	do
		status = k2hft_writer_write(writer, record, sizeof(record));
	while (status == 0);
	assert_int_equal(status, -EIO);
	k2hft_writer_close(writer);
	assert_int_equal(k2hft_sender_close(sender, -1), -EIO);
}
