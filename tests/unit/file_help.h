/* SPDX-License-Identifier: MIT */
#ifndef FILE_HELP_H
#define FILE_HELP_H

/* For tests that look at what was written to a file. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

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
