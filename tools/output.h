/* SPDX-License-Identifier: MIT */
#ifndef OUTPUT_H
#define OUTPUT_H

#include <stdio.h>
#include <sys/stat.h>

/* Files that results are written to; they can be what the program was started with, as /dev/stdout says. */

/* The descriptor that the program was started with and that is this file; -1: there is none. */
int output_given_find(const struct stat *file);
/* By `given`, behind what is written there; -1: by its name, from the begin. NULL with errno. */
FILE *output_open(const char *path, int given);
/*
 * Whether what is there, and is not to be replaced, can be written to. It is not opened: who reads a pipe would take the
 * close for its end. 0, or -errno.
 */
int output_check(const char *path);

#endif
