/* SPDX-License-Identifier: MIT */
/* Open files but for writing, which is in write.c. */
#include "fuse/ops/ops.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "fuse/cached/write_mode.h"
#include "fuse/cached/writeback_pull.h"
#include "fuse/intake/handles.h"
#include "fuse/ops/deferred_requests.h"
#include "fuse/ops/stat.h"
#include "fuse/intake/record_route.h"
#include "fuse/copy/outputfile.h"
#include "fuse/tree/tree.h"
#include "fuse/intake/write.h"
#include "fuse/tree/nodes.h"

void k2i_op_mknod(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, dev_t device)
{
	uint32_t node = K2I_NODE_NONE;
	int status = S_ISREG(mode) ? k2i_op_make(req, parent, name, S_IFREG | (mode & 07777), &node) : -EPERM;

	(void)device;
	k2i_op_reply_entry(req, status, node);
}

/* Writes go directly to a record route, or through the page cache. */
static int writer_open(struct k2i_mount *mount, struct k2i_handle *writer, const char *path, uint32_t pid, int flags)
{
	if (k2i_write_mode_is_cached(mount, writer->node, k2i_rules_find(mount->rules, path), flags))
		return k2i_pull_open(mount, writer->node, path, pid, &writer->cached);
	return k2i_route_open(mount, path, &writer->route);
}

static int handle_open(struct k2i_mount *mount, uint32_t node, fuse_req_t req, int flags, struct k2i_handle **handle)
{
	uint32_t pid = (uint32_t)fuse_req_ctx(req)->pid;
	bool writes = (flags & O_ACCMODE) != O_RDONLY;
	const struct k2i_rule_match *match;
	char path[K2I_PATH_BYTES_MAX + 1];
	struct k2i_handle wanted = {.node = node};
	/* It has no name any more if that went since open(2) looked it up, or if it is opened by /proc/PID/fd. */
	int status = k2i_node_last_path(mount->nodes, node, path, sizeof(path));

	/* With ESTALE the kernel looks once more. */
	if (status < 0)
		return status == -ENOENT ? -ESTALE : status;
	status = writes ? k2i_op_check_rule(mount, path, false) : 0;
	/* The kernel can know its attributes, and would not ask before the first append. */
	if (status == 0 && writes && k2i_mount_ends(mount))
		status = -ECONNABORTED;
	if (status)
		return status;
	if (writes)
		status = writer_open(mount, &wanted, path, pid, flags);
	/* Without a rule there is nothing to be read. */
	match = k2i_rules_find(mount->rules, path);
	if (status == 0 && match && (flags & O_ACCMODE) != O_WRONLY)
		status = k2i_outputfile_get(mount, match, path, &wanted.output);
	if (status == 0)
		status = k2i_handle_open(mount, node, path, wanted.route, wanted.output, handle);
	if (status == 0) {
		(*handle)->cached = wanted.cached;
		return 0;
	}
	if (status != -EAGAIN)
		k2i_op_count_unopened(mount, path, status);
	k2i_route_close(mount, wanted.route);
	k2i_outputfile_put(wanted.output);
	if (wanted.cached)
		k2i_pull_close(mount, wanted.cached);
	return status;
}

static void handle_describe(const struct k2i_mount *mount, struct fuse_file_info *file, const struct k2i_handle *handle)
{
	file->fh = handle->number;
	/* A request for each write(2), in order, whatever the offset. */
	file->direct_io = !handle->cached;
	/* Without it the kernel writes all of a file's pages back whenever somebody opens it. */
	file->keep_cache = mount->kernel.writeback;
}

static void open_reply_error(fuse_req_t req, int status)
{
	if (status == -EAGAIN)
		k2i_deferred_request_want(req);
	else
		(void)fuse_reply_err(req, -status);
}

static void handle_release(struct k2i_mount *mount, struct k2i_handle *handle)
{
	if (handle->cached)
		k2i_pull_close(mount, handle->cached);
	k2i_write_release(mount, handle);
}

void k2i_op_create(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, struct fuse_file_info *file)
{
	struct k2i_mount *mount = k2i_op_mount(req);
	struct fuse_entry_param entry;
	struct k2i_handle *handle;
	uint32_t node;
	int status = k2i_op_make(req, parent, name, S_IFREG | (mode & 07777), &node);

	/*
	 * It was made since the kernel looked: some are made here, as those that are an OUTPUTFILE. With ESTALE the kernel looks
	 * once more, and judges who may open it.
	 */
	if (status == -EEXIST && !(file->flags & O_EXCL))
		status = -ESTALE;
	if (status == 0) {
		status = handle_open(mount, node, req, file->flags, &handle);
		if (status)
			(void)k2i_node_remove(mount->nodes, node);
	}
	if (status) {
		open_reply_error(req, status);
		return;
	}
	handle_describe(mount, file, handle);
	k2i_op_entry(mount, node, &entry);
	if (fuse_reply_create(req, &entry, file) == -ENOENT) {
		k2i_node_forget(mount->nodes, node, 1);
		handle_release(mount, handle);
	}
}

void k2i_op_open(fuse_req_t req, fuse_ino_t node, struct fuse_file_info *file)
{
	struct k2i_mount *mount = k2i_op_mount(req);
	struct k2i_handle *handle;
	int status;

	if (node == K2I_STAT_NODE) {
		k2i_op_open_stat(req, file);
		return;
	}
	status = k2i_node_at(mount->nodes, node) ? handle_open(mount, (uint32_t)node, req, file->flags, &handle)
						 : -ENOENT;
	if (status) {
		open_reply_error(req, status);
		return;
	}
	handle_describe(mount, file, handle);
	if (fuse_reply_open(req, file) == -ENOENT)
		handle_release(mount, handle);
}

void k2i_op_read(fuse_req_t req, fuse_ino_t node, size_t size, off_t offset, struct fuse_file_info *file)
{
	const struct k2i_handle *handle = k2i_handle_at(k2i_op_mount(req), file->fh);
	char *data;
	ssize_t bytes;

	if (node == K2I_STAT_NODE) {
		k2i_op_read_stat(req, size, offset, file);
		return;
	}
	if (!handle || !handle->output) {
		(void)fuse_reply_buf(req, NULL, 0);
		return;
	}
	data = malloc(size ? size : 1);
	bytes = data ? k2i_outputfile_read(handle->output, data, size, (uint64_t)offset) : -ENOMEM;
	if (bytes < 0)
		(void)fuse_reply_err(req, (int)-bytes);
	else
		(void)fuse_reply_buf(req, data, (size_t)bytes);
	free(data);
}

/*
 * For what can't do this the kernel takes a file's pages: where a file is read as empty that would be zeros, as many as it
 * is long, and they would be sent. So who copies that is to read and write himself.
 */
void k2i_op_copy_file_range(fuse_req_t req, fuse_ino_t node, off_t offset, struct fuse_file_info *file,
			    fuse_ino_t to_node, off_t to_offset, struct fuse_file_info *to_file, size_t bytes,
			    int flags)
{
	const struct k2i_handle *handle = k2i_handle_at(k2i_op_mount(req), file->fh);

	(void)node;
	(void)offset;
	(void)to_node;
	(void)to_offset;
	(void)to_file;
	(void)bytes;
	(void)flags;
	(void)fuse_reply_err(req, handle && handle->output ? EOPNOTSUPP : EINVAL);
}

void k2i_op_flush(fuse_req_t req, fuse_ino_t node, struct fuse_file_info *file)
{
	struct k2i_mount *mount = k2i_op_mount(req);
	struct k2i_handle *handle = k2i_handle_at(mount, file->fh);
	int lost = 0;

	(void)node;
	if (handle && handle->cached) {
		k2i_pull_flushed(mount, handle->cached);
		lost = k2i_handle_lost(handle->cached->stream);
	} else if (handle && handle->route) {
		k2i_handle_flushed(mount, handle);
	}
	(void)fuse_reply_err(req, -lost);
}

void k2i_op_release(fuse_req_t req, fuse_ino_t node, struct fuse_file_info *file)
{
	struct k2i_mount *mount = k2i_op_mount(req);
	struct k2i_handle *handle = k2i_handle_at(mount, file->fh);

	if (node == K2I_STAT_NODE)
		k2i_stat_close(mount, file->fh);
	else if (handle)
		handle_release(mount, handle);
	(void)fuse_reply_err(req, 0);
}
