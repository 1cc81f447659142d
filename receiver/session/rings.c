/* SPDX-License-Identifier: MIT */
#include "receiver/session/rings.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "receiver/base/table.h"
#include "base/uuid.h"

/* In ten seconds: each is about another ring. */
#define LINES 20u

struct ring_whole { /* the whole of a struct k2i_ring */
	struct k2i_ring ring;
	pthread_mutex_t mutex;
	struct k2i_owner owner; /* id 0: none */
	/* The table's lock guards what follows. */
	struct k2i_table_node node;
	unsigned references;
};

struct k2i_rings {
	struct k2i_ledger *ledger;
	struct k2i_counters *counters;
	k2i_owner_fenced *fenced;
	struct k2i_log_limit lost_limit, uncertain_limit; /* anybody can invent rings */
	pthread_mutex_t mutex;
	struct k2i_table table;
};

static struct ring_whole *ring_whole(struct k2i_ring *ring)
{
	return (struct ring_whole *)(void *)ring;
}

int k2i_rings_create(struct k2i_ledger *ledger, struct k2i_counters *counters, k2i_owner_fenced *fenced,
		     struct k2i_rings **rings)
{
	struct k2i_rings *made = calloc(1, sizeof(*made));

	if (!made)
		return -ENOMEM;
	made->ledger = ledger;
	made->counters = counters;
	made->fenced = fenced;
	made->lost_limit.burst = made->uncertain_limit.burst = LINES;
	(void)pthread_mutex_init(&made->mutex, NULL);
	*rings = made;
	return 0;
}

void k2i_rings_free(struct k2i_rings *rings)
{
	if (!rings)
		return;
	k2i_table_free(&rings->table);
	(void)pthread_mutex_destroy(&rings->mutex);
	free(rings);
}

static struct ring_whole *ring_find(struct k2i_rings *rings, const uint8_t uuid[16], uint64_t hash)
{
	struct k2i_table_node *node = NULL;
	struct ring_whole *whole;

	while ((node = k2i_table_find(&rings->table, hash, node)) != NULL) {
		whole = K2I_TABLE_ENTRY(node, struct ring_whole, node);
		if (memcmp(whole->ring.ledger.uuid, uuid, 16) == 0)
			return whole;
	}
	return NULL;
}

static struct ring_whole *ring_make(struct k2i_rings *rings, const uint8_t uuid[16], uint64_t hash)
{
	struct ring_whole *whole = calloc(1, sizeof(*whole));

	if (!whole)
		return NULL;
	if (k2i_table_insert(&rings->table, &whole->node, hash)) {
		free(whole);
		return NULL;
	}
	memcpy(whole->ring.ledger.uuid, uuid, 16);
	(void)pthread_mutex_init(&whole->mutex, NULL);
	return whole;
}

static struct ring_whole *ring_refer(struct k2i_rings *rings, const uint8_t uuid[16])
{
	uint64_t hash = k2i_table_hash(uuid, 16);
	struct ring_whole *whole;

	(void)pthread_mutex_lock(&rings->mutex);
	whole = ring_find(rings, uuid, hash);
	if (!whole)
		whole = ring_make(rings, uuid, hash);
	if (whole)
		whole->references++;
	(void)pthread_mutex_unlock(&rings->mutex);
	return whole;
}

static void ring_forget(struct k2i_rings *rings, struct ring_whole *whole)
{
	(void)pthread_mutex_lock(&rings->mutex);
	if (--whole->references == 0) {
		k2i_table_remove(&rings->table, &whole->node);
		(void)pthread_mutex_destroy(&whole->mutex);
		free(whole);
	}
	(void)pthread_mutex_unlock(&rings->mutex);
}

static uint64_t uncertain_position(struct k2i_rings *rings, const struct k2i_ledger_ring *ledger,
				   const struct k2i_ring_greeting *greeting)
{
	uint64_t position = greeting->acked > ledger->synced ? greeting->acked : ledger->synced;
	char uuid[K2I_UUID_TEXT_BYTES];

	if (!k2i_ledger_doubt_tell(rings->ledger, greeting->uuid))
		return position;
	(void)k2i_uuid_text(greeting->uuid, uuid);
	k2i_count(&rings->counters->uncertain_ranges, 1);
	k2i_log_limited(&rings->uncertain_limit, k2i_clock_now_ns(), K2HFT_LOG_WARNING,
			"session: this machine went down, or its disk failed: ring %s goes on at %" PRIu64
			", the ledger says %" PRIu64 ": records between may be there twice or not at all",
			uuid, position, ledger->position);
	return position;
}

/* The sender can't send what is below its acked, and need not send what is committed. */
static uint64_t resume_position(struct k2i_rings *rings, const struct k2i_ledger_ring *ledger,
				const struct k2i_ring_greeting *greeting, bool known)
{
	char uuid[K2I_UUID_TEXT_BYTES];

	(void)k2i_uuid_text(greeting->uuid, uuid);
	if (!known) {
		/* Without its ledger a receiver is another one, too: it can't tell a lost ledger from a sender that moved. */
		if (greeting->acked > 0) {
			k2i_count(&rings->counters->ledger_lost, 1);
			k2i_log_limited(
				&rings->lost_limit, k2i_clock_now_ns(), K2HFT_LOG_ERROR,
				"session: ring %s is not in the ledger, but was acknowledged further, up to %" PRIu64
				" and %s: records behind that may come twice",
				uuid, greeting->acked,
				greeting->acked_here ? "here" : "by another receiver, or with a ledger that is gone");
		}
		return greeting->acked;
	}
	if (ledger->flags & K2I_LEDGER_UNCERTAIN)
		return uncertain_position(rings, ledger, greeting);
	if (ledger->position >= greeting->acked)
		return ledger->position;
	if (greeting->acked_here) {
		k2i_count(&rings->counters->ledger_lost, 1);
		k2i_log_limited(&rings->lost_limit, k2i_clock_now_ns(), K2HFT_LOG_ERROR,
				"session: ring %s was acknowledged up to %" PRIu64 ", the ledger says %" PRIu64
				": it is old, records behind the first may come twice",
				uuid, greeting->acked, ledger->position);
	}
	return greeting->acked;
}

static int attach_locked(struct k2i_rings *rings, struct ring_whole *whole, const struct k2i_ring_greeting *greeting,
			 struct k2i_ring_place *place)
{
	struct k2i_ledger_ring ledger = {0};

	place->known = k2i_ledger_find(rings->ledger, greeting->uuid, &ledger);
	if (greeting->epoch < ledger.epoch || greeting->epoch < whole->ring.ledger.epoch)
		return -ESTALE;
	place->position = resume_position(rings, &ledger, greeting, place->known);
	place->number = ledger.number;
	/* In doubt it goes on at what is on the disk, or was acknowledged. */
	place->deferred = (ledger.flags & (K2I_LEDGER_DEFERRED | K2I_LEDGER_UNCERTAIN)) == K2I_LEDGER_DEFERRED &&
			  ledger.position != ledger.synced;
	whole->ring.ledger.epoch = greeting->epoch;
	whole->ring.ledger.position = place->position;
	whole->ring.ledger.number = ledger.number;
	return 0;
}

int k2i_ring_attach(struct k2i_rings *rings, const struct k2i_ring_greeting *greeting, struct k2i_owner owner,
		    struct k2i_ring **ring, struct k2i_ring_place *place)
{
	struct ring_whole *whole = ring_refer(rings, greeting->uuid);
	struct k2i_owner before = {0};
	int error;

	if (!whole)
		return -ENOMEM;
	/* Waits for a commit of the connection before: its position is the one to go on from. */
	(void)pthread_mutex_lock(&whole->mutex);
	error = attach_locked(rings, whole, greeting, place);
	if (!error) {
		before = whole->owner;
		whole->owner = owner;
	}
	(void)pthread_mutex_unlock(&whole->mutex);
	if (error) {
		ring_forget(rings, whole);
		return error;
	}
	if (before.id)
		rings->fenced(before);
	*ring = &whole->ring;
	return 0;
}

void k2i_ring_detach(struct k2i_rings *rings, struct k2i_ring *ring, struct k2i_owner owner)
{
	struct ring_whole *whole = ring_whole(ring);

	(void)pthread_mutex_lock(&whole->mutex);
	if (whole->owner.id == owner.id)
		whole->owner.id = 0;
	(void)pthread_mutex_unlock(&whole->mutex);
	ring_forget(rings, whole);
}

int k2i_ring_enter(struct k2i_ring *ring, struct k2i_owner owner)
{
	struct ring_whole *whole = ring_whole(ring);

	(void)pthread_mutex_lock(&whole->mutex);
	if (whole->owner.id == owner.id)
		return 0;
	(void)pthread_mutex_unlock(&whole->mutex);
	return -ESTALE;
}

void k2i_ring_leave(struct k2i_ring *ring)
{
	(void)pthread_mutex_unlock(&ring_whole(ring)->mutex);
}

void k2i_ring_end(struct k2i_rings *rings, struct k2i_ring *ring, struct k2i_owner owner)
{
	if (k2i_ring_enter(ring, owner))
		return;
	k2i_ledger_forget(rings->ledger, ring->ledger.uuid);
	k2i_ring_leave(ring);
}
