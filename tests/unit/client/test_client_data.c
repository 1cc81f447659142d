/* SPDX-License-Identifier: MIT */
#include "unit.h"
#include "client_peer.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "client/state.h"
#include "ring/handle.h"

CLIENT_TEST(expired_chunks_are_announced)
{
	struct k2hft_chunk old = {.stream_id = f->stream_id, .record_count = 3, .time_ns = 1};

	f->options.expire_s = 3600;
	client_open(f);
	push(f, "young\n");
	uint64_t old_from = ring_stats_of(f).tail;
	assert_int_equal(k2hft_producer_push(f->producer, &old, "a\nb\nc\n", 6), 0);
	uint64_t old_to = ring_stats_of(f).tail;
	push(f, "young\n");
	(void)peer_connect_data(f, 0);
	assert_int_equal(f->end, old_from);
	assert_int_equal(expect_discard(f, old_from, old_to, K2HFT_DISCARD_EXPIRED), 3);
	struct peer_frame got = peer_data(f);
	assert_int_equal(got.frame.position, old_to);
	assert_int_equal(got.frame.gap_bytes, 0);
	peer_acks(f, f->end);
	assert_non_null(strstr(f->log, "0 client: 3 records"));
}

/* The connection breaks before it is acknowledged that nothing comes. */
CLIENT_TEST(what_expired_is_counted_once)
{
	struct k2hft_chunk old = {.stream_id = f->stream_id, .record_count = 3, .time_ns = 1};

	f->options.expire_s = 3600;
	client_open(f);
	assert_int_equal(k2hft_producer_push(f->producer, &old, "a\nb\nc\n", 6), 0);
	(void)peer_connect(f, 0, PEER_WINDOW);
	assert_int_equal(peer_discard(f).record_count, 3);
	peer_close(f);
	assert_int_equal(k2hft_producer_push(f->producer, &old, "d\ne\nf\n", 6), 0);
	(void)peer_connect(f, 0, PEER_WINDOW);
	assert_int_equal(peer_discard(f).record_count, 6);
	uint64_t tail = ring_stats_of(f).tail;
	/* In two pieces, of which one is acknowledged. */
	(void)peer_connect(f, 0, tail / 2);
	assert_int_equal(peer_discard(f).to, tail / 2);
	peer_ack(f, tail / 2);
	assert_int_equal(peer_discard(f).record_count, 3);
	assert_int_equal(ring_stats_of(f).acked, tail / 2);
	/* The receiver has heard of the other, too. */
	(void)peer_connect(f, tail, PEER_WINDOW);
	assert_int_equal(ring_stats_of(f).acked, tail);
	assert_int_equal(stats_of(f).expired_records, 6);
	assert_int_equal(ring_stats_of(f).expired_records, 6);
	/* These as often as they were announced. */
	assert_int_equal(stats_of(f).discarded_ranges, 4);
}

/* The writer of the stream's name died before it was whole. */
static void stream_spoil(struct fixture *f)
{
	uint64_t stream_at = K2I_STREAMS_AT + (f->stream_id - 1) * sizeof(struct k2i_stream);
	uint32_t generation = 1;

	assert_int_equal(pwrite(k2hft_ring_descriptor(f->ring), &generation, sizeof(generation),
				(off_t)(stream_at + offsetof(struct k2i_stream, generation))),
			 sizeof(generation));
}

/* Chunks that were sent in front of those given up, and not acknowledged, can be given up later, for another reason. */
CLIENT_TEST(what_is_given_up_later_is_counted)
{
	struct k2hft_chunk old = {.stream_id = f->stream_id, .record_count = 3, .time_ns = 1},
			   fresh = {.stream_id = f->stream_id, .record_count = 1, .time_ns = UINT64_MAX};

	f->options.expire_s = 3600;
	client_open(f);
	assert_int_equal(k2hft_producer_push(f->producer, &fresh, "one\n", 4), 0);
	assert_int_equal(k2hft_producer_push(f->producer, &old, "a\nb\nc\n", 6), 0);
	(void)peer_connect_data(f, 0);
	assert_int_equal(peer_discard(f).record_count, 3);
	peer_close(f);
	stream_spoil(f);
	(void)peer_connect(f, 0, PEER_WINDOW);
	assert_int_equal(peer_discard(f).record_count, 1);
	assert_int_equal(peer_discard(f).record_count, 3);
	assert_int_equal(stats_of(f).unknown_records, 1);
	assert_int_equal(stats_of(f).expired_records, 3);
}

CLIENT_TEST(what_has_no_stream_is_counted_once)
{
	uint32_t other_id = stream_declare(f, "b.log");

	client_open(f);
	push(f, "one\n");
	uint64_t end = ring_stats_of(f).tail;
	push_to(f, other_id, "two\n", 4);
	stream_spoil(f);
	for (unsigned time = 0; time < 2; time++) {
		(void)peer_connect(f, 0, PEER_WINDOW);
		assert_int_equal(expect_discard(f, 0, end, K2HFT_DISCARD_REPAIRED), 1);
		assert_int_equal(peer_data(f).frame.position, end);
		peer_close(f);
	}
	assert_int_equal(stats_of(f).unknown_records, 1);
}

static void chunks_of_nobody_are_announced(struct fixture *f, uint32_t nobody)
{
	client_open(f);
	uint64_t from, to;
	push_three(f, &from, &to);
	assert_int_equal(pwrite(k2hft_ring_descriptor(f->ring), &nobody, sizeof(nobody),
				(off_t)(K2I_DATA_AT + from + K2I_CHUNK_STREAM_AT)),
			 sizeof(nobody));
	(void)peer_connect_data(f, 0);
	assert_int_equal(f->end, from);
	(void)expect_discard(f, from, to, K2HFT_DISCARD_REPAIRED);
	(void)peer_data(f);
	assert_int_equal(f->end, ring_stats_of(f).tail);
}

STATE_TEST(chunks_of_no_stream_are_announced, fixture_open, fixture_close)
{
	chunks_of_nobody_are_announced(*state, 4000);
}

STATE_TEST(chunks_of_stream_none_are_announced, fixture_open, fixture_close)
{
	chunks_of_nobody_are_announced(*state, 0);
}

/* The linker has the library call these instead of malloc. */
void *__real_malloc(size_t bytes);
void *__wrap_malloc(size_t bytes);
static unsigned refusals_wanted, refusals;

void *__wrap_malloc(size_t bytes)
{
	if (refusals == refusals_wanted)
		return __real_malloc(bytes);
	refusals++;
	return NULL;
}

CLIENT_TEST(a_stream_waits_for_memory)
{
	client_open(f);
	(void)peer_connect(f, 0, PEER_WINDOW);
	push(f, "one\n");
	refusals_wanted = refusals + 3;
	for (unsigned before = refusals; refusals == before;)
		round_go(f);
	assert_in_range(k2hft_client_timeout_ms(f->client, f->now_ns), 1, 100);
	(void)peer_data(f);
	assert_int_equal(refusals, refusals_wanted);
	assert_int_equal(f->end, ring_stats_of(f).tail);
	assert_int_equal(stats_of(f).unknown_records, 0);
	assert_int_equal(stats_of(f).discarded_ranges, 0);
	assert_non_null(strstr(f->log, "1 client: no memory to declare a stream"));
	peer_acks(f, f->end);
}

CLIENT_TEST(gaps_are_explained_in_the_frame)
{
	struct k2hft_producer *other;
	void *payload;

	client_open(f);
	push(f, "one\n");
	uint64_t gap_from = ring_stats_of(f).tail;
	assert_int_equal(k2hft_producer_open(f->ring, &other), 0);
	assert_int_equal(k2hft_producer_reserve(other, 1000, &payload), 0);
	uint64_t gap_to = ring_stats_of(f).tail;
	push(f, "two\n");
	assert_int_equal(k2hft_producer_discard(other), 0);
	k2hft_producer_close(other);
	(void)peer_connect_data(f, 0);
	struct peer_frame got = peer_frame(f, K2HFT_FRAME_DATA);
	assert_int_equal(got.frame.position, gap_to);
	assert_int_equal(got.frame.gap_bytes, gap_to - gap_from);
	peer_acks(f, gap_from);
	/* The same after the ring's head has passed the gap. */
	got = peer_connect_data(f, gap_from);
	assert_int_equal(got.frame.position, gap_to);
	assert_int_equal(got.frame.gap_bytes, gap_to - gap_from);
	peer_acks(f, f->end);
}

/* ---- claims */

struct claim {
	struct fixture *f;
	struct k2hft_producer *producer;
	unsigned calls;
};

static void claim_commit(void *argument)
{
	struct claim *claim = argument;
	struct k2hft_chunk chunk = {.stream_id = claim->f->stream_id, .record_count = 1, .time_ns = 1};

	claim->calls++;
	(void)k2hft_producer_commit(claim->producer, &chunk, 0, 6);
}

static void claim_look(void *argument)
{
	((struct claim *)argument)->calls++;
}

static void claim_make(struct claim *claim, struct fixture *f)
{
	void *payload;

	claim->f = f;
	claim->calls = 0;
	assert_int_equal(k2hft_producer_open(f->ring, &claim->producer), 0);
	assert_int_equal(k2hft_producer_reserve(claim->producer, 100, &payload), 0);
	memcpy(payload, "claim\n", 6);
}

CLIENT_TEST(the_hook_is_asked_for_a_claim)
{
	struct claim claim;

	client_open(f);
	k2i_client_claim_hook_set(f->client, claim_commit, &claim);
	claim_make(&claim, f);
	rounds_go(f, 20);
	assert_int_equal(claim.calls, 0); /* not without a connection */
	(void)peer_connect(f, 0, 0);
	peer_quiet(f, 20);
	assert_int_equal(claim.calls, 0); /* nor with the window shut */
	peer_ack_window(f, 0, PEER_WINDOW, K2HFT_STATUS_OK);
	(void)peer_data(f);
	assert_int_equal(claim.calls, 1);
	k2hft_producer_close(claim.producer);
}

/* Its owner is busy in another lane, and comes by or does not: the second look asks. */
CLIENT_TEST(a_busy_owner_is_asked_later)
{
	static _Atomic(uint64_t) busy_ns;
	struct claim claim;

	client_open(f);
	k2i_client_claim_hook_set(f->client, claim_commit, &claim);
	k2i_client_claim_busy_set(f->client, &busy_ns);
	claim_make(&claim, f);
	(void)peer_connect(f, 0, 0);
	atomic_store(&busy_ns, f->now_ns + 1000 * MS);
	peer_ack_window(f, 0, PEER_WINDOW, K2HFT_STATUS_OK);
	for (int round = 0; f->client->data.claim_recover_ns == 0; round++) {
		assert_true(round < ROUNDS_MAX);
		round_go(f);
	}
	assert_int_equal(claim.calls, 0);
	(void)peer_data(f);
	assert_int_equal(claim.calls, 1);
	k2hft_producer_close(claim.producer);
}

/* The first of so many claims, begun one after the other, wakes the client, and no other does. */
static void claims_begin(struct fixture *f)
{
	uint64_t wakes = 0;

	for (unsigned begun = 0; begun < 5; begun++)
		k2i_client_claim_begun(f->client);
	assert_int_equal(read(f->client->wake.interrupt, &wakes, sizeof(wakes)), sizeof(wakes));
	assert_int_equal(wakes, 1);
	k2i_client_interrupt(f->client);
}

/* How often the hook was called, after so many milliseconds more. */
static unsigned claim_calls_after(struct fixture *f, const struct claim *claim, unsigned rounds)
{
	while (rounds-- > 0)
		round_go(f);
	return claim->calls;
}

/* For what was begun while nothing is sent: at once, then not before 20 ms have passed; and once. */
STATE_TEST(the_hook_is_asked_now_and_then, fixture_open, fixture_close)
{
	struct fixture *f = *state;
	struct claim claim = {.calls = 0};

	client_open(f);
	k2i_client_claim_hook_set(f->client, claim_look, &claim);
	claims_begin(f);
	assert_int_equal(claim_calls_after(f, &claim, 5), 1);
	claims_begin(f);
	assert_int_equal(claim_calls_after(f, &claim, 5), 1);
	assert_int_equal(claim_calls_after(f, &claim, 50), 2);
	assert_int_equal(claim_calls_after(f, &claim, 50), 2);
	assert_int_not_equal(stats_of(f).state, K2HFT_CLIENT_CONNECTED);
}

CLIENT_TEST(a_claim_is_waited_for)
{
	struct claim claim;

	client_open(f);
	k2i_client_claim_hook_set(f->client, claim_look, &claim);
	(void)peer_connect(f, 0, PEER_WINDOW);
	claim_make(&claim, f);
	push(f, "behind it\n");
	peer_quiet(f, 300); /* its producer lives: nothing is taken from it */
	assert_true(claim.calls > 5);
	/* Looked at less and less, but soon enough to see that its producer dies. */
	assert_in_range(k2hft_client_timeout_ms(f->client, f->now_ns), 100, 200);
	claim_commit(&claim);
	struct peer_frame got = peer_data(f);
	assert_int_equal(got.frame.position, 0);
	k2hft_producer_close(claim.producer);
}

/* A claim ends while it is looked whether its producer lives. */
static struct claim *ending;

bool __real_k2i_process_alive(const struct k2i_process *self, const struct k2i_process *other);
bool __wrap_k2i_process_alive(const struct k2i_process *self, const struct k2i_process *other);
bool __wrap_k2i_process_alive(const struct k2i_process *self, const struct k2i_process *other)
{
	if (ending)
		claim_commit(ending);
	ending = NULL;
	return __real_k2i_process_alive(self, other);
}

/* More than are told apart: the newest count as one, and one that was never sent is still known. */
CLIENT_TEST(any_number_of_frames_is_on_the_way)
{
	uint64_t last = 0, end = 0;

	client_open(f);
	(void)peer_connect(f, 0, PEER_WINDOW);
	for (unsigned frame = 0; frame < K2I_CLIENT_SENT_MAX + 10; frame++) {
		struct peer_frame got;

		push(f, "one\n");
		got = peer_data(f);
		last = got.frame.position;
		end = last + got.frame.body_bytes;
	}
	assert_int_equal(f->client->sent.count, K2I_CLIENT_SENT_MAX);
	assert_int_equal(k2i_client_sent_acked(f->client, end + 8), -EBADMSG);
	assert_int_equal(k2i_client_sent_acked(f->client, last), 1);
	assert_int_equal(f->client->sent.count, 1);
	assert_int_equal(k2i_client_sent_acked(f->client, end), 1);
	assert_int_equal(f->client->sent.count, 0);
}

/* No acknowledgement need come for it to go. */
CLIENT_TEST(a_small_frame_waits_for_a_millisecond)
{
	client_open(f);
	(void)peer_connect(f, 0, PEER_WINDOW);
	push(f, "one\n");
	(void)peer_data(f);
	f->client->sent.count = K2I_BATCH_GATHER_FRAMES;
	push(f, "two\n");
	assert_int_equal(k2hft_client_process(f->client, f->client->data.cut_ns), 0);
	assert_int_equal(f->client->sent.count, K2I_BATCH_GATHER_FRAMES);
	assert_int_equal(k2hft_client_timeout_ms(f->client, f->client->data.cut_ns), 1);
	assert_int_equal(k2hft_client_process(f->client, f->client->data.cut_ns + MS), 0);
	(void)peer_data(f);
	f->client->sent.count = 0;
}

CLIENT_TEST(frames_are_as_large_as_wanted)
{
	f->options.frame_bytes_max = 100;
	client_open(f);
	for (unsigned chunk = 0; chunk < 5; chunk++)
		push(f, "40\n");
	(void)peer_connect(f, 0, PEER_WINDOW);
	while (f->end < ring_stats_of(f).tail)
		assert_in_range(peer_data(f).frame.raw_bytes, 40, 100);
}

/* Its commit finds nobody asleep yet, and wakes nobody. */
CLIENT_TEST(a_claim_that_ends_before_the_wait_is_not_waited_for)
{
	struct claim claim;

	client_open(f);
	(void)peer_connect(f, 0, PEER_WINDOW);
	claim_make(&claim, f);
	ending = &claim;
	for (int round = 0; ending; round++) {
		assert_true(round < ROUNDS_MAX);
		round_go(f);
	}
	assert_int_equal(k2hft_client_timeout_ms(f->client, f->now_ns), 0);
	(void)peer_data(f);
	k2hft_producer_close(claim.producer);
}

CLIENT_TEST(a_dead_producers_claim_is_passed)
{
	char path[64];

	client_open(f);
	(void)peer_connect(f, 0, PEER_WINDOW);
	(void)snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)getpid(), k2hft_ring_descriptor(f->ring));
	pid_t child = fork();
	if (child == 0) {
		struct k2hft_ring *ring;
		struct k2hft_producer *producer;
		void *payload;

		_exit(k2hft_ring_attach(path, &ring) == 0 && k2hft_producer_open(ring, &producer) == 0 &&
				      k2hft_producer_reserve(producer, 1000, &payload) == 0
			      ? 0
			      : 1);
	}
	int status;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	push(f, "behind it\n");
	struct peer_frame got = peer_data(f);
	assert_int_equal(got.frame.gap_bytes, got.frame.position);
	assert_non_null(strstr(f->log, "discarded"));
	assert_int_equal(ring_stats_of(f).discarded_claims, 1);
}

/* ---- compression */

CLIENT_TEST(compressed_frames_are_the_same_inside)
{
	struct k2hft_chunk_view view;
	char *text = malloc(1000000);
	size_t offset = 0;

	for (size_t at = 0; at < 1000000; at++)
		text[at] = (char)('a' + at % 17);
	f->options.compress = K2HFT_COMPRESS_ALWAYS;
	client_open(f);
	push_to(f, f->stream_id, text, 1000000);
	push(f, "!"); /* does not shrink */
	struct peer_frame got = peer_connect_data(f, 0);
	assert_int_equal(got.frame.flags, K2HFT_FRAME_LZ4);
	assert_true(got.frame.body_bytes < 100000);
	assert_int_equal(k2hft_chunk_next(got.body, got.frame.raw_bytes, got.frame.position, &offset, &view), 1);
	assert_int_equal(view.payload_bytes, 1000000);
	assert_memory_equal(view.payload, text, 1000000);
	got = peer_data(f);
	assert_int_equal(got.frame.flags, 0);
	assert_int_equal(stats_of(f).compressed_frames, 1);
	peer_acks(f, f->end);
	free(text);
}

/* ---- many streams */

CLIENT_TEST(more_streams_than_fit_in_one_go)
{
	char path[K2HFT_STREAM_PATH_BYTES_MAX + 1];
	unsigned streams = 0, frames = 0;

	client_open(f);
	for (unsigned index = 0; index < 300; index++) {
		/* Long names: 300 of them are more than is queued before a frame. */
		memset(path, 'p', sizeof(path));
		for (size_t at = 200; at < sizeof(path); at += 200)
			path[at] = '/';
		path[sizeof(path) - 1] = '\0';
		(void)snprintf(path, 5, "%04u", index);
		path[4] = '/';
		push_to(f, stream_declare(f, path), "x\n", 2);
	}
	(void)peer_connect(f, 0, PEER_WINDOW);
	while (f->end < ring_stats_of(f).tail) {
		struct peer_frame got = peer_frame_any(f);

		streams += got.frame.type == K2HFT_FRAME_STREAM;
		frames += got.frame.type == K2HFT_FRAME_DATA;
	}
	assert_int_equal(streams, 300);
	assert_true(frames > 1);
}

CLIENT_TEST(every_stream_is_told_of_once)
{
	uint32_t stream_id = f->stream_id;
	char path[16];

	client_open(f);
	while (stream_id < K2HFT_STREAM_COUNT_MAX) {
		(void)snprintf(path, sizeof(path), "%u", (unsigned)stream_id);
		stream_id = stream_declare(f, path);
	}
	(void)peer_connect(f, 0, PEER_WINDOW);
	push(f, "first\n");
	push_to(f, stream_id, "last\n", 5);
	(void)peer_frame(f, K2HFT_FRAME_STREAM);
	(void)peer_frame(f, K2HFT_FRAME_STREAM);
	(void)peer_frame(f, K2HFT_FRAME_DATA);
	push(f, "first\n");
	push_to(f, stream_id, "last\n", 5);
	(void)peer_frame(f, K2HFT_FRAME_DATA);
	assert_int_equal(f->end, ring_stats_of(f).tail);
}

/* The number of the connection that it was told on comes again after 2^32 others. */
CLIENT_TEST(every_connection_is_told_of_streams)
{
	client_open(f);
	for (unsigned connection = 0; connection < 3; connection++) {
		(void)peer_connect(f, f->end, PEER_WINDOW);
		if (connection != 1) {
			push(f, "one\n");
			(void)peer_frame(f, K2HFT_FRAME_STREAM);
			(void)peer_frame(f, K2HFT_FRAME_DATA);
		}
		peer_close(f);
		state_await(f, K2HFT_CLIENT_WAITING);
		if (connection == 0)
			f->client->streams.connection = UINT32_MAX;
	}
}

/* Else what goes to the one would be written to the other. */
CLIENT_TEST(a_number_that_changes_hands_is_told_of_again)
{
	struct k2hft_stream_message message;

	client_open(f);
	push(f, "one\n");
	(void)peer_connect_data(f, 0);
	assert_int_equal(k2hft_stream_release(f->ring, f->stream_id), 0);
	peer_acks(f, f->end);
	assert_int_equal(stream_declare(f, "b.log"), f->stream_id);
	push(f, "two\n");
	struct peer_frame got = peer_frame(f, K2HFT_FRAME_STREAM);
	assert_int_equal(k2hft_stream_decode(got.body, got.frame.body_bytes, &message), 0);
	assert_int_equal(message.stream_id, f->stream_id);
	assert_string_equal(message.path, "b.log");
	(void)peer_frame(f, K2HFT_FRAME_DATA);
}

/* A queue with room for a DISCARD and none for a STREAM: the records are no reason to give up. */
CLIENT_TEST(a_stream_waits_for_room_in_the_queue)
{
	uint64_t acked;

	client_open(f);
	push(f, "one\n");
	(void)peer_connect_data(f, 0);
	acked = f->end;
	peer_acks(f, acked);
	f->stream_id = stream_declare(f, "b.log");
	push(f, "two\n");
	f->client->output.control_bytes = sizeof(f->client->output.control) - 200;
	assert_int_equal(k2i_client_frame_next(f->client, f->now_ns), 1);
	assert_int_equal(f->client->output.control_bytes, sizeof(f->client->output.control) - 200);
	assert_int_equal(f->client->stats.unknown_records, 0);
	k2i_client_output_reset(f->client);
	assert_int_equal(peer_data(f).frame.position, acked);
}
