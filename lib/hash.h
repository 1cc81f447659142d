/* SPDX-License-Identifier: MIT */
#ifndef K2I_HASH_H
#define K2I_HASH_H

#include <stddef.h>
#include <stdint.h>

/* XXH3-64 (https://github.com/Cyan4973/xxHash, doc/xxhash_spec.md), seed 0; of one piece, or of two as if joined. */
uint64_t k2i_hash(const void *bytes, size_t byte_count);
uint64_t k2i_hash_pair(const void *first, size_t first_bytes, const void *second, size_t second_bytes);

#endif
