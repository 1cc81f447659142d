/* SPDX-License-Identifier: MIT */
#include "receiver/sink/group.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "receiver/sink/sink.h"

#define ENTRIES_FIRST 256u
#define COST_MIN 4096u

uint64_t k2i_group_cost(uint64_t bytes)
{
	return bytes > COST_MIN ? bytes : COST_MIN;
}

int k2i_group_start(struct k2i_group *group, struct k2i_sink *sink)
{
	memset(group, 0, sizeof(*group));
	group->sink = sink;
	group->number = 1;
	return sink->ops->thread_open ? sink->ops->thread_open(sink, &group->thread) : 0;
}

void k2i_group_free(struct k2i_group *group)
{
	k2i_group_clear(group);
	if (group->thread && group->sink->ops->thread_close)
		group->sink->ops->thread_close(group->sink, group->thread);
	group->thread = NULL;
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

static void target_release(const struct k2i_group *group, struct k2i_target *target)
{
	if (group->sink->ops->release)
		group->sink->ops->release(group->sink, target);
}

/* Two streams can have one target: hosts share a file. */
static int target_place(struct k2i_group *group, const struct k2i_stream *stream, uint32_t *index)
{
	const struct k2i_sink_ops *ops = group->sink->ops;
	struct k2i_target *target = NULL;
	uint32_t i;
	int error = ops->place ? ops->place(group, stream, &target) : 0;

	if (error)
		return error;
	for (i = 0; i < group->target_count; i++) {
		if (group->targets[i].target == target) {
			target_release(group, target);
			*index = i;
			return 0;
		}
	}
	if (group->target_count == K2I_LEDGER_FILES_MAX) {
		target_release(group, target);
		return -ENOBUFS;
	}
	group->targets[i] = (struct k2i_group_target){.target = target, .first = UINT32_MAX};
	group->target_count++;
	*index = i;
	return 0;
}

static int stream_place(struct k2i_group *group, struct k2i_stream *stream, uint32_t *index)
{
	uint32_t sink = group->sink->number;
	int error = 0;

	if (stream->places[sink].group_number != group->number) {
		error = target_place(group, stream, &stream->places[sink].target);
		if (!error)
			stream->places[sink].group_number = group->number;
	}
	*index = stream->places[sink].target;
	return error;
}

/* Puts an entry behind the others of its target. */
static void entry_link(struct k2i_group *group, struct k2i_group_target *target, struct k2i_group_entry *entry)
{
	entry->next = 0;
	if (target->first == UINT32_MAX)
		target->first = group->entry_count;
	else
		group->entries[target->last].next = group->entry_count;
	entry->previous = target->last;
	target->last = group->entry_count++;
}

int k2i_group_add(struct k2i_group *group, struct k2i_stream *stream, const struct k2hft_chunk_view *view)
{
	uint64_t cost = k2i_group_cost(view->payload_bytes);
	struct k2i_group_entry *entry;
	uint32_t index;
	int error;

	if (group->cost + cost > K2I_GROUP_COST_MAX)
		return -ENOBUFS;
	if (group->entry_count == group->entry_room && entries_grow(group))
		return -ENOMEM;
	error = stream_place(group, stream, &index);
	if (error)
		return error;
	entry = &group->entries[group->entry_count];
	entry_link(group, &group->targets[index], entry);
	group->targets[index].record_count += view->chunk.record_count;
	entry->stream = stream;
	entry->payload = view->payload;
	entry->payload_bytes = (uint32_t)view->payload_bytes;
	entry->position = view->position;
	entry->time_ns = view->chunk.time_ns;
	entry->record_count = view->chunk.record_count;
	entry->writer_pid = view->chunk.writer_pid;
	entry->flags = view->chunk.flags;
	group->cost += cost;
	group->record_count += entry->record_count;
	group->payload_bytes += entry->payload_bytes;
	return 0;
}

void k2i_group_remove_last(struct k2i_group *group, struct k2i_stream *stream)
{
	struct k2i_group_target *target = &group->targets[stream->places[group->sink->number].target];
	const struct k2i_group_entry *entry = &group->entries[--group->entry_count];

	group->cost -= k2i_group_cost(entry->payload_bytes);
	group->record_count -= entry->record_count;
	group->payload_bytes -= entry->payload_bytes;
	target->record_count -= entry->record_count;
	if (target->first != group->entry_count) {
		target->last = entry->previous;
		group->entries[target->last].next = 0;
		return;
	}
	/* It came with this chunk, so it is the last. */
	target_release(group, target->target);
	group->target_count--;
	stream->places[group->sink->number].group_number = 0;
}

uint64_t k2i_group_writer(const struct k2i_group_entry *entry)
{
	uint64_t hash = k2i_hash_pair(&entry->stream->writer_seed, sizeof(entry->stream->writer_seed),
				      &entry->writer_pid, sizeof(entry->writer_pid));

	return hash ? hash : 1;
}

void k2i_group_clear(struct k2i_group *group)
{
	uint32_t i;

	for (i = 0; i < group->target_count; i++)
		target_release(group, group->targets[i].target);
	group->target_count = 0;
	group->entry_count = 0;
	group->cost = 0;
	group->record_count = group->payload_bytes = 0;
	group->number++;
}
