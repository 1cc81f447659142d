/* SPDX-License-Identifier: MIT */
/*
 * Rules: patterns and replacements compiled, paths looked up, records passed through. The input: a byte of flags, then
 * two targets, two patterns and a record, with NULs between them.
 */
#include <errno.h>

#include "fuzz.h"
#include "pattern.h"
#include "rules.h"

#define ALLOW_ALL 1u
#define PATTERN_BYTES_MAX 256u /* longer ones only take longer, in PCRE2 */

static char *field_take(const uint8_t **data, size_t *size)
{
	const uint8_t *end = *size ? memchr(*data, '\0', *size) : NULL;
	size_t bytes = end ? (size_t)(end - *data) : *size;
	char *text = fuzz_text(*data, bytes < PATTERN_BYTES_MAX ? bytes : PATTERN_BYTES_MAX);

	*data += bytes + (end != NULL);
	*size -= bytes + (end != NULL);
	return text;
}

static void record_run(const struct k2i_rule_match *match, const char *record, size_t bytes)
{
	struct k2i_rule_scratch *scratch;
	const char *output = NULL;
	size_t output_bytes = 0, sum = 0;

	fuzz_check(k2i_rule_scratch_create(&scratch) == 0);
	for (unsigned times = 0; times < 2; times++) {
		int result = k2i_rule_apply(match, scratch, record, bytes, &output, &output_bytes);

		fuzz_check(result == 0 || result == 1 || result == -ENOMEM);
		fuzz_check(!k2i_rule_passes_all(match) || (result == 1 && output == record && output_bytes == bytes));
		for (size_t at = 0; result == 1 && at < output_bytes; at++)
			sum += (unsigned char)output[at];
		/* A record's line end stays its line end. */
		if (result == 1 && bytes && record[bytes - 1] == '\n')
			fuzz_check(output_bytes && output[output_bytes - 1] == '\n');
	}
	(void)sum;
	k2i_rule_scratch_free(scratch);
}

static void on_target(void *argument, const char *path, bool directory)
{
	const struct k2i_rules *rules = argument;

	fuzz_check(!directory || k2i_rules_implies_directory(rules, path));
}

static void rules_run(const struct k2i_settings *settings, const char *record, size_t bytes)
{
	char message[512] = "";
	struct k2i_rules *rules;
	int status = k2i_rules_compile(settings, &rules, message, sizeof(message));

	if (status) {
		fuzz_check(status == -EINVAL && *message);
		return;
	}
	k2i_rules_targets(rules, on_target, rules);
	for (size_t index = 0; index < settings->rule_count; index++) {
		const struct k2i_rule_match *match = k2i_rules_find(rules, settings->rules[index].target);

		if (match)
			record_run(match, record, bytes);
	}
	fuzz_check(k2i_rules_find(rules, settings->rules[0].target) ||
		   strcmp(settings->rules[0].target, settings->rules[1].target) == 0);
	(void)k2i_rules_find(rules, "a/b/c");
	(void)k2i_rules_implies_directory(rules, "a");
	k2i_rules_free(rules);
}

/* Regular expressions with any byte in them. */
static void regex_run(const char *text, size_t bytes, const char *subject, size_t subject_bytes)
{
	struct k2i_group groups[K2I_GROUPS_MAX];
	struct k2i_regex_scratch *scratch;
	struct k2i_regex *regex;
	char message[300];

	if (k2i_regex_compile(text, bytes, &regex, message, sizeof(message)) != 0)
		return;
	fuzz_check(k2i_regex_scratch_create(&scratch) == 0);
	if (k2i_regex_match(regex, scratch, subject, subject_bytes, groups) == 1) {
		for (unsigned index = 0; index < K2I_GROUPS_MAX; index++)
			fuzz_check(groups[index].begin <= groups[index].end && groups[index].end <= subject_bytes);
	}
	k2i_regex_scratch_free(scratch);
	k2i_regex_free(regex);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *texts[4], *record;
	unsigned flags = size ? data[0] : 0;

	if (size == 0)
		return 0;
	fuzz_log_open();
	data++;
	size--;
	regex_run((const char *)data, size < PATTERN_BYTES_MAX ? size : PATTERN_BYTES_MAX, (const char *)data, size);
	for (unsigned index = 0; index < 4; index++)
		texts[index] = field_take(&data, &size);
	record = (char *)fuzz_copy(data, size);
	struct k2i_pattern patterns[2] = {{texts[2], "file", 1}, {texts[3], "file", 2}};
	struct k2i_rule rules[2] = {{.target = texts[0], .file = "file", .line = 1},
				    {.target = texts[1], .directory = true, .file = "file", .line = 2}};
	for (unsigned index = 0; index < 2; index++) {
		rules[index].default_allow = (flags & ALLOW_ALL) == 0;
		rules[index].allow = rules[index].deny = patterns;
		rules[index].allow_count = rules[index].deny_count = 2;
	}
	struct k2i_settings settings = {.file = (char *)"file", .rules = rules, .rule_count = 2};
	rules_run(&settings, record, size);
	for (unsigned index = 0; index < 4; index++)
		free(texts[index]);
	free(record);
	return 0;
}
