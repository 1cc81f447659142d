/* SPDX-License-Identifier: MIT */
#include "unit.h"
#include "client_peer.h"

#include <netdb.h>

CLIENT_TEST(one_client_has_the_ring)
{
	struct k2hft_client *other = NULL;

	assert_int_equal(k2hft_client_open(f->ring, &f->options, &f->client), 0);
	assert_int_equal(k2hft_client_open(f->ring, &f->options, &other), -EBUSY);
	assert_null(other);
	k2hft_client_close(f->client);
	assert_int_equal(k2hft_client_open(f->ring, &f->options, &f->client), 0);
}

STATE_TEST(stats_want_a_size, fixture_open, fixture_close)
{
	struct fixture *f = *state;
	struct k2hft_client_stats stats = {.size = 0};

	client_open(f);
	assert_int_equal(k2hft_client_stats(f->client, &stats), -EINVAL);
	assert_int_equal(k2hft_client_stats(NULL, &stats), -EINVAL);
	assert_int_equal(stats_of(f).state, K2HFT_CLIENT_WAITING);
}

/* ---- handshake */

STATE_TEST(hello_says_who_we_are, fixture_open, fixture_close)
{
	struct fixture *f = *state;

	client_open(f);
	peer_accept(f);
	struct k2hft_hello hello = peer_hello(f);
	struct k2hft_ring_stats ring = ring_stats_of(f);
	assert_int_equal(hello.version_min, 1);
	assert_int_equal(hello.version_max, 1);
	assert_int_equal(hello.features_required, 0);
	assert_memory_equal(hello.ring_uuid, ring.uuid, 16);
	assert_int_equal(hello.epoch, ring.epoch);
	assert_int_equal(hello.acked, 0);
	assert_int_equal(hello.frame_bytes_max, K2HFT_FRAME_BODY_BYTES_DEFAULT);
	assert_int_equal(hello.level, K2HFT_LEVEL_WRITTEN);
	assert_string_equal(hello.host, "here");
	assert_int_equal(stats_of(f).state, K2HFT_CLIENT_GREETING);
	struct k2hft_welcome welcome = welcome_make(0, PEER_WINDOW);
	welcome.flags = 0;
	peer_welcome(f, &welcome);
	state_await(f, K2HFT_CLIENT_CONNECTED);
	assert_int_equal(stats_of(f).connects, 1);
	assert_int_equal(stats_of(f).ledger_lost, 0);
	assert_string_equal(stats_of(f).last_error, "");
	assert_non_null(strstr(f->log, "client: connected to 127.0.0.1:"));
}

CLIENT_TEST(a_level_is_asked_for_and_missed)
{
	struct k2hft_welcome welcome = welcome_make(0, PEER_WINDOW);

	f->options.level = K2HFT_LEVEL_SYNCED;
	client_open(f);
	peer_accept(f);
	assert_int_equal(peer_hello(f).level, K2HFT_LEVEL_SYNCED);
	assert_int_equal(welcome.level, K2HFT_LEVEL_WRITTEN);
	peer_welcome(f, &welcome);
	state_await(f, K2HFT_CLIENT_CONNECTED);
	assert_non_null(strstr(f->log, " acknowledges at level 2, not 3 as wanted"));
}

static struct k2hft_hello welcome_refused(struct fixture *f, const struct k2hft_welcome *welcome, unsigned code)
{
	uint64_t connects = stats_of(f).connects;
	struct k2hft_error_message error;

	peer_accept(f);
	struct k2hft_hello hello = peer_hello(f);
	peer_welcome(f, welcome);
	struct peer_frame got = peer_frame(f, K2HFT_FRAME_ERROR);
	assert_int_equal(k2hft_error_decode(got.body, got.frame.body_bytes, &error), 0);
	assert_int_equal(error.code, code);
	peer_await_end(f);
	assert_int_equal(stats_of(f).connects, connects);
	assert_int_equal(stats_of(f).connect_failures, 1);
	assert_string_equal(stats_of(f).last_error, error.text);
	return hello;
}

STATE_TEST(welcome_of_another_version_is_refused, fixture_open, fixture_close)
{
	struct k2hft_welcome welcome = welcome_make(0, PEER_WINDOW);

	client_open(*state);
	welcome.version = 2;
	(void)welcome_refused(*state, &welcome, K2HFT_ERROR_VERSION);
}

/* A receiver that has these positions has not got the chunks of this ring. */
static void a_ring_of_which_the_receiver_has_more_gets_another_name(struct fixture *f, uint64_t acked)
{
	struct k2hft_welcome welcome = welcome_make(acked + 40, PEER_WINDOW);
	struct k2hft_hello before, hello;

	for (int chunks = 0; chunks < 2; chunks++)
		push(f, "kept\n");
	before = welcome_refused(f, &welcome, K2HFT_ERROR_POSITION);
	assert_non_null(strstr(f->log, "its file is an older copy"));
	peer_accept(f);
	hello = peer_hello(f);
	assert_memory_not_equal(hello.ring_uuid, before.ring_uuid, sizeof(hello.ring_uuid));
	assert_memory_equal(hello.ring_uuid, ring_stats_of(f).uuid, sizeof(hello.ring_uuid));
	assert_int_equal(hello.acked, acked);
	welcome = welcome_make(acked, PEER_WINDOW);
	welcome.flags = 0;
	peer_welcome(f, &welcome);
	assert_int_equal(peer_data(f).frame.position, acked);
	while (f->end < ring_stats_of(f).tail)
		(void)peer_data(f);
}

STATE_TEST(a_copy_that_was_not_sent_yet_gets_another_name, fixture_open, fixture_close)
{
	client_open(*state);
	a_ring_of_which_the_receiver_has_more_gets_another_name(*state, 0);
}

CLIENT_TEST(a_copy_that_is_sent_by_another_one_too_gets_another_name)
{
	client_open(f);
	push(f, "sent\n");
	(void)peer_connect_data(f, 0);
	peer_acks(f, f->end);
	peer_close(f);
	a_ring_of_which_the_receiver_has_more_gets_another_name(f, f->end);
}

CLIENT_TEST(welcome_inside_a_chunk_gives_the_ring_another_name)
{
	struct k2hft_welcome welcome = welcome_make(8, PEER_WINDOW);
	struct k2hft_hello before, hello;

	client_open(f);
	push(f, "kept\n");
	(void)peer_connect_data(f, 0);
	peer_close(f);
	before = welcome_refused(f, &welcome, K2HFT_ERROR_POSITION);
	assert_non_null(strstr(f->log, "has other chunks of ring"));
	peer_accept(f);
	hello = peer_hello(f);
	assert_memory_not_equal(hello.ring_uuid, before.ring_uuid, sizeof(hello.ring_uuid));
	welcome = welcome_make(0, PEER_WINDOW);
	peer_welcome(f, &welcome);
	assert_int_equal(peer_data(f).frame.position, 0);
}

CLIENT_TEST(another_protocol_is_told_so)
{
	client_open(f);
	peer_accept(f);
	(void)peer_hello(f);
	peer_send(f, "HTTP/1.1 400 Bad Request\r\n\r\n", 28);
	peer_await_end(f);
	assert_non_null(strstr(stats_of(f).last_error, "what answers is no receiver"));
}

STATE_TEST(no_welcome_in_time_is_the_end, fixture_open, fixture_close)
{
	struct fixture *f = *state;

	client_open(f);
	peer_accept(f);
	(void)peer_hello(f);
	f->now_ns += 9900 * MS;
	peer_quiet(f, 1);
	assert_int_equal(stats_of(f).state, K2HFT_CLIENT_GREETING);
	f->now_ns += 200 * MS;
	peer_await_end(f);
	assert_int_equal(stats_of(f).connect_failures, 1);
}

CLIENT_TEST(refused_connections_are_tried_again)
{
	uint16_t port = (uint16_t)strtoul(f->port, NULL, 10);

	(void)close(f->listener);
	client_open(f);
	for (int round = 0; stats_of(f).connect_failures < 5; round++) {
		assert_true(round < ROUNDS_MAX);
		round_go(f);
	}
	assert_non_null(strstr(f->log, ": Connection refused; trying again\n"));
	/* A single line, however often. */
	assert_null(strstr(strstr(f->log, "trying again") + 1, "trying again"));
	f->listener = listen_at(port, f->port);
	(void)peer_connect(f, 0, PEER_WINDOW);
}

CLIENT_TEST(names_are_looked_up)
{
	struct addrinfo *addresses;

	if (getaddrinfo("localhost", NULL, NULL, &addresses)) /* a chroot may have no /etc/hosts */
		skip();
	freeaddrinfo(addresses);
	f->options.host = "localhost"; /* its other addresses refuse */
	client_open(f);
	(void)peer_connect(f, 0, PEER_WINDOW);
}

CLIENT_TEST(names_that_do_not_exist_are_an_error)
{
	f->options.host = "no.such.host.invalid";
	client_open(f);
	for (int round = 0; stats_of(f).connect_failures == 0; round++) {
		assert_true(round < ROUNDS_MAX);
		round_go(f);
	}
	assert_non_null(strstr(f->log, "client: no.such.host.invalid:"));
	assert_string_not_equal(stats_of(f).last_error, "");
	/* Closed while it is being looked up. */
	k2hft_client_close(f->client);
	client_open(f);
	round_go(f);
	k2hft_client_close(f->client);
	f->client = NULL;
}

CLIENT_TEST(refusals_of_the_receiver_wait_long)
{
	struct k2hft_error_message error = {.code = K2HFT_ERROR_FENCED, .text = "a newer one \xc2\x9b is here"};
	struct k2hft_hello before, hello;
	uint8_t bytes[256];

	client_open(f);
	peer_accept(f);
	before = peer_hello(f);
	peer_send(f, bytes, k2hft_error_encode(&error, bytes, sizeof(bytes)));
	peer_await_end(f);
	/* No order to the terminal that it is shown on. */
	assert_non_null(strstr(stats_of(f).last_error, "a newer one ?? is here"));
	assert_non_null(strstr(f->log, "a newer one ?? is here"));
	assert_in_range(k2hft_client_timeout_ms(f->client, f->now_ns), 4900, 5000);
	f->now_ns += 5000 * MS;
	hello = peer_connect(f, 0, PEER_WINDOW);
	assert_string_equal(stats_of(f).last_error, "");
	/* A peer that has a higher epoch has another copy. */
	assert_memory_not_equal(hello.ring_uuid, before.ring_uuid, sizeof(hello.ring_uuid));
}

/* ---- data */

CLIENT_TEST(records_arrive_as_they_were)
{
	uint32_t other_id = stream_declare(f, "dir/b.log");
	struct k2hft_stream_message message;
	struct k2hft_chunk_view view;
	uint64_t position = 0;
	size_t offset = 0;

	client_open(f);
	push(f, "one\n");
	push_to(f, other_id, "two\n", 4);
	push(f, "three\n");
	(void)peer_connect(f, 0, PEER_WINDOW);
	struct peer_frame got = peer_frame(f, K2HFT_FRAME_STREAM);
	assert_int_equal(k2hft_stream_decode(got.body, got.frame.body_bytes, &message), 0);
	assert_int_equal(message.stream_id, f->stream_id);
	assert_string_equal(message.path, "a.log");
	got = peer_frame(f, K2HFT_FRAME_STREAM);
	assert_int_equal(k2hft_stream_decode(got.body, got.frame.body_bytes, &message), 0);
	assert_int_equal(message.stream_id, other_id);
	assert_string_equal(message.path, "dir/b.log");
	got = peer_frame(f, K2HFT_FRAME_DATA);
	assert_int_equal(got.frame.position, position);
	const char *texts[] = {"one\n", "two\n", "three\n"};
	for (size_t index = 0; index < 3; index++) {
		assert_int_equal(k2hft_chunk_next(got.body, got.frame.raw_bytes, got.frame.position, &offset, &view),
				 1);
		assert_int_equal(view.payload_bytes, strlen(texts[index]));
		assert_memory_equal(view.payload, texts[index], view.payload_bytes);
		assert_int_equal(view.chunk.stream_id, index == 1 ? other_id : f->stream_id);
	}
	assert_int_equal(k2hft_chunk_next(got.body, got.frame.raw_bytes, got.frame.position, &offset, &view), 0);
	assert_int_equal(stats_of(f).sent_frames, 1);
	assert_int_equal(stats_of(f).sent_records, 3);
	/* Known now: no second STREAM. */
	push_to(f, other_id, "four\n", 5);
	(void)peer_frame(f, K2HFT_FRAME_DATA);
}

CLIENT_TEST(streams_are_told_as_they_were_declared)
{
	struct k2hft_stream stream = {.path = "a.log", .host = "elsewhere", .mode = K2HFT_STREAM_BINARY};
	struct k2hft_stream_message message;
	uint32_t stream_id;

	assert_int_equal(k2hft_stream_declare(f->ring, &stream, &stream_id), 0);
	client_open(f);
	push_to(f, stream_id, "block", 5);
	(void)peer_connect(f, 0, PEER_WINDOW);
	struct peer_frame got = peer_frame(f, K2HFT_FRAME_STREAM);
	assert_int_equal(k2hft_stream_decode(got.body, got.frame.body_bytes, &message), 0);
	assert_int_equal(message.stream_id, stream_id);
	assert_string_equal(message.path, "a.log");
	assert_string_equal(message.host, "elsewhere");
	assert_int_equal(message.mode, K2HFT_STREAM_BINARY);
}

CLIENT_TEST(acknowledged_room_is_free_again)
{
	client_open(f);
	push(f, "one\n");
	(void)peer_connect_data(f, 0);
	assert_int_equal(ring_stats_of(f).acked, 0);
	peer_acks(f, f->end);
	assert_int_equal(ring_stats_of(f).acked, f->end);
	assert_int_equal(ring_stats_of(f).head, ring_stats_of(f).tail);
	assert_int_equal(f->progress, f->end);
	assert_int_equal(stats_of(f).window_end, f->end + PEER_WINDOW);
}

CLIENT_TEST(nothing_goes_beyond_the_window)
{
	char text[1000];

	memset(text, 'x', sizeof(text));
	client_open(f);
	for (unsigned chunk = 0; chunk < 10; chunk++)
		push_to(f, f->stream_id, text, sizeof(text));
	uint64_t chunk_bytes = ring_stats_of(f).tail / 10;
	(void)peer_connect(f, 0, 3 * chunk_bytes + 8);
	assert_int_equal(peer_data(f).frame.flags, 0);
	assert_int_equal(f->end, 3 * chunk_bytes);
	peer_quiet(f, 5);
	peer_ack_window(f, 0, 4 * chunk_bytes - 8, K2HFT_STATUS_SLOW);
	peer_quiet(f, 5);
	assert_int_equal(stats_of(f).status, K2HFT_STATUS_SLOW);
	assert_non_null(strstr(f->log, "is slow"));
	peer_ack_window(f, chunk_bytes, 4 * chunk_bytes, K2HFT_STATUS_OK);
	(void)peer_data(f);
	assert_int_equal(f->end, 4 * chunk_bytes);
	peer_ack(f, f->end);
	(void)peer_data(f);
	assert_int_equal(f->end, 10 * chunk_bytes);
}

CLIENT_TEST(frames_hold_no_more_records_than_wanted)
{
	unsigned frames = 0;

	f->options.batch_records_max = 3;
	client_open(f);
	for (unsigned chunk = 0; chunk < 31; chunk++)
		push(f, "x\n");
	(void)peer_connect(f, 0, PEER_WINDOW);
	while (f->end < ring_stats_of(f).tail) {
		(void)peer_data(f);
		frames++;
	}
	assert_int_equal(frames, 11);
}

/* The client says why, and closes. */
static void error_await(struct fixture *f, unsigned code)
{
	struct k2hft_error_message error;

	/* A client that goes on would ask and be answered for ever. */
	state_await(f, K2HFT_CLIENT_WAITING);
	struct peer_frame got = peer_frame(f, K2HFT_FRAME_ERROR);
	assert_int_equal(k2hft_error_decode(got.body, got.frame.body_bytes, &error), 0);
	assert_int_equal(error.code, code);
	peer_await_end(f);
	assert_string_equal(stats_of(f).last_error, error.text);
}

static void a_wrong_ack(struct fixture *f, uint64_t position, uint64_t window_end)
{
	client_open(f);
	push(f, "one\n");
	push(f, "two\n");
	(void)peer_connect_data(f, 0);
	push(f, "three\n");
	(void)peer_data(f);
	peer_ack_window(f, position, window_end, K2HFT_STATUS_OK);
	error_await(f, K2HFT_ERROR_POSITION);
	assert_int_equal(ring_stats_of(f).acked, 0);
	(void)peer_connect_data(f, 0);
	assert_int_equal(f->end, ring_stats_of(f).tail);
	assert_int_equal(stats_of(f).resent_frames, 1);
}

STATE_TEST(ack_above_what_was_sent_is_refused, fixture_open, fixture_close)
{
	a_wrong_ack(*state, 4096, PEER_WINDOW);
}

STATE_TEST(ack_inside_a_chunk_is_refused, fixture_open, fixture_close)
{
	a_wrong_ack(*state, 48, PEER_WINDOW);
}

STATE_TEST(window_that_shrinks_is_refused, fixture_open, fixture_close)
{
	a_wrong_ack(*state, 0, PEER_WINDOW - 8);
}

CLIENT_TEST(ack_of_another_level_is_refused)
{
	struct k2hft_ack ack = {.window_end = PEER_WINDOW, .level = K2HFT_LEVEL_SYNCED};
	uint8_t bytes[128];

	client_open(f);
	(void)peer_connect(f, 0, PEER_WINDOW);
	peer_send(f, bytes, k2hft_ack_encode(&ack, bytes, sizeof(bytes)));
	error_await(f, K2HFT_ERROR_PROTOCOL);
}

/* A peer that has greeted speaks the protocol: bytes between its frames have damaged them. */
CLIENT_TEST(headers_are_refused)
{
	struct k2hft_frame frame = {.type = K2HFT_FRAME_DATA, .body_bytes = 8192, .raw_bytes = 8192};
	uint8_t body[8192] = {0}, header[K2HFT_FRAME_HEADER_BYTES];

	client_open(f);
	(void)peer_connect(f, 0, PEER_WINDOW);
	peer_send(f, "HTTP/1.1 400 Bad Request\r\n\r\n", 28);
	error_await(f, K2HFT_ERROR_PROTOCOL);
	assert_in_range(k2hft_client_timeout_ms(f->client, f->now_ns), 0, 110);
	(void)peer_connect(f, 0, PEER_WINDOW);
	assert_int_equal(k2hft_frame_header_encode(&frame, body, header), 0);
	peer_send(f, header, sizeof(header));
	error_await(f, K2HFT_ERROR_LIMIT);
}

CLIENT_TEST(ack_between_chunks_of_a_frame_is_good)
{
	client_open(f);
	push(f, "one\n");
	uint64_t first_end = ring_stats_of(f).tail;
	push(f, "two\n");
	(void)peer_connect_data(f, 0);
	peer_acks(f, first_end);
	peer_ack(f, first_end);
	peer_acks(f, f->end);
	/* But never back. */
	peer_ack_window(f, first_end, f->end + PEER_WINDOW, K2HFT_STATUS_OK);
	error_await(f, K2HFT_ERROR_POSITION);
}

CLIENT_TEST(large_data_come_through_a_full_socket)
{
	size_t bytes = 1024u * 1024;
	uint8_t *block = malloc(bytes);
	int small = 64 * 1024;

	for (size_t at = 0; at < bytes; at++)
		block[at] = (uint8_t)(at * 7 / 3);
	client_open(f);
	peer_accept(f);
	(void)peer_hello(f);
	(void)setsockopt(f->peer, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
	struct k2hft_welcome welcome = welcome_make(0, PEER_WINDOW);
	peer_welcome(f, &welcome);
	for (unsigned chunk = 0; chunk < 12; chunk++)
		push_to(f, f->stream_id, block, bytes);
	/* Full to the brim before anything is read. */
	rounds_go(f, 50);
	for (unsigned chunk = 0; chunk < 12; chunk++) {
		struct k2hft_chunk_view view;
		size_t offset = 0;
		struct peer_frame got = peer_data(f);

		assert_int_equal(k2hft_chunk_next(got.body, got.frame.raw_bytes, got.frame.position, &offset, &view),
				 1);
		assert_int_equal(view.payload_bytes, bytes);
		assert_memory_equal(view.payload, block, bytes);
		peer_ack(f, f->end);
	}
	acked_await(f, ring_stats_of(f).tail);
	free(block);
}

CLIENT_TEST(frames_of_the_receiver_may_come_in_pieces)
{
	struct k2hft_welcome welcome = welcome_make(0, PEER_WINDOW);
	uint8_t bytes[512];

	client_open(f);
	peer_accept(f);
	(void)peer_hello(f);
	int count = k2hft_welcome_encode(&welcome, bytes, sizeof(bytes));
	for (int at = 0; at < count; at++) {
		peer_send(f, bytes + at, 1);
		round_go(f);
	}
	state_await(f, K2HFT_CLIENT_CONNECTED);
}

/* ---- resume */

CLIENT_TEST(resume_goes_on_where_the_receiver_is)
{
	client_open(f);
	for (unsigned chunk = 0; chunk < 10; chunk++)
		push(f, "some record\n");
	uint64_t tail = ring_stats_of(f).tail, chunk_bytes = tail / 10;
	(void)peer_connect_data(f, 0);
	assert_int_equal(f->end, tail);
	peer_acks(f, 2 * chunk_bytes);
	/* It committed two more, and the acknowledgement was lost. */
	struct k2hft_hello hello = peer_connect(f, 4 * chunk_bytes, PEER_WINDOW);
	assert_int_equal(hello.acked, 2 * chunk_bytes);
	assert_memory_equal(hello.receiver_uuid, "0123456789abcde", 16);
	assert_int_equal(ring_stats_of(f).acked, 4 * chunk_bytes);
	assert_int_equal(f->progress, 4 * chunk_bytes);
	struct peer_frame got = peer_frame(f, K2HFT_FRAME_STREAM); /* said again */
	got = peer_frame(f, K2HFT_FRAME_DATA);
	assert_int_equal(got.frame.position, 4 * chunk_bytes);
	assert_int_equal(got.frame.gap_bytes, 0);
	assert_int_equal(f->end, tail);
	assert_int_equal(stats_of(f).resent_frames, 1);
	assert_int_equal(stats_of(f).connects, 2);
	assert_int_equal(stats_of(f).ledger_lost, 0);
}

CLIENT_TEST(a_receiver_that_forgot_is_noticed)
{
	client_open(f);
	push(f, "one\n");
	(void)peer_connect_data(f, 0);
	uint64_t acked = f->end;
	peer_acks(f, acked);
	struct k2hft_welcome welcome = welcome_make(acked, PEER_WINDOW);
	welcome.flags = 0;
	for (unsigned time = 1; time <= 3; time++) {
		if (time == 3)
			welcome = welcome_make(0, PEER_WINDOW); /* knows an older one */
		peer_accept(f);
		(void)peer_hello(f);
		peer_welcome(f, &welcome);
		state_await(f, K2HFT_CLIENT_CONNECTED);
		assert_int_equal(stats_of(f).ledger_lost, time);
	}
	assert_non_null(strstr(f->log, "does not know ring"));
	assert_null(strstr(strstr(f->log, "does not know ring") + 1, "does not know ring"));
	/* Chunks that it has again are no news, and no mistake. */
	peer_ack_window(f, 8, PEER_WINDOW, K2HFT_STATUS_OK);
	push(f, "two\n");
	struct peer_frame got = peer_data(f);
	assert_int_equal(got.frame.position, acked);
	peer_quiet(f, 5);
	assert_int_equal(stats_of(f).acked, acked);
}

CLIENT_TEST(an_unacknowledged_tail_survives_the_client)
{
	client_open(f);
	push(f, "one\n");
	(void)peer_connect_data(f, 0);
	k2hft_client_close(f->client);
	f->client = NULL;
	client_open(f);
	struct peer_frame got = peer_connect_data(f, 0);
	assert_int_equal(got.frame.position, 0);
}
