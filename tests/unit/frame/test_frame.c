/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include <k2hft/frame.h>

#include "unit.h"
#include "frame/wire.h"
#include "random_help.h"
#include "base/byte_order.h"

#define MUTATIONS 20000u

static struct k2hft_frame data_frame(uint32_t bytes)
{
	struct k2hft_frame frame = {
		.type = K2HFT_FRAME_DATA, .body_bytes = bytes, .raw_bytes = bytes, .gap_bytes = 8, .position = 4096};

	return frame;
}

static size_t chunk_put(uint8_t *at, uint8_t lead_bytes, size_t payload_bytes)
{
	size_t size = (K2HFT_CHUNK_HEADER_BYTES + lead_bytes + payload_bytes + 7) / 8 * 8;

	memset(at, 'x', size);
	k2i_wire_u64_put(at, size | (uint64_t)K2I_KIND_CHUNK << K2I_MARK_KIND_SHIFT);
	k2i_wire_u32_put(at + K2I_CHUNK_RECORDS_AT, 1);
	at[K2I_CHUNK_LEAD_AT] = lead_bytes;
	at[K2I_CHUNK_PAD_AT] = (uint8_t)(size - K2HFT_CHUNK_HEADER_BYTES - lead_bytes - payload_bytes);
	k2i_wire_u16_put(at + K2I_CHUNK_FLAGS_AT, 0);
	return size;
}

TEST(header_comes_back)
{
	uint8_t header[K2HFT_FRAME_HEADER_BYTES], body[48] = "body";
	struct k2hft_frame frame = data_frame(sizeof(body)), back;

	assert_int_equal(k2hft_frame_header_encode(&frame, body, header), 0);
	assert_int_equal(k2hft_frame_header_decode(header, sizeof(header), sizeof(body), &back), 0);
	assert_int_equal(back.type, frame.type);
	assert_int_equal(back.flags, 0);
	assert_int_equal(back.body_bytes, sizeof(body));
	assert_int_equal(back.raw_bytes, sizeof(body));
	assert_int_equal(back.gap_bytes, 8);
	assert_int_equal(back.position, 4096);
	assert_int_equal(back.checksum, frame.checksum);
	assert_int_equal(k2hft_frame_verify(header, &back, body), 0);
}

TEST(header_needs_forty_bytes)
{
	uint8_t header[K2HFT_FRAME_HEADER_BYTES], body[48] = "body";
	struct k2hft_frame frame = data_frame(sizeof(body));

	assert_int_equal(k2hft_frame_header_encode(&frame, body, header), 0);
	for (size_t bytes = 0; bytes < sizeof(header); bytes++)
		assert_int_equal(k2hft_frame_header_decode(header, bytes, sizeof(body), &frame), -EAGAIN);
}

TEST(another_protocol_shows_at_once)
{
	struct k2hft_frame frame;
	uint8_t header[K2HFT_FRAME_HEADER_BYTES] = "K2HF\2";

	assert_int_equal(k2hft_frame_header_decode("GET / HTTP/1.1", 14, 4096, &frame), -EPROTO);
	assert_int_equal(k2hft_frame_header_decode("\x16\x03\x01", 1, 4096, &frame), -EPROTO);
	assert_int_equal(k2hft_frame_header_decode("K2HF\2", 5, 4096, &frame), -EPROTO);
	assert_int_equal(k2hft_frame_header_decode(header, sizeof(header), 4096, &frame), -EPROTO);
	assert_int_equal(k2hft_frame_header_decode("K2H", 3, 4096, &frame), -EAGAIN);
}

/* Sets one field of a good header and says what decode makes of it. */
static int decode_with(size_t at, size_t bytes, uint64_t value, uint32_t body_bytes_max)
{
	uint8_t header[K2HFT_FRAME_HEADER_BYTES], body[48] = "body", number[8];
	struct k2hft_frame frame = data_frame(sizeof(body));

	assert_int_equal(k2hft_frame_header_encode(&frame, body, header), 0);
	k2i_wire_u64_put(number, value);
	memcpy(header + at, number, bytes);
	return k2hft_frame_header_decode(header, sizeof(header), body_bytes_max, &frame);
}

TEST(header_fields_are_checked)
{
	assert_int_equal(decode_with(K2I_FRAME_TYPE_AT, 1, 0, 4096), -EBADMSG);
	assert_int_equal(decode_with(K2I_FRAME_TYPE_AT, 1, 11, 4096), -EBADMSG);
	assert_int_equal(decode_with(K2I_FRAME_TYPE_AT, 1, K2HFT_FRAME_ACK, 4096), -EBADMSG); /* with a position */
	assert_int_equal(decode_with(K2I_FRAME_FLAGS_AT, 2, 2, 4096), -EBADMSG);
	assert_int_equal(decode_with(K2I_FRAME_RESERVED_AT, 4, 1, 4096), -EBADMSG);
	assert_int_equal(decode_with(K2I_FRAME_BODY_AT, 4, 56, 4096), -EBADMSG);
	assert_int_equal(decode_with(K2I_FRAME_RAW_AT, 4, 56, 4096), -EBADMSG);
	assert_int_equal(decode_with(K2I_FRAME_POSITION_AT, 8, 4097, 4096), -EBADMSG);
	assert_int_equal(decode_with(K2I_FRAME_POSITION_AT, 8, 0, 4096), -EBADMSG); /* below the gap */
	assert_int_equal(decode_with(K2I_FRAME_POSITION_AT, 8, UINT64_MAX - 7, 4096), -EBADMSG);
	assert_int_equal(decode_with(K2I_FRAME_POSITION_AT, 8, UINT64_MAX - 55, 4096), 0);
	assert_int_equal(decode_with(K2I_FRAME_GAP_AT, 4, 4, 4096), -EBADMSG);
	assert_int_equal(decode_with(K2I_FRAME_GAP_AT, 4, 4096, 4096), 0);
}

/* Fields that a header has no use for are zero, in all but DATA. */
TEST(headers_of_messages_are_checked)
{
	static const struct {
		uint8_t at, value;
	} bytes_bad[] = {
		{K2I_FRAME_TYPE_AT, 0},  {K2I_FRAME_TYPE_AT, K2HFT_FRAME_ERROR + 1},
		{K2I_FRAME_FLAGS_AT, 1}, {K2I_FRAME_RAW_AT, 16},
		{K2I_FRAME_GAP_AT, 8},   {K2I_FRAME_POSITION_AT, 8},
	};
	uint8_t header[K2HFT_FRAME_HEADER_BYTES], body[8] = {0};
	struct k2hft_frame frame = {.type = K2HFT_FRAME_PING, .body_bytes = 8, .raw_bytes = 8}, bad;

	for (size_t i = 0; i < sizeof(bytes_bad) / sizeof(bytes_bad[0]); i++) {
		assert_int_equal(k2hft_frame_header_encode(&frame, body, header), 0);
		assert_int_equal(k2hft_frame_header_decode(header, sizeof(header), 4096, &frame), 0);
		header[bytes_bad[i].at] = bytes_bad[i].value;
		assert_int_equal(k2hft_frame_header_decode(header, sizeof(header), 4096, &bad), -EBADMSG);
		assert_int_equal(k2hft_frame_header_encode(&bad, body, header), -EINVAL);
	}
	frame = data_frame(K2HFT_FRAME_BODY_BYTES_MAX + 8);
	assert_int_equal(k2hft_frame_header_encode(&frame, body, header), -EINVAL);
	frame = data_frame(32);
	assert_int_equal(k2hft_frame_header_encode(&frame, body, header), -EINVAL);
}

TEST(lengths_are_bounded)
{
	assert_int_equal(decode_with(0, 0, 0, 48), 0);
	assert_int_equal(decode_with(0, 0, 0, 47), -EMSGSIZE);
	assert_int_equal(decode_with(K2I_FRAME_RAW_AT, 4, 104, 48), -EMSGSIZE);
	assert_int_equal(decode_with(K2I_FRAME_RAW_AT, 4, UINT32_MAX, 1 << 20), -EMSGSIZE);
	assert_int_equal(decode_with(K2I_FRAME_BODY_AT, 4, UINT32_MAX, 1 << 20), -EMSGSIZE);
}

TEST(bombs_are_refused)
{
	uint8_t header[K2HFT_FRAME_HEADER_BYTES], body[48] = "body";
	struct k2hft_frame frame = data_frame(sizeof(body));
	const uint32_t most = (255 * sizeof(body) + 64) / 8 * 8;

	frame.flags = K2HFT_FRAME_LZ4;
	assert_int_equal(k2hft_frame_header_encode(&frame, body, header), -EINVAL); /* not smaller */
	frame.raw_bytes = most;
	assert_int_equal(k2hft_frame_header_encode(&frame, body, header), 0);
	assert_int_equal(k2hft_frame_header_decode(header, sizeof(header), 1 << 20, &frame), 0);
	k2i_wire_u32_put(header + K2I_FRAME_RAW_AT, most + 8);
	assert_int_equal(k2hft_frame_header_decode(header, sizeof(header), 1 << 20, &frame), -EBADMSG);
}

TEST(messages_are_short)
{
	static uint8_t body[K2HFT_MESSAGE_BYTES_MAX + 1];
	uint8_t header[K2HFT_FRAME_HEADER_BYTES];
	struct k2hft_frame frame = {.type = K2HFT_FRAME_HELLO, .body_bytes = K2HFT_MESSAGE_BYTES_MAX};

	frame.raw_bytes = frame.body_bytes;
	assert_int_equal(k2hft_frame_header_encode(&frame, body, header), 0);
	assert_int_equal(k2hft_frame_header_decode(header, sizeof(header), K2HFT_FRAME_BODY_BYTES_MAX, &frame), 0);
	k2i_wire_u32_put(header + K2I_FRAME_BODY_AT, K2HFT_MESSAGE_BYTES_MAX + 1);
	k2i_wire_u32_put(header + K2I_FRAME_RAW_AT, K2HFT_MESSAGE_BYTES_MAX + 1);
	assert_int_equal(k2hft_frame_header_decode(header, sizeof(header), K2HFT_FRAME_BODY_BYTES_MAX, &frame),
			 -EMSGSIZE);
}

TEST(every_flipped_bit_is_found)
{
	uint8_t header[K2HFT_FRAME_HEADER_BYTES], body[48] = "body";
	struct k2hft_frame frame = data_frame(sizeof(body));

	assert_int_equal(k2hft_frame_header_encode(&frame, body, header), 0);
	for (size_t bit = 0; bit < 8 * (sizeof(header) + sizeof(body)); bit++) {
		uint8_t *byte = bit / 8 < sizeof(header) ? header + bit / 8 : body + bit / 8 - sizeof(header);
		int error;

		*byte ^= (uint8_t)(1u << bit % 8);
		error = k2hft_frame_header_decode(header, sizeof(header), sizeof(body), &frame);
		assert_true(error || k2hft_frame_verify(header, &frame, body) == -EBADMSG);
		*byte ^= (uint8_t)(1u << bit % 8);
	}
}

TEST(compression_comes_back)
{
	static const size_t lengths[] = {40, 48, 64, 1000, 65536, 1 << 20, K2HFT_FRAME_BODY_BYTES_MAX};
	uint8_t *raw = malloc(K2HFT_FRAME_BODY_BYTES_MAX), *body = malloc(K2HFT_FRAME_BODY_BYTES_MAX);
	uint8_t *back = malloc(K2HFT_FRAME_BODY_BYTES_MAX);

	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		struct k2hft_frame frame = data_frame((uint32_t)lengths[i]);
		uint8_t header[K2HFT_FRAME_HEADER_BYTES];
		int bytes;

		memset(raw, 'a', lengths[i]);
		bytes = k2hft_frame_compress(raw, lengths[i], body, k2hft_frame_compress_bound(lengths[i]));
		assert_true(bytes > 0 && (size_t)bytes < lengths[i]);
		assert_int_equal(k2hft_frame_decompress(body, (size_t)bytes, back, lengths[i]), 0);
		assert_memory_equal(raw, back, lengths[i]);
		assert_int_equal(k2hft_frame_decompress(body, (size_t)bytes, back, lengths[i] - 8), -EBADMSG);
		assert_int_equal(k2hft_frame_decompress(body, (size_t)bytes - 1, back, lengths[i]), -EBADMSG);
		/* The best that LZ4 can do stays within the bound of the header. */
		frame.flags = K2HFT_FRAME_LZ4;
		frame.body_bytes = (uint32_t)bytes;
		assert_int_equal(k2hft_frame_header_encode(&frame, body, header), 0);
	}
	free(raw);
	free(body);
	free(back);
}

TEST(what_does_not_shrink_is_left)
{
	uint8_t raw[1024], body[2048];
	uint64_t seed = 0x9e3779b97f4a7c15u;

	for (size_t i = 0; i < sizeof(raw); i++)
		raw[i] = (uint8_t)random_next(&seed);
	assert_int_equal(k2hft_frame_compress(raw, sizeof(raw), body, sizeof(body)), 0);
	assert_int_equal(k2hft_frame_compress(raw, 0, body, sizeof(body)), 0);
	assert_int_equal(k2hft_frame_compress(raw, sizeof(raw), body, 0), 0);
	assert_int_equal(k2hft_frame_compress(raw, K2HFT_FRAME_BODY_BYTES_MAX + 1, body, sizeof(body)), -EINVAL);
	assert_int_equal(k2hft_frame_decompress(body, 0, raw, sizeof(raw)), -EBADMSG);
	assert_int_equal(k2hft_frame_decompress(body, 10, raw, K2HFT_FRAME_BODY_BYTES_MAX + 1), -EBADMSG);
}

TEST(chunks_are_walked)
{
	uint8_t body[512];
	size_t bytes = 0, offset = 0;
	struct k2hft_chunk_view view;

	for (uint8_t lead_bytes = 0; lead_bytes < 8; lead_bytes++)
		bytes += chunk_put(body + bytes, lead_bytes, 1u + lead_bytes);
	for (uint8_t lead_bytes = 0; lead_bytes < 8; lead_bytes++) {
		size_t before = offset;

		assert_int_equal(k2hft_chunk_next(body, bytes, 1 << 20, &offset, &view), 1);
		assert_int_equal(view.payload_bytes, 1 + lead_bytes);
		assert_ptr_equal(view.payload, body + before + K2HFT_CHUNK_HEADER_BYTES + lead_bytes);
		assert_int_equal(view.position, (1 << 20) + before);
		assert_int_equal(view.end, (1 << 20) + offset);
	}
	assert_int_equal(k2hft_chunk_next(body, bytes, 1 << 20, &offset, &view), 0);
}

/* Puts one value into a good chunk of 48 bytes in 48 and says what chunk_next makes of it; nothing may have moved. */
static int next_with(size_t at, size_t value_bytes, uint64_t value)
{
	uint8_t body[48], number[8];
	size_t offset = 0, bytes = chunk_put(body, 0, 13);
	struct k2hft_chunk_view view;
	int result;

	assert_int_equal(bytes, sizeof(body));
	k2i_wire_u64_put(number, value);
	memcpy(body + at, number, value_bytes);
	result = k2hft_chunk_next(body, sizeof(body), 0, &offset, &view);
	assert_int_equal(offset, result == 1 ? 48 : 0);
	return result;
}

TEST(chunk_fields_are_checked)
{
	const uint64_t kind = (uint64_t)K2I_KIND_CHUNK << K2I_MARK_KIND_SHIFT;

	assert_int_equal(next_with(0, 8, 48 | kind | UINT64_MAX << 32), 1);
	for (uint64_t other = 0; other < 16; other++) {
		if (other != K2I_KIND_CHUNK)
			assert_int_equal(next_with(0, 8, 48 | other << K2I_MARK_KIND_SHIFT), -EBADMSG);
	}
	assert_int_equal(next_with(0, 8, kind | 0), -EBADMSG);
	assert_int_equal(next_with(0, 8, kind | 8), -EBADMSG);
	assert_int_equal(next_with(0, 8, kind | 32), -EBADMSG);
	assert_int_equal(next_with(0, 8, kind | 47), -EBADMSG);
	assert_int_equal(next_with(0, 8, kind | 56), -EBADMSG);
	assert_int_equal(next_with(0, 8, kind | K2I_MARK_SIZE_MASK), -EBADMSG);
	assert_int_equal(next_with(K2I_CHUNK_LEAD_AT, 1, 8), -EBADMSG);
	assert_int_equal(next_with(K2I_CHUNK_PAD_AT, 1, 8), -EBADMSG);
	assert_int_equal(next_with(K2I_CHUNK_PAD_AT, 1, 255), -EBADMSG);
	assert_int_equal(next_with(K2I_CHUNK_FLAGS_AT, 2, 3), 1);
	assert_int_equal(next_with(K2I_CHUNK_FLAGS_AT, 2, 4), -EBADMSG);
	assert_int_equal(next_with(K2I_CHUNK_RECORDS_AT, 4, 0), -EBADMSG);
	assert_int_equal(next_with(K2I_CHUNK_RECORDS_AT, 4, 13), 1);
	assert_int_equal(next_with(K2I_CHUNK_RECORDS_AT, 4, 14), -EBADMSG);
}

TEST(chunk_payload_is_not_empty)
{
	uint8_t body[40];
	size_t offset = 0;
	struct k2hft_chunk_view view;

	assert_int_equal(chunk_put(body, 0, 1), 40);
	assert_int_equal(k2hft_chunk_next(body, 40, 0, &offset, &view), 1);
	offset = 0;
	body[K2I_CHUNK_LEAD_AT] = 1; /* and 7 of pad */
	assert_int_equal(k2hft_chunk_next(body, 40, 0, &offset, &view), -EBADMSG);
	body[K2I_CHUNK_LEAD_AT] = 0;
	for (size_t bytes = 1; bytes < 40; bytes++)
		assert_int_equal(k2hft_chunk_next(body, bytes, 0, &offset, &view), -EBADMSG);
	offset = 48;
	assert_int_equal(k2hft_chunk_next(body, 40, 0, &offset, &view), -EBADMSG);
	offset = 0;
	assert_int_equal(k2hft_chunk_next(body, 40, UINT64_MAX - 39, &offset, &view), -EBADMSG);
}

TEST(chunk_size_is_bounded)
{
	uint8_t *body = malloc(K2HFT_CHUNK_BYTES_MAX + 8);
	size_t offset = 0, bytes = chunk_put(body, 0, K2HFT_CHUNK_BYTES_MAX - K2HFT_CHUNK_HEADER_BYTES);
	struct k2hft_chunk_view view;

	assert_int_equal(bytes, K2HFT_CHUNK_BYTES_MAX);
	assert_int_equal(k2hft_chunk_next(body, bytes, 0, &offset, &view), 1);
	offset = 0;
	bytes = chunk_put(body, 0, K2HFT_CHUNK_BYTES_MAX - K2HFT_CHUNK_HEADER_BYTES + 8);
	assert_int_equal(k2hft_chunk_next(body, bytes, 0, &offset, &view), -EBADMSG);
	free(body);
}

static int path_check(const char *path)
{
	return k2hft_stream_path_check(path, strlen(path));
}

TEST(paths_are_checked)
{
	static const char *const good[] = {"a",   "a/b",  ".a",        "..a",       "...",
					   "a..", "a/.b", "log/x.log", "a b/\tc\n", "\xff\xfe"};
	static const char *const bad[] = {"",     "/",    "/a",    "a/",  "a//b",   ".",  "..",
					  "a/..", "../a", "a/./b", "./a", "a/../b", "//", "a/."};
	char path[K2HFT_STREAM_PATH_BYTES_MAX + 2];

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		assert_int_equal(path_check(good[i]), 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(path_check(bad[i]), -EINVAL);
	assert_int_equal(k2hft_stream_path_check("a\0b", 3), -EINVAL);
	memset(path, 'a', sizeof(path));
	assert_int_equal(k2hft_stream_path_check(path, 255), 0);
	assert_int_equal(k2hft_stream_path_check(path, 256), -EINVAL);
	for (size_t i = 255; i < sizeof(path); i += 256)
		path[i] = '/';
	assert_int_equal(k2hft_stream_path_check(path, K2HFT_STREAM_PATH_BYTES_MAX), 0);
	path[1023] = 'a';
	path[1022] = '/';
	assert_int_equal(k2hft_stream_path_check(path, K2HFT_STREAM_PATH_BYTES_MAX + 1), -EINVAL);
}

/* Changes up to eight bytes of `bytes`, from a seed that a failure can be repeated with. */
static void mutate(uint8_t *bytes, size_t byte_count, uint64_t *seed)
{
	uint64_t changes = 1 + random_next(seed) % 8;

	while (changes--) {
		uint64_t choice = random_next(seed);
		uint8_t *byte = bytes + random_next(seed) % byte_count;

		*byte = choice % 4 == 0 ? 0xff : choice % 4 == 1 ? 0 : (uint8_t)(choice >> 8);
	}
}

TEST(damaged_headers_are_safe)
{
	uint8_t header[K2HFT_FRAME_HEADER_BYTES], damaged[sizeof(header)], body[48] = "body";
	struct k2hft_frame frame = data_frame(sizeof(body));
	uint64_t seed = 1;

	assert_int_equal(k2hft_frame_header_encode(&frame, body, header), 0);
	for (unsigned i = 0; i < MUTATIONS; i++) {
		memcpy(damaged, header, sizeof(header));
		mutate(damaged, sizeof(damaged), &seed);
		if (k2hft_frame_header_decode(damaged, sizeof(damaged), sizeof(body), &frame) != 0)
			continue;
		assert_true(frame.body_bytes <= sizeof(body) && frame.raw_bytes <= sizeof(body));
		assert_true(memcmp(damaged, header, sizeof(header)) == 0 ||
			    k2hft_frame_verify(damaged, &frame, body) == -EBADMSG);
	}
}

TEST(damaged_chunks_stay_in_the_body)
{
	uint8_t good[512], *damaged;
	size_t bytes = 0;
	uint64_t seed = 2;

	for (uint8_t lead_bytes = 0; lead_bytes < 8; lead_bytes++)
		bytes += chunk_put(good + bytes, lead_bytes, 10u + lead_bytes);
	damaged = malloc(bytes); /* of exactly this length, for the address sanitizer */
	for (unsigned i = 0; i < MUTATIONS; i++) {
		struct k2hft_chunk_view view;
		size_t offset = 0, before = 0;

		memcpy(damaged, good, bytes);
		mutate(damaged, bytes, &seed);
		while (k2hft_chunk_next(damaged, bytes, 4096, &offset, &view) == 1) {
			assert_true(offset > before && offset <= bytes && view.payload_bytes >= 1);
			assert_true(view.payload >= damaged + before + K2HFT_CHUNK_HEADER_BYTES);
			assert_true(view.payload + view.payload_bytes <= damaged + offset);
			before = offset;
		}
	}
	free(damaged);
}

TEST(damaged_blocks_stay_in_the_room)
{
	uint8_t raw[1000], body[1000], *back = malloc(sizeof(raw)), *damaged;
	uint64_t seed = 3;
	int bytes;

	for (size_t i = 0; i < sizeof(raw); i++)
		raw[i] = (uint8_t)(i % 37 * (i / 200 + 1));
	bytes = k2hft_frame_compress(raw, sizeof(raw), body, sizeof(body));
	assert_true(bytes > 0);
	damaged = malloc((size_t)bytes);
	for (unsigned i = 0; i < MUTATIONS; i++) {
		memcpy(damaged, body, (size_t)bytes);
		mutate(damaged, (size_t)bytes, &seed);
		(void)k2hft_frame_decompress(damaged, (size_t)bytes, back, sizeof(raw));
	}
	free(damaged);
	free(back);
}
