/* SPDX-License-Identifier: MIT */
#ifndef K2I_BASE_HASH_XXH3_H
#define K2I_BASE_HASH_XXH3_H

#include <stddef.h>
#include <stdint.h>

/*
 * Inlined: the compiler then uses the vector instructions of the target, and the state lives on the stack. gcc -Og does
 * not inline all that the header insists on, which is an error: the Makefile then defines XXH_NO_INLINE_HINTS.
 */
#define XXH_INLINE_ALL
#include <xxhash.h>

static inline uint64_t hash_one(const void *bytes, size_t byte_count)
{
	return XXH3_64bits(bytes, byte_count);
}

static inline uint64_t hash_two(const void *first, size_t first_bytes, const void *second, size_t second_bytes)
{
	XXH3_state_t state;

	(void)XXH3_64bits_reset(&state);
	(void)XXH3_64bits_update(&state, first, first_bytes);
	if (second_bytes)
		(void)XXH3_64bits_update(&state, second, second_bytes);
	return XXH3_64bits_digest(&state);
}

#endif
