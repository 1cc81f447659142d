/* SPDX-License-Identifier: MIT */
#include "fuse/tree/tree.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fuse/base/mount.h"
#include "fuse/base/options.h"
#include "fuse/tree/nodes.h"

mode_t k2i_tree_mode(const struct k2i_mount_options *options, mode_t mode)
{
	mode_t left = mode & (mode_t)~options->umask_bits;

	if (S_ISDIR(mode))
		left |= mode & (S_IXUSR | (left & 0060 ? S_IXGRP : 0) | (left & 0006 ? S_IXOTH : 0));
	return left;
}

static struct k2i_node_owner type_owner(const struct k2i_mount *mount, mode_t type)
{
	const struct k2i_mount_options *options = mount->options;

	return (struct k2i_node_owner){
		.mode = k2i_tree_mode(options, type | (S_ISDIR(type) ? 0777 : 0666)),
		.uid = options->uid_set ? options->uid_number : getuid(),
		.gid = options->gid_set ? options->gid_number : getgid(),
	};
}

static int name_make_or_find(struct k2i_mount *mount, uint32_t parent, const char *name, mode_t type, uint32_t *node)
{
	struct k2i_node_owner owner = type_owner(mount, type);
	int status = k2i_node_make(mount->nodes, parent, name, &owner, node);

	if (status != -EEXIST)
		return status;
	*node = k2i_node_of(mount->nodes, k2i_node_find(mount->nodes, parent, name));
	return (k2i_node_at(mount->nodes, *node)->mode & S_IFMT) == type ? 0 : -EEXIST;
}

enum implies { IMPLIES_NOTHING, IMPLIES, IMPLIES_NO_MORE };

static void node_imply(struct k2i_mount *mount, uint32_t node, enum implies implies)
{
	struct k2i_node_entry *entry = k2i_node_at(mount->nodes, node);

	if (implies == IMPLIES_NOTHING)
		return;
	k2i_node_keep(entry);
	entry->implied = implies == IMPLIES;
}

/* Each part of `path`; `type` is that of the last. */
static int path_make(struct k2i_mount *mount, const char *path, mode_t type, enum implies implies, uint32_t *node)
{
	char name[K2I_NODE_NAME_BYTES_MAX + 1];
	uint32_t at = K2I_NODE_ROOT;
	int status = 0;

	while (*path && status == 0) {
		size_t bytes = strcspn(path, "/");
		bool last = path[bytes] == '\0';

		if (bytes > K2I_NODE_NAME_BYTES_MAX)
			return -ENAMETOOLONG;
		memcpy(name, path, bytes);
		name[bytes] = '\0';
		status = name_make_or_find(mount, at, name, last ? type : S_IFDIR, &at);
		if (status == 0 && (!last || type == S_IFDIR))
			node_imply(mount, at, implies);
		path += bytes + !last;
	}
	*node = at;
	return status;
}

int k2i_tree_make(struct k2i_mount *mount)
{
	struct k2i_node_owner root = type_owner(mount, S_IFDIR);
	int status = k2i_nodes_create(&root, &mount->nodes);

	if (status)
		k2i_log(K2HFT_LOG_ERROR, "memory for names: %s", strerror(-status));
	for (size_t number = 0; status == 0 && number < mount->settings->rule_count; number++) {
		const struct k2i_rule *rule = &mount->settings->rules[number];
		uint32_t node;

		status = path_make(mount, rule->target, rule->directory ? S_IFDIR : S_IFREG, IMPLIES, &node);
		if (status)
			k2i_log(K2HFT_LOG_ERROR, "%s:%u: TARGET %s: %s", rule->place.file, rule->place.line,
				rule->target, strerror(-status));
	}
	return status;
}

int k2i_tree_change(struct k2i_mount *mount, const struct k2i_settings *former, const struct k2i_rule **failed)
{
	const struct k2i_settings *both[] = {former, mount->settings};
	uint32_t node;
	int status = 0;

	for (size_t set = 0; set < 2; set++) {
		for (size_t number = 0; status == 0 && number < both[set]->rule_count; number++) {
			*failed = &both[set]->rules[number];
			status = path_make(mount, (*failed)->target, (*failed)->directory ? S_IFDIR : S_IFREG,
					   set ? IMPLIES : IMPLIES_NO_MORE, &node);
		}
	}
	return status;
}

int k2i_tree_file(struct k2i_mount *mount, const char *path, uint32_t *node)
{
	return path_make(mount, path, S_IFREG, IMPLIES_NOTHING, node);
}
