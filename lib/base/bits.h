/* SPDX-License-Identifier: MIT */
#ifndef K2I_BASE_BITS_H
#define K2I_BASE_BITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline uint64_t k2i_least(uint64_t one, uint64_t other)
{
	return one < other ? one : other;
}

static inline size_t k2i_least_bytes(size_t one, size_t other)
{
	return one < other ? one : other;
}

/* Powers of two and their multiples. */

static inline bool k2i_power_of_two(uint64_t value)
{
	return value != 0 && (value & (value - 1)) == 0;
}

/* The multiple of `alignment` (a power of two) at or above `value`, which must leave room for it. */
static inline uint64_t k2i_align_up(uint64_t value, uint64_t alignment)
{
	return (value + alignment - 1) & ~(alignment - 1);
}

static inline uint64_t k2i_align_down(uint64_t value, uint64_t alignment)
{
	return value & ~(alignment - 1);
}

/* The power of two at or above `value`, which is at most 2^63. */
static inline uint64_t k2i_power_of_two_up(uint64_t value)
{
	uint64_t power = 1;

	while (power < value)
		power <<= 1;
	return power;
}

#endif
