/* SPDX-License-Identifier: MIT */
#include "fuse/ops/ops.h"

#include "fuse/cached/write_mode.h"
#include "fuse/base/options.h"

/* Requests that the kernel sends without waiting for their answers. */
#define BACKGROUND_MAX 64

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
	mount->kernel.writeback = k2i_write_mode_any_cached(mount) && connection->capable & FUSE_CAP_WRITEBACK_CACHE;
	if (mount->kernel.writeback)
		connection->want |= FUSE_CAP_WRITEBACK_CACHE;
	else if (k2i_write_mode_any_cached(mount) && mount->keeper.workers == 1)
		k2i_log(K2HFT_LOG_WARNING, "mount: this kernel can't cache what is written: every write comes "
					   "directly, as with WRITEMODE = direct");
	if (mount->options->umask_set)
		connection->want |= connection->capable & FUSE_CAP_DONT_MASK;
	connection->max_write = K2I_WRITE_BYTES_MAX;
	connection->max_background = BACKGROUND_MAX;
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
