/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "unit.h"
#include "tools/verify/gaps.h"
#include "tools/verify/record.h"
#include "base/hash.h"
#include "random_help.h"

#define ROOM 70000u

static struct verify_text *text;
static char *line;

static int setup(void **state)
{
	(void)state;
	text = malloc(sizeof(*text));
	/* Memory of its own, so that a sanitizer sees an access behind it. */
	line = malloc(ROOM + VERIFY_RECORD_NUMBERS_BYTES_MAX);
	if (!text || !line)
		return -1;
	verify_text_fill(text, 1);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	free(text);
	free(line);
	return 0;
}

static void round_trip(const struct verify_record *record, size_t wanted)
{
	size_t bytes = verify_record_encode(text, record, wanted, line);
	struct verify_record decoded = {0};

	assert_true(bytes >= wanted);
	assert_int_equal(line[bytes - 1], '\n');
	assert_null(memchr(line, '\n', bytes - 1));
	assert_true(verify_record_begins(line, bytes - 1));
	assert_null(verify_record_find(line, bytes - 1));
	assert_true(verify_record_decode(line, bytes - 1, &decoded));
	assert_int_equal(decoded.run, record->run);
	assert_int_equal(decoded.producer, record->producer);
	assert_int_equal(decoded.counter, record->counter);
}

TEST(every_length)
{
	const struct verify_record smallest = {.run = 0, .producer = 1, .counter = 1};
	const struct verify_record largest = {
		.run = VERIFY_RUN_MAX, .producer = VERIFY_PRODUCER_MAX, .counter = VERIFY_COUNTER_MAX};

	for (size_t wanted = VERIFY_RECORD_BYTES_MIN; wanted < 300; wanted++) {
		round_trip(&smallest, wanted);
		round_trip(&largest, wanted);
		assert_int_equal(verify_record_encode(text, &smallest, wanted, line), wanted);
	}
	round_trip(&largest, ROOM);
	assert_true(verify_record_encode(text, &largest, VERIFY_RECORD_BYTES_MIN, line) <=
		    VERIFY_RECORD_BYTES_MIN + VERIFY_RECORD_NUMBERS_BYTES_MAX);
}

TEST(every_compact_length)
{
	const struct verify_record smallest = {.run = VERIFY_RUN_NONE, .producer = 1, .counter = 1};
	const struct verify_record largest = {
		.run = VERIFY_RUN_NONE, .producer = VERIFY_COMPACT_PRODUCER_MAX, .counter = VERIFY_COMPACT_COUNTER_MAX};

	for (size_t wanted = VERIFY_COMPACT_BYTES_MIN; wanted < 300; wanted++) {
		round_trip(&smallest, wanted);
		round_trip(&largest, wanted);
		assert_int_equal(verify_record_encode(text, &largest, wanted, line), wanted);
	}
}

/* The form is written down for people: it must not change by accident. */
TEST(known_bytes)
{
	static const char wanted[] = "~k2123abc,7,42,,";
	static const char known[] = "~k22c0f81,1,1,45vfFJN_qAmfwfEMUYYw3Zz3GG52pFVWnZr9QpszbDJd,fad67ec6";
	const struct verify_record record = {.run = 0x123abc, .producer = 7, .counter = 42};
	struct verify_record decoded;

	assert_int_equal(verify_record_encode(text, &record, VERIFY_RECORD_BYTES_MIN, line), 25);
	assert_memory_equal(line, wanted, sizeof(wanted) - 1);
	assert_true(verify_record_decode(known, sizeof(known) - 1, &decoded));
	assert_int_equal(decoded.run, 0x2c0f81);
	assert_true(verify_record_decode("!10001xb-", 9, &decoded));
	assert_int_equal(decoded.run, VERIFY_RUN_NONE);
	assert_int_equal(decoded.producer, 1);
	assert_int_equal(decoded.counter, 1);
}

static void no_change_passes(const struct verify_record *record, size_t wanted)
{
	size_t bytes = verify_record_encode(text, record, wanted, line) - 1;
	struct verify_record decoded;

	for (size_t at = 0; at < bytes; at++) {
		for (unsigned bit = 0; bit < 8; bit++) {
			line[at] = (char)(line[at] ^ (1 << bit));
			assert_false(verify_record_decode(line, bytes, &decoded));
			line[at] = (char)(line[at] ^ (1 << bit));
		}
	}
	for (size_t cut = 0; cut < bytes; cut++) {
		assert_false(verify_record_decode(line, cut, &decoded));
		assert_false(verify_record_decode(line + bytes - cut, cut, &decoded));
	}
	line[bytes] = 'a';
	assert_false(verify_record_decode(line, bytes + 1, &decoded));
}

TEST(changes_show)
{
	const struct verify_record record = {.run = 0xabcdef, .producer = 3, .counter = 12345};
	const struct verify_record compact = {.run = VERIFY_RUN_NONE, .producer = 3, .counter = 12345};

	no_change_passes(&record, VERIFY_RECORD_BYTES_MIN);
	no_change_passes(&record, 100);
	no_change_passes(&compact, 30);
}

static void put_check(char *made, size_t bytes)
{
	char digits[9];

	(void)snprintf(digits, sizeof(digits), "%08x", (unsigned)k2i_hash(made, bytes));
	memcpy(made + bytes, digits, 8);
}

/* A checksum that is right does not make these records. */
TEST(hostile_lines)
{
	static const char *const heads[] = {
		"~k2123abc,0,1,,",      "~k2123abc,1,0,,",      "~k2123abc,01,1,,",
		"~k2123abc,65536,1,,",  "~k2123abc,1,x,,",      "~k2123abc,1,1000000000000000000,,",
		"~k2123ABC,1,1,,",      "~k2123abc,1,1,",       "~k2123abc,1,1",
		"~k2123abc,1111111111", "~k2123abc;1,1,xxxxx,", "~k2123abc,,1,xxxxx,",
		"~k2123abc,,,,,,,,",
	};
	struct verify_record decoded;
	char made[64];

	for (size_t at = 0; at < sizeof(heads) / sizeof(heads[0]); at++) {
		size_t bytes = strlen(heads[at]);

		memcpy(made, heads[at], bytes);
		put_check(made, bytes);
		assert_false(verify_record_decode(made, bytes + 8, &decoded));
	}
	memcpy(made, "~k2123abc,1,1,,", 15);
	put_check(made, 15);
	assert_true(verify_record_decode(made, 23, &decoded));
}

TEST(records_are_found)
{
	const struct verify_record record = {.run = 1, .producer = 1, .counter = 1};
	const struct verify_record compact = {.run = VERIFY_RUN_NONE, .producer = 1, .counter = 1};
	char two[200] = "text ! ~ ~k2 ~k2zzzzzz, !10001 ";
	size_t front = strlen(two), bytes = verify_record_encode(text, &record, 40, two + front) - 1;

	assert_false(verify_record_begins(two, front + bytes));
	assert_ptr_equal(verify_record_find(two, front + bytes), two + front);
	assert_null(verify_record_find(two, front));
	assert_null(verify_record_find(two, 0));
	bytes = verify_record_encode(text, &compact, 10, two) - 1;
	(void)verify_record_encode(text, &compact, 10, two + bytes);
	assert_ptr_equal(verify_record_find(two, 2 * bytes), two + bytes);
	assert_null(verify_record_find(two, bytes + 5));
	assert_non_null(verify_record_find(two, bytes + 6));
}

TEST(changed_marker)
{
	const struct verify_record record = {.run = 1, .producer = 1, .counter = 1};
	size_t bytes = verify_record_encode(text, &record, 50, line) - 1;

	line[0] = 'X';
	assert_true(verify_record_marker_changed(line, bytes));
	line[2] = 'X';
	assert_true(verify_record_marker_changed(line, bytes));
	line[3] ^= 1;
	assert_false(verify_record_marker_changed(line, bytes));
	for (size_t short_bytes = 0; short_bytes < bytes; short_bytes++)
		assert_false(verify_record_marker_changed(line, short_bytes));
}

TEST(lengths)
{
	struct verify_record record = {.run = 1, .producer = 1, .counter = 1};
	bool low = false, high = false;

	for (; record.counter < 2000; record.counter++) {
		size_t bytes = verify_record_length(7, &record, 30, 33);

		assert_in_range(bytes, 30, 33);
		assert_int_equal(bytes, verify_record_length(7, &record, 30, 33));
		low |= bytes == 30;
		high |= bytes == 33;
	}
	assert_true(low && high);
	assert_int_equal(verify_record_length(7, &record, 30, 30), 30);
}

TEST(runs)
{
	char run_text[VERIFY_RUN_TEXT_BYTES];
	uint32_t run;

	assert_string_equal(verify_run_text(0xabc, run_text), "000abc");
	assert_string_equal(verify_run_text(VERIFY_RUN_NONE, run_text), "-");
	assert_int_equal(verify_run_parse("000abc", &run), 0);
	assert_int_equal(run, 0xabc);
	assert_int_equal(verify_run_parse("-", &run), 0);
	assert_int_equal(run, VERIFY_RUN_NONE);
	assert_int_equal(verify_run_parse("abc", &run), -EINVAL);
	assert_int_equal(verify_run_parse("00xabc", &run), -EINVAL);
	assert_int_equal(verify_run_parse("", &run), -EINVAL);
	assert_int_not_equal(verify_run_of(1), verify_run_of(2));
}

static void ranges_are(const struct verify_gaps *gaps, size_t count, const struct verify_range *ranges)
{
	uint64_t missing = 0;

	assert_int_equal(gaps->count, count);
	for (size_t at = 0; at < count; at++) {
		assert_int_equal(gaps->ranges[at].from, ranges[at].from);
		assert_int_equal(gaps->ranges[at].to, ranges[at].to);
		missing += ranges[at].to - ranges[at].from + 1;
	}
	assert_int_equal(verify_gaps_missing(gaps), missing);
}

TEST(gaps_open_and_close)
{
	struct verify_gaps gaps;

	verify_gaps_init(&gaps, 1);
	assert_int_equal(verify_gaps_take(&gaps, 1), VERIFY_IN_ORDER);
	assert_int_equal(verify_gaps_take(&gaps, 10), VERIFY_IN_ORDER);
	ranges_are(&gaps, 1, (struct verify_range[]){{2, 9}});
	assert_int_equal(verify_gaps_take(&gaps, 5), VERIFY_LATE);
	ranges_are(&gaps, 2, (struct verify_range[]){{2, 4}, {6, 9}});
	assert_int_equal(verify_gaps_take(&gaps, 5), VERIFY_REPEATED);
	assert_int_equal(verify_gaps_take(&gaps, 10), VERIFY_REPEATED);
	assert_int_equal(verify_gaps_take(&gaps, 1), VERIFY_REPEATED);
	assert_int_equal(verify_gaps_take(&gaps, 0), VERIFY_BEFORE);
	assert_int_equal(verify_gaps_take(&gaps, 2), VERIFY_LATE);
	assert_int_equal(verify_gaps_take(&gaps, 4), VERIFY_LATE);
	assert_int_equal(verify_gaps_take(&gaps, 3), VERIFY_LATE);
	ranges_are(&gaps, 1, (struct verify_range[]){{6, 9}});
	assert_int_equal(verify_gaps_end(&gaps, 10), 0);
	ranges_are(&gaps, 1, (struct verify_range[]){{6, 9}});
	assert_int_equal(verify_gaps_end(&gaps, 12), 0);
	ranges_are(&gaps, 2, (struct verify_range[]){{6, 9}, {11, 12}});
	verify_gaps_free(&gaps);
}

TEST(gaps_at_the_begin)
{
	struct verify_gaps gaps;

	verify_gaps_init(&gaps, 100);
	assert_int_equal(verify_gaps_take(&gaps, 99), VERIFY_BEFORE);
	assert_int_equal(verify_gaps_take(&gaps, 103), VERIFY_IN_ORDER);
	ranges_are(&gaps, 1, (struct verify_range[]){{100, 102}});
	verify_gaps_free(&gaps);
	verify_gaps_init(&gaps, 1);
	assert_int_equal(verify_gaps_end(&gaps, 0), 0);
	ranges_are(&gaps, 0, NULL);
	assert_int_equal(verify_gaps_end(&gaps, VERIFY_COUNTER_MAX), 0);
	ranges_are(&gaps, 1, (struct verify_range[]){{1, VERIFY_COUNTER_MAX}});
	verify_gaps_free(&gaps);
}

/* Against a table of what came. */
TEST(gaps_as_a_table_has_them)
{
	enum { COUNTERS = 400, STEPS = 5000 };
	bool came[COUNTERS] = {false};
	struct verify_gaps gaps;
	uint64_t seed = 1, highest = 0, missing;

	verify_gaps_init(&gaps, 0);
	for (unsigned step = 0; step < STEPS; step++) {
		uint64_t counter = random_next(&seed) % COUNTERS;
		int wanted = came[counter]               ? VERIFY_REPEATED
			     : step && counter < highest ? VERIFY_LATE
							 : VERIFY_IN_ORDER;
		assert_int_equal(verify_gaps_take(&gaps, counter), wanted);
		came[counter] = true;
		highest = counter > highest ? counter : highest;
		missing = 0;
		for (size_t at = 0; at < highest; at++)
			missing += !came[at];
		assert_int_equal(verify_gaps_missing(&gaps), missing);
	}
	verify_gaps_free(&gaps);
}

static bool memory_is_short;
void *__real_reallocarray(void *memory, size_t count, size_t bytes);
void *__wrap_reallocarray(void *memory, size_t count, size_t bytes);

void *__wrap_reallocarray(void *memory, size_t count, size_t bytes)
{
	return memory_is_short ? NULL : __real_reallocarray(memory, count, bytes);
}

/*
 * A record that has no room is as if it had not come: neither it nor the ranges around it are taken for something else.
 */
TEST(gaps_without_memory)
{
	struct verify_range ranges[16];
	struct verify_gaps gaps;

	verify_gaps_init(&gaps, 0);
	for (uint64_t number = 0; number < 16; number++) {
		ranges[number] = (struct verify_range){4 * number, 4 * number + 2};
		assert_int_equal(verify_gaps_take(&gaps, 4 * number + 3), VERIFY_IN_ORDER);
	}
	ranges_are(&gaps, 16, ranges);
	memory_is_short = true;
	assert_int_equal(verify_gaps_take(&gaps, 5), -ENOMEM);
	assert_int_equal(verify_gaps_take(&gaps, 70), -ENOMEM);
	assert_int_equal(verify_gaps_end(&gaps, 70), -ENOMEM);
	ranges_are(&gaps, 16, ranges);
	memory_is_short = false;
	assert_int_equal(verify_gaps_take(&gaps, 64), VERIFY_IN_ORDER);
	assert_int_equal(verify_gaps_take(&gaps, 5), VERIFY_LATE);
	assert_int_equal(gaps.count, 17);
	verify_gaps_free(&gaps);
}

UNIT_GROUP(setup, teardown)
