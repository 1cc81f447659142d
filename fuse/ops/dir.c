/* SPDX-License-Identifier: MIT */
/* Names: directories, removal, renaming, listing. */
#include "fuse/ops/ops.h"

#include <errno.h>
#include <stdlib.h>

#include "fuse/base/journal.h"
#include "fuse/tree/nodes.h"

#ifndef RENAME_NOREPLACE
#define RENAME_NOREPLACE 1u
#endif

void k2i_op_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode)
{
	uint32_t node = K2I_NODE_NONE;
	int status = k2i_op_make(req, parent, name, S_IFDIR | (mode & 07777), &node);

	k2i_op_reply_entry(req, status, node);
}

static int name_remove(struct k2i_mount *mount, fuse_ino_t parent, const char *name, bool directory)
{
	const struct k2i_node_entry *entry;
	int status = k2i_op_check_name(parent, name);
	uint32_t node;

	if (status)
		return status;
	if (!k2i_node_at(mount->nodes, parent))
		return -ENOENT;
	node = k2i_node_find(mount->nodes, (uint32_t)parent, name);
	entry = k2i_node_at(mount->nodes, node);
	if (!entry)
		return -ENOENT;
	if (S_ISDIR(entry->mode) != directory)
		return directory ? -ENOTDIR : -EISDIR;
	return k2i_node_remove(mount->nodes, node);
}

void k2i_op_unlink(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	(void)fuse_reply_err(req, -name_remove(k2i_op_mount(req), parent, name, false));
}

void k2i_op_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	(void)fuse_reply_err(req, -name_remove(k2i_op_mount(req), parent, name, true));
}

void k2i_op_rename(fuse_req_t req, fuse_ino_t parent, const char *name, fuse_ino_t new_parent, const char *new_name,
		   unsigned int flags)
{
	struct k2i_mount *mount = k2i_op_mount(req);
	int status = flags & ~(unsigned)RENAME_NOREPLACE ? -EINVAL : k2i_op_check_name(parent, name);
	uint32_t node;

	if (status == 0)
		status = k2i_op_check_name(new_parent, new_name);
	if (status == 0 && (!k2i_node_at(mount->nodes, parent) || !k2i_node_at(mount->nodes, new_parent)))
		status = -ENOENT;
	if (status == 0) {
		node = k2i_node_find(mount->nodes, (uint32_t)parent, name);
		status = k2i_node_rename(mount->nodes, node, (uint32_t)new_parent, new_name,
					 !(flags & RENAME_NOREPLACE));
	}
	(void)fuse_reply_err(req, -status);
}

void k2i_op_symlink(fuse_req_t req, const char *target, fuse_ino_t parent, const char *name)
{
	(void)target;
	(void)parent;
	(void)name;
	(void)fuse_reply_err(req, EPERM);
}

void k2i_op_link(fuse_req_t req, fuse_ino_t node, fuse_ino_t parent, const char *name)
{
	struct k2i_mount *mount = k2i_op_mount(req);
	int status = k2i_node_at(mount->nodes, node) ? k2i_op_check_name(parent, name) : -EPERM;

	if (status == 0)
		status = k2i_node_link(mount->nodes, (uint32_t)node, (uint32_t)parent, name);
	if (status == -ENOSPC)
		k2i_op_count_unopened(mount, name, status);
	k2i_op_reply_entry(req, status, (uint32_t)node);
}

/*
 * An open directory, in memory of the journal; the kernel keeps its address. Names that come while it is listed are not: who makes
 * one for each that he sees would never come to an end.
 */
struct opened {
	uint64_t order_end; /* of the names that were there when the listing began */
};

static struct opened *opened_of(const struct fuse_file_info *file)
{
	return (struct opened *)(uintptr_t)file->fh;
}

void k2i_op_opendir(fuse_req_t req, fuse_ino_t node, struct fuse_file_info *file)
{
	struct opened *opened = k2i_journal_alloc(sizeof(*opened));

	(void)node;
	if (!opened) {
		(void)fuse_reply_err(req, ENOMEM);
		return;
	}
	opened->order_end = k2i_nodes_order_next(k2i_op_mount(req)->nodes);
	file->fh = (uintptr_t)opened;
	if (fuse_reply_open(req, file) == -ENOENT)
		k2i_journal_free(opened);
}

void k2i_op_releasedir(fuse_req_t req, fuse_ino_t node, struct fuse_file_info *file)
{
	(void)node;
	k2i_journal_free(opened_of(file));
	(void)fuse_reply_err(req, 0);
}

/* An answer of readdir; offsets: 1 and 2 for "." and "..", then a child's order and 2. */
struct listing {
	fuse_req_t req;
	struct k2i_mount *mount;
	char *buffer;
	size_t room, used;
	uint64_t order_end;
	bool plus;
};

#define DOT_ENTRIES 2

/* Whether it fitted. */
static bool listing_add(struct listing *listing, const char *name, uint32_t node, off_t next_offset)
{
	char *at = listing->buffer + listing->used;
	size_t left = listing->room - listing->used, bytes;
	struct fuse_entry_param entry = {.ino = 0};
	bool counted = listing->plus && next_offset > DOT_ENTRIES;

	if (counted)
		k2i_op_entry(listing->mount, node, &entry);
	else
		(void)k2i_op_stat(listing->mount, node, &entry.attr);
	bytes = listing->plus ? fuse_add_direntry_plus(listing->req, at, left, name, &entry, next_offset)
			      : fuse_add_direntry(listing->req, at, left, name, &entry.attr, next_offset);
	if (bytes > left) {
		if (counted)
			k2i_node_forget(listing->mount->nodes, node, 1);
		return false;
	}
	listing->used += bytes;
	return true;
}

static void listing_fill(struct listing *listing, uint32_t node, uint64_t offset)
{
	struct k2i_node_table *nodes = listing->mount->nodes;
	uint32_t parent = k2i_node_at(nodes, node)->parent, child;

	if (offset < 1 && !listing_add(listing, ".", node, 1))
		return;
	if (offset < DOT_ENTRIES && !listing_add(listing, "..", parent ? parent : node, DOT_ENTRIES))
		return;
	offset = offset < DOT_ENTRIES ? 0 : offset - DOT_ENTRIES;
	while ((child = k2i_node_child_after(nodes, node, offset)) != K2I_NODE_NONE) {
		const struct k2i_node_entry *entry = k2i_node_at(nodes, child);

		offset = entry->order;
		if (offset >= listing->order_end ||
		    !listing_add(listing, entry->name, k2i_node_of(nodes, child), (off_t)(offset + DOT_ENTRIES)))
			return;
	}
}

static void listing_reply(fuse_req_t req, fuse_ino_t node, size_t size, off_t offset, struct opened *opened, bool plus)
{
	struct listing listing = {.req = req, .mount = k2i_op_mount(req), .room = size, .plus = plus};
	const struct k2i_node_entry *entry = k2i_node_at(listing.mount->nodes, node);

	if (!entry || !S_ISDIR(entry->mode)) {
		(void)fuse_reply_err(req, entry ? ENOTDIR : ENOENT);
		return;
	}
	listing.buffer = malloc(size);
	if (!listing.buffer) {
		(void)fuse_reply_err(req, ENOMEM);
		return;
	}
	/* It begins, perhaps once more, as by rewinddir(3). */
	if (offset == 0) {
		K2I_JOURNAL_KEEP(opened);
		opened->order_end = k2i_nodes_order_next(listing.mount->nodes);
	}
	listing.order_end = opened->order_end;
	listing_fill(&listing, (uint32_t)node, (uint64_t)offset);
	(void)fuse_reply_buf(req, listing.buffer, listing.used);
	free(listing.buffer);
}

void k2i_op_readdir(fuse_req_t req, fuse_ino_t node, size_t size, off_t offset, struct fuse_file_info *file)
{
	listing_reply(req, node, size, offset, opened_of(file), false);
}

void k2i_op_readdirplus(fuse_req_t req, fuse_ino_t node, size_t size, off_t offset, struct fuse_file_info *file)
{
	listing_reply(req, node, size, offset, opened_of(file), true);
}
