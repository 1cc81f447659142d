/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tools/verify/tally.h"

#define FIRST_RUN 0x111111u
#define SECOND_RUN 0x222222u

static struct verify_text text;
static struct verify_options options;
static struct verify_tally tally;
static uint64_t offset;

static int setup(void **state)
{
	(void)state;
	memset(&options, 0, sizeof(options));
	options.first = 1;
	options.expected_all = VERIFY_ANY_NUMBER;
	options.limit = 100;
	verify_tally_init(&tally, &options);
	offset = 0;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	verify_tally_free(&tally);
	return 0;
}

static size_t record_put(char *at, uint32_t run, uint32_t producer, uint64_t counter)
{
	const struct verify_record record = {.run = run, .producer = producer, .counter = counter};

	return verify_record_encode(&text, &record, 50, at) - 1;
}

static void take(const char *bytes, size_t count, bool ended)
{
	/* In memory of its own, so that a sanitizer sees what is read behind it. */
	char *copy = malloc(count ? count : 1);
	const struct verify_line line = {.bytes = copy, .count = count, .ended = ended, .file = "f", .offset = offset};

	assert_non_null(copy);
	if (count)
		memcpy(copy, bytes, count);
	offset += count + ended;
	assert_int_equal(verify_tally_line(&tally, &line), 0);
	free(copy);
}

static void records(uint32_t run, uint32_t producer, uint64_t from, uint64_t to)
{
	char line[100];

	for (; from <= to; from++)
		take(line, record_put(line, run, producer, from), true);
}

static void end(bool fine)
{
	assert_int_equal(verify_tally_end(&tally), 0);
	assert_int_equal(tally.fine, fine);
}

static void all_there(void **state)
{
	(void)state;
	records(FIRST_RUN, 1, 1, 100);
	records(FIRST_RUN, 2, 1, 50);
	records(FIRST_RUN, 1, 101, 110);
	end(true);
	assert_int_equal(tally.records, 160);
	assert_int_equal(tally.record_bytes, 8000);
	assert_int_equal(tally.sequence_count, 2);
	assert_int_equal(tally.sequences[0]->highest, 110);
	assert_int_equal(tally.finding_count, 0);
}

static void nothing_is_not_fine(void **state)
{
	(void)state;
	end(false);
}

static void nothing_was_expected(void **state)
{
	(void)state;
	options.expected_all = 0;
	end(true);
}

static void nothing_came_of_what_was_expected(void **state)
{
	(void)state;
	options.expected_all = 10;
	end(false);
}

static void begin_missing(void **state)
{
	(void)state;
	records(FIRST_RUN, 1, 4, 9);
	end(false);
	assert_int_equal(tally.missing, 3);
	assert_int_equal(tally.missing_tail, 0);
}

static void begin_is_later(void **state)
{
	(void)state;
	options.first = 4;
	records(FIRST_RUN, 1, 4, 9);
	end(true);
}

static void tail_missing(void **state)
{
	(void)state;
	options.expected_all = 10;
	records(FIRST_RUN, 1, 1, 3);
	records(FIRST_RUN, 1, 5, 8);
	end(false);
	assert_int_equal(tally.missing, 3);
	assert_int_equal(tally.missing_tail, 2);
}

static void tail_may_miss(void **state)
{
	char line[100];

	(void)state;
	options.expected_all = 10;
	options.allow_missing_tail = true;
	records(FIRST_RUN, 1, 1, 8);
	take(line, record_put(line, FIRST_RUN, 1, 9) - 20, false);
	end(true);
	assert_int_equal(tally.missing_tail, 2);
	assert_int_equal(tally.lines[VERIFY_KIND_CUT], 1);
}

static void one_record_is_missing_at_the_end(void **state)
{
	(void)state;
	options.first = 5;
	options.expected_all = 4;
	records(FIRST_RUN, 1, 5, 7);
	end(false);
	assert_int_equal(tally.missing_tail, 1);
}

/* Damage before it, or in front of it in its line, is not allowed. */
static void only_the_end_may_be_cut(void **state)
{
	char line[200];
	size_t bytes = record_put(line, FIRST_RUN, 1, 2);

	(void)state;
	options.allow_missing_tail = true;
	records(FIRST_RUN, 1, 1, 1);
	take(line, bytes + record_put(line + bytes, FIRST_RUN, 1, 3), false);
	end(false);
	assert_int_equal(tally.lines[VERIFY_KIND_JOINED], 1);
}

/* Nothing can be all of the tail. */
static void all_may_miss(void **state)
{
	(void)state;
	options.allow_missing_tail = true;
	end(true);
}

static void more_than_expected(void **state)
{
	struct verify_expectation expected = {.producer = 2, .count = 5};

	(void)state;
	options.expected = &expected;
	options.expected_count = 1;
	records(FIRST_RUN, 1, 1, 8);
	records(FIRST_RUN, 2, 1, 7);
	end(false);
	assert_int_equal(tally.extra, 2);
	assert_int_equal(tally.missing, 0);
	assert_int_equal(tally.finding_count, 1);
	assert_int_equal(tally.findings[0].from, 6);
	assert_int_equal(tally.findings[0].to, 7);
}

static void producer_missing(void **state)
{
	struct verify_expectation expected[] = {{.producer = 1, .count = 2}, {.producer = 2, .count = 5}};

	(void)state;
	options.expected = expected;
	options.expected_count = 2;
	records(FIRST_RUN, 1, 1, 2);
	records(SECOND_RUN, 1, 1, 2);
	records(SECOND_RUN, 2, 1, 5);
	end(false);
	assert_int_equal(tally.missing, 5);
	assert_int_equal(tally.sequence_count, 4);
	assert_int_equal(tally.sequences[1]->run, FIRST_RUN);
	assert_int_equal(tally.sequences[1]->missing, 5);
}

static void producers_by_number(void **state)
{
	(void)state;
	options.producers = 3;
	options.expected_all = 2;
	records(FIRST_RUN, 1, 1, 2);
	records(FIRST_RUN, 3, 1, 2);
	end(false);
	assert_int_equal(tally.missing, 2);
	assert_int_equal(tally.sequences[1]->missing, 2);
}

static void one_run_only(void **state)
{
	char line[200];
	size_t bytes;

	(void)state;
	options.run_text = "111111";
	options.run = FIRST_RUN;
	records(SECOND_RUN, 1, 7, 9);
	records(FIRST_RUN, 1, 1, 9);
	bytes = record_put(line, SECOND_RUN, 1, 10);
	take(line, bytes + record_put(line + bytes, FIRST_RUN, 1, 10), true);
	end(false);
	assert_int_equal(tally.foreign, 3);
	assert_int_equal(tally.damaged, 1);
	assert_int_equal(tally.records, 10);
}

static void repeated_and_late(void **state)
{
	(void)state;
	records(FIRST_RUN, 1, 1, 10);
	records(FIRST_RUN, 1, 6, 12);
	records(FIRST_RUN, 1, 15, 16);
	records(FIRST_RUN, 1, 13, 14);
	end(false);
	assert_int_equal(tally.repeated, 5);
	assert_int_equal(tally.late, 2);
	assert_int_equal(tally.missing, 0);
	assert_int_equal(tally.finding_count, 2);
	assert_int_equal(tally.findings[0].kind, VERIFY_KIND_REPEATED);
	assert_int_equal(tally.findings[0].from, 6);
	assert_int_equal(tally.findings[0].to, 10);
	assert_int_equal(tally.findings[0].offset, 500);
	assert_int_equal(tally.findings[1].kind, VERIFY_KIND_LATE);
	assert_int_equal(tally.findings[1].to, 14);
}

static void damage(void **state)
{
	char line[200];
	size_t bytes = record_put(line, FIRST_RUN, 1, 1);

	(void)state;
	line[30] ^= 1; /* changed */
	take(line, bytes, true);
	bytes = record_put(line, FIRST_RUN, 1, 2); /* cut, joined with the next */
	bytes = bytes - 7 + record_put(line + bytes - 7, FIRST_RUN, 1, 3);
	take(line, bytes, true);
	bytes = record_put(line, FIRST_RUN, 1, 4); /* joined */
	bytes += record_put(line + bytes, FIRST_RUN, 1, 5);
	take(line, bytes, true);
	memcpy(line, "text", 4);
	take(line, 4 + record_put(line + 4, FIRST_RUN, 1, 6), true);
	bytes = record_put(line, FIRST_RUN, 1, 7);
	line[0] = 0;
	take(line, bytes, true);
	take(line, record_put(line, FIRST_RUN, 1, 8), false);
	end(false);
	assert_int_equal(tally.lines[VERIFY_KIND_TORN], 2);
	assert_int_equal(tally.lines[VERIFY_KIND_JOINED], 1);
	assert_int_equal(tally.lines[VERIFY_KIND_BEHIND], 1);
	assert_int_equal(tally.lines[VERIFY_KIND_MARKER], 1);
	assert_int_equal(tally.lines[VERIFY_KIND_UNENDED], 1);
	assert_int_equal(tally.damaged, 6);
	assert_int_equal(tally.foreign, 0);
	/* 3, 4, 5, 6 and 8 are there. */
	assert_int_equal(tally.records, 5);
	assert_int_equal(tally.missing, 3);
	assert_int_equal(tally.findings[1].offset, 50);
}

static void foreign(void **state)
{
	(void)state;
	records(FIRST_RUN, 1, 1, 3);
	take("", 0, true);
	take("hello ~k2 !", 11, true);
	take("no line end", 11, false);
	end(true);
	assert_int_equal(tally.foreign, 3);
	assert_int_equal(tally.finding_count, 0);
}

static void nothing_else_allowed(void **state)
{
	(void)state;
	options.only = true;
	records(FIRST_RUN, 1, 1, 3);
	take("hello", 5, true);
	end(false);
	assert_int_equal(tally.finding_count, 1);
}

static void behind_a_prefix(void **state)
{
	char line[200] = "Jan 1 host ";
	size_t prefix = strlen(line), bytes;

	(void)state;
	options.prefix = true;
	for (uint64_t counter = 1; counter <= 3; counter++) {
		bytes = prefix + record_put(line + prefix, FIRST_RUN, 1, counter);
		take(line, bytes, true);
	}
	take("other", 5, true);
	bytes += record_put(line + bytes, FIRST_RUN, 1, 4);
	line[prefix + 20] ^= 1;
	take(line, bytes, true);
	end(false);
	assert_int_equal(tally.records, 4);
	assert_int_equal(tally.damaged, 1);
	assert_int_equal(tally.foreign, 1);
}

static void findings_are_limited(void **state)
{
	(void)state;
	options.limit = 2;
	for (uint64_t round = 0; round < 5; round++)
		records(FIRST_RUN, 1, 1, 3);
	take("~k2x", 4, true);
	end(false);
	assert_int_equal(tally.repeated, 12);
	assert_int_equal(tally.finding_count, 2);
	assert_true(tally.findings_left_out > 0);
}

static void many_producers(void **state)
{
	(void)state;
	for (uint64_t counter = 1; counter <= 3; counter++)
		for (uint32_t producer = 1; producer <= 3000; producer++)
			records(producer % 2 ? FIRST_RUN : SECOND_RUN, producer, counter, counter);
	end(true);
	assert_int_equal(tally.sequence_count, 3000);
	assert_int_equal(tally.records, 9000);
	for (size_t at = 1; at < 1500; at++)
		assert_true(tally.sequences[at]->producer > tally.sequences[at - 1]->producer);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(all_there),
		TEST(nothing_is_not_fine),
		TEST(nothing_was_expected),
		TEST(nothing_came_of_what_was_expected),
		TEST(begin_missing),
		TEST(begin_is_later),
		TEST(tail_missing),
		TEST(tail_may_miss),
		TEST(more_than_expected),
		TEST(producer_missing),
		TEST(producers_by_number),
		TEST(one_run_only),
		TEST(repeated_and_late),
		TEST(damage),
		TEST(foreign),
		TEST(one_record_is_missing_at_the_end),
		TEST(only_the_end_may_be_cut),
		TEST(all_may_miss),
		TEST(nothing_else_allowed),
		TEST(behind_a_prefix),
		TEST(findings_are_limited),
		TEST(many_producers),
	};

	verify_text_fill(&text, 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
