/* SPDX-License-Identifier: MIT */
#ifndef K2I_TESTS_UNIT_RANDOM_HELP_H
#define K2I_TESTS_UNIT_RANDOM_HELP_H

#include <stdint.h>

/* The same numbers for the same seed, whatever that is: splitmix64. */
static inline uint64_t random_next(uint64_t *seed)
{
	uint64_t number = *seed += UINT64_C(0x9e3779b97f4a7c15);

	number = (number ^ number >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	number = (number ^ number >> 27) * UINT64_C(0x94d049bb133111eb);
	return number ^ number >> 31;
}

#endif
