/* SPDX-License-Identifier: MIT */
#ifndef K2I_APP_RULES_NEEDLES_H
#define K2I_APP_RULES_NEEDLES_H

#include <stddef.h>
#include <stdint.h>

/* Texts that are looked for in much data, all of them in one pass. */

struct k2i_needle {
	char *text; /* any bytes */
	size_t bytes;
};

struct k2i_needles; /* read-only when searched for, so threads share it */

struct k2i_needle_hit {
	size_t at, bytes; /* where it is in the data */
	uint32_t needle;
};

/* `count` texts, none of them empty, which must stay. They are numbered as they come. -ENOMEM. */
int k2i_needles_create(const struct k2i_needle *texts, size_t count, struct k2i_needles **needles);
void k2i_needles_free(struct k2i_needles *needles);

/*
 * Goes on from *from, 0 at first, until the data ends or `room`, which must be for as many hits as there are needles, may
 * not do for the next place. Returns the number of hits; of all that end at *from or before it none comes later. They are
 * in the order of some byte of theirs, not of their first.
 */
size_t k2i_needles_find(const struct k2i_needles *needles, const char *data, size_t bytes, size_t *from,
			struct k2i_needle_hit *hits, size_t room);

#endif
