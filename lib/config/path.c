/* SPDX-License-Identifier: MIT */
#include "config/path.h"

#include <string.h>

#include <k2hft/frame.h>

bool k2i_path_below(const char *path, const char *above)
{
	size_t bytes = strlen(above);

	return strncmp(path, above, bytes) == 0 && (path[bytes] == '/' || path[bytes] == '\0');
}

unsigned k2i_path_parts(const char *path)
{
	unsigned parts = 1;

	for (; *path; path++)
		parts += *path == '/';
	return parts;
}

const char *k2i_path_refused(const char *path)
{
	if (k2hft_stream_path_check(path, strlen(path)))
		return "does not give a path below FILE_BASEDIR";
	if (k2i_path_parts(path) > K2I_PATH_PARTS_MAX)
		return "gives a path of more than 32 parts, which no receiver takes";
	if (k2i_path_below(path, K2I_STATE_NAME))
		return "gives a path in " K2I_STATE_NAME ", which the receiver keeps for itself";
	return NULL;
}
