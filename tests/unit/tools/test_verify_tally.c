/* SPDX-License-Identifier: MIT */

#define UNIT_OWN_MAIN
#include "unit.h"
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

#define TALLY_TEST(name) FIXTURE_TEST(name, void *fixture, setup, teardown)

TALLY_TEST(all_there)
{
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

TALLY_TEST(nothing_is_not_fine)
{
	end(false);
}

TALLY_TEST(nothing_was_expected)
{
	options.expected_all = 0;
	end(true);
}

TALLY_TEST(nothing_came_of_what_was_expected)
{
	options.expected_all = 10;
	end(false);
}

TALLY_TEST(begin_missing)
{
	records(FIRST_RUN, 1, 4, 9);
	end(false);
	assert_int_equal(tally.missing, 3);
	assert_int_equal(tally.missing_tail, 0);
}

TALLY_TEST(begin_is_later)
{
	options.first = 4;
	records(FIRST_RUN, 1, 4, 9);
	end(true);
}

TALLY_TEST(tail_missing)
{
	options.expected_all = 10;
	records(FIRST_RUN, 1, 1, 3);
	records(FIRST_RUN, 1, 5, 8);
	end(false);
	assert_int_equal(tally.missing, 3);
	assert_int_equal(tally.missing_tail, 2);
}

TALLY_TEST(tail_may_miss)
{
	char line[100];

	options.expected_all = 10;
	options.allow_missing_tail = true;
	records(FIRST_RUN, 1, 1, 8);
	take(line, record_put(line, FIRST_RUN, 1, 9) - 20, false);
	end(true);
	assert_int_equal(tally.missing_tail, 2);
	assert_int_equal(tally.lines[VERIFY_KIND_CUT], 1);
}

TALLY_TEST(one_record_is_missing_at_the_end)
{
	options.first = 5;
	options.expected_all = 4;
	records(FIRST_RUN, 1, 5, 7);
	end(false);
	assert_int_equal(tally.missing_tail, 1);
}

/* Damage before it, or in front of it in its line, is not allowed. */
TALLY_TEST(only_the_end_may_be_cut)
{
	char line[200];
	size_t bytes = record_put(line, FIRST_RUN, 1, 2);

	options.allow_missing_tail = true;
	records(FIRST_RUN, 1, 1, 1);
	take(line, bytes + record_put(line + bytes, FIRST_RUN, 1, 3), false);
	end(false);
	assert_int_equal(tally.lines[VERIFY_KIND_JOINED], 1);
}

/* Nothing can be all of the tail. */
TALLY_TEST(all_may_miss)
{
	options.allow_missing_tail = true;
	end(true);
}

TALLY_TEST(more_than_expected)
{
	struct verify_expectation expected = {.producer = 2, .count = 5};

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

TALLY_TEST(producer_missing)
{
	struct verify_expectation expected[] = {{.producer = 1, .count = 2}, {.producer = 2, .count = 5}};

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

TALLY_TEST(producers_by_number)
{
	options.producers = 3;
	options.expected_all = 2;
	records(FIRST_RUN, 1, 1, 2);
	records(FIRST_RUN, 3, 1, 2);
	end(false);
	assert_int_equal(tally.missing, 2);
	assert_int_equal(tally.sequences[1]->missing, 2);
}

TALLY_TEST(one_run_only)
{
	char line[200];
	size_t bytes;

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

TALLY_TEST(repeated_and_late)
{
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

TALLY_TEST(damage)
{
	char line[200];
	size_t bytes = record_put(line, FIRST_RUN, 1, 1);

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

TALLY_TEST(foreign)
{
	records(FIRST_RUN, 1, 1, 3);
	take("", 0, true);
	take("hello ~k2 !", 11, true);
	take("no line end", 11, false);
	end(true);
	assert_int_equal(tally.foreign, 3);
	assert_int_equal(tally.finding_count, 0);
}

TALLY_TEST(nothing_else_allowed)
{
	options.only = true;
	records(FIRST_RUN, 1, 1, 3);
	take("hello", 5, true);
	end(false);
	assert_int_equal(tally.finding_count, 1);
}

TALLY_TEST(behind_a_prefix)
{
	char line[200] = "Jan 1 host ";
	size_t prefix = strlen(line), bytes;

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

TALLY_TEST(findings_are_limited)
{
	options.limit = 2;
	for (uint64_t round = 0; round < 5; round++)
		records(FIRST_RUN, 1, 1, 3);
	take("~k2x", 4, true);
	end(false);
	assert_int_equal(tally.repeated, 12);
	assert_int_equal(tally.finding_count, 2);
	assert_true(tally.findings_left_out > 0);
}

TALLY_TEST(many_producers)
{
	for (uint64_t counter = 1; counter <= 3; counter++)
		for (uint32_t producer = 1; producer <= 3000; producer++)
			records(producer % 2 ? FIRST_RUN : SECOND_RUN, producer, counter, counter);
	end(true);
	assert_int_equal(tally.sequence_count, 3000);
	assert_int_equal(tally.records, 9000);
	for (size_t at = 1; at < 1500; at++)
		assert_true(tally.sequences[at]->producer > tally.sequences[at - 1]->producer);
}

int main(void)
{
	verify_text_fill(&text, 1);
	return unit_run();
}
