/* SPDX-License-Identifier: MIT */
#include "receiver/base/directory.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

int k2i_directory_sync(int directory)
{
	if (fsync(directory) == 0)
		return 0;
	return errno == EINVAL && syncfs(directory) == 0 ? 0 : -errno;
}

static int parent_sync(int at, const char *path)
{
	int directory = openat(at, path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), parent, error = 0;

	if (directory < 0)
		return -errno;
	parent = openat(directory, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	/* A directory that may be written but not read can't be synced, which is no reason not to start. */
	if (parent < 0 && errno != EACCES)
		error = -errno;
	if (parent >= 0) {
		error = k2i_directory_sync(parent);
		(void)close(parent);
	}
	(void)close(directory);
	return error;
}

int k2i_directory_make_at(int at, const char *path, mode_t mode)
{
	int error;

	if (mkdirat(at, path, mode) < 0)
		return errno == EEXIST || errno == EISDIR ? 0 : -errno;
	error = parent_sync(at, path);
	return error ? error : 1;
}

int k2i_directory_make(const char *path, mode_t mode)
{
	return k2i_directory_make_at(AT_FDCWD, path, mode);
}
