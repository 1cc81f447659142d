/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/crash.h"
#include "receiver/sink/kafka/internal.h"

struct claim {
	struct k2i_kafka_producer *producer;
	const char *owner; /* who has the rings */
	bool unowned;      /* nobody */
	rd_kafka_topic_t *topic;
};

/* An id that follows from a uuid: whoever claims a ring that nobody has begins transactions with it. */
static void unowned_id(const uint8_t ring[16], char id[K2I_KAFKA_ID_BYTES])
{
	(void)snprintf(id, K2I_KAFKA_ID_BYTES, K2I_KAFKA_ID_PREFIX "%x", ring[0] & 15u);
}

/* With the sink's mutex: a ring of the queue that is to be claimed. */
static struct k2i_kafka_ring *unclaimed_find(const struct k2i_kafka_producer *producer)
{
	for (const struct k2i_kafka_group *group = producer->first; group; group = group->next)
		if (!group->ring->owned)
			return group->ring;
	return NULL;
}

static struct k2i_kafka_producer *producer_find(const struct k2i_kafka_sink *kafka, const char *id)
{
	for (unsigned i = 0; i < kafka->producer_count; i++)
		if (strcmp(kafka->producers[i]->id, id) == 0)
			return kafka->producers[i];
	return NULL;
}

static void ring_own(struct k2i_kafka_ring *ring, uint64_t position)
{
	ring->owned = true;
	ring->position = position;
	k2i_kafka_queue_stored(ring);
}

/* The position to go on from. Records that the topic does not know of were acknowledged, and do not come again. */
static uint64_t start_position(const struct k2i_kafka_ring *ring, bool known, uint64_t position)
{
	const struct k2i_kafka_group *group = ring->producer->first;
	char uuid[K2I_UUID_TEXT_BYTES];
	uint64_t from;

	while (group->ring != ring)
		group = group->next;
	from = group->entry_count ? group->entries[0].position : group->position;
	if (known && position < from)
		k2i_log(K2HFT_LOG_ERROR,
			"kafka: ring %s was acknowledged up to %" PRIu64 ", its position in the topic is %" PRIu64
			": records between may not be in the topic",
			k2i_uuid_text(ring->uuid, uuid), from, position);
	return known && position > from ? position : from;
}

/* With the mutex: records of all rings of the queue that this owner has. */
static rd_kafka_resp_err_t rings_put(const struct claim *claim)
{
	struct k2i_kafka_producer *producer = claim->producer;
	rd_kafka_resp_err_t error = RD_KAFKA_RESP_ERR_NO_ERROR;
	char owner[K2I_KAFKA_ID_BYTES];
	struct k2i_kafka_group *group;
	struct k2i_kafka_ring *ring;
	uint64_t position = 0;
	bool known;

	for (group = producer->first; group; group = group->next)
		group->ring->sent = false;
	for (group = producer->first; group && !error; group = group->next) {
		ring = group->ring;
		if (ring->owned || ring->sent)
			continue;
		known = k2i_kafka_positions_find(producer->kafka->positions, ring->uuid, &position, owner);
		if (!known)
			unowned_id(ring->uuid, owner);
		if (known == claim->unowned || strcmp(owner, claim->owner) != 0)
			continue;
		ring->sent = true;
		ring->position = start_position(ring, known, position);
		error = k2i_kafka_position_put(claim->topic, ring->uuid, ring->position, producer->id);
	}
	return error;
}

/* With the mutex: the transaction is committed. */
static void rings_own(struct k2i_kafka_producer *producer)
{
	struct k2i_kafka_group *group = producer->first;

	while (group) {
		struct k2i_kafka_ring *ring = group->ring;

		if (ring->owned || !ring->sent) {
			group = group->next;
			continue;
		}
		ring->sent = false;
		ring_own(ring, ring->position);
		group = producer->first;
	}
}

static int claim_put(const struct claim *claim, rd_kafka_t *handle, char *reason)
{
	struct k2i_kafka_producer *producer = claim->producer;
	struct k2i_kafka_sink *kafka = producer->kafka;
	rd_kafka_error_t *began = rd_kafka_begin_transaction(handle);
	rd_kafka_resp_err_t put;
	int error;

	if (began) {
		k2i_kafka_reason(reason, "rings can't be taken over", began, producer);
		return -EAGAIN;
	}
	(void)pthread_mutex_lock(&kafka->mutex);
	put = rings_put(claim);
	(void)pthread_mutex_unlock(&kafka->mutex);
	if (put) {
		(void)snprintf(reason, K2I_KAFKA_REASON_BYTES, "topic %s: %s", kafka->settings->kafka_positions_topic,
			       rd_kafka_err2str(put));
		return -EAGAIN;
	}
	error = k2i_kafka_transaction_commit(producer, handle, reason);
	if (error)
		return -EAGAIN;
	K2I_CRASH(kafka_claimed);
	(void)pthread_mutex_lock(&kafka->mutex);
	rings_own(producer);
	(void)pthread_mutex_unlock(&kafka->mutex);
	return 0;
}

/* Fences the owner: whatever it has not committed never will be. Then its rings' records are the last, and read. */
static int owner_fence(struct claim *claim, char *reason)
{
	struct k2i_kafka_producer *producer = claim->producer;
	struct k2i_kafka_sink *kafka = producer->kafka;
	rd_kafka_t *handle = k2i_kafka_client_open(kafka->settings, claim->owner, producer, reason);
	int error = handle ? k2i_kafka_transactions_begin(producer, handle, reason) : -EAGAIN;

	if (!error)
		error = k2i_kafka_positions_read(kafka->positions, handle, true, reason);
	if (!error) {
		claim->topic = rd_kafka_topic_new(handle, kafka->settings->kafka_positions_topic, NULL);
		error = claim->topic ? claim_put(claim, handle, reason) : -EAGAIN;
	}
	if (claim->topic)
		rd_kafka_topic_destroy(claim->topic);
	if (handle)
		rd_kafka_destroy(handle);
	return error;
}

/* With the mutex: whether the owner is the producer, or another one of this receiver; then the ring, if any, is its. */
static bool ring_is_here(struct k2i_kafka_producer *producer, struct k2i_kafka_ring *ring, uint64_t position,
			 const char *owner)
{
	struct k2i_kafka_producer *here = producer_find(producer->kafka, owner);

	if (ring && here == producer)
		ring_own(ring, position);
	else if (ring && here)
		k2i_kafka_queue_move(ring, here);
	return here != NULL;
}

/*
 * A receiver that died has left a transaction open, which brokers end after a while, or when the receiver's id is taken: so
 * the first look, for the owner, does not wait for it. A ring of this receiver goes on where its last record says.
 */
int k2i_kafka_rings_claim(struct k2i_kafka_producer *producer, char reason[K2I_KAFKA_REASON_BYTES])
{
	struct k2i_kafka_sink *kafka = producer->kafka;
	char owner[K2I_KAFKA_ID_BYTES], uuid[K2I_UUID_TEXT_BYTES];
	struct claim claim = {.producer = producer, .owner = owner};
	struct k2i_kafka_ring *ring;
	uint64_t position = 0;
	bool read = false, all = false, here;
	int error = 0;

	while (!error) {
		(void)pthread_mutex_lock(&kafka->mutex);
		ring = unclaimed_find(producer);
		here = ring && read && k2i_kafka_positions_find(kafka->positions, ring->uuid, &position, owner);
		claim.unowned = !here;
		if (ring && read && !here)
			unowned_id(ring->uuid, owner);
		here = here && ring_is_here(producer, all ? ring : NULL, position, owner);
		if (ring)
			(void)k2i_uuid_text(ring->uuid, uuid);
		(void)pthread_mutex_unlock(&kafka->mutex);
		if (!ring)
			return 0;
		if (!read || (here && !all)) {
			error = k2i_kafka_positions_read(kafka->positions, producer->handle, read, reason);
			all = read;
			read = true;
		} else if (!here) {
			error = owner_fence(&claim, reason);
			if (!error && !claim.unowned)
				k2i_log(K2HFT_LOG_INFO, "kafka: ring %s is taken over from %s", uuid, owner);
			claim.topic = NULL;
		}
	}
	return error;
}

struct owned_rings {
	const struct k2i_kafka_producer *producer;
	unsigned count;
};

static void ring_count(void *argument, struct k2i_table_node *node)
{
	const struct k2i_kafka_ring *ring = K2I_TABLE_ENTRY(node, struct k2i_kafka_ring, node);
	struct owned_rings *owned = argument;

	if (ring->producer == owned->producer && ring->owned)
		owned->count++;
}

/* With the mutex. Rings of which nothing waits are looked at when something comes. */
static void ring_look(void *argument, struct k2i_table_node *node)
{
	struct k2i_kafka_producer *producer = argument;
	struct k2i_kafka_ring *ring = K2I_TABLE_ENTRY(node, struct k2i_kafka_ring, node);
	char owner[K2I_KAFKA_ID_BYTES], uuid[K2I_UUID_TEXT_BYTES];
	uint64_t position = 0;
	bool known;

	if (ring->producer != producer || !ring->owned)
		return;
	ring->owned = false;
	if (!ring->bytes)
		return;
	known = k2i_kafka_positions_find(producer->kafka->positions, ring->uuid, &position, owner);
	if (known && strcmp(owner, producer->id) == 0) {
		ring_own(ring, position);
	} else if (known) {
		k2i_log(K2HFT_LOG_INFO, "kafka: ring %s went on elsewhere: %s has it", k2i_uuid_text(ring->uuid, uuid),
			owner);
		k2i_kafka_queue_refuse(ring, -ESTALE);
	}
}

/* A producer that begins has none, and does not wait for the transaction of a dead receiver. */
static bool rings_owned(const struct k2i_kafka_producer *producer)
{
	struct owned_rings owned = {.producer = producer};

	(void)pthread_mutex_lock(&producer->kafka->mutex);
	k2i_table_each(&producer->kafka->rings, ring_count, &owned);
	(void)pthread_mutex_unlock(&producer->kafka->mutex);
	return owned.count != 0;
}

int k2i_kafka_rings_look(struct k2i_kafka_producer *producer, char reason[K2I_KAFKA_REASON_BYTES])
{
	struct k2i_kafka_sink *kafka = producer->kafka;
	int error;

	if (!rings_owned(producer))
		return 0;
	error = k2i_kafka_positions_read(kafka->positions, producer->handle, true, reason);
	if (error)
		return error;
	(void)pthread_mutex_lock(&kafka->mutex);
	k2i_table_each(&kafka->rings, ring_look, producer);
	(void)pthread_mutex_unlock(&kafka->mutex);
	return 0;
}
