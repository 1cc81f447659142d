/* SPDX-License-Identifier: MIT */
#include "app/rules/rules.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <k2hft/frame.h>

#include "app/rules/match.h"

struct k2i_rules {
	struct k2i_rule_match *matches; /* sorted by target, each target once */
	size_t count;
};

static int target_compare(const char *a, size_t a_bytes, const char *b, size_t b_bytes)
{
	int order = memcmp(a, b, a_bytes < b_bytes ? a_bytes : b_bytes);

	return order ? order : (a_bytes > b_bytes) - (a_bytes < b_bytes);
}

static const char *target_of(const struct k2i_rule_match *match)
{
	return match->rule->target ? match->rule->target : "";
}

static int match_compare(const void *a, const void *b)
{
	const struct k2i_rule_match *left = a, *right = b;

	return target_compare(target_of(left), left->target_bytes, target_of(right), right->target_bytes);
}

static int rule_refuse(const struct k2i_rule *rule, const char *text, char *message, size_t message_room)
{
	(void)snprintf(message, message_room, "%s:%u: TARGET = %s: %s", rule->place.file, rule->place.line,
		       rule->target ? rule->target : "", text);
	return -EINVAL;
}

/* No line has a LF in it. */
static bool needle_usable(const struct k2i_needle *needle)
{
	return !memchr(needle->text, '\n', needle->bytes);
}

static int needles_alloc(struct k2i_rule_match *match, struct k2i_needle **texts)
{
	size_t count = 0;

	for (size_t i = 0; i < match->matcher_count; i++)
		count += match->matchers[i].needle_count;
	match->words = match->matcher_count / K2I_MATCHER_BITS + 1;
	match->always = calloc(match->words, sizeof(*match->always));
	match->owners = calloc(count + 1, sizeof(*match->owners));
	*texts = calloc(count + 1, sizeof(**texts));
	return match->always && match->owners && *texts ? 0 : -ENOMEM;
}

/* The result of one search for the needles of all, for a line. Behind a matcher that matches all none is asked. */
static int needles_gather(struct k2i_rule_match *match)
{
	struct k2i_needle *texts;
	int error = needles_alloc(match, &texts);

	for (size_t i = 0; i < match->matcher_count && !match->rest && !error; i++) {
		const struct k2i_matcher *matcher = &match->matchers[i];

		if (matcher->matches_all)
			match->rest = matcher;
		else
			match->walks |= matcher->needle_count == 0;
		if (matcher->needle_count == 0)
			match->always[i / K2I_MATCHER_BITS] |= UINT64_C(1) << i % K2I_MATCHER_BITS;
		for (size_t j = 0; j < matcher->needle_count; j++) {
			if (!needle_usable(&matcher->needles[j]))
				continue;
			match->owners[match->needle_count] = (uint32_t)i;
			texts[match->needle_count++] = matcher->needles[j];
		}
	}
	if (!error)
		error = k2i_needles_create(texts, match->needle_count, &match->needles);
	free(texts);
	return error;
}

static int match_compile(const struct k2i_rule *rule, struct k2i_rule_match *match, char *message, size_t message_room)
{
	const struct k2i_pattern *patterns = rule->default_allow ? rule->deny : rule->allow;
	const size_t count = rule->default_allow ? rule->deny_count : rule->allow_count;
	char reason[512] = "";

	match->rule = rule;
	match->target_bytes = strlen(target_of(match));
	if ((match->target_bytes || !rule->directory) &&
	    k2hft_stream_path_check(target_of(match), match->target_bytes) != 0)
		return rule_refuse(rule, "no path below the mount", message, message_room);
	match->matchers = calloc(count + 1, sizeof(*match->matchers));
	if (!match->matchers)
		return -ENOMEM;
	while (match->matcher_count < count) {
		const struct k2i_pattern *pattern = &patterns[match->matcher_count];
		struct k2i_matcher *matcher = &match->matchers[match->matcher_count++];
		int error = k2i_matcher_compile(pattern, matcher, reason, sizeof(reason));

		if (error) {
			(void)snprintf(message, message_room, "%s:%u: %s: %s", pattern->place.file, pattern->place.line,
				       rule->default_allow ? "DENY" : "ALLOW", reason);
			return error;
		}
		match->replaces |= !rule->default_allow && matcher->replaces;
	}
	match->passes_all = rule->default_allow ? count == 0 : count && match->matchers->matches_all;
	return needles_gather(match);
}

static void match_clear(struct k2i_rule_match *match)
{
	for (size_t i = 0; i < match->matcher_count; i++)
		k2i_matcher_clear(&match->matchers[i]);
	free(match->matchers);
	k2i_needles_free(match->needles);
	free(match->owners);
	free(match->always);
}

int k2i_rules_compile(const struct k2i_settings *settings, struct k2i_rules **rules, char *message, size_t message_room)
{
	struct k2i_rules *made = calloc(1, sizeof(*made));

	if (made)
		made->matches = calloc(settings->rule_count + 1, sizeof(*made->matches));
	if (!made || !made->matches) {
		free(made);
		(void)snprintf(message, message_room, "%s: no memory", settings->file);
		return -ENOMEM;
	}
	for (size_t i = 0; i < settings->rule_count; i++) {
		const struct k2i_rule *rule = &settings->rules[i];
		int error = match_compile(rule, &made->matches[made->count++], message, message_room);

		if (error == -ENOMEM)
			(void)snprintf(message, message_room, "%s:%u: no memory", rule->place.file, rule->place.line);
		if (error) {
			k2i_rules_free(made);
			return error;
		}
	}
	qsort(made->matches, made->count, sizeof(*made->matches), match_compare);
	*rules = made;
	return 0;
}

void k2i_rules_free(struct k2i_rules *rules)
{
	if (!rules)
		return;
	for (size_t i = 0; i < rules->count; i++)
		match_clear(&rules->matches[i]);
	free(rules->matches);
	free(rules);
}

static const struct k2i_rule_match *match_find(const struct k2i_rules *rules, const char *target, size_t bytes)
{
	size_t begin = 0, end = rules->count;

	while (begin < end) {
		size_t middle = begin + (end - begin) / 2;
		const struct k2i_rule_match *match = &rules->matches[middle];
		int order = target_compare(target, bytes, target_of(match), match->target_bytes);

		if (order == 0)
			return match;
		if (order < 0)
			end = middle;
		else
			begin = middle + 1;
	}
	return NULL;
}

const struct k2i_rule_match *k2i_rules_find(const struct k2i_rules *rules, const char *path)
{
	size_t bytes = strlen(path);
	const struct k2i_rule_match *match = match_find(rules, path, bytes);

	if (match && !match->rule->directory)
		return match;
	while (bytes) {
		const char *slash = memrchr(path, '/', bytes);

		bytes = slash ? (size_t)(slash - path) : 0;
		match = match_find(rules, path, bytes);
		if (match && match->rule->directory)
			return match;
	}
	return NULL;
}

const struct k2i_rule *k2i_rule_settings(const struct k2i_rule_match *match)
{
	return match->rule;
}

bool k2i_rule_passes_all(const struct k2i_rule_match *match)
{
	return match->passes_all;
}

bool k2i_rule_replaces(const struct k2i_rule_match *match)
{
	return match->replaces;
}
