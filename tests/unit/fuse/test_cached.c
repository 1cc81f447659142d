/* SPDX-License-Identifier: MIT */
/* The order of what a page cache gives: repeated, out of order, with offsets that nobody should send. */
#include <errno.h>

#include "unit.h"
#include "fuse/cached/cached.h"
#include "random_help.h"

/* A file's bytes as they are taken. */
struct taken {
	struct k2i_cached cached;
	uint64_t watermark;
	char text[65536];
	size_t bytes;
};

static void append(struct taken *taken, const struct k2i_cached_part *part)
{
	assert_true(taken->bytes + part->bytes <= sizeof(taken->text));
	memcpy(taken->text + taken->bytes, part->data, part->bytes);
	taken->bytes += part->bytes;
	taken->watermark += part->bytes;
}

static void give(struct taken *taken, uint64_t offset, const char *data, size_t bytes)
{
	struct k2i_cached_part part;

	assert_int_equal(k2i_cached_give(&taken->cached, taken->watermark, offset, data, bytes, &part), 0);
	append(taken, &part);
	while (k2i_cached_next(&taken->cached, taken->watermark, &part)) {
		assert_true(part.bytes > 0);
		append(taken, &part);
		k2i_cached_advance(&taken->cached, taken->watermark);
	}
	k2i_cached_advance(&taken->cached, taken->watermark);
}

static void text(struct taken *taken, uint64_t offset, const char *data)
{
	give(taken, offset, data, strlen(data));
}

/* The kept part begins at `kept`; 0: nothing is kept. */
static void is(const struct taken *taken, const char *expected, uint64_t kept)
{
	assert_int_equal(taken->bytes, strlen(expected));
	assert_memory_equal(taken->text, expected, taken->bytes);
	assert_int_equal(k2i_cached_begin(&taken->cached), kept);
}

TEST(what_is_above_the_watermark_is_taken)
{
	static struct taken taken;

	text(&taken, 0, "one\n");
	text(&taken, 0, "one\ntwo\n");
	text(&taken, 0, "one\ntwo\n");
	text(&taken, 4, "two\n");
	text(&taken, 8, "");
	is(&taken, "one\ntwo\n", 0);
	text(&taken, 4, "xxxxthree\n");
	is(&taken, "one\ntwo\nthree\n", 0);
}

TEST(what_comes_too_early_waits)
{
	static struct taken taken;

	text(&taken, 8, "89");
	text(&taken, 4, "45");
	is(&taken, "", 4);
	text(&taken, 0, "0123");
	is(&taken, "012345", 8);
	text(&taken, 0, "0123456789ab");
	is(&taken, "0123456789ab", 0);
}

TEST(what_came_first_counts)
{
	static struct taken taken;

	text(&taken, 4, "45");
	text(&taken, 8, "8");
	/* The same places again, with zeros where pages were made anew. */
	text(&taken, 2, "23zz67z9z");
	is(&taken, "", 2);
	text(&taken, 0, "01zzzzzzzzz");
	is(&taken, "0123456789z", 0);
}

TEST(a_cut_forgets)
{
	static struct taken taken;
	struct k2i_cached_part part;

	text(&taken, 10, "x");
	text(&taken, 20, "y");
	k2i_cached_forget(&taken.cached);
	is(&taken, "", 0);
	assert_false(k2i_cached_next(&taken.cached, 10, &part));
	text(&taken, 0, "new");
	is(&taken, "new", 0);
}

TEST(a_watermark_may_jump)
{
	static struct taken taken;
	struct k2i_cached_part part;

	text(&taken, 4, "4567");
	text(&taken, 10, "ab");
	taken.watermark = 6;
	assert_true(k2i_cached_next(&taken.cached, 6, &part));
	assert_int_equal(part.bytes, 2);
	assert_memory_equal(part.data, "67", 2);
	text(&taken, 6, "xx89");
	is(&taken, "6789ab", 0);
}

TEST(offsets_that_no_file_has_are_refused)
{
	static struct taken taken;
	struct k2i_cached_part part;

	assert_int_equal(k2i_cached_give(&taken.cached, 0, UINT64_MAX, "x", 1, &part), -EFBIG);
	assert_int_equal(k2i_cached_give(&taken.cached, 0, UINT64_MAX - 1, "xyz", 3, &part), -EFBIG);
	assert_int_equal(k2i_cached_give(&taken.cached, 0, INT64_MAX, "xy", 2, &part), -EFBIG);
	assert_int_equal(k2i_cached_give(&taken.cached, 5, (uint64_t)INT64_MAX + 1, "", 0, &part), -EFBIG);
	assert_int_equal(part.bytes, 0);
	is(&taken, "", 0);
	assert_int_equal(k2i_cached_give(&taken.cached, 0, INT64_MAX - 1, "x", 1, &part), 0);
	is(&taken, "", INT64_MAX - 1);
	k2i_cached_forget(&taken.cached);
}

static size_t below(uint64_t *seed, size_t bound)
{
	return (size_t)(random_next(seed) % bound);
}

/* Pages of a file that grows, in any order, some of them twice: all of it comes, once. */
TEST(any_order_gives_the_file)
{
	static char file[60000];

	for (size_t at = 0; at < sizeof(file); at++)
		file[at] = (char)(at * 7 + at / 251);
	for (unsigned run = 1; run <= 200; run++) {
		static struct taken taken;
		uint64_t seed = run;
		size_t given = 0;

		memset(&taken, 0, sizeof(taken));
		while (given < sizeof(file)) {
			size_t most = given + below(&seed, 9000) + 1, begin, end;

			given = most < sizeof(file) ? most : sizeof(file);
			for (unsigned round = 0; round < 4; round++) {
				begin = below(&seed, given) / 512 * 512;
				end = begin + below(&seed, given - begin) + 1;
				give(&taken, begin, file + begin, end - begin);
				assert_true(taken.bytes <= given);
				assert_memory_equal(taken.text, file, taken.bytes);
			}
		}
		give(&taken, 0, file, sizeof(file));
		assert_int_equal(taken.bytes, sizeof(file));
		assert_memory_equal(taken.text, file, sizeof(file));
		assert_null(taken.cached.first);
	}
}
