/* SPDX-License-Identifier: MIT */
#ifndef K2I_BASE_LINK_H
#define K2I_BASE_LINK_H

#include <sys/types.h>

/*
 * open(2) of a file that is to be written, by a name that a user has said. A symbolic link that is its last part is followed
 * only if it is this user's or root's: any other may have been put there for this. The descriptor, or -errno; -ELOOP.
 */
int k2i_link_open(const char *path, int flags, mode_t mode);

#endif
