/* SPDX-License-Identifier: MIT */
/* Attributes of files: lookup, getattr, setattr, the file system's size. */
#include "fuse/ops/ops.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "fuse/base/reply.h"
#include "fuse/cached/writeback_pull.h"
#include "fuse/intake/handles.h"
#include "fuse/cached/truncate_probe.h"
#include "fuse/ops/deferred_requests.h"
#include "fuse/copy/outputfile.h"
#include "app/program/ring_stats.h"
#include "fuse/tree/tree.h"
#include "fuse/tree/nodes.h"

#define BLOCK_BYTES 4096u

/* The status has no length: it is made when it is opened. Any user who gets into the mount may read it. */
static void special_stat(uint64_t node, struct stat *info)
{
	memset(info, 0, sizeof(*info));
	info->st_ino = node;
	info->st_mode = node == K2I_STAT_NODE ? S_IFREG | 0444 : S_IFLNK | 0777;
	info->st_nlink = 1;
	info->st_uid = geteuid();
	info->st_gid = getegid();
}

int k2i_op_stat(struct k2i_mount *mount, uint64_t node, struct stat *info)
{
	const struct k2i_node_entry *entry = k2i_node_at(mount->nodes, node);
	char path[K2I_PATH_BYTES_MAX + 1];
	uint64_t bytes;

	if (node >= K2I_RING_LINK_NODE) {
		special_stat(node, info);
		return 0;
	}
	if (!entry)
		return -ENOENT;
	memset(info, 0, sizeof(*info));
	info->st_ino = node;
	info->st_mode = entry->mode;
	info->st_nlink = k2i_node_links(entry);
	info->st_uid = entry->uid;
	info->st_gid = entry->gid;
	info->st_size = (off_t)(S_ISDIR(entry->mode) ? BLOCK_BYTES : entry->size);
	info->st_atim = entry->accessed;
	info->st_mtim = entry->modified;
	info->st_ctim = entry->changed;
	/* So much some programs gather before they write: no more than elsewhere, or records would wait for it. */
	info->st_blksize = BLOCK_BYTES;
	/* A reader gets OUTPUTFILE, so its length is the file's. With its cache the kernel knows better. */
	if (!mount->kernel.writeback && S_ISREG(entry->mode) && k2i_outputfiles_readable(mount->outputfiles) &&
	    k2i_node_path(mount->nodes, (uint32_t)node, NULL, path, sizeof(path)) > 0 &&
	    k2i_outputfile_size(mount, path, &bytes) == 0)
		info->st_size = (off_t)bytes;
	info->st_blocks = (blkcnt_t)(info->st_size / 512 + (info->st_size % 512 != 0));
	return 0;
}

static double attributes_seconds(const struct k2i_mount *mount, uint64_t node)
{
	const struct k2i_node_entry *entry = k2i_node_at(mount->nodes, node);
	/* A write takes them away, and the kernel does not hear of it. */
	bool set_ids = entry && S_ISREG(entry->mode) && entry->mode & (S_ISUID | S_ISGID);

	return set_ids || k2i_mount_ends(mount) || k2i_pull_holds_file(mount, node) || (entry && k2i_pull_left(entry))
		       ? 0
		       : K2I_CACHE_SECONDS;
}

void k2i_op_entry(struct k2i_mount *mount, uint64_t node, struct fuse_entry_param *entry)
{
	const struct k2i_node_entry *known = k2i_node_at(mount->nodes, node);

	*entry = (struct fuse_entry_param){
		.ino = node,
		.generation = known ? known->generation : 1,
		.attr_timeout = attributes_seconds(mount, node),
		.entry_timeout = K2I_CACHE_SECONDS,
	};
	(void)k2i_op_stat(mount, node, &entry->attr);
	if (known)
		k2i_node_looked_up(mount->nodes, (uint32_t)node);
}

void k2i_op_reply_entry(fuse_req_t req, int status, uint64_t node)
{
	struct k2i_mount *mount = k2i_op_mount(req);
	struct fuse_entry_param entry;

	if (status) {
		(void)fuse_reply_err(req, -status);
		return;
	}
	k2i_op_entry(mount, node, &entry);
	if (fuse_reply_entry(req, &entry) == -ENOENT)
		k2i_node_forget(mount->nodes, node, 1);
}

void k2i_op_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct k2i_mount *mount = k2i_op_mount(req);
	uint64_t node = k2i_op_special(mount, parent, name);
	int status = strlen(name) > K2I_NODE_NAME_BYTES_MAX ? -ENAMETOOLONG : 0;

	if (!node && status == 0 && k2i_node_at(mount->nodes, parent))
		node = k2i_node_of(mount->nodes, k2i_node_find(mount->nodes, (uint32_t)parent, name));
	if (!node && status == 0)
		status = -ENOENT;
	k2i_op_reply_entry(req, status, node);
}

void k2i_op_forget(fuse_req_t req, fuse_ino_t node, uint64_t lookups)
{
	k2i_node_forget(k2i_op_mount(req)->nodes, node, lookups);
	fuse_reply_none(req);
}

void k2i_op_forget_multi(fuse_req_t req, size_t count, struct fuse_forget_data *forgets)
{
	for (size_t at = 0; at < count; at++)
		k2i_node_forget(k2i_op_mount(req)->nodes, forgets[at].ino, forgets[at].nlookup);
	fuse_reply_none(req);
}

static void node_reply_stat(fuse_req_t req, uint64_t node)
{
	struct stat info;
	int status = k2i_op_stat(k2i_op_mount(req), node, &info);

	if (status)
		(void)fuse_reply_err(req, -status);
	else
		(void)fuse_reply_attr(req, &info, attributes_seconds(k2i_op_mount(req), node));
}

void k2i_op_getattr(fuse_req_t req, fuse_ino_t node, struct fuse_file_info *file)
{
	struct k2i_mount *mount = k2i_op_mount(req);
	const struct k2i_handle *handle = file ? k2i_handle_at(mount, file->fh) : NULL;

	/* stat(2) and fstat(2) ask without a handle. */
	if (handle && handle->cached && handle->node == node) {
		if (k2i_mount_ends(mount)) {
			k2i_reply_count_refused(mount, -ECONNABORTED);
			(void)fuse_reply_err(req, ECONNABORTED);
			return;
		}
		if (k2i_pull_holds_file(mount, node)) {
			k2i_deferred_request_want(req);
			return;
		}
		k2i_pull_announced(mount, handle->cached);
	}
	node_reply_stat(req, node);
}

static void entry_set_times(struct k2i_node_entry *entry, const struct stat *wanted, int to_set)
{
	if (to_set & FUSE_SET_ATTR_ATIME_NOW)
		entry->accessed = k2i_node_now();
	else if (to_set & FUSE_SET_ATTR_ATIME)
		entry->accessed = wanted->st_atim;
	if (to_set & FUSE_SET_ATTR_MTIME_NOW)
		entry->modified = k2i_node_now();
	else if (to_set & FUSE_SET_ATTR_MTIME)
		entry->modified = wanted->st_mtim;
}

/* Attributes to be. */
struct change {
	fuse_req_t req;
	uint32_t node;
	struct stat wanted;
	int to_set;
	bool grows; /* fallocate(2): the size is not set back, and attributes are no answer */
	struct k2i_truncate_probe probe;
};

static void change_cut(struct k2i_mount *mount, const struct change *change)
{
	struct k2i_node_entry *entry = k2i_node_at(mount->nodes, change->node);
	uint64_t bytes = (uint64_t)change->wanted.st_size;

	k2i_pull_cut(mount, change->node, &change->probe);
	entry->size = bytes;
	k2i_node_touch(entry);
}

static void change_now(struct k2i_mount *mount, const struct change *change)
{
	struct k2i_node_entry *entry = k2i_node_at(mount->nodes, change->node);
	const struct stat *wanted = &change->wanted;

	k2i_node_keep(entry);
	if (change->to_set & FUSE_SET_ATTR_MODE)
		entry->mode = (entry->mode & S_IFMT) | (wanted->st_mode & 07777);
	if (change->to_set & FUSE_SET_ATTR_UID)
		entry->uid = wanted->st_uid;
	if (change->to_set & FUSE_SET_ATTR_GID)
		entry->gid = wanted->st_gid;
	/* The written data is on its way: only the number changes. */
	if (change->to_set & FUSE_SET_ATTR_SIZE && (!change->grows || (uint64_t)wanted->st_size > entry->size))
		change_cut(mount, change);
	entry_set_times(entry, wanted, change->to_set);
	entry->changed = k2i_node_now();
	if (change->grows)
		(void)fuse_reply_err(change->req, 0);
	else
		node_reply_stat(change->req, change->node);
}

static void change_kept(struct k2i_mount *mount, void *argument)
{
	change_now(mount, argument);
	free(argument);
}

static void change_probe(struct k2i_mount *mount, void *argument)
{
	struct change *change = argument;
	const struct k2i_node_entry *entry = k2i_node_at(mount->nodes, change->node);

	/* Data behind a hole was written before, too. */
	if (entry && entry->cached)
		k2i_pull_pass_hole(mount, entry->cached);
	change->probe.then = change_kept;
	change->probe.argument = change;
	if (change->grows)
		change_kept(mount, change);
	else
		k2i_truncate_probe_leave(mount, change->node, (uint64_t)change->wanted.st_size, &change->probe);
}

static void change_begin(struct k2i_mount *mount, const struct change *change)
{
	struct change *kept;

	/* The kernel refuses appends to a file that ends where off_t does. */
	if (change->to_set & FUSE_SET_ATTR_SIZE && (uint64_t)change->wanted.st_size > K2I_FILE_BYTES_MAX) {
		(void)fuse_reply_err(change->req, EFBIG);
		return;
	}
	if (!mount->kernel.writeback || !(change->to_set & FUSE_SET_ATTR_SIZE)) {
		change_now(mount, change);
		return;
	}
	/* The kernel throws away what it has when this is answered. */
	kept = malloc(sizeof(*kept));
	if (!kept) {
		(void)fuse_reply_err(change->req, ENOMEM);
		return;
	}
	*kept = *change;
	k2i_pull_cut_done(mount, change->node);
	k2i_pull_before(mount, change->node, change_probe, kept);
}

void k2i_op_setattr(fuse_req_t req, fuse_ino_t node, struct stat *wanted, int to_set, struct fuse_file_info *file)
{
	struct k2i_mount *mount = k2i_op_mount(req);
	struct change change = {.req = req, .node = (uint32_t)node, .wanted = *wanted, .to_set = to_set};

	(void)file;
	if (k2i_node_at(mount->nodes, node))
		change_begin(mount, &change);
	else
		(void)fuse_reply_err(req, node >= K2I_RING_LINK_NODE ? EPERM : ENOENT);
}

/* Without it posix_fallocate(3) writes a zero to each block, and what is written is sent. */
void k2i_op_fallocate(fuse_req_t req, fuse_ino_t node, int mode, off_t offset, off_t length,
		      struct fuse_file_info *file)
{
	struct k2i_mount *mount = k2i_op_mount(req);
	struct change change = {.req = req, .node = (uint32_t)node, .to_set = FUSE_SET_ATTR_SIZE, .grows = true};

	(void)file;
	change.wanted.st_size = offset + length;
	if (mode & ~FALLOC_FL_KEEP_SIZE || !k2i_node_at(mount->nodes, node))
		(void)fuse_reply_err(req, EOPNOTSUPP);
	else if (mode)
		(void)fuse_reply_err(req, 0);
	else
		change_begin(mount, &change);
}

void k2i_op_readlink(fuse_req_t req, fuse_ino_t node)
{
	const struct fuse_ctx *context = fuse_req_ctx(req);
	const struct k2i_mount *mount = k2i_op_mount(req);
	unsigned at = node < K2I_LANE_LINK_NODE ? mount->lanes.taker[0] : (unsigned)(node - K2I_LANE_LINK_NODE);
	const struct k2i_mount_lane *lane = &mount->lanes.lane[at];
	const char *file = mount->lanes.ring_files[at];
	char path[64];
	int status = 0;

	if (node < K2I_RING_LINK_NODE || node == K2I_STAT_NODE)
		status = -EINVAL;
	else if (!k2i_lane_used(lane))
		status = -ENOENT;
	else if (context->uid != 0 && context->uid != geteuid())
		status = -EACCES;
	if (status) {
		(void)fuse_reply_err(req, -status);
		return;
	}
	/* A program that attaches to it sends by one lane only. */
	(void)snprintf(path, sizeof(path), "/proc/%ld/fd/%d", (long)mount->keeper.pid, lane->ring_fd);
	(void)fuse_reply_readlink(req, *file ? file : path);
}

void k2i_op_statfs(fuse_req_t req, fuse_ino_t node)
{
	struct k2i_mount *mount = k2i_op_mount(req);
	struct k2i_lanes_room room = k2i_lanes_room(&mount->lanes);
	struct statvfs info = {.f_bsize = BLOCK_BYTES, .f_frsize = BLOCK_BYTES, .f_namemax = K2I_NODE_NAME_BYTES_MAX};
	uint64_t used;

	(void)node;
	used = (room.used_bytes + BLOCK_BYTES - 1) / BLOCK_BYTES;
	info.f_blocks = room.ring_bytes / BLOCK_BYTES;
	info.f_bfree = info.f_bavail = used < info.f_blocks ? info.f_blocks - used : 0;
	info.f_files = K2I_NODE_COUNT_MAX - 1;
	info.f_ffree = info.f_favail = info.f_files - k2i_nodes_used(mount->nodes);
	(void)fuse_reply_statfs(req, &info);
}
