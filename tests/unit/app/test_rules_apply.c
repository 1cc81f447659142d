/* SPDX-License-Identifier: MIT */
/* Records that are judged all at once, against a judge that tries each pattern on each line. */

#include "unit.h"
#include "app/rules/pattern.h"
#include "random_help.h"
#include "app/rules/rules.h"

#define PATTERNS_MAX 140u
#define RECORDS_MAX (64u * 1024)

static const char *const pattern_texts[] = {
	"e",
	"or",
	"error",
	"err",
	"user=",
	"x\r",
	"a\nb",
	"a",
	"\xff\xfe",
	"pin 7 ",
	"\"error|warn\"",
	"\"w(arn|ild)\"",
	"\"user=([a-z]*) id=([0-9]+)\"",
	"\"(a|b|cc)+ pin\"",
	"\" 5[0-9]+$\"",
	"\"^pin\"",
	"\"\\\\.\\x00\"",
	"\"end$\"",
	"\"[ab]{2}\"",
	"\"^$\"",
	"\"[0-9]\"",
	"\"\\x00\"",
	"\"^(a+)+$\"",
	"\"user=([a-z]*)\", \"<$1>\"",
	"\"pin (.)\", \"$1\\&&\"",
	"\"([0-9])([0-9])\", \"$2$1$0\"",
	"\"error\", \"\"",
	"\".*\", \"all: &\"",
	"\"^x\", \"y\"",
};
static const char *const all_texts[] = {"", "\"\"", "\"^\"", "\"$\"", "\".*\"", "\"^.*$\"", "\".*$\"", "\"^.*\""};
#define COUNT(array) ((uint32_t)(sizeof(array) / sizeof((array)[0])))

static uint64_t seed = 7;

static uint32_t below(uint32_t limit)
{
	return (uint32_t)(random_next(&seed) % limit);
}

struct text {
	char data[4 * RECORDS_MAX];
	size_t bytes;
};

struct result {
	struct text passed;
	uint64_t filtered, replaced;
};

struct sample {
	struct k2i_pattern patterns[PATTERNS_MAX];
	size_t count;
	bool default_allow;
	char *records; /* of just that size */
	size_t bytes;
	struct result wanted, got;
};

static void text_put(struct text *text, const void *data, size_t bytes)
{
	assert_in_range(bytes, 0, sizeof(text->data) - text->bytes);
	if (bytes)
		memcpy(text->data + text->bytes, data, bytes);
	text->bytes += bytes;
}

/* ---- the other judge */

static bool naive_matches(const struct k2i_matcher *matcher, const char *text, struct k2i_regex_scratch *scratch,
			  const char *line, size_t bytes, struct k2i_regex_group *groups)
{
	if (matcher->regex)
		return k2i_regex_match(matcher->regex, scratch, line, bytes, groups) == 1;
	return *text == '\0' || memmem(line, bytes, text, strlen(text)) != NULL;
}

static void naive_replace(const struct k2i_replacement *replacement, const char *line,
			  const struct k2i_regex_group *groups, struct text *text)
{
	for (size_t i = 0; i < replacement->count; i++) {
		const struct k2i_replacement_piece *piece = &replacement->pieces[i];

		if (piece->group < 0)
			text_put(text, replacement->literals + piece->at, piece->bytes);
		else
			text_put(text, line + groups[piece->group].begin,
				 groups[piece->group].end - groups[piece->group].begin);
	}
}

static void naive_record(struct sample *sample, const struct k2i_matcher *matchers, struct k2i_regex_scratch *scratch,
			 const char *line, size_t bytes)
{
	size_t line_bytes = bytes, matcher = 0, before = sample->wanted.passed.bytes;
	struct k2i_regex_group groups[K2I_GROUPS_MAX];

	if (line[bytes - 1] == '\n')
		line_bytes -= bytes > 1 && line[bytes - 2] == '\r' ? 2 : 1;
	while (matcher < sample->count &&
	       !naive_matches(&matchers[matcher], sample->patterns[matcher].text, scratch, line, line_bytes, groups))
		matcher++;
	if (!sample->default_allow && matcher < sample->count && matchers[matcher].replaces) {
		naive_replace(&matchers[matcher].replacement, line, groups, &sample->wanted.passed);
		text_put(&sample->wanted.passed, line + line_bytes, bytes - line_bytes);
		sample->wanted.replaced += sample->wanted.passed.bytes != before;
	} else if (sample->default_allow == (matcher == sample->count)) {
		text_put(&sample->wanted.passed, line, bytes);
	}
	sample->wanted.filtered += sample->wanted.passed.bytes == before;
}

static void judge_naively(struct sample *sample)
{
	struct k2i_matcher *matchers = calloc(sample->count + 1, sizeof(*matchers));
	struct k2i_regex_scratch *scratch;
	char message[300];

	memset(&sample->wanted, 0, sizeof(sample->wanted));
	assert_int_equal(k2i_regex_scratch_create(&scratch), 0);
	for (size_t i = 0; i < sample->count; i++)
		assert_int_equal(k2i_matcher_compile(&sample->patterns[i], &matchers[i], message, sizeof(message)), 0);
	for (size_t at = 0, bytes; at < sample->bytes; at += bytes) {
		const char *end = memchr(sample->records + at, '\n', sample->bytes - at);

		bytes = end ? (size_t)(end - sample->records) + 1 - at : sample->bytes - at;
		naive_record(sample, matchers, scratch, sample->records + at, bytes);
	}
	for (size_t i = 0; i < sample->count; i++)
		k2i_matcher_clear(&matchers[i]);
	k2i_regex_scratch_free(scratch);
	free(matchers);
}

/* ---- what is tested */

static void rows_take(struct sample *sample, struct k2i_rule_scratch *scratch)
{
	const char *row_end = NULL;
	struct k2i_rule_output output;
	struct k2i_rule_counts counts;
	int status;

	memset(&sample->got, 0, sizeof(sample->got));
	k2i_rule_begin(scratch, sample->records, sample->bytes);
	while ((status = k2i_rule_next(scratch, &output)) == 1) {
		assert_true(output.bytes != 0);
		/* Rows are as long as they can be. */
		assert_true(output.replaced || output.data != row_end);
		row_end = output.replaced ? NULL : output.data + output.bytes;
		text_put(&sample->got.passed, output.data, output.bytes);
	}
	assert_int_equal(status, 0);
	counts = k2i_rule_counts(scratch);
	sample->got.filtered = counts.filtered;
	sample->got.replaced = counts.replaced;
}

static void judge_at_once(struct sample *sample)
{
	char target[] = "t", message[512];
	struct k2i_rule rule = {
		.target = target,
		.default_allow = sample->default_allow,
		.place.file = "f",
	};
	struct k2i_settings settings = {.rules = &rule, .rule_count = 1};
	struct k2i_rule_scratch *scratch;
	struct k2i_rules *rules;

	*(sample->default_allow ? &rule.deny : &rule.allow) = sample->patterns;
	*(sample->default_allow ? &rule.deny_count : &rule.allow_count) = sample->count;
	assert_int_equal(k2i_rules_compile(&settings, &rules, message, sizeof(message)), 0);
	assert_int_equal(k2i_rule_scratch_create(k2i_rules_find(rules, "t"), &scratch), 0);
	rows_take(sample, scratch);
	k2i_rule_scratch_free(scratch);
	k2i_rules_free(rules);
}

static void both_agree(struct sample *sample)
{
	judge_naively(sample);
	judge_at_once(sample);
	assert_int_equal(sample->got.passed.bytes, sample->wanted.passed.bytes);
	assert_memory_equal(sample->got.passed.data, sample->wanted.passed.data, sample->wanted.passed.bytes);
	assert_int_equal(sample->got.filtered, sample->wanted.filtered);
	assert_int_equal(sample->got.replaced, sample->wanted.replaced);
}

static void pattern_add(struct sample *sample, const char *text)
{
	struct k2i_pattern *pattern = &sample->patterns[sample->count++];

	pattern->text = strdup(text);
	pattern->place.file = "f";
	pattern->place.line = (unsigned)sample->count;
}

static void records_set(struct sample *sample, const char *data, size_t bytes)
{
	free(sample->records);
	sample->records = malloc(bytes ? bytes : 1);
	memcpy(sample->records, data, bytes);
	sample->bytes = bytes;
}

static void sample_free(struct sample *sample)
{
	for (size_t i = 0; i < sample->count; i++)
		free(sample->patterns[i].text);
	free(sample->records);
	free(sample);
}

/* Pieces of lines, `plain` times as many of which no pattern knows. */
static void records_make(struct sample *sample, size_t bytes, uint32_t plain)
{
	static const char pieces[][16] = {"error", "err",    "warn", "wild", "user=bob id=7", "user=",    "pin 7 ",
					  "aa",    "cc pin", " 57",  "end",  "x\r",           "\xff\xfe", "aaaaaab",
					  " 5",    ".",      "x",    "17"};
	static const char *const ends[] = {"\n", "\n", "\n", "\r\n", "\n\n", "\r\r\n"};
	struct text *text = calloc(1, sizeof(*text));

	while (text->bytes + 32 < bytes) {
		uint32_t which = below((plain + 1) * COUNT(pieces) * 4 / 3);

		if (which < COUNT(pieces))
			text_put(text, pieces[which], strlen(pieces[which]));
		else if (which < COUNT(pieces) * 4 / 3)
			text_put(text, &"\0."[below(2)], 1);
		else
			text_put(text, "-- -- -- --", 1 + below(11));
		if (below(3 + plain / 4) == 0) {
			which = below(COUNT(ends));
			text_put(text, ends[which], strlen(ends[which]));
		}
	}
	if (below(2))
		text_put(text, "\n", 1);
	records_set(sample, text->data, text->bytes);
	free(text);
}

static void random_round(uint32_t patterns, uint32_t bytes, uint32_t plain)
{
	struct sample *sample = calloc(1, sizeof(*sample));

	sample->default_allow = below(2);
	for (uint32_t left = below(patterns + 1); left; left--)
		pattern_add(sample, pattern_texts[below(COUNT(pattern_texts))]);
	if (below(3) == 0)
		pattern_add(sample, all_texts[below(COUNT(all_texts))]);
	if (below(4) == 0)
		pattern_add(sample, pattern_texts[below(COUNT(pattern_texts))]);
	records_make(sample, below(bytes), plain);
	both_agree(sample);
	sample_free(sample);
}

TEST(lines_with_many_needles_are_judged_alike)
{
	for (unsigned round = 0; round < 3000; round++)
		random_round(5, 800, 0);
}

TEST(lines_with_few_needles_are_judged_alike)
{
	for (unsigned round = 0; round < 200; round++)
		random_round(4, RECORDS_MAX, 60);
}

TEST(many_patterns_are_judged_alike)
{
	for (unsigned round = 0; round < 100; round++)
		random_round(PATTERNS_MAX - 2, 2000, 2);
}

/* Every pattern with each of those that take all behind it. */
TEST(what_takes_all_is_judged_alike)
{
	for (uint32_t which = 0; which < COUNT(pattern_texts) * COUNT(all_texts); which++) {
		struct sample *sample = calloc(1, sizeof(*sample));

		sample->default_allow = which % 3 == 0;
		pattern_add(sample, pattern_texts[which % COUNT(pattern_texts)]);
		pattern_add(sample, all_texts[which / COUNT(pattern_texts)]);
		records_make(sample, 300, 1);
		both_agree(sample);
		sample_free(sample);
	}
}
