/* SPDX-License-Identifier: MIT */

#include "unit.h"
#include "receiver/session/peers.h"
#include "receiver/session/streams.h"
#include "random_help.h"
#include "session_world.h"

SESSION_TEST(test_welcome_answers_the_greeting)
{
	struct k2hft_welcome welcome;

	put_hello(world, "ring", 1, 4096);
	assert_int_equal(take(world), K2I_SESSION_MORE);
	welcome = expect_welcome(world);
	assert_int_equal(welcome.version, 1);
	assert_int_equal(welcome.position, 4096);
	assert_int_equal(welcome.window_end, 4096 + WINDOW_BYTES);
	assert_int_equal(welcome.flags, 0);
	assert_int_equal(welcome.level, K2HFT_LEVEL_WRITTEN);
	assert_int_equal(welcome.frame_bytes_max, K2HFT_FRAME_BODY_BYTES_DEFAULT);
	assert_memory_equal(welcome.receiver_uuid, k2i_ledger_uuid(world->ledger), 16);
}

SESSION_TEST(test_frames_can_come_byte_by_byte)
{
	size_t total, given, consumed, wanted;
	static uint8_t bytes[4096];

	put_hello(world, "ring", 1, 0);
	put_stream(world, 1, "file");
	put_data(world, 0, 0, 1, "abc");
	total = world->input_bytes;
	memcpy(bytes, world->input, total);
	world->input_bytes = 0;
	for (given = 0; given < total; given++) {
		world->input[world->input_bytes++] = bytes[given];
		assert_int_equal(
			k2i_session_input(&world->session, world->input, world->input_bytes, &consumed, &wanted),
			K2I_SESSION_MORE);
		assert_true(consumed == 0 || consumed == world->input_bytes);
		world->input_bytes -= consumed;
	}
	assert_int_equal(world->input_bytes, 0);
	(void)expect_welcome(world);
	expect_ack(world, 120, K2HFT_STATUS_OK);
	expect_file(world, "file", "abc");
}

SESSION_TEST(test_duplicates_are_skipped)
{
	open_session(world);
	put_data(world, 0, 0, 1, "abc");
	put_data(world, 40, 0, 1, "bcd");
	put_data(world, 0, 0, 1, "a");
	expect_taken(world, 160);
	expect_file(world, "file", "abcd");
	assert_int_equal(atomic_load(&world->counters.duplicate_chunks), 3);
	assert_int_equal(atomic_load(&world->counters.chunks), 4);
	/* Also if there is nothing else it is acknowledged, lest who sent it waits. */
	put_data(world, 0, 0, 1, "a");
	expect_taken(world, 160);
	expect_file(world, "file", "abcd");
	assert_int_equal(atomic_load(&world->counters.duplicate_chunks), 4);
}

static void flow_check(void *argument, const char *path, const char *host, const struct k2i_flow_values *values)
{
	unsigned *seen = argument;
	bool first = strcmp(path, "file") == 0;

	assert_string_equal(host, "host");
	assert_int_equal(values->records, first ? 4 : 2);
	assert_int_equal(values->bytes, first ? 4 : 2);
	assert_true(values->last_ns > 0);
	/* Their time is the year 1970. */
	assert_int_equal(values->latency.chunks[K2I_LATENCY_BUCKETS - 1], first ? 4 : 2);
	*seen |= first ? 1 : 2;
}

/* For the status. */
SESSION_TEST(test_streams_and_senders_have_numbers)
{
	struct k2i_histogram of = {{0}, 0};
	unsigned seen = 0;

	world->session.commit.latency = &of;
	open_session(world);
	put_stream(world, 2, "other");
	put_data(world, 0, 0, 1, "abc");
	put_data(world, 120, 0, 2, "de");
	put_data(world, 200, 0, 1, "f");
	expect_taken(world, 240);
	k2i_flows_each(&world->streams.flows, flow_check, &seen);
	assert_int_equal(seen, 3);
	assert_int_equal(atomic_load(&of.chunks[K2I_LATENCY_BUCKETS - 1]), 6);
	world->session.commit.latency = NULL;
}

SESSION_TEST(test_resume_after_reconnect)
{
	struct k2hft_welcome welcome;

	open_session(world);
	put_data(world, 0, 0, 1, "abc");
	assert_int_equal(take(world), K2I_SESSION_MORE);
	session_again(world, 2);
	put_hello(world, "ring", 1, 40);
	put_stream(world, 1, "file");
	put_data(world, 40, 0, 1, "bcd");
	assert_int_equal(take(world), K2I_SESSION_MORE);
	welcome = expect_welcome(world);
	assert_int_equal(welcome.position, 120);
	assert_int_equal(welcome.flags, K2HFT_WELCOME_KNOWN);
	expect_ack(world, 160, K2HFT_STATUS_OK);
	expect_file(world, "file", "abcd");
	assert_int_equal(fenced_id, 0);
}

/* Its epoch is that of the moment when it was copied, and the original goes on with its own. */
SESSION_TEST(test_a_copy_sends_what_the_original_has)
{
	struct k2hft_hello hello = hello_make("ring", 1, 0);

	put_hello(world, "ring", 5, 0);
	put_stream(world, 1, "file");
	put_data(world, 0, 0, 1, "a");
	assert_int_equal(take(world), K2I_SESSION_MORE);
	assert_int_equal(expect_welcome(world).flags, 0);
	expect_ack(world, 40, K2HFT_STATUS_OK);
	session_again(world, 2);
	hello.flags = K2HFT_HELLO_COPY;
	put_greeting(world, &hello);
	put_stream(world, 1, "file");
	put_data(world, 0, 0, 1, "ab");
	assert_int_equal(take(world), K2I_SESSION_MORE);
	assert_int_equal(expect_welcome(world).flags, K2HFT_WELCOME_KNOWN);
	expect_ack(world, 80, K2HFT_STATUS_OK);
	session_again(world, 3);
	put_hello(world, "ring", 4, 40);
	expect_refused(world, K2HFT_ERROR_FENCED);
	session_open(world, 4);
	put_hello(world, "ring", 5, 40);
	put_stream(world, 1, "file");
	put_data(world, 80, 0, 1, "c");
	assert_int_equal(take(world), K2I_SESSION_MORE);
	assert_int_equal(expect_welcome(world).flags, K2HFT_WELCOME_KNOWN | K2HFT_WELCOME_COPIED);
	expect_ack(world, 120, K2HFT_STATUS_OK);
	session_again(world, 5);
	put_hello(world, "ring", 5, 120);
	assert_int_equal(take(world), K2I_SESSION_MORE);
	assert_int_equal(expect_welcome(world).flags, K2HFT_WELCOME_KNOWN);
	expect_file(world, "file", "abc");
}

/* A ring that was acknowledged under another name is new, and its ledger is not lost. */
SESSION_TEST(test_a_name_that_begins_is_no_lost_ledger)
{
	struct k2hft_hello hello = hello_make("ring", 1, 40);

	hello.flags = K2HFT_HELLO_BEGINS;
	put_greeting(world, &hello);
	assert_int_equal(take(world), K2I_SESSION_MORE);
	assert_int_equal(expect_welcome(world).position, 40);
	assert_int_equal(atomic_load(&world->counters.ledger_lost), 0);
}

SESSION_TEST(test_only_gaps_that_are_explained_are_passed)
{
	open_session(world);
	put_data(world, 0, 0, 1, "a");
	put_data(world, 80, 40, 1, "b");
	/* More is said to be skipped than is needed: what is below was received before. */
	put_data(world, 200, 160, 1, "c");
	expect_taken(world, 240);
	put_data(world, 288, 40, 1, "d");
	expect_refused(world, K2HFT_ERROR_POSITION);
	expect_file(world, "file", "abc");
}

SESSION_TEST(test_good_frames_before_a_bad_one_count)
{
	open_session(world);
	put_data(world, 0, 0, 1, "ab");
	put_data(world, 80, 0, 1, "cd");
	world->input[world->input_bytes - 8] ^= 1;
	assert_int_equal(take(world), K2I_SESSION_CLOSE);
	expect_ack(world, 80, K2HFT_STATUS_OK);
	expect_error(world, K2HFT_ERROR_CHECKSUM);
	expect_file(world, "file", "ab");
	assert_int_equal(atomic_load(&world->counters.checksum_errors), 1);
}

SESSION_TEST(test_nothing_of_a_bad_frame_counts)
{
	open_session(world);
	put_data(world, 0, 0, 1, "ab");
	put_data(world, 80, 0, 1, "cd");
	/* The last chunk names a stream that nobody declared; the checksum is right. */
	{
		uint8_t *header = world->input + K2HFT_FRAME_HEADER_BYTES + 80;
		uint8_t *body = header + K2HFT_FRAME_HEADER_BYTES;
		struct k2hft_frame frame = {
			.type = K2HFT_FRAME_DATA, .body_bytes = 80, .raw_bytes = 80, .position = 80};

		k2i_wire_u32_put(body + 40 + K2I_CHUNK_STREAM_AT, 2);
		assert_int_equal(k2hft_frame_header_encode(&frame, body, header), 0);
	}
	assert_int_equal(take(world), K2I_SESSION_CLOSE);
	expect_ack(world, 80, K2HFT_STATUS_OK);
	expect_error(world, K2HFT_ERROR_PROTOCOL);
	expect_file(world, "file", "ab");
}

/* Behind a first chunk that is written. */
static void second_chunk_refused(struct world *world, uint64_t position, uint32_t stream)
{
	open_session(world);
	put_data(world, 0, 0, 1, "a");
	put_data(world, position, 0, stream, "b");
	assert_int_equal(take(world), K2I_SESSION_CLOSE);
	expect_ack(world, 40, K2HFT_STATUS_OK);
	expect_error(world, K2HFT_ERROR_PROTOCOL);
	expect_file(world, "file", "a");
}

STATE_TEST(test_what_comes_again_has_a_stream, setup, teardown)
{
	second_chunk_refused(*state, 0, 2);
}

STATE_TEST(test_chunks_do_not_overlap, setup, teardown)
{
	second_chunk_refused(*state, 8, 1);
}

SESSION_TEST(test_nothing_beyond_the_window_is_taken)
{
	open_session(world);
	put_data(world, WINDOW_BYTES - 40, (uint32_t)WINDOW_BYTES - 40, 1, "a");
	expect_taken(world, WINDOW_BYTES);
	put_data(world, 2 * WINDOW_BYTES - 32, (uint32_t)WINDOW_BYTES - 32, 1, "b");
	expect_refused(world, K2HFT_ERROR_LIMIT);
}

SESSION_TEST(test_stream_declared_again)
{
	char path[201];

	open_session(world);
	put_data(world, 0, 0, 1, "a");
	put_stream(world, 1, "other");
	put_data(world, 40, 0, 1, "b");
	assert_int_equal(take(world), K2I_SESSION_MORE);
	expect_file(world, "file", "a");
	expect_file(world, "other", "b");
	/* Where there is no room in the memory of the one before. */
	(void)snprintf(path, sizeof(path), "%0200d", 0);
	put_stream(world, 1, path);
	put_data(world, 80, 0, 1, "c");
	assert_int_equal(take(world), K2I_SESSION_MORE);
	expect_file(world, path, "c");
}

/* Two writers of one file are told apart by ring, path, host and pid. */
SESSION_TEST(test_streams_have_writers)
{
	struct k2hft_stream_message other = {.stream_id = 2, .path = "file", .host = "other"};
	const struct k2i_stream *one, *two, *three;

	open_session(world);
	put_message(world, k2hft_stream_encode(&other, input_end(world), input_room(world)));
	put_stream(world, 3, "another");
	assert_int_equal(take(world), K2I_SESSION_MORE);
	one = k2i_session_stream_find(&world->session, 1);
	two = k2i_session_stream_find(&world->session, 2);
	three = k2i_session_stream_find(&world->session, 3);
	assert_true(one && two && three);
	assert_string_equal(one->host, "host");
	assert_string_equal(two->host, "other");
	assert_true(one->writer_seed != two->writer_seed && one->writer_seed != three->writer_seed);
}

SESSION_TEST(test_a_session_has_so_many_streams)
{
	char path[32];
	uint32_t id;

	open_session(world);
	for (id = 2; id <= K2I_SESSION_STREAMS_MAX; id++) {
		(void)snprintf(path, sizeof(path), "s%u", id);
		put_stream(world, id, path);
		assert_int_equal(take(world), K2I_SESSION_MORE);
	}
	put_stream(world, 7, "again");
	assert_int_equal(take(world), K2I_SESSION_MORE);
	put_stream(world, id, "more");
	expect_refused(world, K2HFT_ERROR_LIMIT);
}

SESSION_TEST(test_all_sessions_have_so_many_streams)
{
	world->streams.count_max = 2;
	open_session(world);
	put_stream(world, 2, "two");
	assert_int_equal(take(world), K2I_SESSION_MORE);
	/* A session that takes another's place needs no more. */
	put_stream(world, 2, "two again");
	assert_int_equal(take(world), K2I_SESSION_MORE);
	assert_int_equal(atomic_load(&world->streams.count), 2);
	put_stream(world, 3, "three");
	expect_refused(world, K2HFT_ERROR_LIMIT);
	assert_int_equal(atomic_load(&world->counters.refused_streams), 1);
	/* Memory of a session is free when it ends. */
	k2i_session_end(&world->session);
	assert_int_equal(atomic_load(&world->streams.count), 0);
	session_open(world, 2);
	open_session(world);
	put_stream(world, 2, "two");
	assert_int_equal(take(world), K2I_SESSION_MORE);
	assert_int_equal(atomic_load(&world->streams.count), 2);
}

static void put_discard(struct world *world, uint64_t from, uint64_t to, uint64_t records)
{
	struct k2hft_discard discard = {from, to, records, K2HFT_DISCARD_EXPIRED};

	put_message(world, k2hft_discard_encode(&discard, input_end(world), input_room(world)));
}

SESSION_TEST(test_what_is_discarded_is_passed_once)
{
	open_session(world);
	put_discard(world, 0, 4096, 12);
	put_data(world, 4096, 0, 1, "a");
	expect_taken(world, 4136);
	assert_int_equal(atomic_load(&world->counters.discarded_records), 12);
	/* A DISCARD that comes again gives up nothing of the chunks since. */
	put_discard(world, 0, 4096, 12);
	put_data(world, 4096, 0, 1, "a");
	put_data(world, 4136, 0, 1, "b");
	expect_taken(world, 4176);
	expect_file(world, "file", "ab");
	assert_int_equal(atomic_load(&world->counters.discarded_records), 12);
	put_discard(world, 8192, 8200, 12);
	expect_refused(world, K2HFT_ERROR_POSITION);
}

/* Positions that leave no room for a window behind them are refused, and nothing is committed there. */
SESSION_TEST(test_positions_have_an_end)
{
	const uint64_t last = UINT64_MAX - 7 - WINDOW_BYTES;

	open_session(world);
	put_discard(world, 0, UINT64_MAX - 7, 0);
	expect_refused(world, K2HFT_ERROR_LIMIT);
	assert_int_equal(world->session.committed, 0);
	session_again(world, 2);
	put_hello(world, "farther", 1, last + 8);
	expect_refused(world, K2HFT_ERROR_LIMIT);
	session_again(world, 3);
	put_hello(world, "far", 1, last - 40);
	put_stream(world, 1, "far");
	put_data(world, last - 40, 0, 1, "a");
	assert_int_equal(take(world), K2I_SESSION_MORE);
	(void)expect_welcome(world);
	expect_ack(world, last, K2HFT_STATUS_OK);
	put_data(world, last, 0, 1, "b");
	expect_refused(world, K2HFT_ERROR_LIMIT);
	expect_file(world, "far", "a");
}

SESSION_TEST(test_a_ping_is_answered_and_a_bye_ends)
{
	open_session(world);
	put_ping(world);
	assert_int_equal(take(world), K2I_SESSION_MORE);
	expect_pong(world);
	put_data(world, 0, 0, 1, "a");
	put_bye(world, 0);
	assert_int_equal(take(world), K2I_SESSION_CLOSE);
	expect_ack(world, 40, K2HFT_STATUS_OK);
	assert_int_equal(world->session.output_bytes, 0);
}

/* A peer that asks and does not read the answers is not read any more. */
SESSION_TEST(test_answers_have_a_limit)
{
	size_t consumed, wanted;
	unsigned i;

	open_session(world);
	for (i = 0; i < 1000; i++)
		put_ping(world);
	assert_int_equal(k2i_session_input(&world->session, world->input, world->input_bytes, &consumed, &wanted),
			 K2I_SESSION_MORE);
	assert_true(consumed > 0 && consumed < world->input_bytes);
	assert_int_equal(wanted, 0);
	assert_true(world->session.output_bytes <= K2I_SESSION_OUTPUT_BYTES);
}

static void refuse_first(struct world *world, unsigned code)
{
	assert_int_equal(take(world), K2I_SESSION_CLOSE);
	if (code)
		expect_error(world, code);
	else
		assert_int_equal(world->session.output_bytes, 0);
	session_again(world, 1);
}

SESSION_TEST(test_refused_greetings)
{
	struct k2hft_hello hello = hello_make("ring", 1, 0);

	put_stream(world, 1, "file");
	refuse_first(world, K2HFT_ERROR_PROTOCOL);
	hello.version_min = hello.version_max = 2;
	put_greeting(world, &hello);
	refuse_first(world, K2HFT_ERROR_VERSION);
	hello.version_min = 1;
	hello.features_required = 4;
	put_greeting(world, &hello);
	refuse_first(world, K2HFT_ERROR_VERSION);
	assert_int_equal(atomic_load(&world->counters.version_errors), 2);
	memcpy(world->input, "GET / HTTP/1.1\r\n\r\n", 18);
	world->input_bytes = 18;
	refuse_first(world, 0);
	open_session(world);
	put_hello(world, "ring", 1, 0);
	refuse_first(world, K2HFT_ERROR_PROTOCOL);
	open_session(world);
	memcpy(world->input, "GET / HTTP/1.1\r\n\r\n", 18);
	world->input_bytes = 18;
	refuse_first(world, K2HFT_ERROR_PROTOCOL);
}

SESSION_TEST(test_lengths_are_refused_at_once)
{
	struct k2hft_frame frame = {.type = K2HFT_FRAME_DATA, .body_bytes = 8u << 20, .raw_bytes = 8u << 20};
	static uint8_t body[8u << 20];

	open_session(world);
	assert_int_equal(k2hft_frame_header_encode(&frame, body, input_end(world)), 0);
	world->input_bytes += K2HFT_FRAME_HEADER_BYTES;
	refuse_first(world, K2HFT_ERROR_LIMIT);
	/* Before the greeting there is nothing but HELLO. */
	frame.body_bytes = frame.raw_bytes = 8192;
	assert_int_equal(k2hft_frame_header_encode(&frame, body, input_end(world)), 0);
	world->input_bytes += K2HFT_FRAME_HEADER_BYTES;
	refuse_first(world, K2HFT_ERROR_LIMIT);
}

/* Nothing of who has lost his ring, and breaks a rule, is left for the next of his thread to commit. */
SESSION_TEST(test_fenced_and_refused)
{
	static struct k2i_session old;
	size_t consumed, wanted;

	open_session(world);
	old = world->session;
	session_open(world, 2);
	open_session(world);
	put_data(world, 0, 0, 1, "a");
	put_data(world, 40, 0, 2, "b");
	assert_int_equal(k2i_session_input(&old, world->input, world->input_bytes, &consumed, &wanted),
			 K2I_SESSION_CLOSE);
	k2i_session_end(&old);
	world->input_bytes = 0;
	put_data(world, 0, 0, 1, "c");
	expect_taken(world, 40);
	expect_file(world, "file", "c");
}

STATE_TEST(test_the_newest_connection_has_the_ring, setup, teardown)
{
	struct world *world = *state;
	static struct k2i_session old;

	open_session(world);
	put_data(world, 0, 0, 1, "a");
	expect_taken(world, 40);
	old = world->session;
	/* The same epoch from another connection: the older one has lost the ring, and can't commit any more. */
	session_open(world, 2);
	open_session(world);
	assert_int_equal(fenced_id, 1);
	put_data(world, 40, 0, 1, "b");
	{
		static uint8_t bytes[200];
		size_t byte_count = world->input_bytes, consumed, wanted;

		memcpy(bytes, world->input, byte_count);
		assert_int_equal(k2i_session_input(&old, bytes, byte_count, &consumed, &wanted), K2I_SESSION_CLOSE);
		assert_int_equal(old.state, K2I_SESSION_ENDED);
	}
	expect_file(world, "file", "a");
	expect_taken(world, 80);
	expect_file(world, "file", "ab");
	k2i_session_end(&old);
	/* An older epoch has no chance. */
	session_again(world, 3);
	put_hello(world, "ring", 0, 0);
	expect_refused(world, K2HFT_ERROR_FENCED);
	assert_int_equal(fenced_id, 1);
	/* Nor has one that is older than another, which has not sent anything yet. */
	session_open(world, 4);
	put_hello(world, "ring", 7, 0);
	assert_int_equal(take(world), K2I_SESSION_MORE);
	(void)expect_welcome(world);
	old = world->session;
	session_open(world, 5);
	put_hello(world, "ring", 6, 0);
	expect_refused(world, K2HFT_ERROR_FENCED);
	k2i_session_end(&old);
}

SESSION_TEST(test_many_streams_in_a_frame)
{
	char path[32];
	uint32_t id;

	open_session(world);
	for (id = 1; id <= 200; id++) {
		(void)snprintf(path, sizeof(path), "s%u", id);
		put_stream(world, id, path);
	}
	for (id = 1; id <= 200; id++)
		put_data(world, (id - 1) * 80, 0, id, "ab");
	expect_taken(world, 200 * 80);
	for (id = 1; id <= 200; id++) {
		(void)snprintf(path, sizeof(path), "s%u", id);
		expect_file(world, path, "ab");
	}
	k2i_outputs_reopen(world->outputs);
	assert_int_equal(atomic_load(&world->counters.files_open), 0);
}

/* Random damage in a stream of good frames: never a crash, never a wrong byte in the file. */
SESSION_TEST(test_no_damage_writes_a_wrong_byte)
{
	uint64_t seed = 1, random;
	static uint8_t good[4096];
	size_t good_bytes;
	unsigned round;

	put_hello(world, "ring", 1, 0);
	put_stream(world, 1, "file");
	put_data(world, 0, 0, 1, "ab");
	put_data(world, 80, 0, 1, "cd");
	good_bytes = world->input_bytes;
	memcpy(good, world->input, good_bytes);
	for (round = 0; round < 3000; round++) {
		session_again(world, round + 2);
		memcpy(world->input, good, good_bytes);
		world->input_bytes = good_bytes;
		random = random_next(&seed);
		world->input[random % good_bytes] ^= (uint8_t)(1 + (random >> 32) % 255);
		(void)take(world);
	}
	assert_int_equal(atomic_load(&world->counters.quarantined_chunks), 0);
	/* The first frame is whole where the damage is in the second one, which never is. */
	expect_file(world, "file", "ab");
}

/* Whether a sender of `ring` that comes from `address` gets in. */
static bool gets_in(struct world *world, const char *address, const char *ring)
{
	bool welcome;

	session_again(world, 2);
	world->session.peer = address;
	put_hello(world, ring, 1, 0);
	welcome = take(world) == K2I_SESSION_MORE;
	if (!welcome)
		expect_error(world, K2HFT_ERROR_LIMIT);
	return welcome;
}

SESSION_TEST(test_one_host_has_its_share)
{
	struct k2i_peer first = {.ring_uuid = "first"}, mute = {.ring_uuid = ""};
	struct k2i_peers peers;

	k2i_peers_start(&peers);
	k2i_peer_add(&peers, &mute, "[::1]:1", 0);
	k2i_peer_add(&peers, &first, "[::1]:2", 0);
	world->shared.peers = &peers;
	world->shared.host_connections_max = 1;
	assert_true(gets_in(world, "[::1]:3", "ring"));
	assert_true(gets_in(world, first.address, "first"));
	assert_false(gets_in(world, "[::1]:3", "ring"));
	assert_int_equal(atomic_load(&world->counters.refused_connections), 1);
	assert_true(gets_in(world, "[::1]:3", "first"));
	assert_true(gets_in(world, "[::11]:3", "ring"));
	assert_true(gets_in(world, "[::]:3", "ring"));
	world->shared.host_connections_max = 2;
	assert_true(gets_in(world, mute.address, "mute"));
	/* Before anything is told of either to who asks. */
	assert_false(gets_in(world, "[::1]:3", "ring"));
	assert_true(gets_in(world, first.address, "ring"));
	k2i_peers_end(&peers);
}
