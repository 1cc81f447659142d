/* SPDX-License-Identifier: MIT */
/*
 * Rules: patterns and replacements compiled, paths looked up, records passed through. The input: a byte of flags, then
 * two targets, two patterns and a record, with NULs between them.
 */
#include <errno.h>

#include "fuzz.h"
#include "app/rules/pattern.h"
#include "app/rules/pattern_literal.h"
#include "app/rules/rules.h"

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

/* Needles let pass the same records that PCRE2 matches: records judged all at once come out as each does by itself. */
static size_t records_run(const struct k2i_rule_match *match, const char *records, size_t bytes, char *result,
			  size_t room)
{
	struct k2i_rule_scratch *scratch;
	struct k2i_rule_output output;
	size_t used = 0;
	int status;

	fuzz_check(k2i_rule_scratch_create(match, &scratch) == 0);
	k2i_rule_begin(scratch, records, bytes);
	while ((status = k2i_rule_next(scratch, &output)) == 1) {
		fuzz_check(output.bytes && (output.replaced ||
					    (output.data >= records && output.data + output.bytes <= records + bytes)));
		for (size_t at = 0; at < output.bytes && used < room; at++)
			result[used++] = output.data[at];
	}
	fuzz_check(status == 0 || status == -ENOMEM);
	fuzz_check(!k2i_rule_passes_all(match) || used == bytes || used == room);
	k2i_rule_scratch_free(scratch);
	return used;
}

static void record_run(const struct k2i_rule_match *match, const char *records, size_t bytes)
{
	char all[4096], each[4096];
	size_t all_bytes = records_run(match, records, bytes, all, sizeof(all)), each_bytes = 0;

	for (const char *at = records, *end = records + bytes; at < end;) {
		const char *line_end = memchr(at, '\n', (size_t)(end - at));
		const char *next = line_end ? line_end + 1 : end;

		each_bytes += records_run(match, at, (size_t)(next - at), each + each_bytes, sizeof(each) - each_bytes);
		at = next;
	}
	fuzz_check(all_bytes == each_bytes && memcmp(all, each, all_bytes) == 0);
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
	for (size_t index = 0; index < settings->rule_count; index++) {
		const struct k2i_rule_match *match = k2i_rules_find(rules, settings->rules[index].target);

		if (match)
			record_run(match, record, bytes);
	}
	fuzz_check(k2i_rules_find(rules, settings->rules[0].target) ||
		   strcmp(settings->rules[0].target, settings->rules[1].target) == 0);
	(void)k2i_rules_find(rules, "a/b/c");
	k2i_rules_free(rules);
}

/* A match has one of the texts that are known to be needed; where those are all, each is a match. */
static void literals_check(const char *text, size_t bytes, const char *subject, size_t subject_bytes, bool matched)
{
	struct k2i_literals literals;
	bool suffice = k2i_literals_find(text, bytes, &literals), found = false;

	for (size_t index = 0; index < literals.count; index++)
		found |=
			memmem(subject, subject_bytes, literals.texts[index].text, literals.texts[index].bytes) != NULL;
	fuzz_check(!matched || found || literals.count == 0);
	fuzz_check(!suffice || !found || matched);
	fuzz_check(matched || !k2i_regex_takes_all(text, bytes));
}

/* Regular expressions with any byte in them. */
static void regex_run(const char *text, size_t bytes, const char *subject, size_t subject_bytes)
{
	struct k2i_regex_group groups[K2I_GROUPS_MAX];
	struct k2i_regex_scratch *scratch;
	struct k2i_regex *regex;
	char message[300];
	int result;

	if (k2i_regex_compile(text, bytes, false, &regex, message, sizeof(message)) != 0)
		return;
	fuzz_check(k2i_regex_scratch_create(&scratch) == 0);
	result = k2i_regex_match(regex, scratch, subject, subject_bytes, groups);
	if (result >= 0)
		literals_check(text, bytes, subject, subject_bytes, result == 1);
	if (result == 1) {
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
	struct k2i_pattern patterns[2] = {{texts[2], {"file", 1}}, {texts[3], {"file", 2}}};
	struct k2i_rule rules[2] = {{.target = texts[0], .place = {"file", 1}},
				    {.target = texts[1], .directory = true, .place = {"file", 2}}};
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
