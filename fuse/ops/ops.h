/* SPDX-License-Identifier: MIT */
#ifndef K2I_FUSE_OPS_OPS_H
#define K2I_FUSE_OPS_OPS_H

#include <stdint.h>
#include <sys/stat.h>

#include "fuse/base/fuse_api.h"
#include "fuse/base/mount.h"
#include "fuse/tree/nodes.h"

/*
 * The operations that libfuse asks for. `req`'s user data is the struct k2i_mount. WRITE, FSYNC and INTERRUPT never get
 * here, see loop.c. The kernel checks permissions (default_permissions).
 */
extern const struct fuse_lowlevel_ops k2i_ops;

/* How long the kernel may believe entries and attributes. */
#define K2I_CACHE_SECONDS 1.0

/* The link in the root that leads to the ring; it is a node of its own outside of the table. */
#define K2I_RING_LINK_NODE ((uint64_t)K2I_NODE_COUNT_MAX)

/* The file in the root that says how things are; it is no node of the table either. */
#define K2I_STAT_NODE (K2I_RING_LINK_NODE + 1)

/* Behind it: the links to the rings of several receivers, by lane; from the first link on no node is of the table. */
#define K2I_LANE_LINK_NODE (K2I_STAT_NODE + 1)

struct k2i_mount *k2i_op_mount(fuse_req_t req);
/* Attributes of a node; for the ring's link and the status too. -ENOENT */
int k2i_op_stat(struct k2i_mount *mount, uint64_t node, struct stat *info);
/* Fills an entry for `node` and counts the lookup. */
void k2i_op_entry(struct k2i_mount *mount, uint64_t node, struct fuse_entry_param *entry);
/* Answers with `node`'s entry, or with an error: `status` is -errno. */
void k2i_op_reply_entry(fuse_req_t req, int status, uint64_t node);
/* The ring's link or the status, if that is what `name` in `parent` is; else 0. */
uint64_t k2i_op_special(const struct k2i_mount *mount, uint64_t parent, const char *name);
/* Whether there can be a file `name` in `parent`: -ENAMETOOLONG; -EPERM it is a name of the mount's own. */
int k2i_op_check_name(uint64_t parent, const char *name);
/* Counts and logs that `path` is not opened or made, for other reasons than that it may not be. */
void k2i_op_count_unopened(struct k2i_mount *mount, const char *path, int status);
/* Whether a rule covers the file or directory: -EPERM, which is counted and logged. */
int k2i_op_check_rule(struct k2i_mount *mount, const char *path, bool directory);
/* Makes what `mode` says, with its type: errors as of the checks and of k2i_node_make. */
int k2i_op_make(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, uint32_t *node);

void k2i_op_lookup(fuse_req_t req, fuse_ino_t parent, const char *name);
void k2i_op_forget(fuse_req_t req, fuse_ino_t node, uint64_t lookups);
void k2i_op_forget_multi(fuse_req_t req, size_t count, struct fuse_forget_data *forgets);
void k2i_op_getattr(fuse_req_t req, fuse_ino_t node, struct fuse_file_info *file);
void k2i_op_setattr(fuse_req_t req, fuse_ino_t node, struct stat *wanted, int to_set, struct fuse_file_info *file);
void k2i_op_fallocate(fuse_req_t req, fuse_ino_t node, int mode, off_t offset, off_t length,
		      struct fuse_file_info *file);
void k2i_op_readlink(fuse_req_t req, fuse_ino_t node);
void k2i_op_statfs(fuse_req_t req, fuse_ino_t node);

void k2i_op_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode);
void k2i_op_unlink(fuse_req_t req, fuse_ino_t parent, const char *name);
void k2i_op_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name);
void k2i_op_rename(fuse_req_t req, fuse_ino_t parent, const char *name, fuse_ino_t new_parent, const char *new_name,
		   unsigned int flags);
void k2i_op_symlink(fuse_req_t req, const char *target, fuse_ino_t parent, const char *name);
void k2i_op_link(fuse_req_t req, fuse_ino_t node, fuse_ino_t parent, const char *name);
void k2i_op_opendir(fuse_req_t req, fuse_ino_t node, struct fuse_file_info *file);
void k2i_op_readdir(fuse_req_t req, fuse_ino_t node, size_t size, off_t offset, struct fuse_file_info *file);
void k2i_op_readdirplus(fuse_req_t req, fuse_ino_t node, size_t size, off_t offset, struct fuse_file_info *file);
void k2i_op_releasedir(fuse_req_t req, fuse_ino_t node, struct fuse_file_info *file);

void k2i_op_mknod(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, dev_t device);
void k2i_op_create(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, struct fuse_file_info *file);
void k2i_op_open(fuse_req_t req, fuse_ino_t node, struct fuse_file_info *file);
void k2i_op_read(fuse_req_t req, fuse_ino_t node, size_t size, off_t offset, struct fuse_file_info *file);
void k2i_op_copy_file_range(fuse_req_t req, fuse_ino_t node, off_t offset, struct fuse_file_info *file,
			    fuse_ino_t to_node, off_t to_offset, struct fuse_file_info *to_file, size_t bytes,
			    int flags);
void k2i_op_flush(fuse_req_t req, fuse_ino_t node, struct fuse_file_info *file);
void k2i_op_release(fuse_req_t req, fuse_ino_t node, struct fuse_file_info *file);

#endif
