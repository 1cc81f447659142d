/* SPDX-License-Identifier: MIT */
/*
 * Frames as version 1 writes them, for ever: each file of tests/golden must be what encode makes, and decode to what
 * went in. K2HFT_GOLDEN_WRITE=1 in the environment writes files that do not exist yet; a file that exists is never
 * written again, because bytes that changed are an incompatible format.
 */
#include <errno.h>

#include <k2hft/frame.h>

#include "unit.h"
#include "frame/wire.h"
#include "base/byte_order.h"

#define ROOM 8192u

static const struct k2hft_hello sample_hello = {.version_min = 1,
						.version_max = 1,
						.features_optional = 0x80000001u,
						.ring_uuid = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16},
						.receiver_uuid = {0xf0, 0xf1, 0xf2, 0xf3, 0xf4, 0xf5, 0xf6, 0xf7, 0xf8,
								  0xf9, 0xfa, 0xfb, 0xfc, 0xfd, 0xfe, 0xff},
						.epoch = 3,
						.acked = 0x1122334455667788u,
						.frame_bytes_max = K2HFT_FRAME_BODY_BYTES_DEFAULT,
						.level = K2HFT_LEVEL_WRITTEN,
						.opening = 0x8877665544332211u,
						.attempt = 0x04030201u,
						.host = "sender.example",
						.software = "k2hft 0.1.0"};
static const struct k2hft_hello sample_hello_unsettled = {
	.version_min = 1,
	.version_max = 1,
	.ring_uuid = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16},
	.epoch = 4,
	.acked = 65536,
	.frame_bytes_max = K2HFT_FRAME_BODY_BYTES_DEFAULT,
	.level = K2HFT_LEVEL_WRITTEN,
	.opening = 7,
	.unsettled_count = 2,
	.unsettled = {{{0xf0, 0xf1, 0xf2, 0xf3, 0xf4, 0xf5, 0xf6, 0xf7, 0xf8, 0xf9, 0xfa, 0xfb, 0xfc, 0xfd, 0xfe, 0xff},
		       4096},
		      {{1}, 0x1122334455667788u}},
	.host = "sender.example",
	.software = "k2hft 0.1.0"};
static const struct k2hft_welcome sample_welcome = {.version = 1,
						    .position = 4096,
						    .window_end = 4096 + 67108864,
						    .frame_bytes_max = K2HFT_FRAME_BODY_BYTES_DEFAULT,
						    .level = K2HFT_LEVEL_SYNCED,
						    .flags = K2HFT_WELCOME_KNOWN,
						    .receiver_uuid = {0xf0, 0xf1, 0xf2, 0xf3, 0xf4, 0xf5, 0xf6, 0xf7,
								      0xf8, 0xf9, 0xfa, 0xfb, 0xfc, 0xfd, 0xfe, 0xff},
						    .cut_records = 5,
						    .retracted_records = 0x0102030405060708u,
						    .software = "k2hft 0.1.0"};
static const struct k2hft_stream_message sample_stream = {
	.stream_id = 7, .mode = K2HFT_STREAM_BINARY, .path = "app/access.log", .host = "other.example"};
static const struct k2hft_ack sample_ack = {
	.position = 8192, .window_end = 1048576, .level = K2HFT_LEVEL_WRITTEN, .status = K2HFT_STATUS_FULL};
static const struct k2hft_discard sample_discard = {
	.from = 4096, .to = 8192, .record_count = 17, .reason = K2HFT_DISCARD_EXPIRED};
static const struct k2hft_ping sample_ping = {.token = 1};
static const struct k2hft_error_message sample_error = {.code = K2HFT_ERROR_CHECKSUM, .text = "wrong checksum"};

/* Appends a chunk; returns its size. */
static size_t chunk_put(uint8_t *at, uint8_t lead_bytes, const char *payload, size_t bytes, uint16_t flags)
{
	size_t size = (K2HFT_CHUNK_HEADER_BYTES + lead_bytes + bytes + 7) / 8 * 8;

	memset(at, 0, size);
	k2i_wire_u64_put(at, size | (uint64_t)K2I_KIND_CHUNK << K2I_MARK_KIND_SHIFT |
				     UINT64_C(0xdeadbeef) << K2I_MARK_TAG_SHIFT);
	k2i_wire_u32_put(at + K2I_CHUNK_STREAM_AT, 7);
	k2i_wire_u32_put(at + K2I_CHUNK_RECORDS_AT, 1);
	k2i_wire_u64_put(at + K2I_CHUNK_TIME_AT, UINT64_C(1700000000123456789));
	k2i_wire_u32_put(at + K2I_CHUNK_PID_AT, 4242);
	at[K2I_CHUNK_LEAD_AT] = lead_bytes;
	at[K2I_CHUNK_PAD_AT] = (uint8_t)(size - K2HFT_CHUNK_HEADER_BYTES - lead_bytes - bytes);
	k2i_wire_u16_put(at + K2I_CHUNK_FLAGS_AT, flags);
	memcpy(at + K2HFT_CHUNK_HEADER_BYTES + lead_bytes, payload, bytes);
	return size;
}

static size_t sample_raw(uint8_t *raw)
{
	size_t bytes = chunk_put(raw, 0, "hello, world\n", 13, 0);

	bytes += chunk_put(raw + bytes, 5, "\0\r\xff part", 9, K2HFT_CHUNK_CONTINUES);
	bytes += chunk_put(raw + bytes, 0, "end\n", 4, K2HFT_CHUNK_CONTINUED);
	return bytes;
}

static int make_hello(uint8_t *bytes)
{
	return k2hft_hello_encode(&sample_hello, bytes, ROOM);
}

static int make_hello_copy(uint8_t *bytes)
{
	struct k2hft_hello hello = sample_hello;

	hello.flags = K2HFT_HELLO_BEGINS | K2HFT_HELLO_COPY;
	return k2hft_hello_encode(&hello, bytes, ROOM);
}

static int make_hello_unsettled(uint8_t *bytes)
{
	return k2hft_hello_encode(&sample_hello_unsettled, bytes, ROOM);
}

static int make_welcome(uint8_t *bytes)
{
	return k2hft_welcome_encode(&sample_welcome, bytes, ROOM);
}

static int make_stream(uint8_t *bytes)
{
	return k2hft_stream_encode(&sample_stream, bytes, ROOM);
}

static int make_ack(uint8_t *bytes)
{
	return k2hft_ack_encode(&sample_ack, bytes, ROOM);
}

static int make_discard(uint8_t *bytes)
{
	return k2hft_discard_encode(&sample_discard, bytes, ROOM);
}

static int make_ping(uint8_t *bytes)
{
	return k2hft_ping_encode(K2HFT_FRAME_PING, &sample_ping, bytes, ROOM);
}

static int make_pong(uint8_t *bytes)
{
	return k2hft_ping_encode(K2HFT_FRAME_PONG, &sample_ping, bytes, ROOM);
}

static int make_bye(uint8_t *bytes)
{
	struct k2hft_ping ping = {.token = 0};

	return k2hft_ping_encode(K2HFT_FRAME_BYE, &ping, bytes, ROOM);
}

static int make_error(uint8_t *bytes)
{
	return k2hft_error_encode(&sample_error, bytes, ROOM);
}

static int make_data(uint8_t *bytes)
{
	uint32_t body_bytes = (uint32_t)sample_raw(bytes + K2HFT_FRAME_HEADER_BYTES);
	struct k2hft_frame frame = {.type = K2HFT_FRAME_DATA,
				    .body_bytes = body_bytes,
				    .raw_bytes = body_bytes,
				    .gap_bytes = 64,
				    .position = 1048576};
	int error = k2hft_frame_header_encode(&frame, bytes + K2HFT_FRAME_HEADER_BYTES, bytes);

	return error ? error : (int)(K2HFT_FRAME_HEADER_BYTES + body_bytes);
}

/*
 * The block is written here and not by k2hft_frame_compress, whose output another version of LZ4 may change: literals
 * of a chunk with the payload "a", a match of 1,983 of those at distance 1, and the last five and an LF as literals.
 */
#define LZ4_PAYLOAD 2000u
static int make_data_lz4(uint8_t *bytes)
{
	static char payload[LZ4_PAYLOAD];
	uint8_t raw[K2HFT_CHUNK_HEADER_BYTES + LZ4_PAYLOAD], *at = bytes + K2HFT_FRAME_HEADER_BYTES;
	const size_t literals = K2HFT_CHUNK_HEADER_BYTES + 1, last = 6, match = LZ4_PAYLOAD - 1 - last;
	struct k2hft_frame frame = {.type = K2HFT_FRAME_DATA, .flags = K2HFT_FRAME_LZ4, .position = 1048576 + 216};
	size_t left = match - 19;

	memset(payload, 'a', sizeof(payload));
	payload[LZ4_PAYLOAD - 1] = '\n';
	frame.raw_bytes = (uint32_t)chunk_put(raw, 0, payload, sizeof(payload), 0);
	*at++ = 0xff;
	*at++ = (uint8_t)(literals - 15);
	memcpy(at, raw, literals);
	at += literals;
	*at++ = 1;
	*at++ = 0;
	for (; left >= 255; left -= 255)
		*at++ = 255;
	*at++ = (uint8_t)left;
	*at++ = (uint8_t)(last << 4);
	memcpy(at, raw + sizeof(raw) - last, last);
	at += last;
	frame.body_bytes = (uint32_t)(at - bytes) - K2HFT_FRAME_HEADER_BYTES;
	return k2hft_frame_header_encode(&frame, bytes + K2HFT_FRAME_HEADER_BYTES, bytes) ? -1 : (int)(at - bytes);
}

static const struct golden {
	const char *name;
	int (*make)(uint8_t *bytes);
} goldens[] = {
	{"hello", make_hello},
	{"welcome", make_welcome},
	{"stream", make_stream},
	{"data", make_data},
	{"ack", make_ack},
	{"ping", make_ping},
	{"pong", make_pong},
	{"discard", make_discard},
	{"bye", make_bye},
	{"error", make_error},
	{"data-lz4", make_data_lz4},
	{"hello-copy", make_hello_copy},
	{"hello-unsettled", make_hello_unsettled},
};
#define GOLDEN_COUNT (sizeof(goldens) / sizeof(goldens[0]))

static void golden_write_missing(const char *path, const uint8_t *bytes, size_t byte_count)
{
	FILE *file;

	if (!getenv("K2HFT_GOLDEN_WRITE"))
		return;
	file = fopen(path, "wxb");
	if (!file)
		return;
	assert_int_equal(fwrite(bytes, 1, byte_count, file), byte_count);
	assert_int_equal(fclose(file), 0);
}

static size_t golden_read(const char *name, uint8_t *bytes)
{
	char path[128];
	FILE *file;
	size_t byte_count;

	(void)snprintf(path, sizeof(path), "tests/golden/%s.bin", name);
	file = fopen(path, "rb");
	if (!file)
		fail_msg("%s: %s", path, strerror(errno));
	byte_count = fread(bytes, 1, ROOM, file);
	(void)fclose(file);
	return byte_count;
}

TEST(encodes_to_the_same_bytes)
{
	static uint8_t made[ROOM], golden[ROOM];
	char path[128];

	for (size_t i = 0; i < GOLDEN_COUNT; i++) {
		int made_bytes = goldens[i].make(made);
		size_t golden_bytes;

		assert_true(made_bytes > 0);
		(void)snprintf(path, sizeof(path), "tests/golden/%s.bin", goldens[i].name);
		golden_write_missing(path, made, (size_t)made_bytes);
		golden_bytes = golden_read(goldens[i].name, golden);
		if (golden_bytes != (size_t)made_bytes || memcmp(golden, made, golden_bytes) != 0)
			fail_msg("%s is not what this version encodes", path);
	}
}

/* The frame's body, after the checks that every reader makes. */
static const uint8_t *golden_body(const char *name, uint8_t *bytes, struct k2hft_frame *frame)
{
	size_t byte_count = golden_read(name, bytes);

	assert_int_equal(k2hft_frame_header_decode(bytes, byte_count, K2HFT_FRAME_BODY_BYTES_INITIAL, frame), 0);
	assert_int_equal(byte_count, K2HFT_FRAME_HEADER_BYTES + frame->body_bytes);
	assert_int_equal(k2hft_frame_verify(bytes, frame, bytes + K2HFT_FRAME_HEADER_BYTES), 0);
	return bytes + K2HFT_FRAME_HEADER_BYTES;
}

/* Every field of it. */
#define DECODES(name, wanted, decode, sample)                                                                          \
	do {                                                                                                           \
		void *decoded = calloc(1, sizeof(sample));                                                             \
		const uint8_t *body = golden_body(name, bytes, &frame);                                                \
                                                                                                                       \
		assert_non_null(decoded);                                                                              \
		assert_int_equal(frame.type, wanted);                                                                  \
		assert_int_equal(decode(body, frame.body_bytes, decoded), 0);                                          \
		assert_memory_equal(decoded, &(sample), sizeof(sample));                                               \
		free(decoded);                                                                                         \
	} while (0)

TEST(decodes_messages)
{
	static uint8_t bytes[ROOM];
	struct k2hft_frame frame;

	DECODES("hello", K2HFT_FRAME_HELLO, k2hft_hello_decode, sample_hello);
	DECODES("hello-unsettled", K2HFT_FRAME_HELLO, k2hft_hello_decode, sample_hello_unsettled);
	DECODES("welcome", K2HFT_FRAME_WELCOME, k2hft_welcome_decode, sample_welcome);
	DECODES("stream", K2HFT_FRAME_STREAM, k2hft_stream_decode, sample_stream);
	DECODES("ack", K2HFT_FRAME_ACK, k2hft_ack_decode, sample_ack);
	DECODES("discard", K2HFT_FRAME_DISCARD, k2hft_discard_decode, sample_discard);
	DECODES("ping", K2HFT_FRAME_PING, k2hft_ping_decode, sample_ping);
	DECODES("pong", K2HFT_FRAME_PONG, k2hft_ping_decode, sample_ping);
	DECODES("error", K2HFT_FRAME_ERROR, k2hft_error_decode, sample_error);
}

TEST(decodes_data)
{
	static uint8_t bytes[ROOM];
	struct k2hft_frame frame;
	struct k2hft_chunk_view view;
	size_t offset = 0;
	const uint8_t *body = golden_body("data", bytes, &frame);

	assert_int_equal(frame.position, 1048576);
	assert_int_equal(frame.gap_bytes, 64);
	assert_int_equal(k2hft_chunk_next(body, frame.body_bytes, frame.position, &offset, &view), 1);
	assert_int_equal(view.payload_bytes, 13);
	assert_memory_equal(view.payload, "hello, world\n", 13);
	assert_int_equal(view.chunk.stream_id, 7);
	assert_int_equal(view.chunk.time_ns, UINT64_C(1700000000123456789));
	assert_int_equal(view.chunk.writer_pid, 4242);
	assert_int_equal(view.end, 1048576 + 48);
	assert_int_equal(k2hft_chunk_next(body, frame.body_bytes, frame.position, &offset, &view), 1);
	assert_memory_equal(view.payload, "\0\r\xff part", 9);
	assert_int_equal(view.chunk.flags, K2HFT_CHUNK_CONTINUES);
	assert_int_equal(k2hft_chunk_next(body, frame.body_bytes, frame.position, &offset, &view), 1);
	assert_int_equal(view.chunk.flags, K2HFT_CHUNK_CONTINUED);
	assert_int_equal(k2hft_chunk_next(body, frame.body_bytes, frame.position, &offset, &view), 0);
}

TEST(decodes_compressed_data)
{
	static uint8_t bytes[ROOM], raw[ROOM];
	struct k2hft_frame frame;
	struct k2hft_chunk_view view;
	size_t offset = 0;
	const uint8_t *body = golden_body("data-lz4", bytes, &frame);

	assert_int_equal(frame.flags, K2HFT_FRAME_LZ4);
	assert_int_equal(k2hft_frame_decompress(body, frame.body_bytes, raw, frame.raw_bytes), 0);
	assert_int_equal(k2hft_chunk_next(raw, frame.raw_bytes, frame.position, &offset, &view), 1);
	assert_int_equal(view.payload_bytes, LZ4_PAYLOAD);
	for (size_t i = 0; i + 1 < LZ4_PAYLOAD; i++)
		assert_int_equal(view.payload[i], 'a');
	assert_int_equal(view.payload[LZ4_PAYLOAD - 1], '\n');
	assert_int_equal(offset, frame.raw_bytes);
}
