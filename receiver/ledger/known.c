/* SPDX-License-Identifier: MIT */
#include "receiver/ledger/known.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Entries and their lists --------------------------------------------------------------------------------------- */

static bool marked_with(const struct k2i_known_entry *entry, uint32_t mark)
{
	return entry->stages.marks & mark;
}

static void mark_set(struct k2i_known_entry *entry, uint32_t mark, bool set)
{
	entry->stages.marks = set ? entry->stages.marks | mark : entry->stages.marks & ~mark;
}

static uint32_t list_mark(enum k2i_known_list list)
{
	return list == K2I_KNOWN_CHANGED ? K2I_LEDGER_MARK_CHANGED : K2I_LEDGER_MARK_MARKED;
}

static void list_add(struct k2i_known *known, enum k2i_known_list list, struct k2i_known_entry *entry)
{
	if (marked_with(entry, list_mark(list)))
		return;
	mark_set(entry, list_mark(list), true);
	k2i_list_add(&known->lists[list], &entry->links[list]);
}

static void list_remove(struct k2i_known *known, enum k2i_known_list list, struct k2i_known_entry *entry)
{
	if (!marked_with(entry, list_mark(list)))
		return;
	mark_set(entry, list_mark(list), false);
	k2i_list_remove(&known->lists[list], &entry->links[list]);
}

static struct k2i_known_entry *list_take(struct k2i_known *known, enum k2i_known_list list)
{
	struct k2i_link *link = known->lists[list].oldest;
	struct k2i_known_entry *entry = link ? K2I_LIST_ENTRY(link - list, struct k2i_known_entry, links) : NULL;

	if (entry)
		list_remove(known, list, entry);
	return entry;
}

static void entry_unlist(struct k2i_known *known, struct k2i_known_entry *entry)
{
	list_remove(known, K2I_KNOWN_CHANGED, entry);
	list_remove(known, K2I_KNOWN_MARKED, entry);
}

static bool has_stages(const struct k2i_known_entry *entry)
{
	return !entry->is_file || marked_with(entry, K2I_LEDGER_MARK_DEFERRED);
}

static void file_free(struct k2i_known *known, struct k2i_known_file *file)
{
	entry_unlist(known, &file->entry);
	k2i_table_remove(&known->files, &file->node);
	free(file->path);
	free(file);
}

/* A closed file is known until the checkpoint has it, which the next sync sees to. */
static void entry_settle(struct k2i_known *known, struct k2i_known_entry *entry)
{
	if (!entry->is_file ||
	    marked_with(entry, K2I_LEDGER_MARK_OPEN | K2I_LEDGER_MARK_CHANGED | K2I_LEDGER_MARK_MARKED))
		return;
	if (has_stages(entry) && entry->stages.now.at != entry->stages.synced.at)
		list_add(known, K2I_KNOWN_CHANGED, entry);
	else if (((struct k2i_known_file *)(void *)entry)->range_count)
		/* It has no checkpoint to go back to: who knows who writes to it now. */
		mark_set(entry, K2I_LEDGER_MARK_DEFERRED, false);
	else
		file_free(known, (struct k2i_known_file *)(void *)entry);
}

/* Ranges --------------------------------------------------------------------------------------------------------- */

static void range_forget(struct k2i_known *known, struct k2i_known_ring *ring, struct k2i_known_range *range)
{
	k2i_list_remove(&ring->ranges, &range->link);
	ring->range_count--;
	if (--range->file->range_count == 0)
		entry_settle(known, &range->file->entry);
	if (known->spare_count >= K2I_LEDGER_FILES_MAX) {
		free(range);
		return;
	}
	k2i_list_add(&known->spares, &range->link);
	known->spare_count++;
}

void k2i_known_ring_prove(struct k2i_known *known, struct k2i_known_ring *ring, uint64_t position)
{
	struct k2i_known_range *range;

	if (ring->ring.proven < position)
		ring->ring.proven = position;
	while ((range = K2I_LIST_ENTRY(ring->ranges.oldest, struct k2i_known_range, link)) != NULL &&
	       range->range.to <= ring->ring.proven)
		range_forget(known, ring, range);
}

static void ranges_forget_beyond(struct k2i_known *known, struct k2i_known_ring *ring, uint64_t position)
{
	struct k2i_known_range *range;

	if (ring->ring.proven > position)
		ring->ring.proven = position;
	while ((range = K2I_LIST_ENTRY(ring->ranges.newest, struct k2i_known_range, link)) != NULL &&
	       range->range.to > position)
		range_forget(known, ring, range);
}

/* A spare one, with the place in the list behind the others. */
static void range_add(struct k2i_known *known, struct k2i_known_ring *ring, struct k2i_known_file *file,
		      const struct k2i_ledger_range *added)
{
	struct k2i_known_range *range = K2I_LIST_ENTRY(known->spares.newest, struct k2i_known_range, link);

	if (ring->range_count >= K2I_LEDGER_RANGES_MAX)
		k2i_known_ring_prove(known, ring,
				     K2I_LIST_ENTRY(ring->ranges.oldest, struct k2i_known_range, link)->range.to);
	if (!range)
		return;
	k2i_list_remove(&known->spares, &range->link);
	known->spare_count--;
	range->file = file;
	range->shrunk = file->shrunk;
	range->range = *added;
	file->range_count++;
	ring->range_count++;
	k2i_list_add(&ring->ranges, &range->link);
}

int k2i_known_commit_reserve(struct k2i_known *known, size_t file_count)
{
	struct k2i_known_range *range;

	for (; known->spare_count < file_count; known->spare_count++) {
		range = malloc(sizeof(*range));
		if (!range)
			return -ENOMEM;
		k2i_list_add(&known->spares, &range->link);
	}
	return 0;
}

struct k2i_ledger_range k2i_known_range_shown(const struct k2i_known_range *range)
{
	struct k2i_ledger_range shown = range->range;

	shown.birth = range->file->birth;
	shown.inode = range->file->inode;
	shown.path = range->file->path;
	if (range->shrunk != range->file->shrunk)
		shown.flags |= K2I_LEDGER_RANGE_LOOSE;
	return shown;
}

/* Rings ---------------------------------------------------------------------------------------------------------- */

struct k2i_known_ring *k2i_known_row_next(const struct k2i_known *known, const uint8_t uuid[16],
					  const struct k2i_known_ring *last)
{
	uint64_t hash = k2i_table_hash(uuid, 16);
	struct k2i_table_node *node = k2i_table_find(&known->rings, hash, last ? &last->node : NULL);

	while (node && memcmp(K2I_TABLE_ENTRY(node, struct k2i_known_ring, node)->ring.uuid, uuid, 16) != 0)
		node = k2i_table_find(&known->rings, hash, node);
	return node ? K2I_TABLE_ENTRY(node, struct k2i_known_ring, node) : NULL;
}

struct k2i_known_ring *k2i_known_ring_find(const struct k2i_known *known, const uint8_t uuid[16], uint32_t sink)
{
	struct k2i_known_ring *row = k2i_known_row_next(known, uuid, NULL);

	while (row && row->ring.sink != sink)
		row = k2i_known_row_next(known, uuid, row);
	return row;
}

struct k2i_known_ring *k2i_known_ring_place(struct k2i_known *known, const uint8_t uuid[16], uint32_t sink)
{
	struct k2i_known_ring *ring = k2i_known_ring_find(known, uuid, sink);
	bool first;

	if (ring)
		return ring;
	first = !k2i_known_row_next(known, uuid, NULL);
	ring = calloc(1, sizeof(*ring));
	if (!ring)
		return NULL;
	memcpy(ring->ring.uuid, uuid, 16);
	ring->ring.sink = sink;
	if (k2i_table_insert(&known->rings, &ring->node, k2i_table_hash(uuid, 16))) {
		free(ring);
		return NULL;
	}
	known->ring_count += first;
	return ring;
}

void k2i_known_ring_forget(struct k2i_known *known, struct k2i_known_ring *ring)
{
	k2i_known_ring_prove(known, ring, UINT64_MAX);
	entry_unlist(known, &ring->entry);
	k2i_table_remove(&known->rings, &ring->node);
	known->ring_count -= !k2i_known_row_next(known, ring->ring.uuid, NULL);
	free(ring);
}

bool k2i_known_rows_forget(struct k2i_known *known, const uint8_t uuid[16])
{
	struct k2i_known_ring *row = k2i_known_row_next(known, uuid, NULL);
	bool found = row != NULL;

	for (; row; row = k2i_known_row_next(known, uuid, NULL))
		k2i_known_ring_forget(known, row);
	return found;
}

static void ring_commit(struct k2i_known *known, struct k2i_known_ring *place, const struct k2i_ledger_ring *ring)
{
	place->ring.epoch = ring->epoch;
	place->ring.flags = ring->flags;
	place->doubt_told = false;
	place->ring.number = ring->number;
	place->entry.stages.now.at = ring->position;
	list_add(known, K2I_KNOWN_CHANGED, &place->entry);
}

struct k2i_ledger_ring k2i_known_ring_shown(const struct k2i_known_ring *ring)
{
	struct k2i_ledger_ring shown = ring->ring;

	shown.position = ring->entry.stages.now.at;
	shown.synced = ring->entry.stages.synced.at;
	return shown;
}

/* Files ---------------------------------------------------------------------------------------------------------- */

static uint64_t file_hash(uint64_t birth, uint64_t inode)
{
	uint64_t key[2] = {birth, inode};

	return k2i_table_hash(key, sizeof(key));
}

struct k2i_known_file *k2i_known_file_find(struct k2i_known *known, uint64_t birth, uint64_t inode)
{
	uint64_t hash = file_hash(birth, inode);
	struct k2i_table_node *node = NULL;
	struct k2i_known_file *file;

	while ((node = k2i_table_find(&known->files, hash, node)) != NULL) {
		file = K2I_TABLE_ENTRY(node, struct k2i_known_file, node);
		if (file->birth == birth && file->inode == inode)
			return file;
	}
	return NULL;
}

struct k2i_ledger_file k2i_known_file_shown(const struct k2i_known_file *file)
{
	struct k2i_ledger_file shown = {
		.birth = file->birth,
		.inode = file->inode,
		.length = file->entry.stages.now.at,
		.open_writer = file->entry.stages.now.open_writer,
		.path = file->path,
		.deferred = marked_with(&file->entry, K2I_LEDGER_MARK_DEFERRED),
		.sink = file->sink,
	};

	return shown;
}

/* The place for a file, with this path. */
static struct k2i_known_file *file_place(struct k2i_known *known, const struct k2i_ledger_file *opened)
{
	struct k2i_known_file *file = k2i_known_file_find(known, opened->birth, opened->inode);
	char *path = strdup(opened->path);

	if (path && !file) {
		file = calloc(1, sizeof(*file));
		if (file && k2i_table_insert(&known->files, &file->node, file_hash(opened->birth, opened->inode))) {
			free(file);
			file = NULL;
		}
	}
	if (!path || !file) {
		free(path);
		return NULL;
	}
	free(file->path);
	file->path = path;
	file->birth = opened->birth;
	file->inode = opened->inode;
	file->sink = opened->sink;
	file->entry.is_file = true;
	return file;
}

/*
 * A deferred file as it was left goes on with its checkpoint. In any other the checkpoint is what it has now: what was
 * there before is not ours to cut off.
 */
int k2i_known_file_opened(struct k2i_known *known, const struct k2i_ledger_file *opened)
{
	struct k2i_known_file *file = file_place(known, opened);
	struct k2i_ledger_stages *stages = file ? &file->entry.stages : NULL;
	bool deferred;

	if (!file)
		return -ENOMEM;
	file->shrunk += opened->length < stages->now.at;
	deferred = marked_with(&file->entry, K2I_LEDGER_MARK_DEFERRED);
	if (!deferred || !opened->deferred || stages->now.at != opened->length)
		stages->marked = stages->synced = (struct k2i_ledger_point){opened->length, opened->open_writer};
	stages->now = (struct k2i_ledger_point){opened->length, opened->open_writer};
	mark_set(&file->entry, K2I_LEDGER_MARK_OPEN, true);
	mark_set(&file->entry, K2I_LEDGER_MARK_DEFERRED, opened->deferred);
	return deferred || opened->deferred;
}

void k2i_known_file_closed(struct k2i_known *known, struct k2i_known_file *file)
{
	mark_set(&file->entry, K2I_LEDGER_MARK_OPEN, false);
	entry_settle(known, &file->entry);
}

static void file_node_close(void *argument, struct k2i_table_node *node)
{
	k2i_known_file_closed(argument, K2I_TABLE_ENTRY(node, struct k2i_known_file, node));
}

void k2i_known_files_closed(struct k2i_known *known)
{
	k2i_table_each(&known->files, file_node_close, known);
}

static void file_commit(struct k2i_known *known, struct k2i_known_file *file, const struct k2i_ledger_file *wanted)
{
	/* The other name of a file with two can be further: a commit makes none shorter. */
	if (file->entry.stages.now.at > wanted->length)
		return;
	file->entry.stages.now = (struct k2i_ledger_point){wanted->length, wanted->open_writer};
	if (has_stages(&file->entry))
		list_add(known, K2I_KNOWN_CHANGED, &file->entry);
}

void k2i_known_commit(struct k2i_known *known, struct k2i_known_ring *place, const struct k2i_ledger_ring *ring,
		      const struct k2i_ledger_file *files, size_t file_count)
{
	const uint64_t before = place->ring.flags & K2I_LEDGER_UNCERTAIN ? 0 : place->entry.stages.now.at;
	struct k2i_ledger_range range = {.from = before > ring->proven ? before : ring->proven, .to = ring->position};
	struct k2i_known_file *file;

	/* A sender goes on before its last commits when nobody knows whether they are there. */
	ranges_forget_beyond(known, place, range.from);
	k2i_known_ring_prove(known, place, ring->proven);
	ring_commit(known, place, ring);
	for (size_t i = 0; i < file_count; i++) {
		file = k2i_known_file_find(known, files[i].birth, files[i].inode);
		if (!file)
			continue;
		range.bytes = files[i].bytes;
		range.records = files[i].records;
		range.offset = files[i].length - range.bytes;
		range.open_writer = file->entry.stages.now.open_writer;
		range.flags = range.offset == file->entry.stages.now.at ? 0 : K2I_LEDGER_RANGE_LOOSE;
		if (range.records && range.to > place->ring.proven)
			range_add(known, place, file, &range);
		file_commit(known, file, &files[i]);
	}
}

/* Settlement ----------------------------------------------------------------------------------------------------- */

static void point_lower(struct k2i_ledger_point *point, struct k2i_ledger_point lower)
{
	if (point->at > lower.at)
		*point = lower;
}

static void stages_lower(struct k2i_ledger_stages *stages, struct k2i_ledger_point lower)
{
	point_lower(&stages->now, lower);
	point_lower(&stages->marked, lower);
	point_lower(&stages->synced, lower);
}

void k2i_known_cut(struct k2i_known *known, const struct k2i_ledger_ring *row, const struct k2i_ledger_file *cut)
{
	struct k2i_known_ring *ring = k2i_known_ring_find(known, row->uuid, row->sink);
	struct k2i_known_file *file = k2i_known_file_find(known, cut->birth, cut->inode);
	struct k2i_known_range *range;

	if (!ring || !file)
		return;
	stages_lower(&file->entry.stages, (struct k2i_ledger_point){cut->length, cut->open_writer});
	for (range = K2I_LIST_ENTRY(ring->ranges.newest, struct k2i_known_range, link); range;
	     range = K2I_LIST_ENTRY(range->link.older, struct k2i_known_range, link)) {
		if (range->file == file && range->range.offset >= cut->length)
			range->range.flags |= K2I_LEDGER_RANGE_CUT;
	}
}

void k2i_known_settle(struct k2i_known *known, const struct k2i_ledger_ring *row)
{
	struct k2i_known_ring *ring = k2i_known_ring_find(known, row->uuid, row->sink);

	if (!ring)
		return;
	if (ring->ring.epoch < row->epoch)
		ring->ring.epoch = row->epoch;
	stages_lower(&ring->entry.stages, (struct k2i_ledger_point){row->position, 0});
	ranges_forget_beyond(known, ring, row->position);
	list_add(known, K2I_KNOWN_CHANGED, &ring->entry);
}

/* Checkpoints ---------------------------------------------------------------------------------------------------- */

static bool ring_uncertain(const struct k2i_known_entry *entry)
{
	const struct k2i_known_ring *ring = (const struct k2i_known_ring *)(const void *)entry;

	return !entry->is_file && (ring->ring.flags & K2I_LEDGER_UNCERTAIN);
}

void k2i_known_mark(struct k2i_known *known)
{
	struct k2i_known_entry *entry;

	while ((entry = list_take(known, K2I_KNOWN_CHANGED)) != NULL) {
		if (has_stages(entry) && !ring_uncertain(entry)) {
			entry->stages.marked = entry->stages.now;
			list_add(known, K2I_KNOWN_MARKED, entry);
		}
		entry_settle(known, entry);
	}
}

void k2i_known_checkpoint(struct k2i_known *known)
{
	struct k2i_known_entry *entry;

	while ((entry = list_take(known, K2I_KNOWN_MARKED)) != NULL) {
		if (has_stages(entry))
			entry->stages.synced = entry->stages.marked;
		entry_settle(known, entry);
	}
}

static void ring_doubt(void *argument, struct k2i_table_node *node)
{
	struct k2i_known_ring *ring = K2I_TABLE_ENTRY(node, struct k2i_known_ring, node);

	(void)argument;
	/* A ring whose doubt was reported is in the same doubt until its next commit, however often the disk fails. */
	ring->ring.flags |= K2I_LEDGER_UNCERTAIN;
}

void k2i_known_doubt(struct k2i_known *known)
{
	struct k2i_known_entry *entry;

	k2i_table_each(&known->rings, ring_doubt, NULL);
	while ((entry = list_take(known, K2I_KNOWN_MARKED)) != NULL)
		entry_settle(known, entry);
}

struct fall_back {
	struct k2i_known *known;
	bool machine_down;
};

static void ring_fall_back(void *argument, struct k2i_table_node *node)
{
	struct k2i_known_ring *ring = K2I_TABLE_ENTRY(node, struct k2i_known_ring, node);
	const struct fall_back *fall_back = argument;

	if (!(ring->ring.flags & K2I_LEDGER_DEFERRED)) {
		if (fall_back->machine_down)
			ring->ring.flags |= K2I_LEDGER_UNCERTAIN;
		return;
	}
	ring->ring.flags = K2I_LEDGER_DEFERRED;
	ring->entry.stages.now = ring->entry.stages.synced;
	ranges_forget_beyond(fall_back->known, ring, ring->entry.stages.now.at);
}

static void file_fall_back(void *argument, struct k2i_table_node *node)
{
	struct k2i_known_file *file = K2I_TABLE_ENTRY(node, struct k2i_known_file, node);

	(void)argument;
	if (!has_stages(&file->entry))
		return;
	mark_set(&file->entry, K2I_LEDGER_MARK_OPEN, true);
	file->entry.stages.now = file->entry.stages.synced;
}

void k2i_known_fall_back(struct k2i_known *known, bool machine_down)
{
	struct fall_back fall_back = {known, machine_down};

	while (list_take(known, K2I_KNOWN_CHANGED) != NULL)
		continue;
	while (list_take(known, K2I_KNOWN_MARKED) != NULL)
		continue;
	k2i_table_each(&known->rings, ring_fall_back, &fall_back);
	k2i_table_each(&known->files, file_fall_back, NULL);
}

/* Records -------------------------------------------------------------------------------------------------------- */

static int commit_apply(struct k2i_known *known, const struct k2i_ledger_record *record)
{
	struct k2i_known_ring *place = k2i_known_ring_place(known, record->ring.uuid, record->ring.sink);
	struct k2i_ledger_ring ring = record->ring;

	if (!place || k2i_known_commit_reserve(known, record->file_count))
		return -ENOMEM;
	ring.number = 1;
	k2i_known_commit(known, place, &ring, record->files, record->file_count);
	return 0;
}

static int range_apply(struct k2i_known *known, const struct k2i_ledger_record *record)
{
	struct k2i_known_ring *ring = k2i_known_ring_find(known, record->ring.uuid, record->ring.sink);
	struct k2i_known_file *file = k2i_known_file_find(known, record->range.birth, record->range.inode);

	if (k2i_known_commit_reserve(known, 1))
		return -ENOMEM;
	if (ring && file)
		range_add(known, ring, file, &record->range);
	return 0;
}

static void stages_apply(struct k2i_known *known, struct k2i_known_entry *entry, const struct k2i_ledger_stages *stages)
{
	uint32_t listed = entry->stages.marks & (K2I_LEDGER_MARK_CHANGED | K2I_LEDGER_MARK_MARKED);

	entry->stages = *stages;
	entry->stages.marks = listed | (stages->marks & (K2I_LEDGER_MARK_OPEN | K2I_LEDGER_MARK_DEFERRED));
	if (stages->marks & K2I_LEDGER_MARK_CHANGED)
		list_add(known, K2I_KNOWN_CHANGED, entry);
	if (stages->marks & K2I_LEDGER_MARK_MARKED)
		list_add(known, K2I_KNOWN_MARKED, entry);
}

static int ring_apply(struct k2i_known *known, const struct k2i_ledger_record *record)
{
	struct k2i_known_ring *ring = k2i_known_ring_place(known, record->ring.uuid, record->ring.sink);

	if (!ring)
		return -ENOMEM;
	ring->ring.epoch = record->ring.epoch;
	ring->ring.flags = record->ring.flags;
	ring->ring.proven = record->ring.proven;
	ring->ring.number = 1;
	stages_apply(known, &ring->entry, &record->stages);
	return 0;
}

static int file_apply(struct k2i_known *known, const struct k2i_ledger_record *record)
{
	struct k2i_known_file *file = file_place(known, &record->files[0]);

	if (!file)
		return -ENOMEM;
	stages_apply(known, &file->entry, &record->stages);
	return 0;
}

static int opened_apply(struct k2i_known *known, const struct k2i_ledger_record *record)
{
	int error = k2i_known_file_opened(known, &record->files[0]);

	return error < 0 ? error : 0;
}

static void closed_apply(struct k2i_known *known, const struct k2i_ledger_record *record)
{
	struct k2i_known_file *file = k2i_known_file_find(known, record->files[0].birth, record->files[0].inode);

	if (file)
		k2i_known_file_closed(known, file);
}

int k2i_known_apply(struct k2i_known *known, const struct k2i_ledger_record *record)
{
	switch (record->type) {
	case K2I_LEDGER_COMMIT:
		return commit_apply(known, record);
	case K2I_LEDGER_OPENED:
		return opened_apply(known, record);
	case K2I_LEDGER_CLOSED:
		closed_apply(known, record);
		return 0;
	case K2I_LEDGER_CLEAN:
		k2i_known_mark(known);
		k2i_known_checkpoint(known);
		return 0;
	case K2I_LEDGER_MARK:
		k2i_known_mark(known);
		return 0;
	case K2I_LEDGER_CHECKPOINT:
		k2i_known_checkpoint(known);
		return 0;
	case K2I_LEDGER_RING:
		return ring_apply(known, record);
	case K2I_LEDGER_FILE:
		return file_apply(known, record);
	case K2I_LEDGER_FORGOTTEN:
		(void)k2i_known_rows_forget(known, record->ring.uuid);
		return 0;
	case K2I_LEDGER_DOUBT:
		k2i_known_doubt(known);
		return 0;
	case K2I_LEDGER_RANGE:
		return range_apply(known, record);
	case K2I_LEDGER_CUT:
		k2i_known_cut(known, &record->ring, &record->files[0]);
		return 0;
	case K2I_LEDGER_SETTLED:
		k2i_known_settle(known, &record->ring);
		return 0;
	case K2I_LEDGER_WHOLE:
		break;
	}
	return 0;
}

/* A file with ranges stays known, and nothing else of it. */
static void file_drop(void *argument, struct k2i_table_node *node)
{
	struct k2i_known_file *file = K2I_TABLE_ENTRY(node, struct k2i_known_file, node);

	mark_set(&file->entry, K2I_LEDGER_MARK_DEFERRED | K2I_LEDGER_MARK_OPEN, false);
	entry_unlist(argument, &file->entry);
	if (!file->range_count)
		file_free(argument, file);
}

static void ring_drop(void *argument, struct k2i_table_node *node)
{
	k2i_known_ring_forget(argument, K2I_TABLE_ENTRY(node, struct k2i_known_ring, node));
}

void k2i_known_files_forget(struct k2i_known *known)
{
	k2i_table_each(&known->files, file_drop, known);
}

static void range_free(struct k2i_known *known)
{
	struct k2i_known_range *range = K2I_LIST_ENTRY(known->spares.oldest, struct k2i_known_range, link);

	k2i_list_remove(&known->spares, &range->link);
	free(range);
}

void k2i_known_free(struct k2i_known *known)
{
	k2i_table_each(&known->rings, ring_drop, known);
	k2i_known_files_forget(known);
	while (known->spares.oldest)
		range_free(known);
	k2i_table_free(&known->files);
	k2i_table_free(&known->rings);
}
