/* SPDX-License-Identifier: MIT */
#ifndef K2I_BASE_LINK_H
#define K2I_BASE_LINK_H

#include <sys/types.h>

/*
 * open(2) of a file that is to be written, by a name that a user has said. A symbolic link that is its last part is followed
 * only if it is this user's or root's: any other may have been put there for this. The descriptor, or -errno; -ELOOP.
 */
int k2i_link_open(const char *path, int flags, mode_t mode);

#define K2I_DIRECTORY_PRIVATE 0700 /* for its owner only */

/*
 * The mode of a directory for files of that mode: users who may read the files can reach them. Only the owner may make,
 * rename or remove files, even where others may write them: a receiver that runs as root must not append to a file that
 * others put there.
 */
mode_t k2i_directory_mode(mode_t file_mode);

#endif
