/* SPDX-License-Identifier: MIT */
#ifndef K2I_RECEIVER_BASE_DIRECTORY_H
#define K2I_RECEIVER_BASE_DIRECTORY_H

#include <sys/types.h>

#include "base/link.h"

/*
 * Makes a directory whose parent exists, and brings its name to the disk: without the name its files can't be found
 * after a power cut. 1 made, 0 it was there; errors as mkdir(2) and fsync(2).
 */
int k2i_directory_make(const char *path, mode_t mode);
/* The same below the directory `at`. */
int k2i_directory_make_at(int at, const char *path, mode_t mode);
/* Brings the names in an open directory to the disk, with all of its file system where that can't be had alone. -errno */
int k2i_directory_sync(int directory);

#endif
