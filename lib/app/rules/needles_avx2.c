/* SPDX-License-Identifier: MIT */
/* Compiled with -mavx2 on x86-64 (Makefile), and for other processors empty. */
#include "app/rules/needles_block.h"

#ifdef __AVX2__

#include <immintrin.h>

/* Where the bytes that are looked up in one place of a sign are all halves at once: 32 look-ups in 16 bytes. */
struct halves {
	__m256i low, high;
};

static __m256i load(const char *data)
{
	return _mm256_loadu_si256((const __m256i *)(const void *)data);
}

static __m256i table(const uint8_t entries[16])
{
	return _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)entries));
}

static struct halves halves_of(__m256i bytes)
{
	const __m256i nibble = _mm256_set1_epi8(0x0f);

	return (struct halves){_mm256_and_si256(bytes, nibble), _mm256_and_si256(_mm256_srli_epi16(bytes, 4), nibble)};
}

static __m256i both(const uint8_t low[16], const uint8_t high[16], struct halves bytes)
{
	return _mm256_and_si256(_mm256_shuffle_epi8(table(low), bytes.low),
				_mm256_shuffle_epi8(table(high), bytes.high));
}

/* Those of eight buckets that have all three bytes, for each place. */
static __m256i buckets_of(const struct k2i_sign_tables *tables, unsigned eight, struct halves first,
			  struct halves second, struct halves third)
{
	__m256i buckets = both(tables->low[0][eight], tables->high[0][eight], first);

	buckets = _mm256_and_si256(buckets, both(tables->low[1][eight], tables->high[1][eight], second));
	return _mm256_and_si256(buckets, both(tables->low[2][eight], tables->high[2][eight], third));
}

/* A bit for each place of the block. */
static inline uint32_t places_of(const struct k2i_sign_tables *tables, const char *block, unsigned eights)
{
	const struct halves first = halves_of(load(block)), second = halves_of(load(block + 1)),
			    third = halves_of(load(block + 2));
	__m256i buckets = buckets_of(tables, 0, first, second, third);

	if (eights > 1)
		buckets = _mm256_or_si256(buckets, buckets_of(tables, 1, first, second, third));
	return ~(uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(buckets, _mm256_setzero_si256()));
}

static inline size_t signs_find(const struct k2i_sign_tables *tables, const char *data, size_t bytes, size_t *from,
				size_t *places, size_t room, unsigned eights)
{
	size_t count = 0, at = *from;

	for (; room - count >= K2I_SIGN_BLOCK && bytes - at >= K2I_SIGN_BLOCK + K2I_SIGN_BYTES - 1;
	     at += K2I_SIGN_BLOCK) {
		for (uint32_t found = places_of(tables, data + at, eights); found; found &= found - 1)
			places[count++] = at + (size_t)__builtin_ctz(found);
	}
	*from = at;
	return count;
}

/* Each with a number that the compiler knows: with one the tables stay in registers. */
size_t k2i_signs_find_avx2(const struct k2i_sign_tables *tables, const char *data, size_t bytes, size_t *from,
			   size_t *places, size_t room)
{
	if (tables->eights > 1)
		return signs_find(tables, data, bytes, from, places, room, 2);
	return signs_find(tables, data, bytes, from, places, room, 1);
}

#endif
