/* SPDX-License-Identifier: MIT */
#include "tools/base/output.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/link.h"

/* Descriptors that the program was started with: a file of its own can take the place of none of them. */
#define GIVEN_DESCRIPTORS 10
/* So far into a file is its mark. */
#define OWN_BYTES 1024

/* Standard output, when it is kept. */
static int standard = -1;

bool output_is_standard(const char *path)
{
	return strcmp(path, "-") == 0;
}

const char *output_name(const char *path)
{
	return output_is_standard(path) ? "standard output" : path;
}

size_t output_standard_count(const char *const *paths, size_t path_count)
{
	size_t number, count = 0;

	for (number = 0; number < path_count; number++)
		count += paths[number] && output_is_standard(paths[number]);
	return count;
}

int output_standard_keep(void)
{
	/* Standard error that was closed can't be written to: text that nobody can see must not count as lost. */
	bool closed = (fcntl(STDERR_FILENO, F_GETFL) & O_ACCMODE) == O_RDONLY;
	int instead = closed ? open("/dev/null", O_WRONLY | O_CLOEXEC) : STDERR_FILENO, error = 0;

	standard = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
	if (standard < 0 || dup2(instead, STDOUT_FILENO) < 0)
		error = -errno;
	if (closed)
		(void)close(instead);
	return error;
}

int output_given_find(const struct stat *file)
{
	struct stat given;

	for (int descriptor = 1; descriptor < GIVEN_DESCRIPTORS; descriptor++)
		if (fstat(descriptor, &given) == 0 && given.st_dev == file->st_dev && given.st_ino == file->st_ino &&
		    (fcntl(descriptor, F_GETFL) & O_ACCMODE) != O_RDONLY)
			return descriptor;
	return -1;
}

FILE *output_open(const char *path, int given, int flags)
{
	int descriptor;

	if (output_is_standard(path))
		given = standard;
	(void)fflush(stdout);
	if (given >= 0)
		descriptor = fcntl(given, F_DUPFD_CLOEXEC, 0);
	else if ((descriptor = k2i_link_open(path, O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0666)) < 0)
		errno = -descriptor;
	return descriptor < 0 ? NULL : fdopen(descriptor, "w");
}

int output_own_check(const char *path, const char *mark)
{
	char found[OWN_BYTES] = "\n";
	struct stat status;
	ssize_t got;
	int file;

	if (stat(path, &status) || !S_ISREG(status.st_mode) || status.st_size == 0)
		return 0;
	file = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (file < 0)
		return -errno;
	got = read(file, found + 1, sizeof(found) - 2);
	(void)close(file);
	return got <= 0 || strstr(found, mark) ? 0 : -EEXIST;
}

const char *output_error_text(int error)
{
	return error == -EEXIST ? "it holds something else, and stays as it is; name another file" : strerror(-error);
}

int output_check(const char *path)
{
	struct stat status;

	if (access(path, W_OK) || stat(path, &status))
		return -errno;
	return S_ISDIR(status.st_mode) ? -EISDIR : 0;
}
