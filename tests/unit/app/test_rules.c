/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "unit.h"
#include "app/rules/rules.h"

#define PATTERNS_MAX 4

/* Settings by hand: the strings are constants, and nobody frees them. */
struct sample_rule {
	const char *target;
	bool directory, default_allow;
	const char *allow[PATTERNS_MAX], *deny[PATTERNS_MAX];
};

struct sample {
	struct k2i_settings settings;
	struct k2i_rule rules[8];
	struct k2i_pattern patterns[8][2][PATTERNS_MAX];
	struct k2i_rules *compiled;
	char message[512];
	int error;
};

static size_t patterns_set(struct k2i_pattern *patterns, const char *const *texts, unsigned line)
{
	size_t count = 0;

	for (; count < PATTERNS_MAX && texts[count]; count++) {
		patterns[count].text = strdup(texts[count]);
		patterns[count].place.file = "f.ini";
		patterns[count].place.line = line + (unsigned)count;
	}
	return count;
}

static struct sample *sample_make(const struct sample_rule *from, size_t count)
{
	struct sample *sample = calloc(1, sizeof(*sample));

	for (size_t i = 0; i < count; i++) {
		struct k2i_rule *rule = &sample->rules[i];

		rule->place.file = "f.ini";
		rule->place.line = (unsigned)(10 * (i + 1));
		rule->target = strdup(from[i].target);
		rule->directory = from[i].directory;
		rule->default_allow = from[i].default_allow;
		rule->allow = sample->patterns[i][0];
		rule->deny = sample->patterns[i][1];
		rule->allow_count = patterns_set(rule->allow, from[i].allow, rule->place.line + 1);
		rule->deny_count = patterns_set(rule->deny, from[i].deny, rule->place.line + 5);
	}
	sample->settings.rules = sample->rules;
	sample->settings.rule_count = count;
	sample->error =
		k2i_rules_compile(&sample->settings, &sample->compiled, sample->message, sizeof(sample->message));
	return sample;
}

static void sample_free(struct sample *sample)
{
	if (sample->error == 0)
		k2i_rules_free(sample->compiled);
	for (size_t i = 0; i < sample->settings.rule_count; i++) {
		for (size_t j = 0; j < sample->rules[i].allow_count; j++)
			free(sample->rules[i].allow[j].text);
		for (size_t j = 0; j < sample->rules[i].deny_count; j++)
			free(sample->rules[i].deny[j].text);
		free(sample->rules[i].target);
	}
	free(sample);
}
#define SAMPLE(...)                                                                                                    \
	sample_make((const struct sample_rule[]){__VA_ARGS__},                                                         \
		    sizeof((const struct sample_rule[]){__VA_ARGS__}) / sizeof(struct sample_rule))

/* The target of the rule for `path`, NULL if there is none. */
static const char *found(const struct sample *sample, const char *path)
{
	const struct k2i_rule_match *match = k2i_rules_find(sample->compiled, path);

	return match ? k2i_rule_settings(match)->target : NULL;
}

TEST(longest_rule_wins)
{
	struct sample *sample = SAMPLE({.target = "log/app.log"}, {.target = "log", .directory = true},
				       {.target = "log/deep/er", .directory = true},
				       {.target = "log!", .directory = true}, {.target = "one"});

	assert_int_equal(sample->error, 0);
	assert_string_equal(found(sample, "log/app.log"), "log/app.log");
	assert_string_equal(found(sample, "log/app.log2"), "log");
	assert_string_equal(found(sample, "log/x"), "log");
	assert_string_equal(found(sample, "log/a/b/c"), "log");
	assert_string_equal(found(sample, "log/deep/x"), "log");
	assert_string_equal(found(sample, "log/deep/er/x/y"), "log/deep/er");
	assert_string_equal(found(sample, "log/deep/erx"), "log");
	assert_string_equal(found(sample, "log!/x"), "log!");
	assert_string_equal(found(sample, "one"), "one");
	assert_null(found(sample, "one/x"));
	assert_null(found(sample, "logs/x"));
	assert_null(found(sample, "x"));
	assert_null(found(sample, "log"));
	sample_free(sample);
}

TEST(root_rule_covers_all)
{
	struct sample *sample = SAMPLE({.target = "", .directory = true}, {.target = "a/b", .directory = true});

	assert_string_equal(found(sample, "x"), "");
	assert_string_equal(found(sample, "a/x"), "");
	assert_string_equal(found(sample, "a/b/x"), "a/b");
	sample_free(sample);
}

/* The record as rule 0 makes it; NULL: dropped. */
static const char *result_of(const struct sample *sample, const char *record, size_t bytes, size_t *result_bytes)
{
	static char result[256];
	const struct k2i_rule_match *match = k2i_rules_find(sample->compiled, sample->rules[0].target);
	struct k2i_rule_output output;
	struct k2i_rule_scratch *scratch;
	int passes;

	assert_int_equal(k2i_rule_scratch_create(match, &scratch), 0);
	k2i_rule_begin(scratch, record, bytes);
	passes = k2i_rule_next(scratch, &output);
	assert_in_range(passes, 0, 1);
	if (passes) {
		assert_in_range(output.bytes, 1, sizeof(result));
		memcpy(result, output.data, output.bytes);
		*result_bytes = output.bytes;
		assert_int_equal(k2i_rule_next(scratch, &output), 0);
	}
	k2i_rule_scratch_free(scratch);
	return passes ? result : NULL;
}

static void becomes_bytes(const struct sample *sample, const char *record, size_t bytes, const char *wanted,
			  size_t wanted_bytes)
{
	size_t result_bytes = 0;
	const char *result = result_of(sample, record, bytes, &result_bytes);

	if (!result || result_bytes != wanted_bytes || memcmp(result, wanted, wanted_bytes) != 0)
		fail_msg("`%s' becomes `%.*s', wanted `%s'", record, (int)result_bytes, result ? result : "nothing",
			 wanted);
}
#define becomes(sample, record, wanted) becomes_bytes(sample, record, sizeof(record) - 1, wanted, sizeof(wanted) - 1)
#define passes(sample, record) becomes(sample, record, record)

static void dropped(const struct sample *sample, const char *record)
{
	size_t result_bytes;

	if (result_of(sample, record, strlen(record), &result_bytes))
		fail_msg("`%s' is not dropped", record);
}

static bool passes_all(const struct sample *sample)
{
	return k2i_rule_passes_all(k2i_rules_find(sample->compiled, sample->rules[0].target));
}

TEST(deny_is_the_default)
{
	struct sample *sample = SAMPLE({.target = "a"});

	assert_false(passes_all(sample));
	dropped(sample, "anything\n");
	sample_free(sample);
}

TEST(allow_text_passes_the_line)
{
	struct sample *sample = SAMPLE({.target = "a", .allow = {"error", "'a.b'"}, .deny = {"error"}});

	assert_false(passes_all(sample));
	passes(sample, "an error \r\n");
	passes(sample, "xa.by");
	passes(sample, "\0\0 error\0\n");
	dropped(sample, "Error\n");
	dropped(sample, "axb\n");
	dropped(sample, "\n");
	sample_free(sample);
}

TEST(allow_nothing_passes_everything)
{
	struct sample *sample = SAMPLE({.target = "a", .allow = {""}});

	assert_true(passes_all(sample));
	passes(sample, "\n");
	passes(sample, "x");
	sample_free(sample);
	sample = SAMPLE({.target = "a", .allow = {"x", ""}});
	assert_false(passes_all(sample));
	passes(sample, "anything\n");
	sample_free(sample);
}

TEST(expression_without_replacement_passes_the_line)
{
	struct sample *sample = SAMPLE({.target = "a", .allow = {"\"[0-9]+$\""}});

	passes(sample, "id 12\n");
	passes(sample, "id 12\r\n");
	passes(sample, "id 12");
	dropped(sample, "id 12x\n");
	dropped(sample, "id 12\r");
	sample_free(sample);
}

TEST(replacement_keeps_the_line_end)
{
	struct sample *sample =
		SAMPLE({.target = "a", .allow = {"\"user=([a-z]+) id=([0-9]+)\", \"<$2:$1> & \\$\\&\""}});

	becomes(sample, "x user=bob id=7 y\n", "<7:bob> user=bob id=7 $&\n");
	becomes(sample, "user=bob id=7\r\n", "<7:bob> user=bob id=7 $&\r\n");
	becomes(sample, "user=bob id=7", "<7:bob> user=bob id=7 $&");
	dropped(sample, "user=bob\n");
	sample_free(sample);
	sample = SAMPLE({.target = "a", .allow = {"\"x(\\x00*)y\", \"[$1]\""}});
	becomes(sample, "x\0\0y\n", "[\0\0]\n");
	sample_free(sample);
	sample = SAMPLE({.target = "a", .allow = {"\"x\", \"\""}});
	becomes(sample, "axb\n", "\n");
	dropped(sample, "axb");
	sample_free(sample);
}

TEST(first_match_decides)
{
	struct sample *sample = SAMPLE({.target = "a", .allow = {"\"a\", \"1\"", "b", "\"a|b\", \"3\""}});

	becomes(sample, "ab\n", "1\n");
	becomes(sample, "b\n", "b\n");
	dropped(sample, "c\n");
	sample_free(sample);
}

TEST(any_deny_drops)
{
	struct sample *sample = SAMPLE({.target = "a",
					.default_allow = true,
					.allow = {"never"},
					.deny = {"secret", "\"^#\", \"x\"", "\"z$\""}});

	assert_false(passes_all(sample));
	passes(sample, "fine #\n");
	dropped(sample, "a secret\n");
	dropped(sample, "# comment\n");
	dropped(sample, "z\r\n");
	sample_free(sample);
	sample = SAMPLE({.target = "a", .default_allow = true, .allow = {"never"}});
	assert_true(passes_all(sample));
	passes(sample, "x\n");
	sample_free(sample);
}

TEST(hostile_record_does_not_match)
{
	struct sample *sample = SAMPLE({.target = "a", .default_allow = true, .deny = {"\"^(a+)+$\""}});

	passes(sample, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab\n");
	dropped(sample, "aaaa\n");
	sample_free(sample);
}

/*
 * Though the record behind the ones that pass is met twice, it is matched, and counted, once: not with those before it,
 * which may be all that there is room for.
 */
TEST(hostile_records_are_counted)
{
	static const char records[] = "aa\n"
				      "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab\n"
				      "aa\n";
	struct sample *sample = SAMPLE({.target = "a", .allow = {"\"^(a+)+$\""}});
	struct k2i_rule_counts counts;
	struct k2i_rule_output output;
	struct k2i_rule_scratch *scratch;

	assert_int_equal(k2i_rule_scratch_create(k2i_rules_find(sample->compiled, "a"), &scratch), 0);
	k2i_rule_begin(scratch, records, sizeof(records) - 1);
	for (unsigned rows = 0; rows < 2; rows++) {
		assert_int_equal(k2i_rule_next(scratch, &output), 1);
		assert_int_equal(output.bytes, 3);
		assert_int_equal(k2i_rule_counts(scratch).slow, rows);
	}
	assert_int_equal(k2i_rule_next(scratch, &output), 0);
	counts = k2i_rule_counts(scratch);
	assert_int_equal(counts.slow, 1);
	assert_int_equal(counts.filtered, 1);
	assert_int_equal(counts.replaced, 0);
	k2i_rule_begin(scratch, records, sizeof(records) - 1);
	assert_int_equal(k2i_rule_counts(scratch).slow, 0);
	k2i_rule_scratch_free(scratch);
	sample_free(sample);
}

/* The buffer has a rest of the records before, as when there was no room for more. */
TEST(others_begin_anew)
{
	static const char before[] = "error 1\nnothing\nwarn 2\n", records[] = "error\nnothing\n";
	struct sample *sample = SAMPLE({.target = "a", .allow = {"error", "\"warn [0-9]\""}});
	struct k2i_rule_output output;
	struct k2i_rule_scratch *scratch;

	assert_int_equal(k2i_rule_scratch_create(k2i_rules_find(sample->compiled, "a"), &scratch), 0);
	k2i_rule_begin(scratch, before, sizeof(before) - 1);
	assert_int_equal(k2i_rule_next(scratch, &output), 1);
	assert_true(output.data == before && output.bytes == 8 && !output.replaced);
	assert_int_equal(output.end, 8);
	k2i_rule_begin(scratch, records, sizeof(records) - 1);
	assert_int_equal(k2i_rule_next(scratch, &output), 1);
	assert_true(output.data == records && output.bytes == 6);
	assert_int_equal(output.end, 6);
	assert_int_equal(k2i_rule_next(scratch, &output), 0);
	assert_int_equal(k2i_rule_counts(scratch).filtered, 1);
	k2i_rule_scratch_free(scratch);
	sample_free(sample);
}

/* Records judged all at once: how many times what passes is handed out, and what it is altogether. */
static unsigned rows_of(const struct sample *sample, const char *records, size_t bytes, char *passed,
			size_t *passed_bytes)
{
	const struct k2i_rule_match *match = k2i_rules_find(sample->compiled, sample->rules[0].target);
	struct k2i_rule_output output;
	struct k2i_rule_scratch *scratch;
	unsigned rows = 0;

	assert_int_equal(k2i_rule_scratch_create(match, &scratch), 0);
	k2i_rule_begin(scratch, records, bytes);
	for (*passed_bytes = 0; k2i_rule_next(scratch, &output) == 1; rows++) {
		memcpy(passed + *passed_bytes, output.data, output.bytes);
		*passed_bytes += output.bytes;
	}
	k2i_rule_scratch_free(scratch);
	return rows;
}

TEST(records_in_a_row_come_out_together)
{
	static const char records[] = "an error\nwarn 1\nnothing\nerror\r\nwarn 2\nwarn x\nerr\n\nthe last error";
	struct sample *allow = SAMPLE({.target = "a", .allow = {"error", "\"warn [0-9]\""}});
	struct sample *deny = SAMPLE({.target = "a", .default_allow = true, .deny = {"error", "\"^warn .$\""}});
	struct sample *replace = SAMPLE({.target = "a", .allow = {"\"warn ([0-9])\", \"<$1>\"", "error"}});
	char passed[256];
	size_t bytes;

	assert_int_equal(rows_of(allow, records, sizeof(records) - 1, passed, &bytes), 3);
	assert_int_equal(bytes, strlen("an error\nwarn 1\nerror\r\nwarn 2\nthe last error"));
	assert_memory_equal(passed, "an error\nwarn 1\nerror\r\nwarn 2\nthe last error", bytes);
	assert_int_equal(rows_of(deny, records, sizeof(records) - 1, passed, &bytes), 2);
	assert_int_equal(bytes, strlen("nothing\nerr\n\n"));
	assert_memory_equal(passed, "nothing\nerr\n\n", bytes);
	assert_int_equal(rows_of(replace, records, sizeof(records) - 1, passed, &bytes), 5);
	assert_int_equal(bytes, strlen("an error\n<1>\nerror\r\n<2>\nthe last error"));
	assert_memory_equal(passed, "an error\n<1>\nerror\r\n<2>\nthe last error", bytes);
	sample_free(allow);
	sample_free(deny);
	sample_free(replace);
}

/* Far more than a needle is looked for ahead, with needles at every distance from where a look begins and ends. */
TEST(long_blocks_are_judged_line_by_line)
{
	struct sample *sample = SAMPLE({.target = "a", .allow = {"needle", "\"pin ?[0-9]\"", "\"(x|zz) hay$\""}});
	const size_t lines = 40000;
	char *records = malloc(lines * 32), *wanted = malloc(lines * 32), *passed = malloc(lines * 32);
	size_t bytes = 0, wanted_bytes = 0, passed_bytes;

	for (size_t i = 0; i < lines; i++) {
		static const char *const texts[] = {"nothing", "x needle x", "pins", "apin 7",
						    "needl",   "zz hay",     "hay",  ""};
		static const bool pass[] = {false, true, false, true, false, true, false, false};
		size_t which = (i * i / 7 + i / 3) % 8;
		int length = snprintf(records + bytes, 32, "%s%s", texts[which], i % 5 ? "\n" : "\r\n");

		if (pass[which]) {
			memcpy(wanted + wanted_bytes, records + bytes, (size_t)length);
			wanted_bytes += (size_t)length;
		}
		bytes += (size_t)length;
	}
	(void)rows_of(sample, records, bytes, passed, &passed_bytes);
	assert_int_equal(passed_bytes, wanted_bytes);
	assert_memory_equal(passed, wanted, wanted_bytes);
	free(records);
	free(wanted);
	free(passed);
	sample_free(sample);
}

TEST(mistakes_name_file_and_line)
{
	struct sample *sample = SAMPLE({.target = "a"}, {.target = "b", .allow = {"x", "\"(\""}});

	assert_int_equal(sample->error, -EINVAL);
	assert_non_null(strstr(sample->message, "f.ini:22: ALLOW: regular expression:"));
	sample_free(sample);
	sample = SAMPLE({.target = "b", .default_allow = true, .deny = {"\"a\",\"$x\""}});
	assert_int_equal(sample->error, -EINVAL);
	assert_non_null(strstr(sample->message, "f.ini:15: DENY: replacement:"));
	sample_free(sample);
	sample = SAMPLE({.target = "b/../c"});
	assert_int_equal(sample->error, -EINVAL);
	assert_non_null(strstr(sample->message, "f.ini:10: TARGET = b/../c:"));
	sample_free(sample);
	/* A pattern that is not used is not looked at. */
	sample = SAMPLE({.target = "b", .deny = {"\"(\""}});
	assert_int_equal(sample->error, 0);
	sample_free(sample);
}
