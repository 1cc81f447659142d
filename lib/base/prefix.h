/* SPDX-License-Identifier: MIT */
#ifndef K2I_BASE_PREFIX_H
#define K2I_BASE_PREFIX_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Whether the text begins with one of the prefixes: names of streams that are not sent. */
static inline bool k2i_prefix_any(const char *const *prefixes, size_t count, const char *text)
{
	while (count-- > 0)
		if (strncmp(text, prefixes[count], strlen(prefixes[count])) == 0)
			return true;
	return false;
}

#endif
