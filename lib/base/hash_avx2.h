/* SPDX-License-Identifier: MIT */
#ifndef K2I_BASE_HASH_AVX2_H
#define K2I_BASE_HASH_AVX2_H

#include <stddef.h>
#include <stdint.h>

/* As k2i_hash and k2i_hash_pair, for processors with AVX2 only. */
uint64_t k2i_hash_avx2(const void *bytes, size_t byte_count);
uint64_t k2i_hash_pair_avx2(const void *first, size_t first_bytes, const void *second, size_t second_bytes);

#endif
