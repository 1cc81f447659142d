/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "receiver/sink/exec/internal.h"

/* A ring that the ledger does not know has ended, unless it has just begun. */
#define UNKNOWN_NS (3600 * K2I_SECOND_NS)

struct ring {
	struct k2i_table_node node;
	uint8_t uuid[16];
	uint64_t handed; /* behind the last chunk that was handed to plug-ins */
	struct k2i_exec_group *first, **last;
	int error; /* of a group: those behind it are not stored either */
	uint64_t used_ns;
};

struct k2i_exec_group {
	struct k2i_exec_group *next;
	struct ring *ring;
	struct k2i_sink_report *report;
	uint64_t position;
	unsigned unread; /* blocks */
};

/* With the lock, as all that are static here. */
static struct ring *ring_find(struct k2i_exec_sink *exec, const uint8_t uuid[16])
{
	struct k2i_table_node *node = NULL;
	struct ring *ring;

	while ((node = k2i_table_find(&exec->rings, k2i_table_hash(uuid, 16), node)) != NULL) {
		ring = K2I_TABLE_ENTRY(node, struct ring, node);
		if (memcmp(ring->uuid, uuid, 16) == 0)
			return ring;
	}
	return NULL;
}

static struct ring *ring_get(struct k2i_exec_sink *exec, const uint8_t uuid[16])
{
	struct ring *ring = ring_find(exec, uuid);

	if (ring)
		return ring;
	ring = calloc(1, sizeof(*ring));
	if (!ring)
		return NULL;
	if (k2i_table_insert(&exec->rings, &ring->node, k2i_table_hash(uuid, 16))) {
		free(ring);
		return NULL;
	}
	memcpy(ring->uuid, uuid, 16);
	ring->last = &ring->first;
	return ring;
}

uint64_t k2i_exec_handed(struct k2i_exec_sink *exec, const uint8_t uuid[16])
{
	const struct ring *ring;
	uint64_t handed;

	(void)pthread_mutex_lock(&exec->mutex);
	ring = ring_find(exec, uuid);
	handed = ring ? ring->handed : 0;
	(void)pthread_mutex_unlock(&exec->mutex);
	return handed;
}

int k2i_exec_group_begin(struct k2i_exec_sink *exec, const uint8_t uuid[16], uint64_t position, unsigned blocks,
			 struct k2i_sink_report *report, struct k2i_exec_group **group)
{
	struct k2i_exec_group *made = calloc(1, sizeof(*made));
	struct ring *ring;

	if (!made)
		return -ENOMEM;
	(void)pthread_mutex_lock(&exec->mutex);
	ring = ring_get(exec, uuid);
	if (ring) {
		made->ring = ring;
		made->report = report;
		made->position = position;
		made->unread = blocks + 1;
		ring->handed = position > ring->handed ? position : ring->handed;
		ring->used_ns = k2i_clock_now_ns();
		*ring->last = made;
		ring->last = &made->next;
	}
	(void)pthread_mutex_unlock(&exec->mutex);
	if (!ring) {
		free(made);
		return -ENOMEM;
	}
	*group = made;
	return 0;
}

/* A commit of the receiver's own ring. If the ledger can't take it, a later one does, or the record comes twice. */
static void own_enter(struct k2i_exec_sink *exec, const struct k2i_exec_group *group)
{
	struct k2i_ledger_ring row = {
		.sink = exec->sink.number, .position = group->position, .flags = K2I_LEDGER_DEFERRED};

	memcpy(row.uuid, group->ring->uuid, sizeof(row.uuid));
	(void)k2i_ledger_commit(exec->ledger, &row, NULL, 0);
}

/* Reports groups in their order. */
static void ring_advance(struct k2i_exec_sink *exec, struct ring *ring)
{
	struct k2i_exec_group *group;

	while ((group = ring->first) != NULL && group->unread == 0) {
		ring->first = group->next;
		if (!ring->first)
			ring->last = &ring->first;
		if (group->report)
			k2i_sink_stored(&exec->sink, group->report, ring->error);
		else if (!ring->error)
			own_enter(exec, group);
		free(group);
	}
}

void k2i_exec_group_read(struct k2i_exec_sink *exec, struct k2i_exec_group *group, int error)
{
	(void)pthread_mutex_lock(&exec->mutex);
	if (error)
		group->ring->error = error;
	group->unread--;
	ring_advance(exec, group->ring);
	(void)pthread_mutex_unlock(&exec->mutex);
}

struct tick {
	struct k2i_exec_sink *exec;
	uint64_t now_ns;
};

static void ring_look(void *argument, struct k2i_table_node *node)
{
	const struct tick *tick = argument;
	struct ring *ring = K2I_TABLE_ENTRY(node, struct ring, node);
	struct k2i_ledger_ring row;
	bool known;

	if (ring->first)
		return;
	known = k2i_ledger_find(tick->exec->ledger, ring->uuid, tick->exec->sink.number, &row);
	if (known ? row.position < ring->handed : tick->now_ns < ring->used_ns + UNKNOWN_NS)
		return;
	k2i_table_remove(&tick->exec->rings, node);
	free(ring);
}

void k2i_exec_rings_tick(struct k2i_exec_sink *exec, uint64_t now_ns)
{
	struct tick tick = {exec, now_ns};

	(void)pthread_mutex_lock(&exec->mutex);
	k2i_table_each(&exec->rings, ring_look, &tick);
	(void)pthread_mutex_unlock(&exec->mutex);
}

static void ring_free(void *argument, struct k2i_table_node *node)
{
	(void)argument;
	free(K2I_TABLE_ENTRY(node, struct ring, node));
}

void k2i_exec_rings_free(struct k2i_exec_sink *exec)
{
	k2i_table_each(&exec->rings, ring_free, NULL);
	k2i_table_free(&exec->rings);
}
