/* SPDX-License-Identifier: MIT */
#ifndef K2I_RULES_MATCH_H
#define K2I_RULES_MATCH_H

#include <stdbool.h>
#include <stddef.h>

#include "pattern.h"

/* What the files of the rules share. */
struct k2i_rule_match {
	const struct k2i_rule *rule;
	size_t target_bytes;
	struct k2i_matcher *matchers; /* of ALLOW with DEFAULTALL=DENY, of DENY with DEFAULTALL=ALLOW */
	size_t matcher_count;
	size_t needle_count; /* of all matchers */
	bool passes_all;
};

#endif
