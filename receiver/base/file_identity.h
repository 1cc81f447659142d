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
/* That and the inode in 32 bits. */
uint32_t k2i_birth_mark(int descriptor, uint64_t device, uint64_t inode);

#endif
