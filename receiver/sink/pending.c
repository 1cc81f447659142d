/* SPDX-License-Identifier: MIT */
#include "receiver/sink/pending.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

/* A ring that the ledger does not know has ended, unless it has just begun. */
#define UNKNOWN_NS (3600 * K2I_SECOND_NS)

struct ring {
	struct k2i_table_node node;
	uint8_t uuid[16];
	uint64_t taken, stored; /* behind the last chunk that is */
	uint64_t bytes;         /* of its groups */
	struct k2i_pending_group *first, **last;
	int error; /* of a group: those behind it are not stored either */
	uint64_t used_ns;
};

struct k2i_pending_group {
	struct k2i_pending_group *next;
	struct ring *ring;
	struct k2i_sink_report *report;
	uint64_t position, bytes;
	unsigned parts; /* that are not done */
};

/* With the lock, as all that are static here. */
static struct ring *ring_find(struct k2i_pending *pending, const uint8_t uuid[16])
{
	struct k2i_table_node *node = NULL;
	struct ring *ring;

	while ((node = k2i_table_find(&pending->rings, k2i_table_hash(uuid, 16), node)) != NULL) {
		ring = K2I_TABLE_ENTRY(node, struct ring, node);
		if (memcmp(ring->uuid, uuid, 16) == 0)
			return ring;
	}
	return NULL;
}

static struct ring *ring_get(struct k2i_pending *pending, const uint8_t uuid[16])
{
	struct ring *ring = ring_find(pending, uuid);

	if (ring)
		return ring;
	ring = calloc(1, sizeof(*ring));
	if (!ring)
		return NULL;
	if (k2i_table_insert(&pending->rings, &ring->node, k2i_table_hash(uuid, 16))) {
		free(ring);
		return NULL;
	}
	memcpy(ring->uuid, uuid, 16);
	ring->last = &ring->first;
	return ring;
}

uint64_t k2i_pending_taken(struct k2i_pending *pending, const uint8_t uuid[16])
{
	const struct ring *ring;
	uint64_t taken;

	(void)pthread_mutex_lock(&pending->mutex);
	ring = ring_find(pending, uuid);
	taken = ring ? ring->taken : 0;
	(void)pthread_mutex_unlock(&pending->mutex);
	return taken;
}

uint64_t k2i_pending_own(struct k2i_pending *pending)
{
	const uint8_t *own = k2i_ledger_uuid(pending->ledger);
	uint64_t taken = k2i_pending_taken(pending, own);
	struct k2i_ledger_ring row = {0};

	(void)k2i_ledger_find(pending->ledger, own, pending->sink->number, &row);
	return row.position > taken ? row.position : taken;
}

bool k2i_pending_full(struct k2i_pending *pending, const uint8_t uuid[16], const struct k2i_owner *owner)
{
	const struct ring *ring;
	bool full;

	(void)pthread_mutex_lock(&pending->mutex);
	ring = ring_find(pending, uuid);
	full = k2i_room_full(&pending->room, ring ? ring->bytes : 0, owner);
	(void)pthread_mutex_unlock(&pending->mutex);
	return full;
}

uint64_t k2i_pending_bytes(struct k2i_pending *pending)
{
	uint64_t bytes;

	(void)pthread_mutex_lock(&pending->mutex);
	bytes = pending->room.bytes;
	(void)pthread_mutex_unlock(&pending->mutex);
	return bytes;
}

int k2i_pending_begin(struct k2i_pending *pending, struct k2i_sink_report *report, unsigned parts, uint64_t bytes,
		      struct k2i_pending_group **group)
{
	const uint8_t *uuid = report ? report->ring : k2i_ledger_uuid(pending->ledger);
	uint64_t position = report ? report->position : k2i_pending_own(pending) + 1;
	struct k2i_pending_group *made = calloc(1, sizeof(*made));
	struct ring *ring;

	if (!made)
		return -ENOMEM;
	(void)pthread_mutex_lock(&pending->mutex);
	ring = ring_get(pending, uuid);
	if (ring) {
		*made = (struct k2i_pending_group){.ring = ring,
						   .report = report,
						   .position = position,
						   .bytes = bytes + sizeof(*made) + sizeof(*report),
						   .parts = parts + 1};
		ring->bytes += made->bytes;
		pending->room.bytes += made->bytes;
		ring->taken = position > ring->taken ? position : ring->taken;
		ring->used_ns = k2i_clock_now_ns();
		*ring->last = made;
		ring->last = &made->next;
	}
	(void)pthread_mutex_unlock(&pending->mutex);
	if (!ring) {
		free(made);
		return -ENOMEM;
	}
	*group = made;
	return 0;
}

/* A commit of the receiver's own ring. If the ledger can't take it, a later one does, or the record comes twice. */
static void own_enter(struct k2i_pending *pending, const struct k2i_pending_group *group)
{
	struct k2i_ledger_ring row = {
		.sink = pending->sink->number, .position = group->position, .flags = K2I_LEDGER_DEFERRED};

	memcpy(row.uuid, group->ring->uuid, sizeof(row.uuid));
	(void)k2i_ledger_commit(pending->ledger, &row, NULL, 0);
}

/* Reports groups in their order. */
static void ring_advance(struct k2i_pending *pending, struct ring *ring)
{
	struct k2i_pending_group *group;

	while ((group = ring->first) != NULL && group->parts == 0) {
		ring->first = group->next;
		if (!ring->first)
			ring->last = &ring->first;
		if (!ring->error && group->position > ring->stored)
			ring->stored = group->position;
		ring->bytes -= group->bytes;
		k2i_room_give(&pending->room, pending->sink, group->bytes);
		if (group->report)
			k2i_sink_stored(pending->sink, group->report, ring->error);
		else if (!ring->error)
			own_enter(pending, group);
		free(group);
	}
}

void k2i_pending_done(struct k2i_pending *pending, struct k2i_pending_group *group, int error)
{
	(void)pthread_mutex_lock(&pending->mutex);
	if (error)
		group->ring->error = error;
	group->parts--;
	ring_advance(pending, group->ring);
	(void)pthread_mutex_unlock(&pending->mutex);
}

void k2i_pending_settled(struct k2i_pending *pending, const struct k2i_ledger_ring *row)
{
	struct ring *ring;

	(void)pthread_mutex_lock(&pending->mutex);
	ring = ring_find(pending, row->uuid);
	if (ring && ring->taken > row->position)
		ring->taken = ring->stored = row->position;
	(void)pthread_mutex_unlock(&pending->mutex);
}

struct look {
	struct k2i_pending *pending;
	uint64_t now_ns;
};

static void ring_look(void *argument, struct k2i_table_node *node)
{
	const struct look *look = argument;
	struct ring *ring = K2I_TABLE_ENTRY(node, struct ring, node);
	struct k2i_ledger_ring row;
	bool known;

	if (ring->first)
		return;
	known = k2i_ledger_find(look->pending->ledger, ring->uuid, look->pending->sink->number, &row);
	if (known ? row.position < ring->taken : look->now_ns < ring->used_ns + UNKNOWN_NS)
		return;
	k2i_table_remove(&look->pending->rings, node);
	free(ring);
}

void k2i_pending_tick(struct k2i_pending *pending, uint64_t now_ns)
{
	struct look look = {pending, now_ns};

	(void)pthread_mutex_lock(&pending->mutex);
	k2i_table_each(&pending->rings, ring_look, &look);
	(void)pthread_mutex_unlock(&pending->mutex);
}

static void ring_enter(void *argument, struct k2i_table_node *node)
{
	struct k2i_pending *pending = argument;
	const struct ring *ring = K2I_TABLE_ENTRY(node, struct ring, node);
	struct k2i_ledger_ring row;

	if (!k2i_ledger_find(pending->ledger, ring->uuid, pending->sink->number, &row) || row.position >= ring->stored)
		return;
	row.position = ring->stored;
	(void)k2i_ledger_commit(pending->ledger, &row, NULL, 0);
}

static void ring_free(void *argument, struct k2i_table_node *node)
{
	(void)argument;
	free(K2I_TABLE_ENTRY(node, struct ring, node));
}

void k2i_pending_start(struct k2i_pending *pending, const struct k2i_sink *sink, struct k2i_ledger *ledger)
{
	*pending = (struct k2i_pending){.sink = sink, .ledger = ledger};
	(void)pthread_mutex_init(&pending->mutex, NULL);
}

void k2i_pending_end(struct k2i_pending *pending, bool enter)
{
	if (enter)
		k2i_table_each(&pending->rings, ring_enter, pending);
	k2i_table_each(&pending->rings, ring_free, NULL);
	k2i_table_free(&pending->rings);
	k2i_room_free(&pending->room);
	(void)pthread_mutex_destroy(&pending->mutex);
}
