/* SPDX-License-Identifier: MIT */
#ifndef K2I_FUSE_OPS_STAT_H
#define K2I_FUSE_OPS_STAT_H

#include <stdint.h>
#include <sys/types.h>

#include "fuse/base/fuse_api.h"

/*
 * .k2hft-stat: JSON, made when it is opened, so that it is whole however it is read. Nothing that makes it waits for the
 * ring or the network. The text is in memory of the journal: a worker that comes after goes on with it.
 */
struct k2i_mount;

struct k2i_stat_texts {
	uint32_t count; /* that are open */
};

#define K2I_STAT_OPEN_MAX 256u

void k2i_op_open_stat(fuse_req_t req, struct fuse_file_info *file);
void k2i_op_read_stat(fuse_req_t req, size_t size, off_t offset, const struct fuse_file_info *file);
void k2i_stat_close(struct k2i_mount *mount, uint64_t handle);

#endif
