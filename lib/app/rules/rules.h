/* SPDX-License-Identifier: MIT */
#ifndef K2I_APP_RULES_RULES_H
#define K2I_APP_RULES_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/settings.h"

/* The rules of a mount, compiled: which file is under which rule, and what a rule does to a record. */
struct k2i_rules;
struct k2i_rule_match; /* one rule, compiled */

/*
 * Compiles all; -EINVAL: a regular expression, a replacement or a target is wrong; -ENOMEM; both with "FILE:LINE: ..."
 * in message. The settings must live as long as the rules; k2i_settings_load lets no two have one target.
 */
int k2i_rules_compile(const struct k2i_settings *settings, struct k2i_rules **rules, char *message,
		      size_t message_room);
/* Compiles a pattern by itself: -EINVAL with the reason in message, -ENOMEM. */
int k2i_pattern_check(const struct k2i_pattern *pattern, char *message, size_t message_room);
void k2i_rules_free(struct k2i_rules *rules);

/*
 * The rule for a file, by its path below the mount without leading slash: an exact file rule, else the longest
 * directory rule above it, however deep; NULL: none, the file can't be created.
 */
const struct k2i_rule_match *k2i_rules_find(const struct k2i_rules *rules, const char *path);

const struct k2i_rule *k2i_rule_settings(const struct k2i_rule_match *match);
/* Every record passes unchanged: no per-record work is needed. */
bool k2i_rule_passes_all(const struct k2i_rule_match *match);
/* Some records pass as others than they were. */
bool k2i_rule_replaces(const struct k2i_rule_match *match);

/*
 * Records through a rule: k2i_rule_begin, then k2i_rule_next until it returns no more than 0. Thread-safe with a
 * scratch for each thread. A regular expression that takes too long on a record does not match it, which is logged.
 */
struct k2i_rule_scratch;
int k2i_rule_scratch_create(const struct k2i_rule_match *match, struct k2i_rule_scratch **scratch);
void k2i_rule_scratch_free(struct k2i_rule_scratch *scratch);

struct k2i_rule_counts {
	uint64_t filtered, replaced; /* records */
	uint64_t slow;               /* times that an expression took too long */
};
/* Since k2i_rule_begin, up to the end of what passed last. */
struct k2i_rule_counts k2i_rule_counts(const struct k2i_rule_scratch *scratch);

struct k2i_rule_output { /* records that pass */
	const char *data;
	size_t bytes;
	bool replaced; /* one record, in memory of the scratch, until the next call; else as many as there are in a row */
	size_t end;    /* in the data: how far it is judged with them */
};

/*
 * Records one after the other, each with its line end (LF or CR LF, which patterns do not see); the last can lack one. A
 * replacement keeps it. The data must stay until the last call of next, but for what is before the end of what passed.
 */
void k2i_rule_begin(struct k2i_rule_scratch *scratch, const char *data, size_t bytes);
/* 1: these pass next, what is before them was dropped; 0: no more do; -ENOMEM. */
int k2i_rule_next(struct k2i_rule_scratch *scratch, struct k2i_rule_output *output);

#endif
