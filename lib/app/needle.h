/* SPDX-License-Identifier: MIT */
#ifndef K2I_NEEDLE_H
#define K2I_NEEDLE_H

#include <stddef.h>

/* A text that is looked for in much data: the first look is at two of its bytes, the rarer the better. */
struct k2i_needle {
	char *text; /* its own; NULL: none */
	size_t bytes;
	size_t rare, other; /* where those two are; equal for a text of one byte */
};

/* `bytes` of text, not 0. -ENOMEM. */
int k2i_needle_set(struct k2i_needle *needle, const char *text, size_t bytes);
void k2i_needle_clear(struct k2i_needle *needle);

/* Where it is first in `data`; NULL: nowhere. */
const char *k2i_needle_find(const struct k2i_needle *needle, const char *data, size_t bytes);

#endif
