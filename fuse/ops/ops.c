/* SPDX-License-Identifier: MIT */
#include "fuse/ops/ops.h"

#include <errno.h>
#include <string.h>

#include "fuse/cached/writeback_pull.h"
#include "fuse/base/options.h"
#include "config/path.h"
#include "fuse/tree/tree.h"

/* Requests that the kernel sends without waiting for their answers. */
#define BACKGROUND_MAX 64

struct k2i_mount *k2i_op_mount(fuse_req_t req)
{
	return fuse_req_userdata(req);
}

static void op_init(void *userdata, struct fuse_conn_info *connection)
{
	/*
	 * ATOMIC_O_TRUNC: the kernel cuts the file once more after the answer to OPEN, without its lock in between: what was
	 * appended to its cache then would be gone. So O_TRUNC comes as a SETATTR.
	 * ASYNC_DIO: nothing, not even SIGKILL, ends the wait of who writes by io_submit(2), io_uring or with O_DIRECT that
	 * was set later.
	 */
	const unsigned unwanted = FUSE_CAP_ATOMIC_O_TRUNC | FUSE_CAP_SPLICE_READ | FUSE_CAP_SPLICE_WRITE |
				  FUSE_CAP_SPLICE_MOVE | FUSE_CAP_WRITEBACK_CACHE | FUSE_CAP_HANDLE_KILLPRIV |
				  FUSE_CAP_AUTO_INVAL_DATA | FUSE_CAP_ASYNC_DIO;
	struct k2i_mount *mount = userdata;

	connection->want &= ~unwanted;
	mount->writeback = k2i_write_mode_any_cached(mount) && connection->capable & FUSE_CAP_WRITEBACK_CACHE;
	if (mount->writeback)
		connection->want |= FUSE_CAP_WRITEBACK_CACHE;
	else if (k2i_write_mode_any_cached(mount) && mount->workers == 1)
		k2i_log(K2HFT_LOG_WARNING, "mount: this kernel can't cache what is written: every write comes "
					   "directly, as with WRITEMODE = direct");
	if (mount->options->umask_set)
		connection->want |= connection->capable & FUSE_CAP_DONT_MASK;
	connection->max_write = K2I_WRITE_BYTES_MAX;
	connection->max_background = BACKGROUND_MAX;
}

void k2i_op_count_unopened(struct k2i_mount *mount, const char *path, int status)
{
	k2i_mount_count(&mount->counts.refused_opens, 1);
	k2i_log_limited(&mount->open_limit, k2i_mount_clock_ns(), K2HFT_LOG_ERROR, "mount: %s is not opened: %s", path,
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

const struct fuse_lowlevel_ops k2i_ops = {
	.init = op_init,
	.lookup = k2i_op_lookup,
	.forget = k2i_op_forget,
	.forget_multi = k2i_op_forget_multi,
	.getattr = k2i_op_getattr,
	.setattr = k2i_op_setattr,
	.fallocate = k2i_op_fallocate,
	.readlink = k2i_op_readlink,
	.mknod = k2i_op_mknod,
	.mkdir = k2i_op_mkdir,
	.unlink = k2i_op_unlink,
	.rmdir = k2i_op_rmdir,
	.symlink = k2i_op_symlink,
	.rename = k2i_op_rename,
	.link = k2i_op_link,
	.open = k2i_op_open,
	.create = k2i_op_create,
	.read = k2i_op_read,
	.copy_file_range = k2i_op_copy_file_range,
	.flush = k2i_op_flush,
	.release = k2i_op_release,
	.opendir = k2i_op_opendir,
	.readdir = k2i_op_readdir,
	.readdirplus = k2i_op_readdirplus,
	.releasedir = k2i_op_releasedir,
	.statfs = k2i_op_statfs,
};
