/* SPDX-License-Identifier: MIT */
#include "needle.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Of such a size the compiler makes a few vector instructions. */
#define BLOCK_BYTES 64u

/* How common a byte is in what is logged, roughly: the commonest first. */
static const char common_bytes[] = " e0tar1oisn2:lc-.d/p3mu4f5h6_987g=bk";

static size_t rarity(char byte)
{
	const char *found = byte ? strchr(common_bytes, byte) : NULL;

	return found ? (size_t)(found - common_bytes) : sizeof(common_bytes);
}

int k2i_needle_set(struct k2i_needle *needle, const char *text, size_t bytes)
{
	*needle = (struct k2i_needle){.text = malloc(bytes), .bytes = bytes};
	if (!needle->text)
		return -ENOMEM;
	memcpy(needle->text, text, bytes);
	for (size_t i = 1; i < bytes; i++) {
		if (rarity(text[i]) > rarity(text[needle->rare]))
			needle->rare = i;
	}
	needle->other = needle->rare ? 0 : bytes - 1;
	for (size_t i = 0; i < bytes; i++) {
		if (i != needle->rare && rarity(text[i]) > rarity(text[needle->other]))
			needle->other = i;
	}
	return 0;
}

void k2i_needle_clear(struct k2i_needle *needle)
{
	free(needle->text);
	memset(needle, 0, sizeof(*needle));
}

/* Whether both bytes are where they belong for any of BLOCK_BYTES places. */
static bool block_may(const char *rare_at, char rare, const char *other_at, char other)
{
	unsigned char may = 0;

	for (size_t i = 0; i < BLOCK_BYTES; i++)
		may |= (unsigned char)((rare_at[i] == rare) & (other_at[i] == other));
	return may != 0;
}

static const char *block_search(const struct k2i_needle *needle, const char *data)
{
	const char rare = needle->text[needle->rare];
	const char *from = data + needle->rare, *end = from + BLOCK_BYTES;

	while ((from = memchr(from, rare, (size_t)(end - from))) != NULL) {
		if (memcmp(from - needle->rare, needle->text, needle->bytes) == 0)
			return from - needle->rare;
		from++;
	}
	return NULL;
}

const char *k2i_needle_find(const struct k2i_needle *needle, const char *data, size_t bytes)
{
	const char rare = needle->text[needle->rare], other = needle->text[needle->other];

	/* From all BLOCK_BYTES places the text would end within the data. */
	for (; bytes >= BLOCK_BYTES + needle->bytes; data += BLOCK_BYTES, bytes -= BLOCK_BYTES) {
		const char *found;

		if (!block_may(data + needle->rare, rare, data + needle->other, other))
			continue;
		found = block_search(needle, data);
		if (found)
			return found;
	}
	return memmem(data, bytes, needle->text, needle->bytes);
}
