/* SPDX-License-Identifier: MIT */
#include "hash.h"

/* Inlined: the compiler then uses the vector instructions of the target, and the state lives on the stack. */
#define XXH_INLINE_ALL
#include <xxhash.h>

uint64_t k2i_hash(const void *bytes, size_t byte_count)
{
	return XXH3_64bits(bytes, byte_count);
}

uint64_t k2i_hash_pair(const void *first, size_t first_bytes, const void *second, size_t second_bytes)
{
	XXH3_state_t state;

	(void)XXH3_64bits_reset(&state);
	(void)XXH3_64bits_update(&state, first, first_bytes);
	if (second_bytes)
		(void)XXH3_64bits_update(&state, second, second_bytes);
	return XXH3_64bits_digest(&state);
}
