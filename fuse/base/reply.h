/* SPDX-License-Identifier: MIT */
#ifndef K2I_FUSE_BASE_REPLY_H
#define K2I_FUSE_BASE_REPLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct k2i_mount;
struct iovec;

/* Answers of requests that libfuse does not see. `unique` 0: nobody waits. Each ends a step, see journal.h. */
void k2i_reply_written(struct k2i_mount *mount, uint64_t unique, size_t bytes);
void k2i_reply_status(struct k2i_mount *mount, uint64_t unique, int status);

/* A write whose writer gets an error: counts and logs it; answers it, unless nobody waits. */
void k2i_reply_count_refused(struct k2i_mount *mount, int status);
void k2i_reply_refused(struct k2i_mount *mount, uint64_t unique, int status);

/* In two parts, for an answer that ends a step together with a commit; false: nobody waits for one. */
bool k2i_reply_prepare_written(uint64_t unique, size_t bytes);
void k2i_reply_prepared(struct k2i_mount *mount); /* a successor too: the kernel ignores what it has already */

/* Any answer, as libfuse makes it: what writev(2) returns. */
ssize_t k2i_reply_parts(struct k2i_mount *mount, const struct iovec *parts, int count);

/* Tells the kernel something that it does not answer, or not here. `data` NULL: there is none; false: it was not taken. */
bool k2i_reply_notify(int device_fd, int code, const struct iovec *body, const struct iovec *data);

#endif
