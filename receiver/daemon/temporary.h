/* SPDX-License-Identifier: MIT */
#ifndef K2I_RECEIVER_DAEMON_TEMPORARY_H
#define K2I_RECEIVER_DAEMON_TEMPORARY_H

#include <limits.h>

/*
 * A directory in TMPDIR that ends with the receiver. A receiver that is killed leaves it behind, and the next that makes
 * such a directory removes it: a lock tells whether somebody has it. The lock, a descriptor; or -errno, as mkdtemp(3).
 */
int k2i_temporary_make(char path[PATH_MAX]);
void k2i_temporary_remove(const char *path, int lock);

#endif
