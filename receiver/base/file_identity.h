/* SPDX-License-Identifier: MIT */
#ifndef K2I_RECEIVER_BASE_FILE_IDENTITY_H
#define K2I_RECEIVER_BASE_FILE_IDENTITY_H

#include <stdint.h>

/*
 * The time when an open file was made, in ns, or `device`, the number of its device, where the file system keeps no
 * such time. Birth and inode together tell a file from all others. Device numbers would not: they change when the
 * machine starts again (btrfs, NFS, LVM). Nor would the inode alone: its number goes to the next file when the file is
 * removed.
 */
uint64_t k2i_file_birth_ns(int descriptor, uint64_t device);
/* Birth and inode in 32 bits. */
uint32_t k2i_file_identity_hash(int descriptor, uint64_t device, uint64_t inode);

#endif
