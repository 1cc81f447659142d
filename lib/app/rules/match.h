/* SPDX-License-Identifier: MIT */
#ifndef K2I_APP_RULES_MATCH_H
#define K2I_APP_RULES_MATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "app/rules/needles.h"
#include "app/rules/pattern.h"

#define K2I_MATCHER_BITS 64u /* in a word of a set of matchers */

/* Declarations that the files of the rules share. */
struct k2i_rule_match {
	const struct k2i_rule *rule;
	size_t target_bytes;
	struct k2i_matcher *matchers; /* of ALLOW with DEFAULTALL=DENY, of DENY with DEFAULTALL=ALLOW */
	size_t matcher_count;
	struct k2i_needles *needles; /* of all matchers */
	size_t needle_count;
	uint32_t *owners;               /* each needle's matcher */
	uint64_t *always;               /* a bit for each matcher that any line can match, whatever needles it has */
	size_t words;                   /* of such a set */
	const struct k2i_matcher *rest; /* what matches a line without needles; NULL: nothing does */
	bool walks;                     /* that is not known before the line was looked at */
	bool passes_all;
	bool replaces;
};

#endif
