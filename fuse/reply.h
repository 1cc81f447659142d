/* SPDX-License-Identifier: MIT */
#ifndef K2I_REPLY_H
#define K2I_REPLY_H

#include <stddef.h>
#include <stdint.h>

struct k2i_mount;

/* Answers of requests that libfuse does not see. `unique` 0: nobody waits. */
void k2i_reply_written(struct k2i_mount *mount, uint64_t unique, size_t bytes);
void k2i_reply_status(struct k2i_mount *mount, uint64_t unique, int status);

#endif
