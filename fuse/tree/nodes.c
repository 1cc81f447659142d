/* SPDX-License-Identifier: MIT */
#include "fuse/tree/nodes.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "base/hash.h"
#include "fuse/base/journal.h"

#define BUCKET_COUNT (1u << 16)

struct k2i_node_table {
	uint32_t used_count;
	uint32_t untouched; /* indexes from here on have never been used */
	uint32_t free_first;
	uint64_t order_next, generation_next;
	uint64_t seed;   /* of the buckets: whoever makes files chooses their names */
	uint32_t cursor; /* the child that readdir came to last: it goes on near it */
	uint32_t buckets[BUCKET_COUNT];
	struct k2i_node_entry entries[K2I_NODE_COUNT_MAX];
};

struct timespec k2i_node_now(void)
{
	struct timespec time;

	(void)clock_gettime(CLOCK_REALTIME, &time);
	return time;
}

/* The part of the table that changes with any of its nodes. */
static void table_keep_counts(const struct k2i_node_table *table)
{
	k2i_journal_keep(table, offsetof(struct k2i_node_table, buckets));
}

void k2i_node_keep(const struct k2i_node_entry *entry)
{
	K2I_JOURNAL_KEEP(entry);
}

void k2i_node_grow(struct k2i_node_entry *entry, uint64_t end)
{
	k2i_journal_keep(&entry->size, offsetof(struct k2i_node_entry, parent) - offsetof(struct k2i_node_entry, size));
	if (entry->size < end)
		entry->size = end;
	k2i_node_touch(entry);
}

void k2i_node_drop_set_ids(struct k2i_node_table *table, uint64_t node)
{
	struct k2i_node_entry *entry = k2i_node_at(table, node);
	mode_t dropped = S_ISUID | (entry && entry->mode & S_IXGRP ? S_ISGID : 0);

	if (!entry || !(entry->mode & dropped))
		return;
	k2i_node_keep(entry);
	entry->mode &= ~dropped;
	entry->changed = k2i_node_now();
}

void k2i_node_writers(struct k2i_node_table *table, uint32_t node, int change)
{
	K2I_JOURNAL_KEEP(&table->entries[node].writers);
	table->entries[node].writers += (uint32_t)change;
}

void k2i_node_goes_to(struct k2i_node_table *table, uint32_t node, uint64_t lanes)
{
	uint64_t *known = &table->entries[node].lanes;

	if ((*known | lanes) == *known)
		return;
	K2I_JOURNAL_KEEP(known);
	*known |= lanes;
}

void k2i_nodes_leave(struct k2i_node_table *table, uint64_t lanes)
{
	for (uint32_t node = 0; node < table->untouched; node++) {
		if (table->entries[node].lanes & lanes)
			table->entries[node].lanes &= ~lanes;
	}
}

void k2i_node_touch(struct k2i_node_entry *entry)
{
	entry->modified = entry->changed = k2i_node_now();
}

static void entry_begin(struct k2i_node_table *table, uint32_t node, const struct k2i_node_owner *owner)
{
	struct k2i_node_entry *entry = &table->entries[node];

	k2i_node_keep(entry);
	table_keep_counts(table);
	memset(entry, 0, sizeof(*entry));
	entry->generation = table->generation_next++;
	entry->used = true;
	entry->mode = owner->mode;
	entry->uid = owner->uid;
	entry->gid = owner->gid;
	k2i_node_touch(entry);
	entry->accessed = entry->modified;
	table->used_count++;
}

int k2i_nodes_create(const struct k2i_node_owner *root, struct k2i_node_table **table)
{
	/* Pages of nodes that never are take no memory. */
	struct k2i_node_table *created = k2i_journal_alloc(sizeof(*created));

	if (!created)
		return -ENOMEM;
	memset(created, 0, offsetof(struct k2i_node_table, entries));
	created->order_next = created->generation_next = 1;
	/* Without entropy it stays zero: the table still works, it can only be made slow. */
	(void)!getrandom(&created->seed, sizeof(created->seed), 0);
	created->untouched = K2I_NODE_ROOT + 1;
	entry_begin(created, K2I_NODE_ROOT, root);
	created->entries[K2I_NODE_ROOT].parent = K2I_NODE_ROOT;
	created->entries[K2I_NODE_ROOT].implied = true;
	*table = created;
	return 0;
}

void k2i_nodes_free(struct k2i_node_table *table)
{
	k2i_journal_free(table);
}

struct k2i_node_entry *k2i_node_at(struct k2i_node_table *table, uint64_t node)
{
	if (node == K2I_NODE_NONE || node >= K2I_NODE_COUNT_MAX || !table->entries[node].used)
		return NULL;
	return &table->entries[node];
}

static uint32_t bucket_of(const struct k2i_node_table *table, uint32_t parent, const char *name, size_t name_bytes)
{
	return (uint32_t)(k2i_hash_seeded(name, name_bytes, table->seed + parent) % BUCKET_COUNT);
}

static uint32_t name_find(const struct k2i_node_table *table, uint32_t parent, const char *name, size_t name_bytes)
{
	uint32_t node = table->buckets[bucket_of(table, parent, name, name_bytes)];

	for (; node != K2I_NODE_NONE; node = table->entries[node].hash_next) {
		const struct k2i_node_entry *entry = &table->entries[node];

		if (entry->parent == parent && entry->name_bytes == name_bytes &&
		    memcmp(entry->name, name, name_bytes) == 0)
			return node;
	}
	return K2I_NODE_NONE;
}

uint32_t k2i_node_find(const struct k2i_node_table *table, uint32_t parent, const char *name)
{
	return name_find(table, parent, name, strlen(name));
}

uint32_t k2i_node_of(const struct k2i_node_table *table, uint32_t name)
{
	uint32_t node = table->entries[name].link_of;

	return node == K2I_NODE_NONE ? name : node;
}

/* Gives the entry its name in `parent`; among the siblings it is another's to put it. */
static void name_hash(struct k2i_node_table *table, uint32_t node, uint32_t parent, const char *name, size_t name_bytes)
{
	struct k2i_node_entry *entry = &table->entries[node];
	uint32_t *bucket = &table->buckets[bucket_of(table, parent, name, name_bytes)];

	k2i_node_keep(entry);
	K2I_JOURNAL_KEEP(bucket);
	memcpy(entry->name, name, name_bytes);
	entry->name[name_bytes] = '\0';
	entry->name_bytes = (uint8_t)name_bytes;
	entry->parent = parent;
	entry->hash_next = *bucket;
	*bucket = node;
}

/* The word of its bucket that leads to the entry. */
static uint32_t *hash_place(struct k2i_node_table *table, uint32_t node)
{
	const struct k2i_node_entry *entry = &table->entries[node];
	uint32_t *place = &table->buckets[bucket_of(table, entry->parent, entry->name, entry->name_bytes)];

	while (*place != node)
		place = &table->entries[*place].hash_next;
	K2I_JOURNAL_KEEP(place);
	return place;
}

static void name_unhash(struct k2i_node_table *table, uint32_t node)
{
	*hash_place(table, node) = table->entries[node].hash_next;
}

/* The words of its siblings, or of the directory, that lead to the entry. */
static void sibling_places(struct k2i_node_table *table, uint32_t node, uint32_t **before, uint32_t **behind)
{
	const struct k2i_node_entry *entry = &table->entries[node];
	struct k2i_node_entry *above = &table->entries[entry->parent];

	*before = entry->previous ? &table->entries[entry->previous].next : &above->first_child;
	*behind = entry->next ? &table->entries[entry->next].previous : &above->last_child;
	K2I_JOURNAL_KEEP(*before);
	K2I_JOURNAL_KEEP(*behind);
}

static void name_link(struct k2i_node_table *table, uint32_t node, uint32_t parent, const char *name, size_t name_bytes)
{
	struct k2i_node_entry *entry = &table->entries[node], *above = &table->entries[parent];
	uint32_t *before, *behind;

	table_keep_counts(table);
	k2i_node_keep(above);
	name_hash(table, node, parent, name, name_bytes);
	/* Siblings stand in the order of their numbers, so a directory that changes can be read on from any of them. */
	entry->order = table->order_next++;
	entry->previous = above->last_child;
	entry->next = K2I_NODE_NONE;
	sibling_places(table, node, &before, &behind);
	*before = *behind = node;
	if (S_ISDIR(entry->mode))
		above->child_directories++;
	k2i_node_touch(above);
}

static void name_unlink(struct k2i_node_table *table, uint32_t node)
{
	struct k2i_node_entry *entry = &table->entries[node], *above = &table->entries[entry->parent];
	uint32_t *before, *behind;

	table_keep_counts(table);
	k2i_node_keep(entry);
	k2i_node_keep(above);
	name_unhash(table, node);
	sibling_places(table, node, &before, &behind);
	*before = entry->next;
	*behind = entry->previous;
	if (S_ISDIR(entry->mode))
		above->child_directories--;
	k2i_node_touch(above);
	entry->left_parent = entry->parent;
	entry->left_generation = above->generation;
	entry->parent = K2I_NODE_NONE;
	entry->changed = above->changed;
}

static void entry_free_if_unused(struct k2i_node_table *table, uint32_t node)
{
	struct k2i_node_entry *entry = &table->entries[node];

	if (entry->parent != K2I_NODE_NONE || entry->lookups || entry->opens)
		return;
	table_keep_counts(table);
	k2i_node_keep(entry);
	entry->used = false;
	entry->next = table->free_first;
	table->free_first = node;
	table->used_count--;
}

/* The word that leads to `name` along the other names of an entry; K2I_NODE_NONE: to the last of them. */
static uint32_t *link_place(struct k2i_node_table *table, struct k2i_node_entry *entry, uint32_t name)
{
	uint32_t *place = &entry->link_next;

	while (*place != name)
		place = &table->entries[*place].link_next;
	k2i_node_keep(entry);
	K2I_JOURNAL_KEEP(place);
	return place;
}

static void link_remove(struct k2i_node_table *table, uint32_t name)
{
	struct k2i_node_entry *entry = &table->entries[table->entries[name].link_of];

	*link_place(table, entry, name) = table->entries[name].link_next;
	entry->links--;
	name_unlink(table, name);
	entry->changed = table->entries[name].changed;
	entry_free_if_unused(table, name);
}

/* A node without a name gets the oldest of its others, and stands where that stood: for who lists it, nothing changes. */
static void link_take_over(struct k2i_node_table *table, uint32_t node)
{
	uint32_t name = table->entries[node].link_next, *place = hash_place(table, name), *before, *behind;
	struct k2i_node_entry *entry = &table->entries[node], *other = &table->entries[name];

	sibling_places(table, name, &before, &behind);
	k2i_node_keep(entry);
	k2i_node_keep(other);
	memcpy(entry->name, other->name, sizeof(entry->name));
	entry->name_bytes = other->name_bytes;
	entry->parent = other->parent;
	entry->previous = other->previous;
	entry->next = other->next;
	entry->order = other->order;
	entry->hash_next = other->hash_next;
	entry->link_next = other->link_next;
	entry->links--;
	*place = *before = *behind = node;
	other->parent = K2I_NODE_NONE;
	entry_free_if_unused(table, name);
}

static void name_remove(struct k2i_node_table *table, uint32_t name)
{
	const struct k2i_node_entry *entry = &table->entries[name];

	if (entry->link_of) {
		link_remove(table, name);
		return;
	}
	name_unlink(table, name);
	if (entry->link_next)
		link_take_over(table, name);
	entry_free_if_unused(table, name);
}

/* A place for a node, or K2I_NODE_NONE. */
static uint32_t entry_allocate(struct k2i_node_table *table)
{
	uint32_t node = table->free_first;

	table_keep_counts(table);
	if (node != K2I_NODE_NONE) {
		table->free_first = table->entries[node].next;
		return node;
	}
	return table->untouched < K2I_NODE_COUNT_MAX ? table->untouched++ : K2I_NODE_NONE;
}

static int parent_check(struct k2i_node_table *table, uint32_t parent, size_t name_bytes)
{
	const struct k2i_node_entry *above = k2i_node_at(table, parent);

	if (!above || above->parent == K2I_NODE_NONE)
		return -ENOENT;
	if (!S_ISDIR(above->mode))
		return -ENOTDIR;
	return name_bytes > K2I_NODE_NAME_BYTES_MAX ? -ENAMETOOLONG : 0;
}

int k2i_node_make(struct k2i_node_table *table, uint32_t parent, const char *name, const struct k2i_node_owner *owner,
		  uint32_t *node)
{
	size_t name_bytes = strlen(name);
	int status = parent_check(table, parent, name_bytes);
	uint32_t made;

	if (status)
		return status;
	if (name_find(table, parent, name, name_bytes) != K2I_NODE_NONE)
		return -EEXIST;
	made = entry_allocate(table);
	if (made == K2I_NODE_NONE)
		return -ENOSPC;
	entry_begin(table, made, owner);
	name_link(table, made, parent, name, name_bytes);
	*node = made;
	return 0;
}

int k2i_node_link(struct k2i_node_table *table, uint32_t node, uint32_t parent, const char *name)
{
	struct k2i_node_entry *entry = k2i_node_at(table, node);
	struct k2i_node_owner owner;
	uint32_t made;
	int status;

	if (!entry || entry->parent == K2I_NODE_NONE)
		return -ENOENT;
	if (S_ISDIR(entry->mode))
		return -EPERM;
	if (entry->links >= K2I_NODE_LINKS_MAX)
		return -EMLINK;
	owner = (struct k2i_node_owner){.mode = entry->mode};
	status = k2i_node_make(table, parent, name, &owner, &made);
	if (status)
		return status;
	table->entries[made].link_of = node;
	/* Behind the others: when the first name goes, the file goes on under the oldest of them. */
	*link_place(table, entry, K2I_NODE_NONE) = made;
	entry->links++;
	entry->changed = k2i_node_now();
	return 0;
}

int k2i_node_remove(struct k2i_node_table *table, uint32_t node)
{
	struct k2i_node_entry *entry = k2i_node_at(table, node);

	if (!entry || entry->parent == K2I_NODE_NONE)
		return -ENOENT;
	if (entry->first_child)
		return -ENOTEMPTY;
	if (entry->implied)
		return -EBUSY;
	name_remove(table, node);
	return 0;
}

static bool node_is_inside(const struct k2i_node_table *table, uint32_t node, uint32_t directory)
{
	while (node != directory && node != K2I_NODE_ROOT && node != K2I_NODE_NONE)
		node = table->entries[node].parent;
	return node == directory;
}

/* Whether `there`, which has the new name, may make way. */
static int entry_check_replaced(const struct k2i_node_entry *entry, const struct k2i_node_entry *there)
{
	if (there->implied)
		return -EBUSY;
	if (S_ISDIR(there->mode) && !S_ISDIR(entry->mode))
		return -EISDIR;
	if (!S_ISDIR(there->mode) && S_ISDIR(entry->mode))
		return -ENOTDIR;
	return there->first_child ? -ENOTEMPTY : 0;
}

/* It keeps its place: who renames what he lists as he goes would otherwise meet it again and again. */
static void name_change(struct k2i_node_table *table, uint32_t node, const char *name, size_t name_bytes)
{
	struct k2i_node_entry *entry = &table->entries[node], *above = &table->entries[entry->parent];

	k2i_node_keep(above);
	name_unhash(table, node);
	name_hash(table, node, entry->parent, name, name_bytes);
	k2i_node_touch(above);
	entry->changed = above->changed;
}

int k2i_node_rename(struct k2i_node_table *table, uint32_t node, uint32_t parent, const char *name, bool replace)
{
	struct k2i_node_entry *entry = k2i_node_at(table, node);
	size_t name_bytes = strlen(name);
	int status = parent_check(table, parent, name_bytes);
	uint32_t there;

	if (status)
		return status;
	if (!entry || entry->parent == K2I_NODE_NONE)
		return -ENOENT;
	if (entry->implied)
		return -EBUSY;
	if (node_is_inside(table, parent, node))
		return -EINVAL;
	there = name_find(table, parent, name, name_bytes);
	if (there != K2I_NODE_NONE && !replace)
		return -EEXIST;
	if (there != K2I_NODE_NONE && k2i_node_of(table, there) == k2i_node_of(table, node))
		return 0;
	if (there != K2I_NODE_NONE) {
		status = entry_check_replaced(entry, &table->entries[there]);
		if (status)
			return status;
		name_remove(table, there);
	}
	if (entry->parent == parent) {
		name_change(table, node, name, name_bytes);
		return 0;
	}
	name_unlink(table, node);
	name_link(table, node, parent, name, name_bytes);
	return 0;
}

/* In which it has its name, or, if it is `left`, had the last one. */
static uint32_t node_parent(struct k2i_node_table *table, uint32_t node, bool left)
{
	const struct k2i_node_entry *entry = k2i_node_at(table, node), *above;

	if (!entry || entry->parent != K2I_NODE_NONE || !left)
		return entry ? entry->parent : K2I_NODE_NONE;
	above = k2i_node_at(table, entry->left_parent);
	return above && above->generation == entry->left_generation ? entry->left_parent : K2I_NODE_NONE;
}

static int node_make_path(struct k2i_node_table *table, uint32_t node, const char *name, bool left, char *path,
			  size_t room)
{
	uint32_t parent;
	size_t at = room, name_bytes = name ? strlen(name) : 0;

	if (room == 0 || name_bytes >= room)
		return -ENAMETOOLONG;
	path[--at] = '\0';
	at -= name_bytes;
	if (name_bytes)
		memcpy(path + at, name, name_bytes);
	for (; node != K2I_NODE_ROOT; node = parent) {
		const struct k2i_node_entry *entry = k2i_node_at(table, node);
		bool slash = path[at] != '\0';

		parent = node_parent(table, node, left);
		if (!entry || parent == K2I_NODE_NONE)
			return -ENOENT;
		if (at < entry->name_bytes + (slash ? 1u : 0u))
			return -ENAMETOOLONG;
		if (slash)
			path[--at] = '/';
		at -= entry->name_bytes;
		memcpy(path + at, entry->name, entry->name_bytes);
	}
	memmove(path, path + at, room - at);
	return (int)(room - at - 1);
}

int k2i_node_path(struct k2i_node_table *table, uint32_t node, const char *name, char *path, size_t room)
{
	return node_make_path(table, node, name, false, path, room);
}

int k2i_node_last_path(struct k2i_node_table *table, uint32_t node, char *path, size_t room)
{
	return node_make_path(table, node, NULL, true, path, room);
}

void k2i_node_looked_up(struct k2i_node_table *table, uint32_t node)
{
	K2I_JOURNAL_KEEP(&table->entries[node].lookups);
	table->entries[node].lookups++;
}

void k2i_node_forget(struct k2i_node_table *table, uint64_t node, uint64_t lookups)
{
	struct k2i_node_entry *entry = k2i_node_at(table, node);

	if (!entry)
		return;
	K2I_JOURNAL_KEEP(&entry->lookups);
	entry->lookups -= lookups < entry->lookups ? lookups : entry->lookups;
	entry_free_if_unused(table, (uint32_t)node);
}

void k2i_node_opened(struct k2i_node_table *table, uint32_t node)
{
	K2I_JOURNAL_KEEP(&table->entries[node].opens);
	table->entries[node].opens++;
}

void k2i_node_closed(struct k2i_node_table *table, uint32_t node)
{
	K2I_JOURNAL_KEEP(&table->entries[node].opens);
	table->entries[node].opens--;
	entry_free_if_unused(table, node);
}

/* Where a walk along the children to `order` begins: the first one, or where the last walk ended, if that is nearer. */
static uint32_t child_nearest(const struct k2i_node_table *table, uint32_t parent, uint64_t order)
{
	uint32_t child = table->entries[parent].first_child;
	const struct k2i_node_entry *first = &table->entries[child], *last = &table->entries[table->cursor];
	uint64_t forward = order > first->order ? order - first->order : 0;
	uint64_t back = last->order > order ? last->order - order : 0;

	return table->cursor != K2I_NODE_NONE && last->parent == parent && back <= forward ? table->cursor : child;
}

uint32_t k2i_node_child_after(struct k2i_node_table *table, uint32_t parent, uint64_t order)
{
	const struct k2i_node_entry *entries = table->entries;
	uint32_t child = child_nearest(table, parent, order);

	/* The last entry of an answer mostly did not fit: then the cursor is at the entry to come. */
	while (entries[child].previous != K2I_NODE_NONE && entries[entries[child].previous].order > order)
		child = entries[child].previous;
	while (child != K2I_NODE_NONE && entries[child].order <= order)
		child = entries[child].next;
	table->cursor = child;
	return child;
}

uint64_t k2i_nodes_order_next(const struct k2i_node_table *table)
{
	return table->order_next;
}

nlink_t k2i_node_links(const struct k2i_node_entry *entry)
{
	if (entry->parent == K2I_NODE_NONE)
		return 0;
	return S_ISDIR(entry->mode) ? (nlink_t)2 + entry->child_directories : (nlink_t)1 + entry->links;
}

uint32_t k2i_nodes_used(const struct k2i_node_table *table)
{
	return table->used_count;
}
