/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/condition.h"
#include "base/crash.h"
#include "base/log.h"
#include "base/thread.h"
#include "receiver/sink/kafka/internal.h"

#define BACKOFF_NS_MIN (UINT64_C(100) * K2I_MILLISECOND_NS)
#define BACKOFF_NS_MAX (UINT64_C(10) * K2I_SECOND_NS)
#define MESSAGE_BYTES_LEAST (16u * 1024)
#define MESSAGE_BYTES_FIRST 1000000u

/*
 * A sender whose ring is full waits for an acknowledgement: a transaction that is worth it does not let senders wait until
 * its time is over. A mount takes what was written every FLUSHMS, 5 ms.
 */
#define WORTH_BYTES (128u * 1024)
#define QUIET_NS (UINT64_C(8) * K2I_MILLISECOND_NS)

struct transaction {
	uint64_t end_ns; /* 0: it has not begun */
	size_t bytes;
	struct k2i_kafka_ring *refused; /* its topic takes no records */
};

static uint64_t backoff_ns(unsigned failures)
{
	uint64_t wait_ns = BACKOFF_NS_MIN << (failures < 7 ? failures : 7);

	return wait_ns < BACKOFF_NS_MAX ? wait_ns : BACKOFF_NS_MAX;
}

/* The mutex is the sink's. */
static void producer_wait(struct k2i_kafka_producer *producer, uint64_t until_ns)
{
	struct timespec until = k2i_timespec(until_ns);

	(void)pthread_cond_timedwait(&producer->condition, &producer->kafka->mutex, &until);
}

static bool producer_ends(const struct k2i_kafka_producer *producer)
{
	return atomic_load(&producer->kafka->stopping);
}

/* Contents of a transaction -------------------------------------------------------------------------------------- */

/*
 * With the mutex: the next group to send; NULL: none is there now, or `*claim`: first a ring of the queue is to be claimed.
 * Those of a ring whose topic takes nothing wait.
 */
static struct k2i_kafka_group *group_next(struct k2i_kafka_producer *producer, uint64_t now_ns, bool *claim)
{
	struct k2i_kafka_group *group = producer->first;

	while (group) {
		struct k2i_kafka_ring *ring = group->ring;

		if (!ring->owned) {
			*claim = true;
		} else if (!group->sent && group->position <= ring->position) {
			k2i_kafka_queue_stored(ring);
			group = producer->first;
			continue;
		} else if (!group->sent && ring->hold_until_ns <= now_ns) {
			return group;
		}
		group = group->next;
	}
	return NULL;
}

static uint64_t wait_end_ns(const struct transaction *transaction, uint64_t now_ns, uint64_t quiet_ns)
{
	if (!transaction->end_ns)
		return now_ns + K2I_SECOND_NS;
	return transaction->bytes >= WORTH_BYTES && quiet_ns < transaction->end_ns ? quiet_ns : transaction->end_ns;
}

/*
 * The next group, waited for until the transaction is to end; before it has begun, for as long as it takes, or until rings
 * that have ended have waited for a while.
 */
static struct k2i_kafka_group *group_await(struct k2i_kafka_producer *producer, const struct transaction *transaction)
{
	struct k2i_kafka_sink *kafka = producer->kafka;
	struct k2i_kafka_group *group = NULL;
	bool claim = false, waited = false;
	uint64_t now_ns, quiet_ns = 0;

	(void)pthread_mutex_lock(&kafka->mutex);
	for (;; waited = true) {
		now_ns = k2i_clock_now_ns();
		if (producer_ends(producer) || (transaction->end_ns && now_ns >= transaction->end_ns))
			break;
		group = group_next(producer, now_ns, &claim);
		if (group || claim || (waited && !transaction->end_ns && k2i_kafka_rings_ended(producer)))
			break;
		quiet_ns = quiet_ns ? quiet_ns : now_ns + QUIET_NS;
		if (transaction->bytes >= WORTH_BYTES && now_ns >= quiet_ns)
			break;
		producer_wait(producer, wait_end_ns(transaction, now_ns, quiet_ns));
		if (transaction->end_ns)
			continue;
		/* Callbacks, while nothing is to be done. */
		(void)pthread_mutex_unlock(&kafka->mutex);
		(void)rd_kafka_poll(producer->handle, 0);
		(void)pthread_mutex_lock(&kafka->mutex);
	}
	(void)pthread_mutex_unlock(&kafka->mutex);
	return group;
}

static rd_kafka_resp_err_t group_produce(struct k2i_kafka_producer *producer, struct k2i_kafka_group *group)
{
	rd_kafka_resp_err_t error = RD_KAFKA_RESP_ERR_NO_ERROR;
	const struct k2i_kafka_entry *entry = group->entries, *end = entry + group->entry_count;

	for (; entry < end && !error; entry++)
		if (entry->position >= group->ring->position)
			error = k2i_kafka_entry_produce(producer, group->ring, entry);
	if (error && !producer->refused) {
		producer->refused = error;
		producer->refused_ring = group->ring;
		(void)snprintf(producer->refused_topic, sizeof(producer->refused_topic), "%s", producer->topic_name);
	}
	return error;
}

/* Puts what is not there yet of a transaction that has all records. */
static rd_kafka_resp_err_t positions_add(struct k2i_kafka_producer *producer)
{
	rd_kafka_resp_err_t error;
	const struct k2i_kafka_group *group;

	(void)pthread_mutex_lock(&producer->kafka->mutex);
	error = k2i_kafka_rings_drop(producer);
	for (group = producer->first; group && !error; group = group->next) {
		struct k2i_kafka_ring *ring = group->ring;

		if (!group->sent || !ring->sent)
			continue;
		error = k2i_kafka_position_put(producer->positions, ring->uuid, ring->sent_position, producer->id);
		ring->sent = error;
	}
	(void)pthread_mutex_unlock(&producer->kafka->mutex);
	return error;
}

/* The library's queue may be full of records. */
static rd_kafka_resp_err_t positions_put(struct k2i_kafka_producer *producer)
{
	uint64_t until_ns = k2i_clock_now_ns() + K2I_KAFKA_ROOM_NS;
	rd_kafka_resp_err_t error;

	while ((error = positions_add(producer)) == RD_KAFKA_RESP_ERR__QUEUE_FULL && !producer->refused &&
	       !producer_ends(producer) && k2i_clock_now_ns() < until_ns)
		(void)rd_kafka_poll(producer->handle, 10);
	return error;
}

/* How it ends ----------------------------------------------------------------------------------------------------- */

/* Errors that are a topic's, and not of the brokers at large. */
static bool refusal_of_topic(rd_kafka_resp_err_t error)
{
	switch (error) {
	case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART:
	case RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC:
	case RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION:
	case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
	case RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION:
	case RD_KAFKA_RESP_ERR_POLICY_VIOLATION:
	case RD_KAFKA_RESP_ERR_INVALID_RECORD:
	case RD_KAFKA_RESP_ERR_UNSUPPORTED_FOR_MESSAGE_FORMAT:
	case RD_KAFKA_RESP_ERR_INVALID_REQUIRED_ACKS:
	case RD_KAFKA_RESP_ERR__INVALID_ARG:
		return true;
	default:
		return false;
	}
}

static const char *refusal_advice(rd_kafka_resp_err_t error)
{
	switch (error) {
	case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
		return "; allow the receiver's user to write and describe it";
	case RD_KAFKA_RESP_ERR_INVALID_RECORD:
	case RD_KAFKA_RESP_ERR_UNSUPPORTED_FOR_MESSAGE_FORMAT:
		return "; see the topic's settings";
	default:
		return "; make it, or have brokers make it; and see KAFKA_TOPIC";
	}
}

/* With the mutex: the ring waits, and its sender with it; the others go on. */
static void ring_hold(struct k2i_kafka_producer *producer, struct k2i_kafka_ring *ring, rd_kafka_resp_err_t error)
{
	char uuid[K2I_UUID_TEXT_BYTES];

	ring->hold_until_ns = k2i_clock_now_ns() + backoff_ns(3 + ring->refusals++);
	producer->held_ns = producer->held_ns ? producer->held_ns : k2i_clock_now_ns();
	(void)snprintf(producer->held, sizeof(producer->held), "topic %.120s: %.100s%s", producer->refused_topic,
		       rd_kafka_err2str(error), refusal_advice(error));
	k2i_log_limited(&producer->limit, k2i_clock_now_ns(), K2HFT_LOG_ERROR, "kafka: ring %s is held: %s",
			k2i_uuid_text(ring->uuid, uuid), producer->held);
}

/*
 * Brokers refuse a batch that is larger than the topic's max.message.bytes. Nobody tells how much that is: messages get
 * half as large until they are taken, and records that are larger go in parts.
 */
static void messages_shrink(struct k2i_kafka_producer *producer, char *reason)
{
	size_t most = producer->message_bytes_max ? producer->message_bytes_max : MESSAGE_BYTES_FIRST;

	producer->message_bytes_max = most / 2 > MESSAGE_BYTES_LEAST ? most / 2 : MESSAGE_BYTES_LEAST;
	(void)snprintf(reason, K2I_KAFKA_REASON_BYTES,
		       "topic %.120s: messages of %zu bytes are too large for it: its max.message.bytes is smaller "
		       "than KAFKA.message.max.bytes; they are made smaller, and larger records go in parts",
		       producer->refused_topic, most);
}

/* With the mutex: nothing is in a transaction. */
static void groups_unsend(struct k2i_kafka_producer *producer)
{
	k2i_kafka_rings_dropped(producer, false);
	for (struct k2i_kafka_group *group = producer->first; group; group = group->next)
		group->sent = false;
}

/* With the mutex: no ring waits for its topic. */
static bool nothing_held(const struct k2i_kafka_producer *producer)
{
	for (const struct k2i_kafka_group *group = producer->first; group; group = group->next)
		if (group->ring->hold_until_ns)
			return false;
	return true;
}

static void groups_committed(struct k2i_kafka_producer *producer)
{
	struct k2i_kafka_group *group;
	struct k2i_kafka_ring *ring;

	(void)pthread_mutex_lock(&producer->kafka->mutex);
	k2i_kafka_rings_dropped(producer, true);
	for (group = producer->first; group;) {
		ring = group->ring;
		if (!group->sent) {
			group = group->next;
			continue;
		}
		ring->position = ring->sent_position;
		ring->hold_until_ns = 0;
		ring->refusals = 0;
		k2i_kafka_queue_stored(ring);
		group = producer->first;
	}
	producer->failures = 0;
	producer->fault[0] = '\0';
	if (nothing_held(producer)) {
		producer->held_ns = 0;
		producer->held[0] = '\0';
	}
	(void)pthread_mutex_unlock(&producer->kafka->mutex);
}

static void handle_close(struct k2i_kafka_producer *producer)
{
	if (!producer->handle)
		return;
	k2i_kafka_topics_free(producer);
	if (producer->positions)
		rd_kafka_topic_destroy(producer->positions);
	producer->positions = NULL;
	(void)rd_kafka_purge(producer->handle, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
	rd_kafka_destroy(producer->handle);
	producer->handle = NULL;
}

/* It is not committed: sent again, by a new handle if this one is of no more use. */
static int transaction_failed(struct k2i_kafka_producer *producer, int error, char *reason)
{
	rd_kafka_resp_err_t refused = producer->refused;

	if (refused == RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE) {
		messages_shrink(producer, reason);
		error = -ESTALE;
	}
	if (error == -ESTALE)
		handle_close(producer);
	/* A topic may have gone. */
	k2i_kafka_topics_free(producer);
	(void)pthread_mutex_lock(&producer->kafka->mutex);
	groups_unsend(producer);
	if (refusal_of_topic(refused) && producer->refused_ring) {
		ring_hold(producer, producer->refused_ring, refused);
		error = 0;
	}
	(void)pthread_mutex_unlock(&producer->kafka->mutex);
	return error ? -EAGAIN : 0;
}

/* Why the handle is of no more use, or what the error of one message is. */
static void failure_text(const struct k2i_kafka_producer *producer, rd_kafka_resp_err_t error, char *reason)
{
	char text[K2I_KAFKA_REASON_BYTES - 140] = "";

	if (error != RD_KAFKA_RESP_ERR__FATAL || !rd_kafka_fatal_error(producer->handle, text, sizeof(text)))
		(void)snprintf(text, sizeof(text), "%s", rd_kafka_err2str(error));
	(void)snprintf(reason, K2I_KAFKA_REASON_BYTES, "topic %.120s: %s", producer->topic_name, text);
}

static int transaction_end(struct k2i_kafka_producer *producer, rd_kafka_resp_err_t error, char *reason)
{
	int result;

	if (!error)
		error = positions_put(producer);
	if (error) {
		failure_text(producer, error, reason);
		result = k2i_kafka_transaction_abort(producer, producer->handle, reason);
	} else {
		K2I_CRASH(kafka_positions_put);
		result = k2i_kafka_transaction_commit(producer, producer->handle, reason);
	}
	if (result)
		return transaction_failed(producer, result, reason);
	K2I_CRASH(kafka_committed);
	groups_committed(producer);
	K2I_CRASH(kafka_reported);
	return 0;
}

/* The thread ------------------------------------------------------------------------------------------------------ */

static int transaction_begin(struct k2i_kafka_producer *producer, struct transaction *transaction, char *reason)
{
	rd_kafka_error_t *began = rd_kafka_begin_transaction(producer->handle);

	if (began) {
		k2i_kafka_reason(reason, "a transaction can't begin", began, producer);
		return transaction_failed(producer, -ESTALE, reason);
	}
	K2I_CRASH(kafka_begun);
	transaction->end_ns = k2i_clock_now_ns() + producer->kafka->settings->kafka_commit_ms * K2I_MILLISECOND_NS;
	return 0;
}

static int transaction_run(struct k2i_kafka_producer *producer, char *reason)
{
	struct transaction transaction = {0};
	rd_kafka_resp_err_t error = RD_KAFKA_RESP_ERR_NO_ERROR;
	struct k2i_kafka_group *group;
	bool ended;

	producer->refused = RD_KAFKA_RESP_ERR_NO_ERROR;
	producer->refused_ring = NULL;
	while (!error && transaction.bytes < K2I_KAFKA_TRANSACTION_BYTES_MAX &&
	       (group = group_await(producer, &transaction)) != NULL) {
		if (!transaction.end_ns && transaction_begin(producer, &transaction, reason))
			return -EAGAIN;
		group->sent = group->ring->sent = true;
		group->ring->sent_position = group->position;
		transaction.bytes += group->bytes;
		error = group_produce(producer, group);
		K2I_CRASH(kafka_produced);
		(void)rd_kafka_poll(producer->handle, 0);
		error = error ? error : producer->refused;
	}
	if (!transaction.end_ns) {
		(void)pthread_mutex_lock(&producer->kafka->mutex);
		ended = k2i_kafka_rings_ended(producer);
		(void)pthread_mutex_unlock(&producer->kafka->mutex);
		if (!ended)
			return 0;
		if (transaction_begin(producer, &transaction, reason))
			return -EAGAIN;
	}
	return transaction_end(producer, error, reason);
}

/* A handle that has the id, and what became of what was sent before. */
static int handle_open(struct k2i_kafka_producer *producer, char *reason)
{
	const char *topic = producer->kafka->settings->kafka_positions_topic;
	int error;

	producer->handle = k2i_kafka_client_open(producer->kafka->settings, producer->id, producer, reason);
	if (!producer->handle)
		return -EAGAIN;
	error = k2i_kafka_transactions_begin(producer, producer->handle, reason);
	K2I_CRASH(kafka_id_taken);
	if (!error)
		error = k2i_kafka_rings_look(producer, reason);
	K2I_CRASH(kafka_positions_read);
	if (!error) {
		producer->positions = rd_kafka_topic_new(producer->handle, topic, NULL);
		error = producer->positions ? 0 : -EAGAIN;
	}
	if (error)
		handle_close(producer);
	return error;
}

static void failure_wait(struct k2i_kafka_producer *producer, const char *reason)
{
	uint64_t now_ns = k2i_clock_now_ns(), until_ns = now_ns + backoff_ns(producer->failures++);

	(void)pthread_mutex_lock(&producer->kafka->mutex);
	producer->held_ns = producer->held_ns ? producer->held_ns : now_ns;
	producer->retries++;
	(void)snprintf(producer->held, sizeof(producer->held), "%s", reason);
	if (!producer_ends(producer))
		k2i_log_limited(&producer->limit, now_ns, K2HFT_LOG_WARNING, "kafka: %s: %s; it is tried again",
				producer->kafka->settings->kafka_brokers, reason);
	while (!producer_ends(producer) && k2i_clock_now_ns() < until_ns)
		producer_wait(producer, until_ns);
	(void)pthread_mutex_unlock(&producer->kafka->mutex);
}

static void *producer_run(void *argument)
{
	struct k2i_kafka_producer *producer = argument;
	char reason[K2I_KAFKA_REASON_BYTES];
	int error;

	while (!producer_ends(producer)) {
		reason[0] = '\0';
		error = producer->handle ? 0 : handle_open(producer, reason);
		if (!error)
			error = k2i_kafka_rings_claim(producer, reason);
		if (!error)
			error = transaction_run(producer, reason);
		if (error)
			failure_wait(producer, reason);
	}
	handle_close(producer);
	return NULL;
}

int k2i_kafka_producer_start(struct k2i_kafka_sink *kafka, struct k2i_kafka_producer **producer)
{
	struct k2i_kafka_producer *made = calloc(1, sizeof(*made));
	char uuid[K2I_UUID_TEXT_BYTES];
	int error;

	if (!made)
		return -ENOMEM;
	made->kafka = kafka;
	made->last = &made->first;
	k2i_condition_init(&made->condition);
	(void)pthread_mutex_lock(&kafka->mutex);
	made->number = kafka->producer_count;
	error = made->number < K2I_KAFKA_PRODUCERS_MAX ? 0 : -ENOMEM;
	if (!error) {
		(void)snprintf(made->id, sizeof(made->id), K2I_KAFKA_ID_PREFIX "%s-%u",
			       k2i_uuid_text(k2i_ledger_uuid(kafka->ledger), uuid), made->number);
		error = k2i_thread_start(&made->thread, producer_run, made);
	}
	if (!error)
		*producer = kafka->producers[kafka->producer_count++] = made;
	(void)pthread_mutex_unlock(&kafka->mutex);
	if (error)
		free(made);
	return error;
}

void k2i_kafka_producer_stop(struct k2i_kafka_producer *producer)
{
	(void)pthread_mutex_lock(&producer->kafka->mutex);
	(void)pthread_cond_signal(&producer->condition);
	(void)pthread_mutex_unlock(&producer->kafka->mutex);
	(void)pthread_join(producer->thread, NULL);
	k2i_kafka_queue_free(producer);
	free(producer->text.data);
	free(producer->key.data);
	(void)pthread_cond_destroy(&producer->condition);
	free(producer);
}
