/* SPDX-License-Identifier: MIT */
#ifndef K2I_BIRTH_H
#define K2I_BIRTH_H

#include <stdint.h>

/*
 * When an open file was made, in ns, or, where its file system does not tell that, `device`, which it is on. With its inode
 * that tells it from all others: devices have other numbers when the machine is started again (btrfs, NFS, LVM), and an
 * inode's number goes to the next file when its own is removed.
 */
uint64_t k2i_birth(int descriptor, uint64_t device);

#endif
