/* SPDX-License-Identifier: MIT */
#include "receiver/commit/group.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ENTRIES_FIRST 256u
#define COST_MIN 4096u

uint64_t k2i_group_cost(uint64_t bytes)
{
	return bytes > COST_MIN ? bytes : COST_MIN;
}

void k2i_group_start(struct k2i_group *group, struct k2i_outputs *outputs)
{
	memset(group, 0, sizeof(*group));
	group->outputs = outputs;
	group->number = 1;
}

void k2i_group_free(struct k2i_group *group)
{
	k2i_group_clear(group);
	free(group->entries);
	group->entries = NULL;
}

static int entries_grow(struct k2i_group *group)
{
	uint32_t room = group->entry_room ? group->entry_room * 2 : ENTRIES_FIRST;
	struct k2i_group_entry *entries = realloc(group->entries, room * sizeof(*entries));

	if (!entries)
		return -ENOMEM;
	group->entries = entries;
	group->entry_room = room;
	return 0;
}

/* Two streams can have one path: hosts share a file. */
static int file_place(struct k2i_group *group, const char *path, uint32_t *index)
{
	struct k2i_output_file *output;
	uint32_t i;
	int error = k2i_output_acquire(group->outputs, path, &output);

	if (error)
		return error;
	for (i = 0; i < group->file_count; i++) {
		if (group->files[i].output == output) {
			k2i_output_release(group->outputs, output);
			*index = i;
			return 0;
		}
	}
	if (group->file_count == K2I_LEDGER_FILES_MAX) {
		k2i_output_release(group->outputs, output);
		return -ENOBUFS;
	}
	memset(&group->files[i], 0, sizeof(group->files[i]));
	group->files[i].output = output;
	group->files[i].first = UINT32_MAX;
	group->file_count++;
	*index = i;
	return 0;
}

static int stream_place(struct k2i_group *group, struct k2i_stream *stream, const char *path)
{
	int error = 0;

	if (stream->group_number == group->number)
		return 0;
	error = file_place(group, path, &stream->group_file);
	if (!error)
		stream->group_number = group->number;
	return error;
}

int k2i_group_add(struct k2i_group *group, struct k2i_stream *stream, const char *path,
		  const struct k2hft_chunk_view *view)
{
	uint64_t cost = k2i_group_cost(view->payload_bytes);
	struct k2i_group_entry *entry;
	struct k2i_group_file *file;
	int error;

	if (group->cost + cost > K2I_GROUP_COST_MAX)
		return -ENOBUFS;
	if (group->entry_count == group->entry_room && entries_grow(group))
		return -ENOMEM;
	error = stream_place(group, stream, path);
	if (error)
		return error;
	file = &group->files[stream->group_file];
	if (file->first == UINT32_MAX)
		file->first = group->entry_count;
	else
		group->entries[file->last].next = group->entry_count;
	file->last = group->entry_count;
	group->cost += cost;
	entry = &group->entries[group->entry_count++];
	entry->stream = stream;
	entry->payload = view->payload;
	entry->payload_bytes = (uint32_t)view->payload_bytes;
	entry->position = view->position;
	entry->time_ns = view->chunk.time_ns;
	entry->record_count = view->chunk.record_count;
	entry->writer_pid = view->chunk.writer_pid;
	entry->flags = view->chunk.flags;
	entry->next = 0;
	group->record_count += entry->record_count;
	group->payload_bytes += entry->payload_bytes;
	return 0;
}

void k2i_group_clear(struct k2i_group *group)
{
	uint32_t i;

	for (i = 0; i < group->file_count; i++)
		k2i_output_release(group->outputs, group->files[i].output);
	group->file_count = 0;
	group->entry_count = 0;
	group->cost = 0;
	group->record_count = group->payload_bytes = 0;
	group->number++;
}

static int file_compare(const void *left, const void *right)
{
	uint64_t left_number = ((const struct k2i_group_file *)left)->output->number;
	uint64_t right_number = ((const struct k2i_group_file *)right)->output->number;

	return left_number < right_number ? -1 : left_number > right_number;
}

/* One order for everybody, so that two groups with the same files can't wait for each other. */
void k2i_group_lock(struct k2i_group *group)
{
	uint32_t i;

	if (group->file_count > 1) {
		qsort(group->files, group->file_count, sizeof(group->files[0]), file_compare);
		/* The streams' indexes are wrong now; nothing is added to a group that is being committed. */
	}
	for (i = 0; i < group->file_count; i++)
		k2i_output_lock(group->files[i].output);
}

void k2i_group_unlock(struct k2i_group *group)
{
	uint32_t i;

	for (i = 0; i < group->file_count; i++)
		k2i_output_unlock(group->files[i].output);
}
