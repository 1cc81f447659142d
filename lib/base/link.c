/* SPDX-License-Identifier: MIT */
#include "base/link.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

int k2i_link_open(const char *path, int flags, mode_t mode)
{
	int descriptor = open(path, flags | O_NOFOLLOW, mode);
	struct stat link;

	if (descriptor < 0 && errno == ELOOP && lstat(path, &link) == 0 && S_ISLNK(link.st_mode)) {
		errno = ELOOP;
		if (link.st_uid == 0 || link.st_uid == geteuid())
			descriptor = open(path, flags, mode);
	}
	return descriptor < 0 ? -errno : descriptor;
}

mode_t k2i_directory_mode(mode_t file_mode)
{
	mode_t read = file_mode & 0044;

	return K2I_DIRECTORY_PRIVATE | read | read >> 2;
}
