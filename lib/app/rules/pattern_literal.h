/* SPDX-License-Identifier: MIT */
#ifndef K2I_APP_RULES_PATTERN_LITERAL_H
#define K2I_APP_RULES_PATTERN_LITERAL_H

#include <stdbool.h>
#include <stddef.h>

#define K2I_LITERALS_MAX 8u
#define K2I_LITERAL_BYTES_MAX 64u

/* Texts, at least one of which is in every line that a regular expression matches. */
struct k2i_literals {
	size_t count; /* 0: nothing is known */
	struct k2i_literal {
		char text[K2I_LITERAL_BYTES_MAX];
		size_t bytes;
	} texts[K2I_LITERALS_MAX];
};

/*
 * For an expression that PCRE2 has compiled, without options that change how it is read. True: it is nothing but these
 * texts, so that a line with one of them matches.
 */
bool k2i_literals_find(const char *regex, size_t bytes, struct k2i_literals *literals);

/* For such an expression, too: whether it is one of those by which "every line" is written, as ^ and .* are. */
bool k2i_regex_takes_all(const char *regex, size_t bytes);

#endif
