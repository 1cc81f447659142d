/* SPDX-License-Identifier: MIT */
#ifndef K2I_BASE_HASH_H
#define K2I_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

/* XXH3-64 (https://github.com/Cyan4973/xxHash, doc/xxhash_spec.md), seed 0; of one piece, or of two as if joined. */
uint64_t k2i_hash(const void *bytes, size_t byte_count);
uint64_t k2i_hash_pair(const void *first, size_t first_bytes, const void *second, size_t second_bytes);

/*
 * For a table of what others choose, with a seed that they do not know. A secret in front of the bytes would not do: with a
 * known seed 8 bytes can be chosen that make the 8 behind them count for nothing.
 */
uint64_t k2i_hash_seeded(const void *bytes, size_t byte_count, uint64_t seed);

#endif
