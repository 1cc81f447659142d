/* SPDX-License-Identifier: MIT */
#ifndef K2I_APP_RULES_NEEDLES_BLOCK_H
#define K2I_APP_RULES_NEEDLES_BLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "app/rules/needles.h"

/* The two steps of the search for needles: the places where one may be, and a closer look at those. */

/* A needle is noticed by so many of its bytes in a row; a shorter one by all of them, whatever is behind it. */
#define K2I_SIGN_BYTES 3u
#define K2I_SIGN_BUCKETS 16u
/* Places that are looked at together. */
#define K2I_SIGN_BLOCK 32u

/* Which buckets have a needle whose sign has such a byte, or such a half of a byte, at each of its places. */
struct k2i_sign_tables {
	uint16_t bytes[K2I_SIGN_BYTES][256];
	uint8_t low[K2I_SIGN_BYTES][K2I_SIGN_BUCKETS / 8][16]; /* eight buckets in each */
	uint8_t high[K2I_SIGN_BYTES][K2I_SIGN_BUCKETS / 8][16];
	unsigned eights; /* of buckets that are in use */
};

/*
 * The places from *from on where signs may be: up to `room` of them, at least K2I_SIGN_BLOCK, with *from behind the last
 * block that was looked at. A noticed place need not be a needle's, and it can reach beyond the end.
 */
size_t k2i_signs_find(const struct k2i_sign_tables *tables, const char *data, size_t bytes, size_t *from,
		      size_t *places, size_t room);
/* The same for processors with AVX2 only; it leaves a block that reaches beyond the end. */
size_t k2i_signs_find_avx2(const struct k2i_sign_tables *tables, const char *data, size_t bytes, size_t *from,
			   size_t *places, size_t room);

/* As k2i_needles_find; `with_avx2`: the processor has it. */
size_t k2i_needles_find_by(const struct k2i_needles *needles, const char *data, size_t bytes, size_t *from,
			   struct k2i_needle_hit *hits, size_t room, bool with_avx2);

#endif
