/* SPDX-License-Identifier: MIT */
#include "unit.h"
#include "client_peer.h"
#include "client/state.h"
#include "random_help.h"

/*
 * A client and a receiver whose connections break at any time, and that commits and acknowledges as it likes: what comes
 * is what the protocol allows. In the end every record has come once, in order and under its own stream's name, or was
 * announced as given up.
 */
#define SEEDS 20u
#define RECORDS 400u
#define SLOTS 5u
#define STEPS_MAX 1000000u
#define EXPIRE_S 1000u
#define PATH_ROOM 24u

struct world {
	struct fixture *f;
	struct k2hft_producer *other;
	uint64_t random;
	unsigned pushed, names; /* counts */
	uint64_t ends[RECORDS]; /* of the records in the ring, each a chunk */
	bool old[RECORDS];      /* to be given up */
	unsigned old_count;
	uint32_t stream_ids[SLOTS];
	char slot_paths[SLOTS][PATH_ROOM];
	/* The receiver. */
	unsigned count; /* of records that it has, or was told of that they are given up */
	uint64_t expected, told, window_end;
	char paths[K2HFT_STREAM_COUNT_MAX + 1][PATH_ROOM]; /* as declared on this connection; "": it was not */
};

static unsigned any(struct world *world, unsigned below)
{
	return (unsigned)(random_next(&world->random) % below);
}

static size_t record_make(unsigned number, const char *path, char *text, size_t room)
{
	int bytes = snprintf(text, room, "%u %s %*d\n", number, path, (int)(number * 37 % 600), 0);

	assert_true(bytes > 0 && (size_t)bytes < room);
	return (size_t)bytes;
}

/* The sender's side --------------------------------------------------------------------------------------------- */

static void stream_anew(struct world *world, unsigned slot)
{
	(void)snprintf(world->slot_paths[slot], PATH_ROOM, "slot%u/name%u", slot, world->names++);
	world->stream_ids[slot] = stream_declare(world->f, world->slot_paths[slot]);
}

static void chunk_push(struct world *world, unsigned slot, bool old)
{
	struct k2hft_chunk chunk = {.stream_id = world->stream_ids[slot], .record_count = 1};
	struct timespec now;
	char text[1024];
	size_t bytes = record_make(world->pushed, world->slot_paths[slot], text, sizeof(text));

	(void)clock_gettime(CLOCK_REALTIME, &now);
	chunk.time_ns = (uint64_t)(now.tv_sec - (old ? 10 * (int)EXPIRE_S : 0)) * 1000000000u;
	assert_int_equal(k2hft_producer_push(world->f->producer, &chunk, text, bytes), 0);
	world->old[world->pushed] = old;
	world->old_count += old;
	world->ends[world->pushed++] = ring_stats_of(world->f).tail;
}

static void record_push(struct world *world)
{
	bool gap = any(world, 8) == 0;
	void *payload;

	if (world->pushed == RECORDS)
		return;
	if (gap)
		assert_int_equal(k2hft_producer_reserve(world->other, 1 + any(world, 5000), &payload), 0);
	chunk_push(world, any(world, SLOTS), world->f->options.expire_s && any(world, 4) == 0);
	if (gap)
		assert_int_equal(k2hft_producer_discard(world->other), 0);
}

static void stream_change(struct world *world)
{
	unsigned slot = any(world, SLOTS);

	assert_int_equal(k2hft_stream_release(world->f->ring, world->stream_ids[slot]), 0);
	stream_anew(world, slot);
}

/* The receiver's ------------------------------------------------------------------------------------------------ */

static void data_take(struct world *world, const struct k2hft_frame *frame, const uint8_t *raw)
{
	struct k2hft_chunk_view view;
	char text[1024];
	size_t at = 0;
	int result;

	assert_true(frame->position - frame->gap_bytes <= world->expected);
	assert_true(frame->position + frame->raw_bytes <= world->window_end);
	while ((result = k2hft_chunk_next(raw, frame->raw_bytes, frame->position, &at, &view)) > 0) {
		/* The client knows where to go on: it repeats nothing. */
		assert_true(view.position >= world->expected && world->count < world->pushed);
		assert_false(world->old[world->count]);
		const char *path = world->paths[view.chunk.stream_id];
		assert_true(*path);
		assert_int_equal(view.payload_bytes, record_make(world->count, path, text, sizeof(text)));
		assert_memory_equal(view.payload, text, view.payload_bytes);
		assert_int_equal(view.end, world->ends[world->count++]);
		world->expected = view.end;
	}
	assert_int_equal(result, 0);
}

static void discard_take(struct world *world, const struct k2hft_discard *discard)
{
	uint64_t records = 0;

	assert_true(discard->from == world->expected && discard->to <= world->window_end);
	for (; world->count < world->pushed && world->ends[world->count] <= discard->to; records++)
		assert_true(world->old[world->count++]);
	assert_true(records > 0);
	assert_int_equal(discard->record_count, records);
	assert_int_equal(discard->to, world->ends[world->count - 1]);
	world->expected = discard->to;
}

static void frame_take(struct world *world, const struct k2hft_frame *frame, const uint8_t *body)
{
	struct k2hft_stream_message message;
	struct k2hft_discard discard;

	if (frame->type == K2HFT_FRAME_DISCARD) {
		assert_int_equal(k2hft_discard_decode(body, frame->body_bytes, &discard), 0);
		discard_take(world, &discard);
	} else if (frame->type == K2HFT_FRAME_STREAM) {
		assert_int_equal(k2hft_stream_decode(body, frame->body_bytes, &message), 0);
		assert_true(message.stream_id <= K2HFT_STREAM_COUNT_MAX);
		(void)snprintf(world->paths[message.stream_id], PATH_ROOM, "%.20s", message.path);
	} else if (frame->flags & K2HFT_FRAME_LZ4) {
		assert_int_equal(k2hft_frame_decompress(body, frame->body_bytes, world->f->raw, frame->raw_bytes), 0);
		data_take(world, frame, world->f->raw);
	} else if (frame->type == K2HFT_FRAME_DATA) {
		data_take(world, frame, body);
	} else {
		assert_true(frame->type == K2HFT_FRAME_PING || frame->type == K2HFT_FRAME_PONG);
	}
}

static void frames_take(struct world *world)
{
	struct fixture *f = world->f;
	struct k2hft_frame frame;
	size_t at = 0, left;
	ssize_t got = recv(f->peer, f->input + f->input_bytes, PEER_BODY_BYTES - f->input_bytes, 0);

	f->input_bytes += got > 0 ? (size_t)got : 0;
	for (;; at += K2HFT_FRAME_HEADER_BYTES + frame.body_bytes) {
		left = f->input_bytes - at;
		if (k2hft_frame_header_decode(f->input + at, left, PEER_BODY_BYTES, &frame) ||
		    left < K2HFT_FRAME_HEADER_BYTES + frame.body_bytes)
			break;
		assert_int_equal(k2hft_frame_verify(f->input + at, &frame, f->input + at + K2HFT_FRAME_HEADER_BYTES),
				 0);
		frame_take(world, &frame, f->input + at + K2HFT_FRAME_HEADER_BYTES);
	}
	f->input_bytes -= at;
	memmove(f->input, f->input + at, f->input_bytes);
}

/* The end of any chunk that was not acknowledged, or where it stands now. */
static uint64_t end_choose(struct world *world, unsigned *count)
{
	unsigned first = world->count;

	while (first > 0 && world->ends[first - 1] > world->told)
		first--;
	*count = first + any(world, world->count - first + 1);
	return *count == first ? world->told : world->ends[*count - 1];
}

static void window_move(struct world *world)
{
	uint64_t end = world->expected + any(world, 20000) / 8 * 8;

	if (world->window_end < end)
		world->window_end = end;
	if (world->window_end < world->told)
		world->window_end = world->told;
}

static void acknowledge(struct world *world)
{
	unsigned count;

	world->told = end_choose(world, &count);
	window_move(world);
	peer_ack_window(world->f, world->told, world->window_end, K2HFT_STATUS_OK);
}

static void ask(struct world *world)
{
	struct k2hft_ping ping = {.token = random_next(&world->random)};
	uint8_t bytes[128];

	peer_send(world->f, bytes, k2hft_ping_encode(K2HFT_FRAME_PING, &ping, bytes, sizeof(bytes)));
}

/* It has committed some of what came, and goes on there. */
static void connect_anew(struct world *world)
{
	struct fixture *f = world->f;
	uint64_t acked = world->told;

	peer_close(f);
	state_await(f, K2HFT_CLIENT_WAITING);
	f->now_ns += K2I_CLIENT_RETRY_MAX_NS;
	world->told = world->expected = end_choose(world, &world->count);
	world->window_end = 0;
	window_move(world);
	memset(world->paths, 0, sizeof(world->paths));
	assert_true(peer_connect(f, world->expected, world->window_end).acked <= acked);
	f->input_bytes = 0;
}

static void step(struct world *world)
{
	unsigned chosen = any(world, 100);

	if (chosen < 25)
		record_push(world);
	else if (chosen < 28)
		stream_change(world);
	else if (chosen < 45)
		acknowledge(world);
	else if (chosen < 47)
		ask(world);
	else if (chosen < 49)
		connect_anew(world);
	else if (chosen < 80)
		round_go(world->f);
	else
		frames_take(world);
}

static void options_choose(struct world *world)
{
	static const uint32_t frame_bytes[] = {0, 1, 300, 5000};

	world->f->options.compress = any(world, 2) ? K2HFT_COMPRESS_ALWAYS : K2HFT_COMPRESS_NEVER;
	world->f->options.frame_bytes_max = frame_bytes[any(world, 4)];
	world->f->options.expire_s = any(world, 2) ? EXPIRE_S : 0;
	world->f->options.batch_records_max = any(world, 3) ? 0 : 1 + any(world, 4);
}

static void run(struct fixture *f, uint64_t seed)
{
	static struct world world;

	world = (struct world){.f = f, .random = seed};
	assert_int_equal(k2hft_producer_open(f->ring, &world.other), 0);
	for (unsigned slot = 0; slot < SLOTS; slot++)
		stream_anew(&world, slot);
	options_choose(&world);
	client_open(f);
	connect_anew(&world);
	for (unsigned steps = 0; world.told == 0 || world.count < RECORDS || world.told < world.expected; steps++) {
		assert_true(steps < STEPS_MAX);
		step(&world);
	}
	acked_await(f, world.told);
	assert_int_equal(world.told, ring_stats_of(f).acked);
	assert_int_equal(stats_of(f).expired_records, world.old_count);
	k2hft_producer_close(world.other);
}

TEST(every_record_comes_once)
{
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		void *f;

		print_message("seed %u\n", (unsigned)seed);
		assert_int_equal(fixture_open(&f), 0);
		run(f, seed);
		assert_int_equal(fixture_close(&f), 0);
	}
}
