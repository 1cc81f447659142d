/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "receiver/sink/kafka/internal.h"

#define RING_IDLE_NS (UINT64_C(600) * K2I_SECOND_NS)

/* Rings ----------------------------------------------------------------------------------------------------------- */

struct k2i_kafka_ring *k2i_kafka_ring_get(struct k2i_kafka_sink *kafka, const uint8_t uuid[16])
{
	uint64_t hash = k2i_table_hash(uuid, 16);
	struct k2i_table_node *node = NULL;
	struct k2i_kafka_ring *ring;

	while ((node = k2i_table_find(&kafka->rings, hash, node)) != NULL) {
		ring = K2I_TABLE_ENTRY(node, struct k2i_kafka_ring, node);
		if (memcmp(ring->uuid, uuid, 16) == 0)
			return ring;
	}
	ring = calloc(1, sizeof(*ring));
	if (!ring)
		return NULL;
	memcpy(ring->uuid, uuid, 16);
	if (k2i_table_insert(&kafka->rings, &ring->node, hash)) {
		free(ring);
		return NULL;
	}
	return ring;
}

struct tick {
	struct k2i_kafka_sink *kafka;
	uint64_t now_ns;
};

static void ring_look(void *argument, struct k2i_table_node *node)
{
	const struct tick *tick = argument;
	struct k2i_kafka_ring *ring = K2I_TABLE_ENTRY(node, struct k2i_kafka_ring, node);

	if (ring->bytes || ring->ended || tick->now_ns < ring->used_ns + RING_IDLE_NS)
		return;
	k2i_table_remove(&tick->kafka->rings, node);
	free(ring);
}

void k2i_kafka_rings_tick(struct k2i_kafka_sink *kafka, uint64_t now_ns)
{
	struct tick tick = {kafka, now_ns};

	k2i_table_each(&kafka->rings, ring_look, &tick);
}

void k2i_kafka_ring_end(struct k2i_kafka_sink *kafka, const uint8_t uuid[16])
{
	struct k2i_kafka_ring *ring = kafka->producer_count ? k2i_kafka_ring_get(kafka, uuid) : NULL;

	if (!ring || ring->ended)
		return;
	ring->ended = true;
	ring->next_ended = kafka->ended;
	kafka->ended = ring;
	if (!ring->producer)
		ring->producer = kafka->producers[0];
}

bool k2i_kafka_rings_ended(const struct k2i_kafka_producer *producer)
{
	const struct k2i_kafka_ring *ring = producer->kafka->ended;

	while (ring && ring->producer != producer)
		ring = ring->next_ended;
	return ring != NULL;
}

rd_kafka_resp_err_t k2i_kafka_rings_drop(struct k2i_kafka_producer *producer)
{
	struct k2i_kafka_ring **at = &producer->kafka->ended, *ring;
	rd_kafka_resp_err_t error = RD_KAFKA_RESP_ERR_NO_ERROR;

	while ((ring = *at) != NULL && !error) {
		if (ring->producer == producer && ring->bytes) {
			/* It did come again. */
			ring->ended = ring->dropped = false;
			*at = ring->next_ended;
			continue;
		}
		if (ring->producer == producer && !ring->dropped) {
			error = k2i_kafka_position_put(producer->positions, ring->uuid, 0, NULL);
			ring->dropped = !error;
		}
		at = &ring->next_ended;
	}
	return error;
}

void k2i_kafka_rings_dropped(struct k2i_kafka_producer *producer, bool committed)
{
	struct k2i_kafka_ring **at = &producer->kafka->ended, *ring;

	while ((ring = *at) != NULL) {
		if (ring->producer == producer && ring->dropped) {
			ring->dropped = false;
			if (committed) {
				ring->ended = ring->owned = false;
				*at = ring->next_ended;
				continue;
			}
		}
		at = &ring->next_ended;
	}
}

/* Groups ---------------------------------------------------------------------------------------------------------- */

/* Bytes of an entry's copy: its stream's names stand there once for a run of entries. */
static size_t entry_bytes(const struct k2i_group_entry *entry, const struct k2i_stream *before)
{
	size_t names = entry->stream == before ? 0 : strlen(entry->stream->path) + strlen(entry->stream->host) + 2;

	return sizeof(struct k2i_kafka_entry) + entry->payload_bytes + names;
}

static char *text_copy(char **room, const char *text)
{
	size_t bytes = strlen(text) + 1;
	char *copy = memcpy(*room, text, bytes);

	*room += bytes;
	return copy;
}

static void entry_copy(struct k2i_kafka_group *copy, const struct k2i_group_entry *entry, bool same, char **room)
{
	struct k2i_kafka_entry *to = &copy->entries[copy->entry_count];
	const struct k2i_kafka_entry *before = to - 1;

	to->path = same ? before->path : text_copy(room, entry->stream->path);
	to->host = same ? before->host : text_copy(room, entry->stream->host);
	to->payload = *room;
	memcpy(*room, entry->payload, entry->payload_bytes);
	*room += entry->payload_bytes;
	to->position = entry->position;
	to->time_ns = entry->time_ns;
	to->payload_bytes = entry->payload_bytes;
	to->record_count = entry->record_count;
	to->writer_pid = entry->writer_pid;
	to->flags = entry->flags;
	to->binary = entry->stream->mode == K2HFT_STREAM_BINARY;
	copy->entry_count++;
}

struct k2i_kafka_group *k2i_kafka_group_copy(const struct k2i_group *group, uint64_t from,
					     struct k2i_sink_report *report)
{
	const struct k2i_group_entry *entry, *end = group->entries + group->entry_count;
	const struct k2i_stream *stream = NULL;
	size_t bytes = sizeof(struct k2i_kafka_group) + sizeof(*report), count = 0;
	struct k2i_kafka_group *copy;
	char *room;

	for (entry = group->entries; entry < end; entry++) {
		if (entry->position < from)
			continue;
		bytes += entry_bytes(entry, stream);
		stream = entry->stream;
		count++;
	}
	copy = malloc(bytes);
	if (!copy)
		return NULL;
	*copy = (struct k2i_kafka_group){
		.report = report, .position = report->position, .bytes = bytes, .taken_ns = k2i_clock_now_ns()};
	room = (char *)(copy->entries + count);
	stream = NULL;
	for (entry = group->entries; entry < end; entry++) {
		if (entry->position < from)
			continue;
		entry_copy(copy, entry, entry->stream == stream, &room);
		stream = entry->stream;
	}
	return copy;
}

/* The queue ------------------------------------------------------------------------------------------------------- */

static void queue_append(struct k2i_kafka_producer *producer, struct k2i_kafka_group *group)
{
	group->next = NULL;
	*producer->last = group;
	producer->last = &group->next;
	producer->bytes += group->bytes;
}

void k2i_kafka_queue_push(struct k2i_kafka_producer *producer, struct k2i_kafka_group *group)
{
	queue_append(producer, group);
	group->ring->bytes += group->bytes;
	producer->kafka->room.bytes += group->bytes;
	group->ring->used_ns = group->taken_ns;
	(void)pthread_cond_signal(&producer->condition);
}

/* Takes groups of a ring out, those up to a position, into `*taken`, which ends with NULL. */
static void queue_take(struct k2i_kafka_ring *ring, uint64_t position, struct k2i_kafka_group **taken)
{
	struct k2i_kafka_producer *producer = ring->producer;
	struct k2i_kafka_group **at = &producer->first, *group;

	while ((group = *at) != NULL) {
		if (group->ring != ring || group->position > position) {
			at = &group->next;
			continue;
		}
		*at = group->next;
		producer->bytes -= group->bytes;
		group->next = NULL;
		*taken = group;
		taken = &group->next;
	}
	producer->last = at;
	*taken = NULL;
}

void k2i_kafka_queue_move(struct k2i_kafka_ring *ring, struct k2i_kafka_producer *to)
{
	struct k2i_kafka_group *group, *next;

	queue_take(ring, UINT64_MAX, &group);
	ring->producer = to;
	for (; group; group = next) {
		next = group->next;
		queue_append(to, group);
	}
	(void)pthread_cond_signal(&to->condition);
}

static void groups_report(struct k2i_kafka_ring *ring, struct k2i_kafka_group *group, int error)
{
	struct k2i_kafka_sink *kafka = ring->producer->kafka;
	struct k2i_kafka_group *next;

	for (; group; group = next) {
		next = group->next;
		ring->bytes -= group->bytes;
		k2i_room_give(&kafka->room, &kafka->sink, group->bytes);
		if (error)
			ring->refused_owner = group->report->owner.id;
		k2i_sink_stored(&kafka->sink, group->report, error);
		free(group);
	}
}

void k2i_kafka_queue_stored(struct k2i_kafka_ring *ring)
{
	struct k2i_kafka_group *group;

	queue_take(ring, ring->position, &group);
	groups_report(ring, group, 0);
}

void k2i_kafka_queue_refuse(struct k2i_kafka_ring *ring, int error)
{
	struct k2i_kafka_group *group;

	queue_take(ring, UINT64_MAX, &group);
	groups_report(ring, group, error);
	ring->handed = 0;
	ring->owned = false;
}

void k2i_kafka_queue_free(struct k2i_kafka_producer *producer)
{
	while (producer->first)
		k2i_kafka_queue_refuse(producer->first->ring, -ECANCELED);
}
