/* SPDX-License-Identifier: MIT */
#include "receiver/ledger/snapshot.h"

#include <errno.h>
#include <stdlib.h>

static uint8_t *room_get(struct k2i_snapshot *snapshot)
{
	size_t room = snapshot->room * 2;
	uint8_t *bytes;

	if (snapshot->error)
		return NULL;
	if (snapshot->room - snapshot->used >= K2I_LEDGER_RECORD_BYTES_MAX)
		return snapshot->bytes + snapshot->used;
	if (room < 16 * K2I_LEDGER_RECORD_BYTES_MAX)
		room = 16 * K2I_LEDGER_RECORD_BYTES_MAX;
	bytes = realloc(snapshot->bytes, room);
	if (!bytes) {
		snapshot->error = -ENOMEM;
		return NULL;
	}
	snapshot->bytes = bytes;
	snapshot->room = room;
	return bytes + snapshot->used;
}

static void record_add(struct k2i_snapshot *snapshot, enum k2i_ledger_record_type type)
{
	uint8_t *bytes = room_get(snapshot);
	int length;

	if (!bytes)
		return;
	snapshot->next.type = type;
	length = k2i_ledger_record_encode(&snapshot->next, bytes);
	if (length < 0)
		snapshot->error = length;
	else
		snapshot->used += (size_t)length;
}

static void ring_add(void *argument, struct k2i_table_node *node)
{
	const struct k2i_known_ring *ring = K2I_TABLE_ENTRY(node, struct k2i_known_ring, node);
	struct k2i_snapshot *snapshot = argument;

	snapshot->next.ring = ring->ring;
	snapshot->next.stages = ring->entry.stages;
	record_add(snapshot, K2I_LEDGER_RING);
}

static void file_add(void *argument, struct k2i_table_node *node)
{
	const struct k2i_known_file *file = K2I_TABLE_ENTRY(node, struct k2i_known_file, node);
	struct k2i_snapshot *snapshot = argument;

	snapshot->next.files[0] = k2i_known_file_shown(file);
	snapshot->next.stages = file->entry.stages;
	record_add(snapshot, K2I_LEDGER_FILE);
}

static void ranges_add(void *argument, struct k2i_table_node *node)
{
	const struct k2i_known_ring *ring = K2I_TABLE_ENTRY(node, struct k2i_known_ring, node);
	const struct k2i_known_range *range = K2I_LIST_ENTRY(ring->ranges.oldest, struct k2i_known_range, link);
	struct k2i_snapshot *snapshot = argument;

	for (; range; range = K2I_LIST_ENTRY(range->link.newer, struct k2i_known_range, link)) {
		snapshot->next.ring = ring->ring;
		snapshot->next.range = k2i_known_range_shown(range);
		record_add(snapshot, K2I_LEDGER_RANGE);
	}
}

int k2i_snapshot_make(struct k2i_known *known, const struct k2i_ledger_header *header, struct k2i_snapshot *snapshot)
{
	uint8_t *bytes = room_get(snapshot);

	if (!bytes)
		return snapshot->error;
	k2i_ledger_header_encode(header, bytes);
	snapshot->used = K2I_LEDGER_HEADER_BYTES;
	k2i_table_each(&known->rings, ring_add, snapshot);
	k2i_table_each(&known->files, file_add, snapshot);
	k2i_table_each(&known->rings, ranges_add, snapshot);
	record_add(snapshot, K2I_LEDGER_WHOLE);
	return snapshot->error;
}
