/* SPDX-License-Identifier: MIT */
#ifndef K2I_APP_STORE_MEMORY_LIMIT_H
#define K2I_APP_STORE_MEMORY_LIMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The folder of the control group whose memory this process counts to, in the hierarchy of that version: of version 1
 * the one of "memory". false: there is none, or no room for its path.
 */
bool k2i_memory_group(bool version_2, char *path, size_t room);

/*
 * The memory that this process may have: the machine's, or the least limit of the control groups that it is in. Any
 * thread.
 */
uint64_t k2i_memory_bytes(void);

#endif
