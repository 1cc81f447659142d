/* SPDX-License-Identifier: MIT */
#ifndef K2I_APP_RULES_PATTERN_H
#define K2I_APP_RULES_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

#include "app/rules/needles.h"
#include "config/settings.h"

/* An ALLOW or DENY, compiled: a text to look for, or a regular expression, perhaps with a replacement. */

#define K2I_GROUPS_MAX 10u /* $0 to $9 */

struct k2i_regex;         /* compiled; read-only when matched, so threads share it */
struct k2i_regex_scratch; /* what a match needs; one for each thread */

/* -EINVAL with the reason in message. A regular expression is of characters where it can be; see pattern.c. */
int k2i_regex_compile(const char *text, size_t bytes, bool any_case, struct k2i_regex **regex, char *message,
		      size_t message_room);
void k2i_regex_free(struct k2i_regex *regex);
/* Number of its groups, the whole match not counted. */
unsigned k2i_regex_groups(const struct k2i_regex *regex);
int k2i_regex_scratch_create(struct k2i_regex_scratch **scratch);
void k2i_regex_scratch_free(struct k2i_regex_scratch *scratch);

struct k2i_regex_group {
	size_t begin, end; /* equal: empty, or took no part */
};

/*
 * 1: it matches, and K2I_GROUPS_MAX groups are filled in, unless that is NULL; 0: not; -ELOOP it takes too long on this
 * subject; -ENOMEM.
 */
int k2i_regex_match(const struct k2i_regex *regex, struct k2i_regex_scratch *scratch, const char *subject, size_t bytes,
		    struct k2i_regex_group *groups);

struct k2i_replacement {
	struct k2i_replacement_piece {
		int group;        /* -1: a literal */
		size_t at, bytes; /* where it is in literals */
	} * pieces;
	size_t count;
	char *literals;
	unsigned group_highest;
};

/* The text between the quotes, `bytes` of it; to be cleared whatever is returned. -EINVAL with the reason; -ENOMEM. */
int k2i_replacement_parse(const char *text, size_t bytes, struct k2i_replacement *replacement, char *message,
			  size_t message_room);
void k2i_replacement_clear(struct k2i_replacement *replacement);

/*
 * A line that a pattern of any kind matches has one of the needles in it. Most lines have none, and to look for texts
 * in all lines at once is cheaper by far than to match each.
 */
struct k2i_matcher {
	struct k2i_needle *needles; /* none: every line has to be looked at */
	size_t needle_count;
	bool needles_suffice;    /* a line with one of them matches */
	bool matches_all;        /* an empty text, or an expression as .* without a replacement */
	struct k2i_regex *regex; /* NULL: a text, which is the needle */
	bool replaces;
	struct k2i_replacement replacement;
	struct k2i_place place; /* the pattern's */
};

/* `matcher` can be cleared whatever is returned. -EINVAL with the reason, without file and line, in message; -ENOMEM. */
int k2i_matcher_compile(const struct k2i_pattern *pattern, struct k2i_matcher *matcher, char *message,
			size_t message_room);
void k2i_matcher_clear(struct k2i_matcher *matcher);
#endif
