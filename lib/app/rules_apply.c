/* SPDX-License-Identifier: MIT */
#include "rules.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "log.h"
#include "rules_match.h"

struct k2i_rule_scratch {
	struct k2i_regex_scratch *regex;
	struct k2i_group groups[K2I_GROUPS_MAX];
	char *data;
	size_t bytes, room;
	struct k2i_log_limit too_long;
	uint64_t slow;
};

int k2i_rule_scratch_create(struct k2i_rule_scratch **scratch)
{
	struct k2i_rule_scratch *made = calloc(1, sizeof(*made));
	int error = made ? k2i_regex_scratch_create(&made->regex) : -ENOMEM;

	if (error) {
		free(made);
		return error;
	}
	*scratch = made;
	return 0;
}

void k2i_rule_scratch_free(struct k2i_rule_scratch *scratch)
{
	if (!scratch)
		return;
	k2i_regex_scratch_free(scratch->regex);
	free(scratch->data);
	free(scratch);
}

uint64_t k2i_rule_scratch_slow(struct k2i_rule_scratch *scratch)
{
	uint64_t slow = scratch->slow;

	scratch->slow = 0;
	return slow;
}

/* How much of the record patterns see: all but its line end. */
static size_t line_bytes(const char *record, size_t bytes)
{
	if (bytes && record[bytes - 1] == '\n')
		bytes--;
	else
		return bytes;
	return bytes && record[bytes - 1] == '\r' ? bytes - 1 : bytes;
}

static void too_long_report(const struct k2i_matcher *matcher, struct k2i_rule_scratch *scratch, size_t bytes)
{
	struct timespec now;

	scratch->slow++;
	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	k2i_log_limited(&scratch->too_long, (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec,
			K2HFT_LOG_WARNING,
			"rules: %s:%u: the regular expression takes too long on a record of %zu bytes, which counts as "
			"no match",
			matcher->file, matcher->line, bytes);
}

/* 1, 0 or -ENOMEM; of a regular expression the groups are in the scratch. */
static int matches(const struct k2i_matcher *matcher, struct k2i_rule_scratch *scratch, const char *line, size_t bytes)
{
	int result;

	if (!matcher->regex)
		return matcher->text_bytes == 0 || memmem(line, bytes, matcher->text, matcher->text_bytes) != NULL;
	result = k2i_regex_match(matcher->regex, scratch->regex, line, bytes, scratch->groups);
	if (result != -ELOOP)
		return result;
	too_long_report(matcher, scratch, bytes);
	return 0;
}

static int scratch_append(struct k2i_rule_scratch *scratch, const char *text, size_t bytes)
{
	if (bytes > scratch->room - scratch->bytes) {
		size_t room = scratch->bytes + bytes;
		char *data;

		room += room / 2;
		data = realloc(scratch->data, room);
		if (!data)
			return -ENOMEM;
		scratch->data = data;
		scratch->room = room;
	}
	if (bytes)
		memcpy(scratch->data + scratch->bytes, text, bytes);
	scratch->bytes += bytes;
	return 0;
}

static int replace(const struct k2i_replacement *replacement, struct k2i_rule_scratch *scratch, const char *record)
{
	scratch->bytes = 0;
	for (size_t i = 0; i < replacement->count; i++) {
		const struct k2i_replacement_piece *piece = &replacement->pieces[i];
		const struct k2i_group *group = piece->group < 0 ? NULL : &scratch->groups[piece->group];
		int error = group ? scratch_append(scratch, record + group->begin, group->end - group->begin)
				  : scratch_append(scratch, replacement->literals + piece->at, piece->bytes);

		if (error)
			return error;
	}
	return 0;
}

int k2i_rule_apply(const struct k2i_rule_match *match, struct k2i_rule_scratch *scratch, const char *record,
		   size_t record_bytes, const char **output, size_t *output_bytes)
{
	const size_t bytes = line_bytes(record, record_bytes);
	const struct k2i_matcher *matcher = NULL;
	int result = 0;

	for (size_t i = 0; i < match->matcher_count && result == 0; i++) {
		matcher = &match->matchers[i];
		result = matches(matcher, scratch, record, bytes);
	}
	if (result < 0)
		return result;
	if (match->rule->default_allow == (result == 1))
		return 0;
	*output = record;
	*output_bytes = record_bytes;
	if (match->rule->default_allow || !matcher->replaces)
		return 1;
	result = replace(&matcher->replacement, scratch, record);
	if (result == 0)
		result = scratch_append(scratch, record + bytes, record_bytes - bytes);
	if (result)
		return result;
	*output = scratch->data;
	*output_bytes = scratch->bytes;
	/* Nothing at all is no record: a replacement can leave nothing of a last line without line end. */
	return scratch->bytes != 0;
}
