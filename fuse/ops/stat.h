/* SPDX-License-Identifier: MIT */
#ifndef K2I_FUSE_OPS_STAT_H
#define K2I_FUSE_OPS_STAT_H

#include <stdint.h>
#include <sys/types.h>

#include "fuse/base/fuse_api.h"

/*
 * .k2hft-stat: JSON, made when it is opened, so that it is whole however it is read. Nothing that makes it waits for the
 * ring or the network. The text is in shared memory: a worker that comes after goes on with it.
 */
struct k2i_mount;
struct k2i_stat_text;

struct k2i_stat_texts {
	struct k2i_stat_text *first;
	uint64_t next;
	uint32_t count;
};

/* The most that are open at a time. */
#define K2I_STAT_OPEN_MAX 256u
/* Their file handles' numbers begin there, where no other's are. */
#define K2I_STAT_NUMBER_FIRST (UINT64_C(1) << 62)

void k2i_op_open_stat(fuse_req_t req, struct fuse_file_info *file);
void k2i_op_read_stat(fuse_req_t req, size_t size, off_t offset, const struct fuse_file_info *file);
void k2i_stat_close(struct k2i_mount *mount, uint64_t number);

#endif
