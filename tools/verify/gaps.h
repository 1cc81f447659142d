/* SPDX-License-Identifier: MIT */
#ifndef K2I_TOOLS_VERIFY_GAPS_H
#define K2I_TOOLS_VERIFY_GAPS_H

#include <stddef.h>
#include <stdint.h>

/* Which counters of one producer have come. Its memory grows with the gaps among them, not with the records. */
struct verify_range {
	uint64_t from, to; /* both included */
};

struct verify_gaps {
	uint64_t first, next;        /* lowest that is valid; behind the highest that came */
	struct verify_range *ranges; /* that have not come, ascending, all below next */
	size_t count, room;
};

enum verify_arrival {
	VERIFY_IN_ORDER = 0,
	VERIFY_LATE = 1,     /* a higher one was there before */
	VERIFY_REPEATED = 2, /* it was there before */
	VERIFY_BEFORE = 3,   /* below the first */
};

void verify_gaps_init(struct verify_gaps *gaps, uint64_t first);
void verify_gaps_free(struct verify_gaps *gaps);
/* enum verify_arrival, or -ENOMEM. */
int verify_gaps_take(struct verify_gaps *gaps, uint64_t counter);
/* No more come, and `last` should have: what is behind the highest becomes a range. 0 or -ENOMEM. */
int verify_gaps_end(struct verify_gaps *gaps, uint64_t last);
uint64_t verify_gaps_missing(const struct verify_gaps *gaps);

#endif
