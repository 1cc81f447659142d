/* SPDX-License-Identifier: MIT */
#include "base/line_ends.h"

/* Bytes that are counted with one byte as the sum: a fixed length lets the compiler use vector instructions. */
#define COUNT_BLOCK_BYTES 128u
#define COUNT_REST_BYTES 16u

/* In a text of a fixed length. gcc 12 at -O3 takes the sum of 16 comparisons for one of masks, and has it negative. */
static inline uint8_t block_ends_count(const uint8_t *text, size_t bytes)
{
	uint8_t ends = 0;

	for (size_t at = 0; at < bytes; at++)
		if (text[at] == '\n')
			ends++;
	return ends;
}

uint64_t k2i_line_ends_count(const uint8_t *text, size_t bytes)
{
	uint64_t count = 0;
	size_t at = 0;

	for (; bytes - at >= COUNT_BLOCK_BYTES; at += COUNT_BLOCK_BYTES)
		count += block_ends_count(text + at, COUNT_BLOCK_BYTES);
	/* In a few lines most would be left otherwise. */
	for (; bytes - at >= COUNT_REST_BYTES; at += COUNT_REST_BYTES)
		count += block_ends_count(text + at, COUNT_REST_BYTES);
	for (; at < bytes; at++)
		count += text[at] == '\n';
	return count;
}
