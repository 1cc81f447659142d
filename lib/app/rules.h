/* SPDX-License-Identifier: MIT */
#ifndef K2I_RULES_H
#define K2I_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "settings.h"

/* The rules of a mount, compiled: which file is under which rule, and what a rule does to a record. */
struct k2i_rules;
struct k2i_rule_match; /* one rule, compiled */

/*
 * Compiles all; -EINVAL with "FILE:LINE: ..." in message: a regular expression, a replacement or a target is wrong;
 * -ENOMEM. Of rules with one target the last holds. The settings must live as long as the rules.
 */
int k2i_rules_compile(const struct k2i_settings *settings, struct k2i_rules **rules, char *message,
		      size_t message_room);
void k2i_rules_free(struct k2i_rules *rules);

/*
 * The rule for a file, by its path below the mount without leading slash: an exact file rule, else the longest
 * directory rule above it, however deep; NULL: none, the file can't be created.
 */
const struct k2i_rule_match *k2i_rules_find(const struct k2i_rules *rules, const char *path);

/* Whether `path` is a directory that rules imply: a RULE_DIR target, or above any target. */
bool k2i_rules_implies_directory(const struct k2i_rules *rules, const char *path);
/* Calls `each` for every target, sorted, with its path; `directory`: of a RULE_DIR. */
void k2i_rules_targets(const struct k2i_rules *rules, void (*each)(void *argument, const char *path, bool directory),
		       void *argument);

const struct k2i_rule *k2i_rule_settings(const struct k2i_rule_match *match);
/* Every record passes unchanged: no per-record work is needed. */
bool k2i_rule_passes_all(const struct k2i_rule_match *match);

/*
 * One record, its line end (LF or CR LF, which patterns do not see) included. 1: passes, as `*output` of
 * `*output_bytes` (the record itself, or memory of `scratch`, valid until the next call with it); 0: dropped; -ENOMEM.
 * A replacement keeps the record's line end. A regular expression that takes too long on a record does not match it,
 * which is logged. Thread-safe with a scratch for each thread.
 */
struct k2i_rule_scratch;
int k2i_rule_scratch_create(struct k2i_rule_scratch **scratch);
void k2i_rule_scratch_free(struct k2i_rule_scratch *scratch);
/* How often that took too long since this was called last. */
uint64_t k2i_rule_scratch_slow(struct k2i_rule_scratch *scratch);
int k2i_rule_apply(const struct k2i_rule_match *match, struct k2i_rule_scratch *scratch, const char *record,
		   size_t record_bytes, const char **output, size_t *output_bytes);

#endif
