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
#include "receiver/commit/settle.h"

/* In ten seconds: each is about another ring. */
#define LINES 20u

struct k2i_rings {
	struct k2i_ledger *ledger;
	const struct k2i_sinks *sinks;
	struct k2i_counters *counters;
	k2i_owner_fenced *fenced;
	struct k2i_log_limit lost_limit, uncertain_limit; /* anybody can invent rings */
	pthread_mutex_t mutex;
	struct k2i_table table;
};

int k2i_rings_create(struct k2i_ledger *ledger, const struct k2i_sinks *sinks, struct k2i_counters *counters,
		     k2i_owner_fenced *fenced, struct k2i_rings **rings)
{
	struct k2i_rings *made = calloc(1, sizeof(*made));

	if (!made)
		return -ENOMEM;
	made->ledger = ledger;
	made->sinks = sinks;
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

static struct k2i_ring *ring_find(struct k2i_rings *rings, const uint8_t uuid[16], uint64_t hash)
{
	struct k2i_table_node *node = NULL;
	struct k2i_ring *ring;

	while ((node = k2i_table_find(&rings->table, hash, node)) != NULL) {
		ring = K2I_TABLE_ENTRY(node, struct k2i_ring, node);
		if (memcmp(ring->uuid, uuid, 16) == 0)
			return ring;
	}
	return NULL;
}

static struct k2i_ring *ring_make(struct k2i_rings *rings, const uint8_t uuid[16], uint64_t hash)
{
	struct k2i_ring *ring = calloc(1, sizeof(*ring));

	if (!ring)
		return NULL;
	if (k2i_table_insert(&rings->table, &ring->node, hash)) {
		free(ring);
		return NULL;
	}
	memcpy(ring->uuid, uuid, 16);
	for (uint32_t i = 0; i < K2I_SINKS_MAX; i++) {
		memcpy(ring->rows[i].uuid, uuid, 16);
		ring->rows[i].sink = i;
	}
	(void)pthread_mutex_init(&ring->mutex, NULL);
	return ring;
}

static struct k2i_ring *ring_refer(struct k2i_rings *rings, const uint8_t uuid[16])
{
	uint64_t hash = k2i_table_hash(uuid, 16);
	struct k2i_ring *ring;

	(void)pthread_mutex_lock(&rings->mutex);
	ring = ring_find(rings, uuid, hash);
	if (!ring)
		ring = ring_make(rings, uuid, hash);
	if (ring)
		ring->references++;
	(void)pthread_mutex_unlock(&rings->mutex);
	return ring;
}

static void ring_forget(struct k2i_rings *rings, struct k2i_ring *ring)
{
	(void)pthread_mutex_lock(&rings->mutex);
	if (--ring->references == 0) {
		k2i_table_remove(&rings->table, &ring->node);
		(void)pthread_mutex_destroy(&ring->mutex);
		free(ring);
	}
	(void)pthread_mutex_unlock(&rings->mutex);
}

static uint64_t uncertain_position(struct k2i_rings *rings, const struct k2i_ledger_ring *ledger,
				   const struct k2i_ring_greeting *greeting)
{
	uint64_t position = greeting->acked > ledger->synced ? greeting->acked : ledger->synced;
	char uuid[K2I_UUID_TEXT_BYTES];

	if (!k2i_ledger_doubt_tell(rings->ledger, greeting->uuid, ledger->sink))
		return position;
	(void)k2i_uuid_text(greeting->uuid, uuid);
	k2i_count(&rings->counters->uncertain_ranges, 1);
	k2i_log_limited(&rings->uncertain_limit, k2i_clock_now_ns(), K2HFT_LOG_WARNING,
			"session: this machine went down, or its disk failed: ring %s goes on at %" PRIu64
			", the ledger says %" PRIu64 ": records between may be there twice or not at all",
			uuid, position, ledger->position);
	return position;
}

/*
 * A receiver without its ledger has another uuid, as a receiver to which a lane has moved has: the sender, who knows the
 * address, tells one from the other. This is a ledger that has lost the ring and kept its uuid.
 */
static void unknown_report(struct k2i_rings *rings, const struct k2i_ring_greeting *greeting)
{
	char uuid[K2I_UUID_TEXT_BYTES];

	if (!greeting->acked || greeting->begins || !greeting->acked_here)
		return;
	k2i_count(&rings->counters->ledger_lost, 1);
	k2i_log_limited(&rings->lost_limit, k2i_clock_now_ns(), K2HFT_LOG_ERROR,
			"session: ring %s is not in the ledger, but was acknowledged here up to %" PRIu64
			": records behind that may come twice",
			k2i_uuid_text(greeting->uuid, uuid), greeting->acked);
}

static void old_report(struct k2i_rings *rings, const struct k2i_ring_greeting *greeting, uint64_t acked,
		       uint64_t position)
{
	char uuid[K2I_UUID_TEXT_BYTES];

	k2i_count(&rings->counters->ledger_lost, 1);
	k2i_log_limited(&rings->lost_limit, k2i_clock_now_ns(), K2HFT_LOG_ERROR,
			"session: ring %s was acknowledged up to %" PRIu64 ", the ledger says %" PRIu64
			": it is old, records behind the first may come twice",
			k2i_uuid_text(greeting->uuid, uuid), acked, position);
}

/*
 * The sender can't send what is below its acked, and need not send what is committed. A sink that TYPE did not name for a
 * while has missed what was acknowledged then.
 */
static uint64_t row_resume(struct k2i_rings *rings, const struct k2i_ledger_ring *ledger,
			   const struct k2i_ring_greeting *greeting)
{
	if (ledger->flags & K2I_LEDGER_UNCERTAIN)
		return uncertain_position(rings, ledger, greeting);
	return ledger->position >= greeting->acked ? ledger->position : greeting->acked;
}

/* A sink that the ledger does not know begins at what was acknowledged. */
static void row_attach(struct k2i_rings *rings, const struct k2i_ledger_ring *ledger,
		       const struct k2i_ring_greeting *greeting, struct k2i_ledger_ring *row,
		       struct k2i_ring_place *place)
{
	/* The ledger numbers what it has. */
	bool known = ledger->number > 0;

	row->position = known ? row_resume(rings, ledger, greeting) : greeting->acked;
	row->number = ledger->number;
	row->epoch = greeting->epoch > ledger->epoch ? greeting->epoch : ledger->epoch;
	place->known |= known;
	place->copied |= (ledger->flags & K2I_LEDGER_COPY) != 0;
	if (place->number < row->number)
		place->number = row->number;
	/* In doubt it goes on at what is on the disk, or was acknowledged. */
	place->deferred |= (ledger->flags & (K2I_LEDGER_DEFERRED | K2I_LEDGER_UNCERTAIN)) == K2I_LEDGER_DEFERRED &&
			   ledger->position != ledger->synced;
}

/* Rows that the ledger does not have are zeros; others can be those of sinks that TYPE named before. The latest epoch. */
static uint64_t rows_find(const struct k2i_rings *rings, const struct k2i_ring *ring,
			  struct k2i_ledger_ring ledger[K2I_SINKS_MAX])
{
	uint64_t epoch = ring->epoch;

	memset(ledger, 0, K2I_SINKS_MAX * sizeof(*ledger));
	for (uint32_t i = 0; i < K2I_SINKS_MAX; i++) {
		(void)k2i_ledger_find(rings->ledger, ring->uuid, i, &ledger[i]);
		epoch = ledger[i].epoch > epoch ? ledger[i].epoch : epoch;
	}
	return epoch;
}

/* How far any sink is, those included that TYPE named before. */
static uint64_t row_furthest(const struct k2i_ledger_ring ledger[K2I_SINKS_MAX])
{
	uint64_t position = 0;

	for (uint32_t i = 0; i < K2I_SINKS_MAX; i++)
		position = ledger[i].position > position ? ledger[i].position : position;
	return position;
}

/* A ledger that is as it should be has at least one sink where the sender was acknowledged. */
static void rows_report(struct k2i_rings *rings, const struct k2i_ledger_ring ledger[K2I_SINKS_MAX],
			const struct k2i_ring_greeting *greeting)
{
	bool uncertain = false;

	K2I_SINKS_EACH(rings->sinks, sink)
		uncertain |= (ledger[(*sink)->number].flags & K2I_LEDGER_UNCERTAIN) != 0;
	if (!uncertain && greeting->acked_here && row_furthest(ledger) < greeting->acked)
		old_report(rings, greeting, greeting->acked, row_furthest(ledger));
}

/* A disk that was restored has less than this receiver has acknowledged: what is in between is nowhere now. */
static int ring_settle(struct k2i_rings *rings, const struct k2i_ring_greeting *greeting,
		       const struct k2i_ledger_ring *ledger, struct k2i_ring_place *place)
{
	struct k2i_settlement settlement = {.epoch = greeting->epoch, .position = greeting->settled};
	int error;

	if (row_furthest(ledger) < greeting->settled)
		old_report(rings, greeting, greeting->settled, row_furthest(ledger));
	memcpy(settlement.ring, greeting->uuid, sizeof(settlement.ring));
	error = k2i_settle(greeting->unsettled, &settlement);
	place->cut_records = settlement.cut_records;
	place->retracted_records = settlement.retracted_records;
	/* These two say something else to the caller. */
	return error == -ESTALE || error == -EEXIST ? -EIO : error;
}

/*
 * A receiver that was held up reads what its sender has given up meanwhile, in any order: an attempt before the owner's must
 * not end the owner's connection.
 */
static int greeting_check(const struct k2i_ring *ring, const struct k2i_ring_greeting *greeting, uint64_t epoch)
{
	if (greeting->epoch < epoch)
		return -ESTALE;
	if (!ring->owner.id || greeting->epoch != ring->epoch || !ring->opening || !greeting->opening)
		return 0;
	if (greeting->opening != ring->opening)
		return -EEXIST;
	return greeting->attempt && greeting->attempt < ring->attempt ? -ESTALE : 0;
}

static int attach_locked(struct k2i_rings *rings, struct k2i_ring *ring, const struct k2i_ring_greeting *greeting,
			 struct k2i_ring_place *place)
{
	struct k2i_ledger_ring ledger[K2I_SINKS_MAX];
	uint64_t epoch = rows_find(rings, ring, ledger);
	uint32_t i;
	int error;

	error = greeting->copy ? 0 : greeting_check(ring, greeting, epoch);
	if (error)
		return error;
	memset(place, 0, sizeof(*place));
	if (greeting->unsettled) {
		error = ring_settle(rings, greeting, ledger, place);
		if (error)
			return error;
		(void)rows_find(rings, ring, ledger);
	}
	K2I_SINKS_EACH(rings->sinks, sink) {
		i = (*sink)->number;
		row_attach(rings, &ledger[i], greeting, &ring->rows[i], place);
		place->positions[i] = ring->rows[i].position;
	}
	if (place->known)
		rows_report(rings, ledger, greeting);
	else
		unknown_report(rings, greeting);
	k2i_ledger_prove(rings->ledger, greeting->uuid, greeting->acked);
	place->position = k2i_commit_position(ring->rows, rings->sinks);
	ring->epoch = greeting->epoch > epoch ? greeting->epoch : epoch;
	return 0;
}

int k2i_ring_attach(struct k2i_rings *rings, const struct k2i_ring_greeting *greeting, struct k2i_owner owner,
		    struct k2i_ring **found, struct k2i_ring_place *place)
{
	struct k2i_ring *ring = ring_refer(rings, greeting->uuid);
	struct k2i_owner before = {0};
	int error;

	if (!ring)
		return -ENOMEM;
	/* Waits for a commit of the connection before: its position is the one to go on from. */
	(void)pthread_mutex_lock(&ring->mutex);
	error = attach_locked(rings, ring, greeting, place);
	if (!error) {
		before = ring->owner;
		ring->owner = owner;
		/* A copy says itself what it is; its sender and the original's may have the same epoch. */
		ring->opening = greeting->copy ? 0 : greeting->opening;
		ring->attempt = greeting->attempt;
	}
	(void)pthread_mutex_unlock(&ring->mutex);
	if (error) {
		ring_forget(rings, ring);
		return error;
	}
	if (before.id)
		rings->fenced(before);
	*found = ring;
	return 0;
}

void k2i_ring_detach(struct k2i_rings *rings, struct k2i_ring *ring, struct k2i_owner owner)
{
	(void)pthread_mutex_lock(&ring->mutex);
	if (ring->owner.id == owner.id)
		ring->owner.id = 0;
	(void)pthread_mutex_unlock(&ring->mutex);
	ring_forget(rings, ring);
}

int k2i_ring_enter(struct k2i_ring *ring, struct k2i_owner owner)
{
	(void)pthread_mutex_lock(&ring->mutex);
	if (ring->owner.id == owner.id)
		return 0;
	(void)pthread_mutex_unlock(&ring->mutex);
	return -ESTALE;
}

void k2i_ring_leave(struct k2i_ring *ring)
{
	(void)pthread_mutex_unlock(&ring->mutex);
}

void k2i_ring_end(struct k2i_rings *rings, struct k2i_ring *ring, struct k2i_owner owner)
{
	if (k2i_ring_enter(ring, owner))
		return;
	K2I_SINKS_EACH(rings->sinks, sink)
		if ((*sink)->ops->ended)
			(*sink)->ops->ended(*sink, ring->uuid);
	k2i_ledger_forget(rings->ledger, ring->uuid);
	k2i_ring_leave(ring);
}
