/* SPDX-License-Identifier: MIT */
#include "base/spread.h"

#include <stdio.h>
#include <string.h>

#include "base/hash.h"

/* So many lanes are all looked at. */
#define LOOK_MAX 4u

void k2i_spread_home(const char *host, const char *port, char home[K2I_SPREAD_HOME_BYTES])
{
	(void)snprintf(home, K2I_SPREAD_HOME_BYTES, strchr(host, ':') ? "[%s]:%s" : "%s:%s", host, port);
}

/* The name's terminator keeps "a:80" and "0" apart from "a:8" and "00". */
static uint64_t weight(const char *home, const char *path)
{
	return k2i_hash_pair(home, strlen(home) + 1, path, strlen(path));
}

/* Equal names have equal weights: the earlier one is first. */
void k2i_spread_order(const char *const *homes, uint32_t count, const char *path, uint32_t wanted, uint32_t *order)
{
	uint64_t above = UINT64_MAX;

	for (uint32_t place = 0; place < wanted && place < count; place++) {
		uint32_t best = count;
		uint64_t best_weight = 0;

		for (uint32_t index = 0; index < count; index++) {
			uint64_t now = weight(homes[index], path);
			bool taken = place && (now > above || (now == above && index <= order[place - 1]));

			if (taken || (best < count && now <= best_weight))
				continue;
			best = index;
			best_weight = now;
		}
		order[place] = best;
		above = best_weight;
	}
}

static uint64_t random_next(uint64_t *random)
{
	/* xorshift64: spreads chunks, nothing else. */
	*random ^= *random << 13;
	*random ^= *random >> 7;
	*random ^= *random << 17;
	return *random;
}

/* The number of lanes that count: those that are connected, or all. `*all`: none is. */
static uint32_t usable_count(const struct k2i_spread_lanes *lanes, bool *all)
{
	uint32_t count = 0;

	for (uint32_t index = 0; index < lanes->count; index++)
		count += lanes->connected(lanes->argument, index);
	*all = count == 0;
	return count ? count : lanes->count;
}

/* The lane that is number `number` of those that count; a lane can have been lost meanwhile: the last one then. */
static uint32_t usable_find(const struct k2i_spread_lanes *lanes, bool all, uint32_t number)
{
	uint32_t index = 0;

	for (; index + 1 < lanes->count; index++)
		if ((all || lanes->connected(lanes->argument, index)) && number-- == 0)
			break;
	return index;
}

uint32_t k2i_spread_random(const struct k2i_spread_lanes *lanes, uint64_t *random)
{
	bool all;
	uint32_t usable = usable_count(lanes, &all), looks = usable <= LOOK_MAX ? usable : 2;
	uint32_t number = (uint32_t)(random_next(random) % usable), best = 0;
	/* The second look at many goes to any of the others. */
	uint32_t step = usable <= LOOK_MAX ? 1 : 1 + (uint32_t)(random_next(random) % (usable - 1));
	uint64_t best_bytes = UINT64_MAX;

	for (uint32_t look = 0; look < looks; look++, number = (number + step) % usable) {
		uint32_t index = usable_find(lanes, all, number);
		uint64_t bytes = looks > 1 ? lanes->unacked_bytes(lanes->argument, index) : 0;

		if (look && bytes >= best_bytes)
			continue;
		best = index;
		best_bytes = bytes;
	}
	return best;
}
