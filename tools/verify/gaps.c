/* SPDX-License-Identifier: MIT */
#include "tools/verify/gaps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void verify_gaps_init(struct verify_gaps *gaps, uint64_t first)
{
	*gaps = (struct verify_gaps){.first = first, .next = first};
}

void verify_gaps_free(struct verify_gaps *gaps)
{
	free(gaps->ranges);
}

static int range_insert(struct verify_gaps *gaps, size_t at, uint64_t from, uint64_t to)
{
	if (gaps->count == gaps->room) {
		size_t room = gaps->room ? gaps->room * 2 : 16;
		struct verify_range *ranges = reallocarray(gaps->ranges, room, sizeof(*ranges));

		if (!ranges)
			return -ENOMEM;
		gaps->ranges = ranges;
		gaps->room = room;
	}
	memmove(gaps->ranges + at + 1, gaps->ranges + at, (gaps->count - at) * sizeof(*gaps->ranges));
	gaps->ranges[at] = (struct verify_range){.from = from, .to = to};
	gaps->count++;
	return 0;
}

/* The first range that ends at or behind `counter`. */
static size_t range_find(const struct verify_gaps *gaps, uint64_t counter)
{
	size_t low = 0, high = gaps->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (gaps->ranges[middle].to < counter)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Takes `counter` out of the range at `at`, which holds it. */
static int take_late(struct verify_gaps *gaps, size_t at, uint64_t counter)
{
	struct verify_range *range = gaps->ranges + at;
	uint64_t to = range->to;
	int status;

	if (range->from == counter && to == counter) {
		gaps->count--;
		memmove(range, range + 1, (gaps->count - at) * sizeof(*range));
	} else if (range->from == counter) {
		range->from++;
	} else if (to == counter) {
		range->to--;
	} else {
		status = range_insert(gaps, at + 1, counter + 1, to);
		if (status)
			return status;
		gaps->ranges[at].to = counter - 1;
	}
	return VERIFY_LATE;
}

int verify_gaps_take(struct verify_gaps *gaps, uint64_t counter)
{
	size_t at;
	int status;

	if (counter < gaps->first)
		return VERIFY_BEFORE;
	if (counter >= gaps->next) {
		status = counter > gaps->next ? range_insert(gaps, gaps->count, gaps->next, counter - 1) : 0;
		if (status == 0)
			gaps->next = counter + 1;
		return status;
	}
	at = range_find(gaps, counter);
	if (at == gaps->count || gaps->ranges[at].from > counter)
		return VERIFY_REPEATED;
	return take_late(gaps, at, counter);
}

int verify_gaps_end(struct verify_gaps *gaps, uint64_t last)
{
	return last < gaps->next ? 0 : range_insert(gaps, gaps->count, gaps->next, last);
}

uint64_t verify_gaps_missing(const struct verify_gaps *gaps)
{
	uint64_t missing = 0;

	for (size_t at = 0; at < gaps->count; at++)
		missing += gaps->ranges[at].to - gaps->ranges[at].from + 1;
	return missing;
}
