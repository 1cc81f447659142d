/* SPDX-License-Identifier: MIT */
#ifndef K2I_TOOLS_BASE_OUTPUT_H
#define K2I_TOOLS_BASE_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/stat.h>

/* Files that results are written to; they can be what the program was started with, as /dev/stdout says. */

/* "-": standard output, which has room for one of them. */
bool output_is_standard(const char *path);
/* How many of `paths` (NULL: none) are. */
size_t output_standard_count(const char *const *paths, size_t path_count);
/* Keeps it for that one; what else would be printed there goes to standard error from then on. 0, or -errno. */
int output_standard_keep(void);
/* For a message. */
const char *output_name(const char *path);

/* The descriptor that the program was started with and that is this file; -1: there is none. */
int output_given_find(const struct stat *file);
/*
 * By `given`, behind what is written there; -1: by its name, from the begin, and with `flags` of open(2); or what was
 * kept. NULL with errno.
 */
FILE *output_open(const char *path, int given, int flags);
/*
 * Whether a file that is there may be replaced, or be written anew: it is empty, can't be read from, or has `mark` near
 * its begin, as what this program writes there does, where "\n" is before each line. -EEXIST: it holds something else;
 * others as open(2).
 */
int output_own_check(const char *path, const char *mark);
/* As strerror(3), of the two checks. */
const char *output_error_text(int error);
/*
 * Whether what is there, and is not to be replaced, can be written to. It is not opened: who reads a pipe would take the
 * close for its end. 0, or -errno.
 */
int output_check(const char *path);

#endif
