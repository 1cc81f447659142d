/* SPDX-License-Identifier: MIT */
#ifndef K2I_FUSE_TREE_NODES_H
#define K2I_FUSE_TREE_NODES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

/*
 * The tree of a mount: flat arrays in memory of the journal, which outlives the process that serves it and keeps what a
 * step changes of it. A node lives as long as it has a name, the kernel knows it (lookups) or it is open. A
 * single thread uses it.
 */
#define K2I_NODE_NONE 0u
#define K2I_NODE_ROOT 1u
#define K2I_NODE_COUNT_MAX (1u << 18)
#define K2I_NODE_NAME_BYTES_MAX 255u
/* A file's size is set no higher: behind it there is room for whatever is appended. */
#define K2I_FILE_BYTES_MAX (UINT64_C(1) << 62)
#define K2I_NODE_LINKS_MAX 1000u /* other names of a file: they are gone through when one comes or goes */

struct k2i_node_table;
struct k2i_cached_file;

struct k2i_node_entry {
	uint64_t generation;      /* of this index: another one each time that it names another node */
	uint64_t left_generation; /* of left_parent then */
	uint64_t lookups;         /* that the kernel has not forgotten */
	uint64_t size;
	uint64_t order; /* among its siblings; the offset of readdir */
	struct timespec accessed, modified, changed;
	uint32_t parent;      /* K2I_NODE_NONE: it has no name any more */
	uint32_t left_parent; /* in which it had the last one, `name` */
	uint32_t first_child, last_child, previous, next;
	uint32_t hash_next;
	uint32_t link_of;   /* this is only another name of that node */
	uint32_t link_next; /* another name of the same node */
	uint32_t links;     /* so many others it has */
	uint32_t opens;
	uint32_t child_directories;
	uint32_t writers;               /* opens that write to it directly */
	struct k2i_cached_file *cached; /* writes go through the page cache, see writeback_pull.h */
	mode_t mode;
	uid_t uid;
	gid_t gid;
	bool used, implied;  /* implied: by a rule; neither removed nor renamed */
	bool is_copy_target; /* gets records from another file */
	uint8_t probe_bytes; /* of probe_value; 0: no cut is on its way, see k2i_pull_cut */
	uint64_t probe_value;
	uint64_t lanes; /* whose rings can have its data */
	uint8_t name_bytes;
	char name[K2I_NODE_NAME_BYTES_MAX + 1];
};

struct k2i_node_owner {
	mode_t mode; /* with its type: S_IFREG or S_IFDIR */
	uid_t uid;
	gid_t gid;
};

/* With a root of `root` and nothing in it. -ENOMEM */
int k2i_nodes_create(const struct k2i_node_owner *root, struct k2i_node_table **table);
void k2i_nodes_free(struct k2i_node_table *table);

/* NULL: no node has that index now. The address holds until k2i_nodes_free. */
struct k2i_node_entry *k2i_node_at(struct k2i_node_table *table, uint64_t node);

/* The name's index, or K2I_NODE_NONE: that of its node, or of another name that the node has. */
uint32_t k2i_node_find(const struct k2i_node_table *table, uint32_t parent, const char *name);
/* The node that a name is of. */
uint32_t k2i_node_of(const struct k2i_node_table *table, uint32_t name);

/* -EEXIST, -ENOENT the parent has no name, -ENOTDIR, -ENAMETOOLONG, -ENOSPC the table is full. */
int k2i_node_make(struct k2i_node_table *table, uint32_t parent, const char *name, const struct k2i_node_owner *owner,
		  uint32_t *node);

/* Another name for a file, as link(2). Its errors, and those of k2i_node_make. */
int k2i_node_link(struct k2i_node_table *table, uint32_t node, uint32_t parent, const char *name);

/*
 * Takes the name away; a file that has others goes on under the oldest of them. -ENOTEMPTY a directory with something
 * in it, -EBUSY implied.
 */
int k2i_node_remove(struct k2i_node_table *table, uint32_t node);

/*
 * Gives the name `node` another parent and name; what has that name is removed first. -ENOTEMPTY, -EISDIR, -ENOTDIR,
 * -EBUSY as rename(2); -EINVAL a directory into itself; -EEXIST the name is taken and `replace` is false.
 */
int k2i_node_rename(struct k2i_node_table *table, uint32_t node, uint32_t parent, const char *name, bool replace);

/*
 * Path below the root without leading slash, terminated. The length, -ENAMETOOLONG, or -ENOENT it has no name. With
 * `name`: the path that a child of that name has.
 */
int k2i_node_path(struct k2i_node_table *table, uint32_t node, const char *name, char *path, size_t room);
/* The same of what may have no name any more: by the last that it had. -ENOENT a directory of that path is forgotten. */
int k2i_node_last_path(struct k2i_node_table *table, uint32_t node, char *path, size_t room);

void k2i_node_looked_up(struct k2i_node_table *table, uint32_t node);
void k2i_node_forget(struct k2i_node_table *table, uint64_t node, uint64_t lookups);
void k2i_node_opened(struct k2i_node_table *table, uint32_t node);
void k2i_node_closed(struct k2i_node_table *table, uint32_t node);

/* The name that follows `order` in readdir's order; 0 begins. */
uint32_t k2i_node_child_after(struct k2i_node_table *table, uint32_t parent, uint64_t order);
/* Names that come from here on have this order or a later one. */
uint64_t k2i_nodes_order_next(const struct k2i_node_table *table);

/* As st_nlink. */
nlink_t k2i_node_links(const struct k2i_node_entry *entry);
/* Nodes that have a name or are still known. */
uint32_t k2i_nodes_used(const struct k2i_node_table *table);

/* For its times: CLOCK_REALTIME. */
struct timespec k2i_node_now(void);
/* To be called before an entry is changed by hand. */
void k2i_node_keep(const struct k2i_node_entry *entry);
/* Somebody without the right to keep them writes to it: it is set-user-id and set-group-id no more. */
void k2i_node_drop_set_ids(struct k2i_node_table *table, uint64_t node);
/* It was written to, now, up to offset `end`. */
void k2i_node_grow(struct k2i_node_entry *entry, uint64_t end);
/* A handle writes directly, or does so no more. */
void k2i_node_writers(struct k2i_node_table *table, uint32_t node, int change);
/* These lanes have no data of any node. It is no part of a step: that is so whether or not one is done. */
void k2i_nodes_leave(struct k2i_node_table *table, uint64_t lanes);
/* Its data goes to these lanes, too. */
void k2i_node_goes_to(struct k2i_node_table *table, uint32_t node, uint64_t lanes);
/* Contents changed now: modified and changed. */
void k2i_node_touch(struct k2i_node_entry *entry);

#endif
