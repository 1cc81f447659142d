/* SPDX-License-Identifier: MIT */
#include "base/nearest.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define NAME_BYTES_MAX 63u

static unsigned smaller(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

static bool same(char a, char b)
{
	return tolower((unsigned char)a) == tolower((unsigned char)b);
}

/* Insertions, deletions, replacements and swaps of neighbours between the two. Both at most NAME_BYTES_MAX long. */
static unsigned distance(const char *a, const char *b)
{
	unsigned rows[3][NAME_BYTES_MAX + 1];
	size_t a_bytes = strlen(a), b_bytes = strlen(b), i, j;

	for (j = 0; j <= b_bytes; j++)
		rows[0][j] = (unsigned)j;
	for (i = 1; i <= a_bytes; i++) {
		unsigned *row = rows[i % 3], *above = rows[(i - 1) % 3], *two_above = rows[(i + 1) % 3];

		row[0] = (unsigned)i;
		for (j = 1; j <= b_bytes; j++) {
			row[j] = smaller(smaller(above[j], row[j - 1]) + 1,
					 above[j - 1] + (same(a[i - 1], b[j - 1]) ? 0u : 1u));
			if (i > 1 && j > 1 && same(a[i - 1], b[j - 2]) && same(a[i - 2], b[j - 1]))
				row[j] = smaller(row[j], two_above[j - 2] + 1);
		}
	}
	return rows[a_bytes % 3][b_bytes];
}

void k2i_nearest_consider(const char *name, const char *known, const char **best, unsigned *best_distance)
{
	unsigned between;

	if (strlen(name) > NAME_BYTES_MAX || strlen(known) > NAME_BYTES_MAX)
		return;
	between = distance(name, known);
	if (between >= *best_distance || between > (strlen(known) + 2) / 3)
		return;
	*best = known;
	*best_distance = between;
}
