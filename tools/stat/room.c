/* SPDX-License-Identifier: MIT */
/* Room for an answer whose length is known at its end only. */
#include "tools/stat/stat.h"

#include <errno.h>
#include <stdlib.h>

#define ROOM_FIRST ((size_t)64 * 1024)
#define ROOM_MAX ((size_t)16 * 1024 * 1024)

int stat_room_make(char **text, size_t bytes, size_t *room)
{
	size_t wanted = *room ? *room * 2 : ROOM_FIRST;
	char *grown;

	if (bytes + 1 < *room)
		return 0;
	if (wanted > ROOM_MAX)
		return -EFBIG;
	grown = realloc(*text, wanted);
	if (!grown)
		return -ENOMEM;
	*text = grown;
	*room = wanted;
	return 0;
}
