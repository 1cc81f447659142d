/* SPDX-License-Identifier: MIT */
#include "ledger_known.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct k2i_known_ring *k2i_known_ring_find(struct k2i_known *known, const uint8_t uuid[16])
{
	uint64_t hash = k2i_table_hash(uuid, 16);
	struct k2i_table_node *node = NULL;
	struct k2i_known_ring *ring;

	while ((node = k2i_table_find(&known->rings, hash, node)) != NULL) {
		ring = K2I_TABLE_ENTRY(node, struct k2i_known_ring, node);
		if (memcmp(ring->ring.uuid, uuid, 16) == 0)
			return ring;
	}
	return NULL;
}

struct k2i_known_ring *k2i_known_ring_place(struct k2i_known *known, const uint8_t uuid[16])
{
	struct k2i_known_ring *ring = k2i_known_ring_find(known, uuid);

	if (ring)
		return ring;
	ring = calloc(1, sizeof(*ring));
	if (!ring)
		return NULL;
	memcpy(ring->ring.uuid, uuid, 16);
	if (k2i_table_insert(&known->rings, &ring->node, k2i_table_hash(uuid, 16))) {
		free(ring);
		return NULL;
	}
	return ring;
}

void k2i_known_ring_forget(struct k2i_known *known, struct k2i_known_ring *ring)
{
	k2i_table_remove(&known->rings, &ring->node);
	free(ring);
}

static uint64_t file_hash(uint64_t device, uint64_t inode)
{
	uint64_t key[2] = {device, inode};

	return k2i_table_hash(key, sizeof(key));
}

struct k2i_known_file *k2i_known_file_find(struct k2i_known *known, uint64_t device, uint64_t inode)
{
	uint64_t hash = file_hash(device, inode);
	struct k2i_table_node *node = NULL;
	struct k2i_known_file *file;

	while ((node = k2i_table_find(&known->files, hash, node)) != NULL) {
		file = K2I_TABLE_ENTRY(node, struct k2i_known_file, node);
		if (file->file.device == device && file->file.inode == inode)
			return file;
	}
	return NULL;
}

void k2i_known_file_forget(struct k2i_known *known, struct k2i_known_file *file)
{
	k2i_table_remove(&known->files, &file->node);
	free(file);
}

int k2i_known_file_add(struct k2i_known *known, const struct k2i_ledger_file *file)
{
	struct k2i_known_file *old = k2i_known_file_find(known, file->device, file->inode), *added;
	size_t path_room = strlen(file->path) + 1;

	added = malloc(sizeof(*added) + path_room);
	if (!added)
		return -ENOMEM;
	added->file = *file;
	added->file.path = memcpy((char *)(added + 1), file->path, path_room);
	if (k2i_table_insert(&known->files, &added->node, file_hash(file->device, file->inode))) {
		free(added);
		return -ENOMEM;
	}
	if (old)
		k2i_known_file_forget(known, old);
	return 0;
}

void k2i_known_files_update(struct k2i_known *known, const struct k2i_ledger_file *files, size_t file_count)
{
	struct k2i_known_file *file;
	size_t i;

	for (i = 0; i < file_count; i++) {
		file = k2i_known_file_find(known, files[i].device, files[i].inode);
		if (!file)
			continue;
		file->file.length = files[i].length;
		file->file.open_writer = files[i].open_writer;
	}
}

static int commit_apply(struct k2i_known *known, const struct k2i_ledger_record *record)
{
	struct k2i_known_ring *ring = k2i_known_ring_place(known, record->ring.uuid);

	if (!ring)
		return -ENOMEM;
	ring->ring = record->ring;
	ring->ring.number = 1;
	k2i_known_files_update(known, record->files, record->file_count);
	return 0;
}

int k2i_known_apply(struct k2i_known *known, const struct k2i_ledger_record *record)
{
	struct k2i_known_file *file;

	switch (record->type) {
	case K2I_LEDGER_COMMIT:
		return commit_apply(known, record);
	case K2I_LEDGER_OPENED:
		return k2i_known_file_add(known, &record->files[0]);
	case K2I_LEDGER_CLOSED:
		file = k2i_known_file_find(known, record->files[0].device, record->files[0].inode);
		if (file)
			k2i_known_file_forget(known, file);
		return 0;
	case K2I_LEDGER_CLEAN:
		break;
	}
	return 0;
}

static void file_drop(void *argument, struct k2i_table_node *node)
{
	k2i_known_file_forget(argument, K2I_TABLE_ENTRY(node, struct k2i_known_file, node));
}

static void ring_drop(void *argument, struct k2i_table_node *node)
{
	k2i_known_ring_forget(argument, K2I_TABLE_ENTRY(node, struct k2i_known_ring, node));
}

void k2i_known_files_forget(struct k2i_known *known)
{
	k2i_table_each(&known->files, file_drop, known);
}

void k2i_known_free(struct k2i_known *known)
{
	k2i_known_files_forget(known);
	k2i_table_each(&known->rings, ring_drop, known);
	k2i_table_free(&known->files);
	k2i_table_free(&known->rings);
}
