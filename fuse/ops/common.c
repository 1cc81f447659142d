/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>

#include "config/path.h"
#include "fuse/base/options.h"
#include "fuse/ops/ops.h"
#include "fuse/tree/tree.h"
#include "fuse/tree/nodes.h"

struct k2i_mount *k2i_op_mount(fuse_req_t req)
{
	return fuse_req_userdata(req);
}

void k2i_op_count_unopened(struct k2i_mount *mount, const char *path, int status)
{
	k2i_mount_count(&mount->counts.refused_opens, 1);
	k2i_log_limited(&mount->log.open, k2i_clock_now_ns(), K2HFT_LOG_ERROR, "mount: %s is not opened: %s", path,
			status == -ENFILE   ? "all files or streams that the mount can have are in use"
			: status == -ENOSPC ? "the mount has all the names that it can have: remove files"
					    : strerror(-status));
}

struct k2i_node_owner k2i_op_owner(fuse_req_t req, fuse_ino_t parent, mode_t mode)
{
	const struct k2i_node_entry *above = k2i_node_at(k2i_op_mount(req)->nodes, parent);
	const struct k2i_mount_options *options = k2i_op_mount(req)->options;
	const struct fuse_ctx *context = fuse_req_ctx(req);
	gid_t gid = context->gid;

	if (options->umask_set)
		mode = k2i_tree_mode(options, mode);
	/* inode(7): a directory that is set-group-id gives its group; but to nobody the right to be of that. */
	if (above && above->mode & S_ISGID) {
		if (S_ISDIR(mode))
			mode |= S_ISGID;
		else if (gid != above->gid)
			mode &= (mode_t)~S_ISGID;
		gid = above->gid;
	}
	return (struct k2i_node_owner){
		.mode = mode,
		.uid = options->uid_set ? options->uid_number : context->uid,
		.gid = options->gid_set ? options->gid_number : gid,
	};
}

uint64_t k2i_op_special(uint64_t parent, const char *name)
{
	if (parent != K2I_NODE_ROOT)
		return 0;
	if (strcmp(name, K2I_STAT_NAME) == 0)
		return K2I_STAT_NODE;
	return strcmp(name, K2I_RING_LINK_NAME) == 0 ? K2I_RING_LINK_NODE : 0;
}

int k2i_op_check_name(uint64_t parent, const char *name)
{
	if (strlen(name) > K2I_NODE_NAME_BYTES_MAX)
		return -ENAMETOOLONG;
	return k2i_op_special(parent, name) ? -EPERM : 0;
}
