/* SPDX-License-Identifier: MIT */
#include "rules.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "clock.h"
#include "log.h"
#include "rules_match.h"

/* So far ahead a needle is looked for: what all of them look at stays in the processor's cache meanwhile. */
#define WINDOW_BYTES (32u * 1024)

struct cursor {
	size_t clear; /* the needle does not begin between the line that was looked at last and this */
	bool hit;     /* it begins there */
};

/* A record, and how much of it patterns see. */
struct record {
	size_t at, bytes, line_bytes;
	const struct k2i_matcher *matcher; /* the first that matches it; NULL: none does */
};

struct k2i_rule_scratch {
	const struct k2i_rule_match *match;
	const char *block; /* the records */
	size_t block_bytes, at;
	struct cursor *cursors; /* for each needle of each matcher */
	struct record record;   /* what is at `at`, if it is known already */
	bool judged;
	struct k2i_regex_scratch *regex;
	struct k2i_group groups[K2I_GROUPS_MAX];
	char *data;
	size_t bytes, room;
	struct k2i_log_limit too_long;
	struct k2i_rule_counts counts;
};

int k2i_rule_scratch_create(const struct k2i_rule_match *match, struct k2i_rule_scratch **scratch)
{
	struct k2i_rule_scratch *made = calloc(1, sizeof(*made));
	int error = made ? k2i_regex_scratch_create(&made->regex) : -ENOMEM;

	if (!error) {
		made->match = match;
		made->cursors = calloc(match->needle_count + 1, sizeof(*made->cursors));
		error = made->cursors ? 0 : -ENOMEM;
	}
	if (error) {
		k2i_rule_scratch_free(made);
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
	free(scratch->cursors);
	free(scratch->data);
	free(scratch);
}

struct k2i_rule_counts k2i_rule_counts_take(struct k2i_rule_scratch *scratch)
{
	struct k2i_rule_counts counts = scratch->counts;

	scratch->counts = (struct k2i_rule_counts){0};
	return counts;
}

void k2i_rule_begin(struct k2i_rule_scratch *scratch, const char *data, size_t bytes)
{
	scratch->block = data;
	scratch->block_bytes = bytes;
	scratch->at = 0;
	scratch->judged = false;
	memset(scratch->cursors, 0, scratch->match->needle_count * sizeof(*scratch->cursors));
}

static void record_find(const struct k2i_rule_scratch *scratch, struct record *record)
{
	const char *begin = scratch->block + scratch->at;
	const char *end = memchr(begin, '\n', scratch->block_bytes - scratch->at);

	record->at = scratch->at;
	record->bytes = end ? (size_t)(end - begin) + 1 : scratch->block_bytes - scratch->at;
	record->line_bytes = record->bytes - (end != NULL);
	if (end && record->line_bytes && begin[record->line_bytes - 1] == '\r')
		record->line_bytes--;
}

static void too_long_report(const struct k2i_matcher *matcher, struct k2i_rule_scratch *scratch, size_t bytes)
{
	scratch->counts.slow++;
	k2i_log_limited(&scratch->too_long, k2i_clock_ns(CLOCK_MONOTONIC), K2HFT_LOG_WARNING,
			"rules: %s:%u: the regular expression takes too long on a record of %zu bytes, which counts as "
			"no match",
			matcher->file, matcher->line, bytes);
}

static void needle_search(const struct k2i_rule_scratch *scratch, const struct k2i_needle *needle,
			  struct cursor *cursor, size_t from)
{
	size_t left = scratch->block_bytes - from;
	/* As far as the needle can begin in the window. */
	size_t bytes = left < WINDOW_BYTES + needle->bytes ? left : WINDOW_BYTES + needle->bytes - 1;
	const char *found = k2i_needle_find(needle, scratch->block + from, bytes);

	cursor->hit = found != NULL;
	if (found)
		cursor->clear = (size_t)(found - scratch->block);
	else
		cursor->clear = bytes == left ? scratch->block_bytes : from + WINDOW_BYTES;
}

static bool needle_in_line(const struct k2i_rule_scratch *scratch, const struct k2i_needle *needle,
			   struct cursor *cursor, const struct record *record)
{
	const size_t end = record->at + record->line_bytes;

	while (cursor->clear < end) {
		if (cursor->hit && cursor->clear >= record->at)
			return end - cursor->clear >= needle->bytes;
		needle_search(scratch, needle, cursor, cursor->clear > record->at ? cursor->clear : record->at);
	}
	return false;
}

/* Whether the line has any of a matcher's needles. */
static bool needles_in_line(const struct k2i_rule_scratch *scratch, const struct k2i_matcher *matcher,
			    struct cursor *cursors, const struct record *record)
{
	for (size_t i = 0; i < matcher->needle_count; i++) {
		if (needle_in_line(scratch, &matcher->needles[i], &cursors[i], record))
			return true;
	}
	return false;
}

/* 1, 0 or -ENOMEM; of a regular expression that was matched the groups are in the scratch. */
static int matches(const struct k2i_matcher *matcher, struct k2i_rule_scratch *scratch, struct cursor *cursors,
		   const struct record *record)
{
	int result;

	if (matcher->matches_all)
		return 1;
	if (matcher->needle_count && !needles_in_line(scratch, matcher, cursors, record))
		return 0;
	if (matcher->needles_suffice)
		return 1;
	result = k2i_regex_match(matcher->regex, scratch->regex, scratch->block + record->at, record->line_bytes,
				 scratch->groups);
	if (result != -ELOOP)
		return result;
	too_long_report(matcher, scratch, record->line_bytes);
	return 0;
}

static int matcher_find(struct k2i_rule_scratch *scratch, struct record *record)
{
	struct cursor *cursors = scratch->cursors;

	record->matcher = NULL;
	for (size_t i = 0; i < scratch->match->matcher_count; i++) {
		const struct k2i_matcher *matcher = &scratch->match->matchers[i];
		int result = matches(matcher, scratch, cursors, record);

		if (result < 0)
			return result;
		if (result) {
			record->matcher = matcher;
			return 0;
		}
		cursors += matcher->needle_count;
	}
	return 0;
}

/* Once for each record, although the one that ends a row is met twice. */
static int record_judge(struct k2i_rule_scratch *scratch)
{
	int error;

	if (scratch->judged)
		return 0;
	record_find(scratch, &scratch->record);
	error = matcher_find(scratch, &scratch->record);
	scratch->judged = !error;
	return error;
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

/* 1, or 0: there is nothing left, which is no record: a last line without line end can become that. */
static int record_replace(struct k2i_rule_scratch *scratch, struct k2i_rule_output *output)
{
	const struct record *record = &scratch->record;
	const char *text = scratch->block + record->at;
	int error = replace(&record->matcher->replacement, scratch, text);

	if (!error)
		error = scratch_append(scratch, text + record->line_bytes, record->bytes - record->line_bytes);
	if (error)
		return error;
	*output = (struct k2i_rule_output){scratch->data, scratch->bytes, true};
	return scratch->bytes != 0;
}

int k2i_rule_next(struct k2i_rule_scratch *scratch, struct k2i_rule_output *output)
{
	const bool allow = !scratch->match->rule->default_allow;
	const struct record *record = &scratch->record;

	*output = (struct k2i_rule_output){.bytes = 0};
	while (scratch->at < scratch->block_bytes) {
		int status = record_judge(scratch);
		bool replaces, joins;

		if (status)
			return status;
		replaces = allow && record->matcher && record->matcher->replaces;
		joins = !replaces && allow == (record->matcher != NULL);
		if (!joins && output->bytes)
			break;
		scratch->at += record->bytes;
		scratch->judged = false;
		if (joins && output->bytes == 0)
			output->data = scratch->block + record->at;
		if (joins)
			output->bytes += record->bytes;
		status = replaces ? record_replace(scratch, output) : 0;
		scratch->counts.replaced += status == 1;
		scratch->counts.filtered += !joins && status == 0;
		if (status)
			return status;
	}
	return output->bytes != 0;
}
