/* SPDX-License-Identifier: MIT */
/* Messages of Forward, and what a server answers, whatever lengths it says. */
#include <errno.h>

#include <zlib.h>

#include "unit.h"
#include "receiver/sink/forward/message.h"

static void expect_packed(struct k2i_packed *packed, const char *wanted, size_t count)
{
	assert_false(packed->failed);
	assert_int_equal(packed->count, count);
	assert_memory_equal(packed->bytes, wanted, count);
	packed->count = 0;
}
#define EXPECT_PACKED(packed, wanted) expect_packed(packed, wanted, sizeof(wanted) - 1)

TEST(test_packed)
{
	static char text[70000];
	struct k2i_packed packed = {0};

	memset(text, 'x', sizeof(text));
	k2i_pack_array(&packed, 3);
	k2i_pack_map(&packed, 2);
	k2i_pack_text(&packed, "ab", 2);
	k2i_pack_binary(&packed, "", 0);
	k2i_pack_time(&packed, UINT64_C(0x12345678) * 1000000000 + 258);
	EXPECT_PACKED(&packed, "\x93\x82\xa2"
			       "ab\xc4\x00\xd7\x00\x12\x34\x56\x78\x00\x00\x01\x02");
	k2i_pack_unsigned(&packed, 127);
	k2i_pack_unsigned(&packed, 128);
	k2i_pack_unsigned(&packed, UINT64_C(1) << 32);
	EXPECT_PACKED(&packed, "\x7f\xce\x00\x00\x00\x80\xcf\x00\x00\x00\x01\x00\x00\x00\x00");
	/* No UTF-8: binary. */
	k2i_pack_text(&packed, "\xff", 1);
	k2i_pack_text(&packed, "\xc3\xbc", 2);
	EXPECT_PACKED(&packed, "\xc4\x01\xff\xa2\xc3\xbc");
	k2i_pack_text(&packed, text, 31);
	assert_int_equal(packed.bytes[0], 0xbf);
	packed.count = 0;
	k2i_pack_text(&packed, text, 255);
	assert_memory_equal(packed.bytes, "\xd9\xff", 2);
	packed.count = 0;
	k2i_pack_text(&packed, text, 256);
	assert_memory_equal(packed.bytes, "\xda\x01\x00", 3);
	packed.count = 0;
	k2i_pack_binary(&packed, text, 65536);
	assert_memory_equal(packed.bytes, "\xc6\x00\x01\x00\x00", 5);
	assert_int_equal(packed.count, 65541);
	free(packed.bytes);
}

static int whole(const char *bytes, size_t count, size_t *at)
{
	/* A block of its own, so that a sanitizer sees what is read behind it. */
	uint8_t *copy = malloc(count ? count : 1);
	int result;

	assert_non_null(copy);
	memcpy(copy, bytes, count);
	result = k2i_unpack_skip(copy, count, at);
	free(copy);
	return result;
}

/* A value that is whole, and each begin of it that is not. */
static void expect_whole(const char *bytes, size_t count)
{
	size_t at = 0;

	for (size_t part = 0; part < count; part++) {
		assert_int_equal(whole(bytes, part, &at), 0);
		assert_int_equal(at, 0);
	}
	assert_int_equal(whole(bytes, count, &at), 1);
	assert_int_equal(at, count);
}
#define EXPECT_WHOLE(bytes) expect_whole(bytes, sizeof(bytes) - 1)

TEST(test_skipped)
{
	EXPECT_WHOLE("\x81\xa3"
		     "ack\xa4"
		     "QUJD");
	EXPECT_WHOLE("\x93\xc0\xc2\xc3");
	EXPECT_WHOLE("\x00");
	EXPECT_WHOLE("\xff");
	EXPECT_WHOLE("\xcb\x01\x02\x03\x04\x05\x06\x07\x08");
	EXPECT_WHOLE("\xd8\x01"
		     "0123456789abcdef");
	EXPECT_WHOLE("\xc7\x02\x05zz");
	EXPECT_WHOLE("\xc9\x00\x00\x00\x01\x05z");
	EXPECT_WHOLE("\xdc\x00\x02\x90\x80");
	EXPECT_WHOLE("\xdf\x00\x00\x00\x01\xd3\x01\x02\x03\x04\x05\x06\x07\x08\x91\xd9\x01x");
}

TEST(test_hostile)
{
	static const struct {
		const char *bytes;
		size_t count;
	} hostile[] = {{"\xc1", 1},
		       {"\xc6\xff\xff\xff\xff", 5},
		       {"\xdb\xff\xff\xff\xff", 5},
		       {"\xdd\xff\xff\xff\xff", 5},
		       {"\xdf\xff\xff\xff\xff", 5},
		       {"\xc9\xff\xff\xff\xff", 5},
		       {"\x91\xdd\x00\x01\x00\x01", 6}};
	char deep[1000];
	size_t at = 0;

	for (size_t number = 0; number < sizeof(hostile) / sizeof(hostile[0]); number++)
		assert_int_equal(whole(hostile[number].bytes, hostile[number].count, &at), -EPROTO);
	/* As deep as it likes. */
	memset(deep, 0x91, sizeof(deep));
	assert_int_equal(whole(deep, sizeof(deep), &at), 0);
	memset(deep, 0xdd, sizeof(deep));
	assert_int_equal(whole(deep, sizeof(deep), &at), -EPROTO);
	assert_int_equal(at, 0);
}

static struct k2i_remote_piece *piece_make(const char *records, size_t bytes, bool binary)
{
	struct k2i_remote_piece *piece = calloc(1, sizeof(*piece) + bytes);

	assert_non_null(piece);
	memcpy(piece->ring, "ring", 4);
	memcpy(piece->records, records, bytes);
	piece->bytes = bytes;
	piece->position = 4096;
	piece->binary = binary;
	piece->origin = (struct k2i_format_origin){.path = "a/b", .host = "h", .writer_pid = 7, .time_ns = 5000000001};
	return piece;
}

static struct k2i_message_maker maker_make(const char *tag)
{
	struct k2i_message_maker maker = {0};
	struct k2i_format *format;
	char message[200];

	assert_int_equal(k2i_format_compile_name(tag, NULL, &format, message, sizeof(message)), 0);
	maker.tag = format;
	return maker;
}

static void maker_end(struct k2i_message_maker *maker)
{
	k2i_format_free((struct k2i_format *)(uintptr_t)maker->tag);
	k2i_message_maker_end(maker);
}

#define ENTRY(record)                                                                                                  \
	"\x92\xd7\x00\x00\x00\x00\x05\x00\x00\x00\x01\x84\xa7message" record "\xa4host\xa1h\xa4path\xa3"               \
	"a/b\xa3pid\x07"

TEST(test_message)
{
	static const char entries[] = ENTRY("\xa3one") ENTRY("\xa1\r");
	struct k2i_message_maker maker = maker_make("t/%F");
	struct k2i_remote_piece *piece = piece_make("one\n\r\n", 6, false);
	char id[K2I_FORWARD_ID_BYTES], again[K2I_FORWARD_ID_BYTES];
	struct k2i_packed wanted = {0};
	size_t from = 0;

	assert_int_equal(k2i_message_make(&maker, piece, 0, &from, id), 0);
	assert_int_equal(from, 6);
	assert_int_equal(strlen(id), 24);
	k2i_pack_array(&wanted, 3);
	k2i_pack_text(&wanted, "t.a.b", 5);
	k2i_pack_binary(&wanted, entries, sizeof(entries) - 1);
	k2i_pack_map(&wanted, 2);
	k2i_pack_text(&wanted, "chunk", 5);
	k2i_pack_text(&wanted, id, 24);
	k2i_pack_text(&wanted, "size", 4);
	k2i_pack_unsigned(&wanted, 2);
	expect_packed(&maker.message, (const char *)wanted.bytes, wanted.count);
	/* The id names the ring, the position and the number. */
	from = 0;
	assert_int_equal(k2i_message_make(&maker, piece, 0, &from, again), 0);
	assert_string_equal(id, again);
	from = 0;
	assert_int_equal(k2i_message_make(&maker, piece, 1, &from, again), 0);
	assert_string_not_equal(id, again);
	from = 0;
	piece->position++;
	assert_int_equal(k2i_message_make(&maker, piece, 0, &from, again), 0);
	assert_string_not_equal(id, again);
	free(wanted.bytes);
	free(piece);
	maker_end(&maker);
}

/* CompressedPackedForward: the entries and the id are those of the message that is not compressed. */
TEST(test_compressed)
{
	static const char entries[] = ENTRY("\xa3one") ENTRY("\xa1\r"), tail[] = "\xaa"
										 "compressed\xa4gzip";
	static uint8_t plain[1000];
	struct k2i_message_maker maker = maker_make("t/%F");
	struct k2i_remote_piece *piece = piece_make("one\n\r\n", 6, false);
	z_stream stream = {.next_out = plain, .avail_out = sizeof(plain)};
	char id[K2I_FORWARD_ID_BYTES], again[K2I_FORWARD_ID_BYTES];
	struct k2i_unpacked value;
	size_t from = 0, at = 0;

	assert_int_equal(k2i_message_make(&maker, piece, 0, &from, id), 0);
	maker.compress = true;
	from = 0;
	assert_int_equal(k2i_message_make(&maker, piece, 0, &from, again), 0);
	assert_string_equal(id, again);
	/* The array, the tag, and then the entries. */
	for (unsigned number = 0; number < 3; number++)
		assert_int_equal(k2i_unpack_next(maker.message.bytes, maker.message.count, &at, &value), 1);
	stream.next_in = (uint8_t *)(uintptr_t)value.bytes;
	stream.avail_in = value.count;
	assert_int_equal(inflateInit2(&stream, MAX_WBITS + 16), Z_OK);
	assert_int_equal(inflate(&stream, Z_FINISH), Z_STREAM_END);
	assert_int_equal(stream.total_out, sizeof(entries) - 1);
	assert_memory_equal(plain, entries, sizeof(entries) - 1);
	(void)inflateEnd(&stream);
	assert_int_equal(maker.message.bytes[at], 0x83);
	assert_memory_equal(maker.message.bytes + maker.message.count - (sizeof(tail) - 1), tail, sizeof(tail) - 1);
	free(piece);
	maker_end(&maker);
}

/* A tag is text, and a writer whose pid is not known has none. */
TEST(test_strange_origin)
{
	struct k2i_message_maker maker = maker_make("%F");
	struct k2i_remote_piece *piece = piece_make("x\n", 2, false);
	char id[K2I_FORWARD_ID_BYTES];
	struct k2i_unpacked value;
	size_t from = 0, at = 1;

	piece->origin.path = "a/\xff.log";
	piece->origin.writer_pid = 0;
	assert_int_equal(k2i_message_make(&maker, piece, 0, &from, id), 0);
	assert_int_equal(k2i_unpack_next(maker.message.bytes, maker.message.count, &at, &value), 1);
	assert_true(k2i_unpacked_is(&value, "a.?.log"));
	assert_null(memmem(maker.message.bytes, maker.message.count, "pid", 3));
	/* The path itself is not changed: it is binary. */
	assert_non_null(memmem(maker.message.bytes, maker.message.count,
			       "path\xc4\x07"
			       "a/\xff.log",
			       13));
	free(piece);
	maker_end(&maker);
}

/* Many records: several messages, at the same places each time. */
TEST(test_several_messages)
{
	static char records[60000];
	struct k2i_message_maker maker = maker_make("%F");
	struct k2i_remote_piece *piece;
	char id[K2I_FORWARD_ID_BYTES];
	size_t from = 0, skipped = 0;
	unsigned number = 0;

	memset(records, '\n', sizeof(records));
	piece = piece_make(records, sizeof(records), false);
	while (from < piece->bytes) {
		assert_int_equal(k2i_message_skip(&maker, piece, &skipped), 0);
		assert_int_equal(k2i_message_make(&maker, piece, number++, &from, id), 0);
		assert_int_equal(from, skipped);
		assert_in_range(maker.message.count, 1, K2I_FORWARD_ENTRIES_BYTES + 200);
	}
	assert_in_range(number, 2, 10);
	free(piece);
	/* A block is one, whatever is in it. */
	piece = piece_make(records, sizeof(records), true);
	from = 0;
	assert_int_equal(k2i_message_make(&maker, piece, 0, &from, id), 0);
	assert_int_equal(from, piece->bytes);
	free(piece);
	maker_end(&maker);
}

TEST(test_tag_refused)
{
	static const char *const wrong[] = {"%L", "a.%l", "%J", "%y"};
	struct k2i_format *format = NULL;
	char message[200];

	for (size_t number = 0; number < sizeof(wrong) / sizeof(wrong[0]); number++) {
		assert_int_equal(k2i_format_compile_name(wrong[number], NULL, &format, message, sizeof(message)),
				 -EINVAL);
		assert_null(format);
	}
}
