/* SPDX-License-Identifier: MIT */
#ifndef K2I_TESTS_UNIT_SESSION_WORLD_H
#define K2I_TESTS_UNIT_SESSION_WORLD_H

/*
 * A session with everything behind it in a temporary folder: frames are put in, answers are taken out. For one test
 * program, which includes cmocka.h and what it needs before; a receiver that was killed starts again.
 */
#include "receiver/session/session.h"
#include "receiver/commit/syncer.h"
#include "receiver/sink/file/file_sink.h"
#include "base/bits.h"
#include "file_help.h"
#include "frame/wire.h"
#include "base/byte_order.h"

#define WINDOW_BYTES (UINT64_C(4) << 20)

struct world {
	char root[200], base[240], retracted[240];
	uint8_t boot_id[16];
	struct k2i_counters counters;
	struct k2i_ledger *ledger;
	struct k2i_rings *rings;
	struct k2i_destination destination;
	struct k2i_committer committer;
	struct k2i_format *format;
	struct k2i_outputs *outputs; /* of the file sink, which is there unless `sinks` has others */
	struct k2i_sinks sinks;
	struct k2i_stream_room streams;
	struct k2i_session_shared shared;
	struct k2i_session session;
	uint64_t window_end; /* as it was told last */
	uint8_t input[2 << 20];
	size_t input_bytes;
};

static uint64_t fenced_id;

static void on_fenced(struct k2i_owner owner)
{
	fenced_id = owner.id;
}

struct recovery {
	const struct k2i_sinks *sinks;
	bool same_boot;
};

static void mark_recover(void *argument, const struct k2i_ledger_file *mark)
{
	const struct recovery *recovery = argument;

	k2i_sinks_recover(recovery->sinks, mark, recovery->same_boot || mark->deferred);
}

static void file_sink_open(struct world *world)
{
	struct k2i_outputs_options options = {.base_directory = world->base,
					      .open_max = 100,
					      .file_mode = 0600,
					      .store = {.write_bytes = 65536},
					      .ledger = world->ledger,
					      .counters = &world->counters};

	assert_int_equal(k2i_outputs_create(&options, &world->outputs), 0);
	assert_int_equal(k2i_file_sink_create(world->outputs, world->format, NULL, world->destination.sinks.list), 0);
	world->destination.sinks.count = 1;
}

static void world_open(struct world *world)
{
	struct k2i_ledger_report report;
	struct recovery recovery;
	char path[300], message[100];

	(void)snprintf(path, sizeof(path), "%s/state", world->root);
	assert_int_equal(k2i_ledger_open(path, world->boot_id, &world->ledger, &report), 0);
	assert_int_equal(k2i_format_compile("%L", NULL, &world->format, message, sizeof(message)), 0);
	world->destination.sinks = world->sinks;
	if (!world->sinks.count)
		file_sink_open(world);
	recovery = (struct recovery){&world->destination.sinks, report.same_boot};
	k2i_ledger_files(world->ledger, mark_recover, &recovery);
	(void)k2i_sinks_recover_end(&world->destination.sinks);
	assert_int_equal(k2i_ledger_begin(world->ledger), 0);
	K2I_SINKS_EACH(&world->destination.sinks, sink)
		(*sink)->ops->start(*sink);
	assert_int_equal(k2i_quarantine_create(path, UINT64_MAX, &world->counters, &world->destination.quarantine), 0);
	assert_int_equal(
		k2i_rings_create(world->ledger, &world->destination.sinks, &world->counters, on_fenced, &world->rings),
		0);
	(void)snprintf(world->retracted, sizeof(world->retracted), "%s/state/retracted", world->root);
	world->destination.retracted_path = world->retracted;
	world->destination.ledger = world->ledger;
	world->destination.counters = &world->counters;
	assert_int_equal(k2i_committer_start(&world->committer, &world->destination), 0);
	k2i_flows_start(&world->streams.flows);
	world->streams.count_max = K2I_SESSION_STREAMS_MAX + 1;
	world->shared = (struct k2i_session_shared){
		.rings = world->rings,
		.committer = &world->committer,
		.counters = &world->counters,
		.streams = &world->streams,
		.receiver_uuid = k2i_ledger_uuid(world->ledger),
		.window_bytes = WINDOW_BYTES,
		.frame_bytes_max = K2HFT_FRAME_BODY_BYTES_DEFAULT,
	};
	(void)pthread_mutex_lock(&world->shared.serving);
}

static void session_open(struct world *world, uint64_t id)
{
	struct k2i_owner owner = {NULL, id};

	k2i_session_start(&world->session, &world->shared, owner, "peer");
	world->input_bytes = 0;
}

/* Its sender comes again. */
static inline void session_again(struct world *world, uint64_t id)
{
	k2i_session_end(&world->session);
	session_open(world, id);
}

static struct world *world_make(void)
{
	struct world *world = calloc(1, sizeof(*world));

	assert_non_null(world);
	folder_make(world->root, sizeof(world->root));
	(void)snprintf(world->base, sizeof(world->base), "%s/base", world->root);
	fenced_id = 0;
	return world;
}

static inline int setup(void **state)
{
	struct world *world = world_make();

	world_open(world);
	session_open(world, 1);
	*state = world;
	return 0;
}

static void world_close(struct world *world)
{
	k2i_session_end(&world->session);
	k2i_flows_end(&world->streams.flows);
	k2i_syncer_stop(world->shared.syncer);
	world->shared.syncer = NULL;
	k2i_committer_free(&world->committer);
	k2i_rings_free(world->rings);
	(void)k2i_sinks_close(&world->destination.sinks, false);
	k2i_quarantine_free(world->destination.quarantine);
	k2i_ledger_close(world->ledger, false);
	k2i_format_free(world->format);
	(void)pthread_mutex_unlock(&world->shared.serving);
	free(world->shared.raw);
}

static int teardown(void **state)
{
	struct world *world = *state;

	world_close(world);
	folder_remove(world->root);
	free(world);
	return 0;
}

/* Input ---------------------------------------------------------------------------------------------------------- */

static void put_message(struct world *world, int length)
{
	assert_true(length > 0);
	world->input_bytes += (size_t)length;
}

static uint8_t *input_end(struct world *world)
{
	return world->input + world->input_bytes;
}

static size_t input_room(const struct world *world)
{
	return sizeof(world->input) - world->input_bytes;
}

static struct k2hft_hello hello_make(const char *ring, uint64_t epoch, uint64_t acked)
{
	struct k2hft_hello hello = {
		.version_min = 1,
		.version_max = 1,
		.epoch = epoch,
		.acked = acked,
		.frame_bytes_max = K2HFT_FRAME_BODY_BYTES_DEFAULT,
		.level = K2HFT_LEVEL_WRITTEN,
		.host = "host",
	};

	memcpy(hello.ring_uuid, ring, strlen(ring));
	return hello;
}

static void put_greeting(struct world *world, const struct k2hft_hello *hello)
{
	put_message(world, k2hft_hello_encode(hello, input_end(world), input_room(world)));
}

static void put_hello(struct world *world, const char *ring, uint64_t epoch, uint64_t acked)
{
	struct k2hft_hello hello = hello_make(ring, epoch, acked);

	put_greeting(world, &hello);
}

static inline void put_ping(struct world *world)
{
	struct k2hft_ping ping = {.token = 7};

	put_message(world, k2hft_ping_encode(K2HFT_FRAME_PING, &ping, input_end(world), input_room(world)));
}

static inline void put_bye(struct world *world, uint64_t token)
{
	struct k2hft_ping bye = {.token = token};

	put_message(world, k2hft_ping_encode(K2HFT_FRAME_BYE, &bye, input_end(world), input_room(world)));
}

static void put_stream(struct world *world, uint32_t id, const char *path)
{
	struct k2hft_stream_message stream = {.stream_id = id};

	(void)snprintf(stream.path, sizeof(stream.path), "%s", path);
	put_message(world, k2hft_stream_encode(&stream, input_end(world), input_room(world)));
}

/* A frame with one chunk for each letter of `text`, each of 40 bytes. */
static void put_data(struct world *world, uint64_t position, uint32_t gap_bytes, uint32_t stream, const char *text)
{
	struct k2hft_frame frame = {.type = K2HFT_FRAME_DATA, .gap_bytes = gap_bytes, .position = position};
	uint8_t *body = input_end(world) + K2HFT_FRAME_HEADER_BYTES, *chunk = body;

	for (; *text; text++, chunk += 40) {
		memset(chunk, 0, 40);
		k2i_wire_u64_put(chunk, 40 | (uint64_t)K2I_KIND_CHUNK << K2I_MARK_KIND_SHIFT);
		k2i_wire_u32_put(chunk + K2I_CHUNK_STREAM_AT, stream);
		k2i_wire_u32_put(chunk + K2I_CHUNK_RECORDS_AT, 1);
		chunk[K2I_CHUNK_PAD_AT] = 7;
		chunk[K2HFT_CHUNK_HEADER_BYTES] = (uint8_t)*text;
	}
	frame.body_bytes = frame.raw_bytes = (uint32_t)(chunk - body);
	assert_int_equal(k2hft_frame_header_encode(&frame, body, input_end(world)), 0);
	world->input_bytes += K2HFT_FRAME_HEADER_BYTES + frame.body_bytes;
}

static enum k2i_session_result take(struct world *world)
{
	size_t consumed, wanted;
	enum k2i_session_result result =
		k2i_session_input(&world->session, world->input, world->input_bytes, &consumed, &wanted);

	assert_true(consumed <= world->input_bytes);
	world->input_bytes -= consumed;
	memmove(world->input, world->input + consumed, world->input_bytes);
	return result;
}

/* Output --------------------------------------------------------------------------------------------------------- */

/* Removes the first answer; its body is `*body`. */
static uint8_t next_answer(struct world *world, uint8_t body[K2HFT_MESSAGE_BYTES_MAX], size_t *body_bytes)
{
	struct k2i_session *session = &world->session;
	struct k2hft_frame frame;
	size_t length;

	if (session->output_bytes == 0)
		return 0;
	assert_int_equal(
		k2hft_frame_header_decode(session->output, session->output_bytes, K2HFT_MESSAGE_BYTES_MAX, &frame), 0);
	length = K2HFT_FRAME_HEADER_BYTES + frame.body_bytes;
	assert_true(length <= session->output_bytes);
	assert_int_equal(k2hft_frame_verify(session->output, &frame, session->output + K2HFT_FRAME_HEADER_BYTES), 0);
	memcpy(body, session->output + K2HFT_FRAME_HEADER_BYTES, frame.body_bytes);
	*body_bytes = frame.body_bytes;
	session->output_bytes -= length;
	memmove(session->output, session->output + length, session->output_bytes);
	return frame.type;
}

static struct k2hft_welcome expect_welcome(struct world *world)
{
	uint8_t body[K2HFT_MESSAGE_BYTES_MAX];
	struct k2hft_welcome welcome = {0};
	size_t body_bytes = 0;

	assert_int_equal(next_answer(world, body, &body_bytes), K2HFT_FRAME_WELCOME);
	assert_int_equal(k2hft_welcome_decode(body, body_bytes, &welcome), 0);
	world->window_end = welcome.window_end;
	return welcome;
}

static void expect_ack(struct world *world, uint64_t position, unsigned status)
{
	uint8_t body[K2HFT_MESSAGE_BYTES_MAX];
	struct k2hft_ack ack;
	size_t body_bytes;

	assert_int_equal(next_answer(world, body, &body_bytes), K2HFT_FRAME_ACK);
	assert_int_equal(k2hft_ack_decode(body, body_bytes, &ack), 0);
	assert_int_equal(ack.position, position);
	assert_int_equal(ack.status, status);
	if (status == K2HFT_STATUS_OK)
		world->window_end = world->session.committed + WINDOW_BYTES;
	assert_int_equal(ack.window_end, world->window_end);
}

/* All that was put in is taken, and acknowledged. */
static inline void expect_taken(struct world *world, uint64_t position)
{
	assert_int_equal(take(world), K2I_SESSION_MORE);
	expect_ack(world, position, K2HFT_STATUS_OK);
}

/* The last word to who breaks a rule, or may not be here. */
static inline void expect_error(struct world *world, unsigned code)
{
	uint8_t body[K2HFT_MESSAGE_BYTES_MAX];
	struct k2hft_error_message error;
	size_t body_bytes;

	assert_int_equal(next_answer(world, body, &body_bytes), K2HFT_FRAME_ERROR);
	assert_int_equal(k2hft_error_decode(body, body_bytes, &error), 0);
	assert_int_equal(error.code, code);
	assert_int_equal(world->session.output_bytes, 0);
	assert_int_equal(world->session.state, K2I_SESSION_ENDED);
}

static inline void expect_refused(struct world *world, unsigned code)
{
	assert_int_equal(take(world), K2I_SESSION_CLOSE);
	expect_error(world, code);
}

static inline void expect_pong(struct world *world)
{
	uint8_t body[K2HFT_MESSAGE_BYTES_MAX];
	size_t body_bytes;

	assert_int_equal(next_answer(world, body, &body_bytes), K2HFT_FRAME_PONG);
	assert_int_equal(k2i_wire_u64(body), 7);
}

static inline void expect_file(const struct world *world, const char *name, const char *wanted)
{
	char path[sizeof(world->base) + 256];

	(void)snprintf(path, sizeof(path), "%s/%s", world->base, name);
	expect_contents(path, wanted);
}

/* A session that greeted at position 0 and declared stream 1. */
static inline void open_session(struct world *world)
{
	put_hello(world, "ring", 1, 0);
	put_stream(world, 1, "file");
	assert_int_equal(take(world), K2I_SESSION_MORE);
	(void)expect_welcome(world);
	assert_int_equal(world->session.output_bytes, 0);
}

#define SESSION_TEST(name) FIXTURE_TEST(name, struct world *world, setup, teardown)

#endif
