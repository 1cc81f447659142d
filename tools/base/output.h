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
/* By `given`, behind what is written there; -1: by its name, from the begin; or what was kept. NULL with errno. */
FILE *output_open(const char *path, int given);
/*
 * Whether what is there, and is not to be replaced, can be written to. It is not opened: who reads a pipe would take the
 * close for its end. 0, or -errno.
 */
int output_check(const char *path);

#endif
