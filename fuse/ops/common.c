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

/* A new file or directory in `parent` gets it. */
static struct k2i_node_owner name_owner(fuse_req_t req, fuse_ino_t parent, mode_t mode)
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

/* The receiver's name in that of a link to its ring; NULL: it is none of these. */
static const char *lane_link_home(uint64_t parent, const char *name)
{
	size_t bytes = strlen(K2I_RING_LINK_NAME ".");

	return parent == K2I_NODE_ROOT && strncmp(name, K2I_RING_LINK_NAME ".", bytes) == 0 ? name + bytes : NULL;
}

static uint64_t special_alone(uint64_t parent, const char *name)
{
	if (parent != K2I_NODE_ROOT)
		return 0;
	if (strcmp(name, K2I_STAT_NAME) == 0)
		return K2I_STAT_NODE;
	return strcmp(name, K2I_RING_LINK_NAME) == 0 ? K2I_RING_LINK_NODE : 0;
}

uint64_t k2i_op_special(const struct k2i_mount *mount, uint64_t parent, const char *name)
{
	const char *home = lane_link_home(parent, name);

	for (unsigned at = 0; home && at < mount->lanes.takers; at++)
		if (strcmp(mount->lanes.homes[at], home) == 0)
			return K2I_LANE_LINK_NODE + mount->lanes.taker[at];
	return special_alone(parent, name);
}

int k2i_op_check_name(uint64_t parent, const char *name)
{
	if (strlen(name) > K2I_NODE_NAME_BYTES_MAX)
		return -ENAMETOOLONG;
	return lane_link_home(parent, name) || special_alone(parent, name) ? -EPERM : 0;
}

/* Directories may be made where a directory rule covers them. */
int k2i_op_check_rule(struct k2i_mount *mount, const char *path, bool directory)
{
	const struct k2i_rule_match *match = k2i_rules_find(mount->rules, path);

	if (match && (!directory || k2i_rule_settings(match)->directory))
		return 0;
	k2i_mount_count(&mount->counts.refused_names, 1);
	k2i_log_limited(&mount->log.rule, k2i_clock_now_ns(), K2HFT_LOG_WARNING, "mount: %s: no %s covers it", path,
			directory ? "K2HFTFUSE_RULE_DIR" : "K2HFTFUSE_RULE and no K2HFTFUSE_RULE_DIR");
	return -EPERM;
}

int k2i_op_make(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, uint32_t *node)
{
	struct k2i_mount *mount = k2i_op_mount(req);
	struct k2i_node_owner owner = name_owner(req, parent, mode);
	char path[K2I_PATH_BYTES_MAX + 1];
	int status = k2i_op_check_name(parent, name);

	if (status == 0)
		status = k2i_node_path(mount->nodes, (uint32_t)parent, name, path, sizeof(path));
	if (status >= 0)
		status = k2i_op_check_rule(mount, path, S_ISDIR(mode));
	if (status == 0)
		status = k2i_node_make(mount->nodes, (uint32_t)parent, name, &owner, node);
	if (status == -ENOSPC)
		k2i_op_count_unopened(mount, path, status);
	return status;
}
