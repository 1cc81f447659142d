/* SPDX-License-Identifier: MIT */
#include "receiver/base/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <k2hft/frame.h>

#include "receiver/base/directory.h"
#include "config/path.h"

static int path_check(const char *path)
{
	size_t path_bytes = strlen(path);

	if (path_bytes > K2HFT_STREAM_PATH_BYTES_MAX || k2i_path_parts(path) > K2I_PATH_PARTS_MAX)
		return -ENAMETOOLONG;
	return k2hft_stream_path_check(path, path_bytes) ? -EINVAL : 0;
}

/* O_NONBLOCK: the open of a FIFO without a reader returns at once. */
static int file_flags(int flags)
{
	return O_WRONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW | O_CLOEXEC | flags;
}

static int file_regular(int descriptor)
{
	struct stat status;
	int error = 0;

	if (fstat(descriptor, &status) < 0)
		error = -errno;
	else if (!S_ISREG(status.st_mode))
		error = -ENXIO;
	if (!error)
		return descriptor;
	(void)close(descriptor);
	return error;
}

static int directory_step(int parent, const char *name, int file_flags, mode_t file_mode)
{
	int flags = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, descriptor = openat(parent, name, flags);

	if (descriptor >= 0 || errno != ENOENT || !(file_flags & O_CREAT))
		return descriptor < 0 ? -errno : descriptor;
	if (mkdirat(parent, name, k2i_directory_mode(file_mode)) < 0 && errno != EEXIST)
		return -errno;
	descriptor = openat(parent, name, flags);
	return descriptor < 0 ? -errno : descriptor;
}

/* Part by part, so that none is a symbolic link; path_check has refused "..". */
static int path_open(int base, const char *path, int flags, mode_t mode)
{
	char parts[K2HFT_STREAM_PATH_BYTES_MAX + 1], *part = parts, *slash;
	int parent = base, next, descriptor, error = path_check(path);

	if (error)
		return error;
	memcpy(parts, path, strlen(path) + 1);
	while ((slash = strchr(part, '/')) != NULL) {
		*slash = '\0';
		next = directory_step(parent, part, flags, mode);
		if (parent != base)
			(void)close(parent);
		if (next < 0)
			return next;
		parent = next;
		part = slash + 1;
	}
	descriptor = openat(parent, part, flags, mode);
	error = errno;
	if (parent != base)
		(void)close(parent);
	return descriptor < 0 ? -error : descriptor;
}

int k2i_confine_open(int base, const char *path, int flags, mode_t mode)
{
	int descriptor = path_open(base, path, file_flags(flags), mode);

	return descriptor < 0 ? descriptor : file_regular(descriptor);
}

int k2i_confine_directory(int base, const char *path)
{
	int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, descriptor;

	if (*path)
		return path_open(base, path, flags, 0);
	descriptor = openat(base, ".", flags);
	return descriptor < 0 ? -errno : descriptor;
}
