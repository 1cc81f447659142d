/* SPDX-License-Identifier: MIT */
#include "app/rules/rules.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "app/rules/match.h"
#include "base/line_ends.h"

/* Twice of what the search notices at once: what it has no room for is searched for again. */
#define HITS_AHEAD 256u

/* Records that end so soon are all looked at: to find out which of them has the hit costs as much. */
#define NEAR_BYTES 128u

/* A record, and how much of it patterns see; or records in a row that are alike. */
struct span {
	size_t at, bytes, line_bytes;
	bool many;
	const struct k2i_matcher *matcher; /* the first that matches; NULL: none does */
	uint64_t slow;                     /* expressions that took too long on it */
};

struct k2i_rule_scratch {
	const struct k2i_rule_match *match;
	const char *block; /* the records */
	size_t block_bytes, at;
	struct k2i_needle_hit *hits; /* in the records from `at` on, as far as the needles were looked for */
	size_t hit_first, hit_count, hit_room, looked_to;
	uint64_t *asked;  /* the matchers that a record is tried with */
	struct span span; /* what is at `at`, if it is known already */
	bool judged;
	struct k2i_regex_scratch *regex;
	struct k2i_regex_group groups[K2I_GROUPS_MAX];
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
		made->hit_room = match->needle_count + HITS_AHEAD;
		made->hits = calloc(made->hit_room, sizeof(*made->hits));
		made->asked = calloc(match->words, sizeof(*made->asked));
		error = made->hits && made->asked ? 0 : -ENOMEM;
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
	free(scratch->hits);
	free(scratch->asked);
	free(scratch->data);
	free(scratch);
}

struct k2i_rule_counts k2i_rule_counts(const struct k2i_rule_scratch *scratch)
{
	return scratch->counts;
}

void k2i_rule_begin(struct k2i_rule_scratch *scratch, const char *data, size_t bytes)
{
	scratch->block = data;
	scratch->block_bytes = bytes;
	scratch->at = 0;
	scratch->judged = false;
	scratch->hit_first = scratch->hit_count = scratch->looked_to = 0;
	scratch->counts = (struct k2i_rule_counts){0};
}

static void too_long_report(const struct k2i_matcher *matcher, struct k2i_rule_scratch *scratch, size_t bytes)
{
	scratch->span.slow++;
	k2i_log_limited(&scratch->too_long, k2i_clock_ns(CLOCK_MONOTONIC), K2HFT_LOG_WARNING,
			"rules: %s:%u: the regular expression takes too long on a record of %zu bytes, which counts as "
			"no match",
			matcher->place.file, matcher->place.line, bytes);
}

/* Looks for more hits, until there is one or those that end before `end` are known. */
static void hits_refill(struct k2i_rule_scratch *scratch, size_t end)
{
	scratch->hit_first = scratch->hit_count = 0;
	while (scratch->hit_count == 0 && scratch->looked_to < end)
		scratch->hit_count = k2i_needles_find(scratch->match->needles, scratch->block, scratch->block_bytes,
						      &scratch->looked_to, scratch->hits, scratch->hit_room);
}

/* The next hit, if there is one that ends before `end`; it can be one behind that. NULL: there is none. */
static inline const struct k2i_needle_hit *hit_next(struct k2i_rule_scratch *scratch, size_t end)
{
	if (scratch->hit_first == scratch->hit_count)
		hits_refill(scratch, end);
	return scratch->hit_first < scratch->hit_count ? &scratch->hits[scratch->hit_first] : NULL;
}

/* Where the next record begins that has to be looked at. */
static size_t alike_end(struct k2i_rule_scratch *scratch)
{
	const struct k2i_needle_hit *hit;
	const char *line_end;

	if (scratch->match->walks)
		return scratch->at;
	hit = hit_next(scratch, scratch->block_bytes);
	if (!hit)
		return scratch->block_bytes;
	if (hit->at - scratch->at < NEAR_BYTES)
		return scratch->at;
	line_end = memrchr(scratch->block + scratch->at, '\n', hit->at - scratch->at);
	return line_end ? (size_t)(line_end - scratch->block) + 1 : scratch->at;
}

static void record_find(const struct k2i_rule_scratch *scratch, struct span *record)
{
	const char *begin = scratch->block + scratch->at;
	const char *end = memchr(begin, '\n', scratch->block_bytes - scratch->at);

	record->bytes = end ? (size_t)(end - begin) + 1 : scratch->block_bytes - scratch->at;
	record->line_bytes = record->bytes - (end != NULL);
	if (end && record->line_bytes && begin[record->line_bytes - 1] == '\r')
		record->line_bytes--;
}

/* Those that may match the record: they have a needle in it, or none at all. */
static void matchers_ask(struct k2i_rule_scratch *scratch, const struct span *record)
{
	const struct k2i_rule_match *match = scratch->match;
	const size_t end = record->at + record->bytes, line_end = record->at + record->line_bytes;
	const struct k2i_needle_hit *hit;

	memcpy(scratch->asked, match->always, match->words * sizeof(*scratch->asked));
	while ((hit = hit_next(scratch, end)) != NULL && hit->at < end) {
		const uint32_t owner = match->owners[hit->needle];

		if (hit->at + hit->bytes <= line_end)
			scratch->asked[owner / K2I_MATCHER_BITS] |= UINT64_C(1) << owner % K2I_MATCHER_BITS;
		scratch->hit_first++;
	}
}

/* 1, 0 or -ENOMEM; of an expression that replaces the groups are in the scratch. */
static int pattern_matches(const struct k2i_matcher *matcher, struct k2i_rule_scratch *scratch,
			   const struct span *record)
{
	int result;

	if (matcher->matches_all || matcher->needles_suffice)
		return 1;
	result = k2i_regex_match(matcher->regex, scratch->regex, scratch->block + record->at, record->line_bytes,
				 matcher->replaces ? scratch->groups : NULL);
	if (result != -ELOOP)
		return result;
	too_long_report(matcher, scratch, record->line_bytes);
	return 0;
}

static int matcher_find(struct k2i_rule_scratch *scratch, struct span *record)
{
	matchers_ask(scratch, record);
	for (size_t word = 0; word < scratch->match->words; word++) {
		for (uint64_t asked = scratch->asked[word]; asked; asked &= asked - 1) {
			const size_t index = word * K2I_MATCHER_BITS + (size_t)__builtin_ctzll(asked);
			const struct k2i_matcher *matcher = &scratch->match->matchers[index];
			int result = pattern_matches(matcher, scratch, record);

			if (result)
				record->matcher = matcher;
			if (result)
				return result < 0 ? result : 0;
		}
	}
	return 0;
}

/* Once for each record, although the one that ends a row is met twice. */
static int span_judge(struct k2i_rule_scratch *scratch)
{
	const size_t alike = alike_end(scratch) - scratch->at;
	struct span *span = &scratch->span;
	int error = 0;

	*span = (struct span){.at = scratch->at, .bytes = alike, .many = alike != 0};
	if (alike) {
		span->matcher = scratch->match->rest;
	} else {
		record_find(scratch, span);
		error = matcher_find(scratch, span);
	}
	scratch->judged = !error;
	return error;
}

static uint64_t span_records(const struct k2i_rule_scratch *scratch, const struct span *span)
{
	const char *begin = scratch->block + span->at;

	if (!span->many)
		return 1;
	return k2i_line_ends_count((const uint8_t *)begin, span->bytes) + (begin[span->bytes - 1] != '\n');
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
		const struct k2i_regex_group *group = piece->group < 0 ? NULL : &scratch->groups[piece->group];
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
	const struct span *record = &scratch->span;
	const char *text = scratch->block + record->at;
	int error = replace(&record->matcher->replacement, scratch, text);

	if (!error)
		error = scratch_append(scratch, text + record->line_bytes, record->bytes - record->line_bytes);
	if (error)
		return error;
	*output = (struct k2i_rule_output){scratch->data, scratch->bytes, true, scratch->at};
	return scratch->bytes != 0;
}

int k2i_rule_next(struct k2i_rule_scratch *scratch, struct k2i_rule_output *output)
{
	const bool allow = !scratch->match->rule->default_allow;
	const struct span *span = &scratch->span;

	*output = (struct k2i_rule_output){.bytes = 0};
	while (scratch->at < scratch->block_bytes) {
		int status = scratch->judged ? 0 : span_judge(scratch);
		bool replaces, joins;

		if (status)
			return status;
		replaces = allow && span->matcher && span->matcher->replaces;
		joins = !replaces && allow == (span->matcher != NULL);
		if (!joins && output->bytes)
			break;
		scratch->at += span->bytes;
		scratch->judged = false;
		if (joins && output->bytes == 0)
			output->data = scratch->block + span->at;
		if (joins)
			output->bytes += span->bytes;
		output->end = scratch->at;
		scratch->counts.slow += span->slow;
		status = replaces ? record_replace(scratch, output) : 0;
		scratch->counts.replaced += status == 1;
		if (!joins && status == 0)
			scratch->counts.filtered += span_records(scratch, span);
		if (status)
			return status;
	}
	return output->bytes != 0;
}
