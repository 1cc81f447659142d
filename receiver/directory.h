/* SPDX-License-Identifier: MIT */
#ifndef K2I_DIRECTORY_H
#define K2I_DIRECTORY_H

/*
 * Makes a directory whose parent exists, its owner's only, and brings its name to the disk: what is in it is lost to who
 * looks for it after a power cut as long as that has no name. 1 made, 0 it was there; errors as mkdir(2) and fsync(2).
 */
int k2i_directory_make(const char *path);
/* The same below the directory `at`. */
int k2i_directory_make_at(int at, const char *path);
/* Brings the names in an open directory to the disk, with all of its file system where that can't be had alone. -errno */
int k2i_directory_sync(int directory);

#endif
