/* SPDX-License-Identifier: MIT */
#ifndef K2I_RECEIVER_BASE_CONFINE_H
#define K2I_RECEIVER_BASE_CONFINE_H

#include <sys/types.h>

/*
 * Files below a directory, by paths that came from the network: never outside of it, never through a symbolic link,
 * regular files only.
 */

/*
 * Opens `path` below `base` with O_WRONLY | `flags` (O_APPEND, O_CREAT, O_TRUNC, O_DSYNC, O_SYNC) and gives its descriptor.
 * With O_CREAT a file that is missing gets `mode`, and a directory on the way what k2i_directory_mode makes of that.
 * -EINVAL the path is not relative and plain; -ENAMETOOLONG over 1023 bytes or K2I_PATH_PARTS_MAX parts; -ENXIO it is
 * not a regular file; others as openat(2) and mkdir(2).
 */
int k2i_confine_open(int base, const char *path, int flags, mode_t mode);

/*
 * Opens the directory `path` below `base`, "" for `base` itself, to be listed, and gives its descriptor. Errors as above;
 * -ENOTDIR it is something else.
 */
int k2i_confine_directory(int base, const char *path);

#endif
