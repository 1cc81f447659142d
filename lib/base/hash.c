/* SPDX-License-Identifier: MIT */
#include "base/hash.h"

#include <stdbool.h>

#include "base/hash_avx2.h"
#include "base/hash_xxh3.h"

/* Distributions compile for the oldest x86-64, whose vectors are half as wide. */
#ifdef __x86_64__
#define AVX2_USABLE __builtin_cpu_supports("avx2")
#else
#define AVX2_USABLE false
#define k2i_hash_avx2 hash_one
#define k2i_hash_pair_avx2 hash_two
#endif

uint64_t k2i_hash(const void *bytes, size_t byte_count)
{
	if (AVX2_USABLE)
		return k2i_hash_avx2(bytes, byte_count);
	return hash_one(bytes, byte_count);
}

uint64_t k2i_hash_pair(const void *first, size_t first_bytes, const void *second, size_t second_bytes)
{
	if (AVX2_USABLE)
		return k2i_hash_pair_avx2(first, first_bytes, second, second_bytes);
	return hash_two(first, first_bytes, second, second_bytes);
}

uint64_t k2i_hash_seeded(const void *bytes, size_t byte_count, uint64_t seed)
{
	return XXH3_64bits_withSeed(bytes, byte_count, seed);
}
