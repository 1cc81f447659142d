/* SPDX-License-Identifier: MIT */
#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

/* What the program was started with: a file of its own can take the place of none of them. */
#define GIVEN_DESCRIPTORS 10

int output_given_find(const struct stat *file)
{
	struct stat given;

	for (int descriptor = 1; descriptor < GIVEN_DESCRIPTORS; descriptor++)
		if (fstat(descriptor, &given) == 0 && given.st_dev == file->st_dev && given.st_ino == file->st_ino &&
		    (fcntl(descriptor, F_GETFL) & O_ACCMODE) != O_RDONLY)
			return descriptor;
	return -1;
}

FILE *output_open(const char *path, int given)
{
	int descriptor;

	if (given < 0)
		return fopen(path, "we");
	(void)fflush(stdout);
	descriptor = fcntl(given, F_DUPFD_CLOEXEC, 0);
	return descriptor < 0 ? NULL : fdopen(descriptor, "w");
}

int output_check(const char *path)
{
	struct stat status;

	if (access(path, W_OK) || stat(path, &status))
		return -errno;
	return S_ISDIR(status.st_mode) ? -EISDIR : 0;
}
