/* SPDX-License-Identifier: MIT */
#ifndef K2I_TESTS_UNIT_FILE_HELP_H
#define K2I_TESTS_UNIT_FILE_HELP_H

/* For tests that have a folder, or look at what was written to a file. */
#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

/* A file of this test's own. */
static inline void folder_make(char *path, size_t room)
{
	const char *parent = getenv("TMPDIR");

	assert_true((size_t)snprintf(path, room, "%s/k2hft-test.XXXXXX", parent ? parent : "/tmp") < room);
	assert_non_null(mkdtemp(path));
}

static inline int entry_remove(const char *path, const struct stat *status, int type, struct FTW *walk)
{
	(void)status;
	(void)type;
	(void)walk;
	return remove(path);
}

/* With what is in it. */
static inline void folder_remove(const char *path)
{
	assert_int_equal(nftw(path, entry_remove, 16, FTW_DEPTH | FTW_PHYS), 0);
}

/* PATH becomes that of NAME below PARENT. */
static inline void path_in(char *path, size_t room, const char *parent, const char *name)
{
	assert_true((size_t)snprintf(path, room, "%s/%s", parent, name) < room);
}

/* Lets the process have descriptors below `limit` only; RLIM_INFINITY: as many as it may. */
static inline void descriptors_limit(rlim_t limit)
{
	struct rlimit descriptors;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &descriptors), 0);
	descriptors.rlim_cur = limit < descriptors.rlim_max ? limit : descriptors.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &descriptors), 0);
}

/* Nor can it make a file longer than that; -EFBIG says so, as a full disk does. */
static inline void file_bytes_limit(rlim_t limit)
{
	struct rlimit bytes;

	(void)signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &bytes), 0);
	bytes.rlim_cur = limit < bytes.rlim_max ? limit : bytes.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &bytes), 0);
}

static inline void expect_contents(const char *path, const char *wanted)
{
	char bytes[4096];
	int file = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got;

	assert_true(file >= 0);
	got = read(file, bytes, sizeof(bytes) - 1);
	assert_true(got >= 0);
	bytes[got] = '\0';
	(void)close(file);
	assert_string_equal(bytes, wanted);
}

#endif
