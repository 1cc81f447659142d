/* SPDX-License-Identifier: MIT */
/* Compiled with -mavx2 on x86-64 (Makefile), and for other processors empty. */
#include "base/hash_avx2.h"

#ifdef __AVX2__

#include "base/hash_xxh3.h"

uint64_t k2i_hash_avx2(const void *bytes, size_t byte_count)
{
	return hash_one(bytes, byte_count);
}

uint64_t k2i_hash_pair_avx2(const void *first, size_t first_bytes, const void *second, size_t second_bytes)
{
	return hash_two(first, first_bytes, second, second_bytes);
}

#endif
