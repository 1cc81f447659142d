/* SPDX-License-Identifier: MIT */
/* Cutting of texts into records and chunks. */

#include "unit.h"
#include "base/utf8.h"
#include "fuse/intake/line_buffer.h"

/* Parts that came out of a text: in brackets, "<" continued, ">" continues, "!" too long. */
struct seen {
	char text[4096];
	char plain[4096]; /* without the marks */
};

static void see(struct seen *seen, int event, const struct k2i_line_part *part)
{
	size_t at = strlen(seen->text);

	assert_true(event >= 0);
	if (event == K2I_LINE_TOO_LONG)
		strncat(seen->text, "!", sizeof(seen->text) - at - 1);
	if (event != K2I_LINE_RECORD && event != K2I_LINE_PIECE)
		return;
	snprintf(seen->text + at, sizeof(seen->text) - at, "[%s%.*s%s]", part->continued ? "<" : "", (int)part->bytes,
		 part->data, event == K2I_LINE_PIECE ? ">" : "");
	at = strlen(seen->plain);
	snprintf(seen->plain + at, sizeof(seen->plain) - at, "%.*s", (int)part->bytes, part->data);
}

static void feed(struct k2i_line_buffer *text, const struct k2i_line_limits *limits, const char *data, size_t bytes,
		 struct seen *seen)
{
	struct k2i_line_part part;
	size_t done = 0, taken;

	while (done < bytes) {
		int event = k2i_line_buffer_take(text, limits, data + done, bytes - done, &taken, &part);

		see(seen, event, &part);
		assert_true(taken <= bytes - done);
		done += taken;
	}
}

static void finish(struct k2i_line_buffer *text, struct seen *seen)
{
	struct k2i_line_part part;

	see(seen, (int)k2i_line_buffer_flush(text, true, &part), &part);
	k2i_line_buffer_free(text);
}

TEST(lines_come_one_by_one)
{
	const struct k2i_line_limits limits = {.piece_bytes_max = 100};
	struct k2i_line_buffer text = {0};
	struct seen seen = {0};

	feed(&text, &limits, "a\n\nbc\r\nde", 9, &seen);
	assert_string_equal(seen.text, "[a\n][\n][bc\r\n]");
	feed(&text, &limits, "f\ng", 3, &seen);
	finish(&text, &seen);
	assert_string_equal(seen.text, "[a\n][\n][bc\r\n][def\n][g]");
}

TEST(long_lines_go_in_pieces)
{
	const struct k2i_line_limits limits = {.piece_bytes_max = 4};
	struct k2i_line_buffer text = {0};
	struct seen seen = {0};

	feed(&text, &limits, "abc\nabcd\nabcdefgh", 17, &seen);
	finish(&text, &seen);
	assert_string_equal(seen.text, "[abc\n][abcd>][<\n][abcd>][<efgh]");
}

TEST(limits_and_sizes_of_writes_do_not_matter)
{
	static const char data[] = "one\n\na line of some length\nx\nyy\nthe very last line has no end";

	for (size_t piece = 1; piece < 40; piece++) {
		for (size_t step = 1; step < sizeof(data); step++) {
			const struct k2i_line_limits limits = {.piece_bytes_max = piece};
			struct k2i_line_buffer text = {0};
			struct seen seen = {0};

			for (size_t at = 0; at < sizeof(data) - 1; at += step)
				feed(&text, &limits, data + at, at + step < sizeof(data) ? step : sizeof(data) - 1 - at,
				     &seen);
			finish(&text, &seen);
			assert_string_equal(seen.plain, data);
		}
	}
}

/* It is so for each limit, and for each place where a write ends. */
TEST(no_character_is_cut)
{
	static const char data[] = "z\xf0\x9f\x98\x80\xf0\x9f\x98\x80\xc3\xa9\xe6\xbc\xa2\xe6\xbc\xa2\n\xe6\xbc\xa2";

	for (size_t limit = 1; limit < 20; limit++) {
		for (size_t step = 1; step < sizeof(data); step++) {
			const struct k2i_line_limits limits = {.piece_bytes_max = limit};
			struct k2i_line_buffer text = {0};
			struct k2i_line_part part;
			struct seen seen = {0};
			size_t taken;

			for (size_t at = 0, end = step; at < sizeof(data) - 1; at += taken) {
				size_t bytes = end < sizeof(data) ? end - at : sizeof(data) - 1 - at;
				int event = k2i_line_buffer_take(&text, &limits, data + at, bytes, &taken, &part);

				see(&seen, event, &part);
				if (event == K2I_LINE_PIECE)
					assert_int_not_equal(k2i_utf8_kind(part.data, part.bytes), K2I_UTF8_NOT);
				if (event == K2I_LINE_PIECE)
					assert_in_range(part.bytes, 1, limit + 3);
				end += at + taken == end ? step : 0;
			}
			finish(&text, &seen);
			assert_string_equal(seen.plain, data);
		}
	}
}

TEST(records_over_the_limit_are_skipped)
{
	const struct k2i_line_limits limits = {.piece_bytes_max = 4, .record_bytes_max = 6};
	struct k2i_line_buffer text = {0};
	struct seen seen = {0};

	/* Six bytes with LF pass, whole; seven do not. */
	feed(&text, &limits, "abcde\nabcdef\nok\n", 16, &seen);
	assert_string_equal(seen.text, "[abcde\n]![ok\n]");
	feed(&text, &limits, "abc", 3, &seen);
	feed(&text, &limits, "defgh", 5, &seen);
	feed(&text, &limits, "ijk\nl", 5, &seen);
	finish(&text, &seen);
	assert_string_equal(seen.text, "[abcde\n]![ok\n]![l]");
}

TEST(what_is_held_can_go_ahead)
{
	const struct k2i_line_limits limits = {.piece_bytes_max = 100};
	struct k2i_line_buffer text = {0};
	struct k2i_line_part part;
	struct seen seen = {0};

	see(&seen, (int)k2i_line_buffer_flush(&text, false, &part), &part);
	feed(&text, &limits, "abc", 3, &seen);
	see(&seen, (int)k2i_line_buffer_flush(&text, false, &part), &part);
	see(&seen, (int)k2i_line_buffer_flush(&text, false, &part), &part);
	feed(&text, &limits, "d\ne\n", 4, &seen);
	finish(&text, &seen);
	assert_string_equal(seen.text, "[abc>][<d\n][e\n]");
}

TEST(room_is_for_what_is_held_next)
{
	const char line[] = "the beginning of a line", rest[1000] = "and the rest";
	struct k2i_line_buffer text = {0};
	const char *held;

	assert_int_equal(k2i_line_buffer_hold(&text, line, sizeof(line)), 0);
	assert_int_equal(k2i_line_buffer_room(&text, sizeof(rest)), 0);
	assert_int_equal(text.held_bytes, sizeof(line));
	held = text.held;
	assert_int_equal(k2i_line_buffer_hold(&text, rest, sizeof(rest)), 0);
	assert_ptr_equal(text.held, held);
	assert_memory_equal(held, line, sizeof(line));
	assert_memory_equal(held + sizeof(line), rest, sizeof(rest));
	k2i_line_buffer_free(&text);
}

TEST(records_are_counted)
{
	assert_int_equal(k2i_lines_count("a\nb\n", 4), 2);
	assert_int_equal(k2i_lines_count("a\nb", 3), 2);
	assert_int_equal(k2i_lines_count("\n\n\n", 3), 3);
	assert_int_equal(k2i_lines_count("a", 1), 1);
	assert_int_equal(k2i_lines_whole("a\nb", 3), 2);
	assert_int_equal(k2i_lines_whole("ab", 2), 0);
}

TEST(chunks_hold_whole_records_where_they_can)
{
	bool continues;

	assert_int_equal(k2i_lines_chunk("ab\xe6\xbc\xa2z", 6, 5, 4, &continues), 2);
	assert_true(continues);
	assert_int_equal(k2i_lines_chunk("ab\ncd\nef", 8, 8, 4, &continues), 8);
	assert_false(continues);
	assert_int_equal(k2i_lines_chunk("ab\ncd\nef", 8, 7, 4, &continues), 6);
	assert_false(continues);
	assert_int_equal(k2i_lines_chunk("abcdefgh", 8, 6, 4, &continues), 4);
	assert_true(continues);
	assert_int_equal(k2i_lines_chunk("abcdefgh", 8, 6, 100, &continues), 6);
	assert_true(continues);
}
