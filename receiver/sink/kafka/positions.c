/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/uuid.h"
#include "receiver/sink/kafka/internal.h"

#define READ_NS (UINT64_C(30) * K2I_SECOND_NS)
#define TOPIC_MS 10000
#define PARTITION 0 /* all of them: their order is one */
#define UUID_TEXT_BYTES (K2I_UUID_TEXT_BYTES - 1)
#define VALUE_BYTES_MAX 96u
#define TICK_RECORDS_MAX 10000u
#define SEGMENT_BYTES "16777216" /* brokers compact all but the last: a start reads little more than that */

struct place { /* of a ring, as the topic has it */
	struct k2i_table_node node;
	uint8_t ring[16];
	uint64_t position;
	char owner[K2I_KAFKA_ID_BYTES];
};

struct k2i_kafka_positions {
	struct k2i_kafka_sink *kafka;
	const char *name;
	struct k2i_log_limit limit;
	pthread_mutex_t mutex; /* held while the topic is read; it guards these */
	rd_kafka_t *handle;    /* NULL: nothing was read yet */
	rd_kafka_topic_t *topic;
	int64_t at;                   /* behind what was read */
	pthread_mutex_t places_mutex; /* never held for long */
	struct k2i_table places;
};

/* Records --------------------------------------------------------------------------------------------------------- */

static bool value_parse(const char *value, size_t value_bytes, uint64_t *position, char owner[K2I_KAFKA_ID_BYTES])
{
	char text[VALUE_BYTES_MAX + 1], *end;
	size_t prefix = strlen(K2I_KAFKA_ID_PREFIX), bytes;

	if (value_bytes > VALUE_BYTES_MAX)
		return false;
	memcpy(text, value, value_bytes);
	text[value_bytes] = '\0';
	if (text[0] < '0' || text[0] > '9')
		return false;
	errno = 0;
	*position = strtoull(text, &end, 10);
	if (errno || *end != ' ')
		return false;
	end++;
	bytes = strlen(end);
	/* It becomes a transactional.id: only one that receivers have. */
	if (bytes >= K2I_KAFKA_ID_BYTES || strncmp(end, K2I_KAFKA_ID_PREFIX, prefix) != 0 ||
	    strspn(end + prefix, "0123456789abcdef-") != bytes - prefix)
		return false;
	memcpy(owner, end, bytes + 1);
	return true;
}

rd_kafka_resp_err_t k2i_kafka_position_put(rd_kafka_topic_t *topic, const uint8_t ring[16], uint64_t position,
					   const char *owner)
{
	char key[K2I_UUID_TEXT_BYTES], value[VALUE_BYTES_MAX];
	int bytes = owner ? snprintf(value, sizeof(value), "%" PRIu64 " %s", position, owner) : 0;

	(void)k2i_uuid_text(ring, key);
	if (rd_kafka_produce(topic, PARTITION, RD_KAFKA_MSG_F_COPY, owner ? value : NULL, (size_t)bytes, key,
			     UUID_TEXT_BYTES, NULL) == 0)
		return RD_KAFKA_RESP_ERR_NO_ERROR;
	return rd_kafka_last_error();
}

/* With places_mutex. */
static struct place *place_find(struct k2i_kafka_positions *positions, const uint8_t ring[16])
{
	struct k2i_table_node *node = NULL;
	struct place *place;

	while ((node = k2i_table_find(&positions->places, k2i_table_hash(ring, 16), node)) != NULL) {
		place = K2I_TABLE_ENTRY(node, struct place, node);
		if (memcmp(place->ring, ring, 16) == 0)
			return place;
	}
	return NULL;
}

static int place_set(struct k2i_kafka_positions *positions, const uint8_t ring[16], uint64_t position,
		     const char *owner)
{
	struct place *place, *made = NULL;
	int error = 0;

	(void)pthread_mutex_lock(&positions->places_mutex);
	place = place_find(positions, ring);
	if (!place) {
		place = made = calloc(1, sizeof(*made));
		error = made ? k2i_table_insert(&positions->places, &made->node, k2i_table_hash(ring, 16)) : -ENOMEM;
	}
	if (!error) {
		memcpy(place->ring, ring, 16);
		place->position = position;
		(void)snprintf(place->owner, sizeof(place->owner), "%s", owner);
	} else {
		free(made);
	}
	(void)pthread_mutex_unlock(&positions->places_mutex);
	return error;
}

static void place_free(void *argument, struct k2i_table_node *node)
{
	(void)argument;
	free(K2I_TABLE_ENTRY(node, struct place, node));
}

static void place_forget(struct k2i_kafka_positions *positions, const uint8_t ring[16])
{
	struct place *place;

	(void)pthread_mutex_lock(&positions->places_mutex);
	place = place_find(positions, ring);
	if (place) {
		k2i_table_remove(&positions->places, &place->node);
		free(place);
	}
	(void)pthread_mutex_unlock(&positions->places_mutex);
}

static int record_take(struct k2i_kafka_positions *positions, const rd_kafka_message_t *message)
{
	char owner[K2I_KAFKA_ID_BYTES];
	uint64_t position;
	uint8_t ring[16];

	if (message->key_len == UUID_TEXT_BYTES && k2i_uuid_parse(message->key, ring)) {
		if (value_parse(message->payload, message->len, &position, owner))
			return place_set(positions, ring, position, owner);
		if (!message->payload) {
			place_forget(positions, ring);
			return 0;
		}
	}
	k2i_log_limited(&positions->limit, k2i_clock_now_ns(), K2HFT_LOG_WARNING,
			"kafka: topic %s has a record at %" PRId64
			" that no receiver has written; give it no other producers",
			positions->name, message->offset);
	return 0;
}

/* Reading --------------------------------------------------------------------------------------------------------- */

static int topic_failed(const struct k2i_kafka_positions *positions, char *reason, const char *text)
{
	(void)snprintf(reason, K2I_KAFKA_REASON_BYTES, "topic %.60s: %.240s", positions->name, text);
	return -EAGAIN;
}

static rd_kafka_resp_err_t topic_look(rd_kafka_t *handle, const char *name)
{
	rd_kafka_topic_t *topic = rd_kafka_topic_new(handle, name, NULL);
	rd_kafka_resp_err_t error = topic ? k2i_kafka_topic_look(handle, topic) : rd_kafka_last_error();

	if (topic)
		rd_kafka_topic_destroy(topic);
	return error;
}

/* The topic has one partition, as many copies as brokers make by themselves, and keeps the last record of each key. */
static rd_kafka_resp_err_t topic_create(rd_kafka_t *handle, const char *name, char *reason)
{
	rd_kafka_NewTopic_t *topic = rd_kafka_NewTopic_new(name, 1, -1, reason, K2I_KAFKA_REASON_BYTES);
	rd_kafka_AdminOptions_t *options = rd_kafka_AdminOptions_new(handle, RD_KAFKA_ADMIN_OP_CREATETOPICS);
	rd_kafka_queue_t *queue = rd_kafka_queue_new(handle);
	rd_kafka_resp_err_t result = RD_KAFKA_RESP_ERR__TIMED_OUT;
	const rd_kafka_topic_result_t **results;
	rd_kafka_event_t *event;
	size_t count = 0;

	(void)rd_kafka_NewTopic_set_config(topic, "cleanup.policy", "compact");
	(void)rd_kafka_NewTopic_set_config(topic, "segment.bytes", SEGMENT_BYTES);
	rd_kafka_CreateTopics(handle, &topic, 1, options, queue);
	event = rd_kafka_queue_poll(queue, TOPIC_MS);
	if (event) {
		result = rd_kafka_event_error(event);
		(void)snprintf(reason, K2I_KAFKA_REASON_BYTES, "%s", rd_kafka_event_error_string(event));
		results = rd_kafka_CreateTopics_result_topics(rd_kafka_event_CreateTopics_result(event), &count);
		if (!result && count == 1) {
			result = rd_kafka_topic_result_error(results[0]);
			if (result)
				(void)snprintf(reason, K2I_KAFKA_REASON_BYTES, "%s",
					       rd_kafka_topic_result_error_string(results[0]));
		}
		rd_kafka_event_destroy(event);
	}
	rd_kafka_queue_destroy(queue);
	rd_kafka_AdminOptions_destroy(options);
	rd_kafka_NewTopic_destroy(topic);
	return result;
}

static int topic_ensure(struct k2i_kafka_positions *positions, rd_kafka_t *handle, char *reason)
{
	char text[K2I_KAFKA_REASON_BYTES] = "", why[K2I_KAFKA_REASON_BYTES] = "";
	rd_kafka_resp_err_t error = topic_look(positions->handle, positions->name), made;

	if (error != RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART && error != RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC)
		return error ? topic_failed(positions, reason, rd_kafka_err2str(error)) : 0;
	made = topic_create(handle, positions->name, why);
	if (made == RD_KAFKA_RESP_ERR_NO_ERROR)
		k2i_log(K2HFT_LOG_INFO, "kafka: topic %s is made, for the positions of rings", positions->name);
	/* Brokers without that request may make topics by themselves. */
	if (made && made != RD_KAFKA_RESP_ERR_TOPIC_ALREADY_EXISTS) {
		(void)snprintf(text, sizeof(text),
			       "it is not there, and can't be made: %.150s; make it yourself, with "
			       "cleanup.policy=compact and segment.bytes=" SEGMENT_BYTES,
			       why);
		if (made != RD_KAFKA_RESP_ERR__UNSUPPORTED_FEATURE || topic_look(handle, positions->name))
			return topic_failed(positions, reason, text);
	}
	return 0;
}

static int positions_open(struct k2i_kafka_positions *positions, rd_kafka_t *handle, char *reason)
{
	int error;

	if (positions->topic)
		return 0;
	if (!positions->handle)
		positions->handle = k2i_kafka_client_open(positions->kafka->settings, NULL, NULL, reason);
	if (!positions->handle)
		return -EAGAIN;
	error = topic_ensure(positions, handle, reason);
	if (error)
		return error;
	positions->topic = rd_kafka_topic_new(positions->handle, positions->name, NULL);
	if (positions->topic && rd_kafka_consume_start(positions->topic, PARTITION, RD_KAFKA_OFFSET_BEGINNING) == 0)
		return 0;
	error = topic_failed(positions, reason, rd_kafka_err2str(rd_kafka_last_error()));
	if (positions->topic)
		rd_kafka_topic_destroy(positions->topic);
	positions->topic = NULL;
	return error;
}

/* Waits so long for a record. 1: there was none; -EAGAIN with the reason. */
static int positions_step(struct k2i_kafka_positions *positions, int wait_ms, char *reason)
{
	rd_kafka_message_t *message = rd_kafka_consume(positions->topic, PARTITION, wait_ms);
	int error = 0;

	(void)rd_kafka_poll(positions->handle, 0);
	if (!message)
		return 1;
	if (!message->err) {
		error = record_take(positions, message);
		if (error)
			error = topic_failed(positions, reason, "no memory");
		else
			positions->at = message->offset + 1;
	} else if (message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF) {
		positions->at = message->offset > positions->at ? message->offset : positions->at;
		error = 1;
	} else {
		error = topic_failed(positions, reason, rd_kafka_message_errstr(message));
	}
	rd_kafka_message_destroy(message);
	return error;
}

static int positions_follow(struct k2i_kafka_positions *positions, rd_kafka_t *handle, char *reason)
{
	uint64_t until_ns = k2i_clock_now_ns() + READ_NS;
	int64_t low, high;
	rd_kafka_resp_err_t asked = rd_kafka_query_watermark_offsets(handle, positions->name, PARTITION, &low, &high,
								     K2I_KAFKA_CALL_MS * 5);
	int error = 0;

	if (asked)
		return topic_failed(positions, reason, rd_kafka_err2str(asked));
	while (positions->at < high) {
		error = positions_step(positions, 100, reason);
		if (error < 0)
			return error;
		if (atomic_load(&positions->kafka->stopping) || k2i_clock_now_ns() > until_ns)
			return topic_failed(positions, reason,
					    "its end is not committed: the transaction of another receiver is open");
	}
	return 0;
}

int k2i_kafka_positions_read(struct k2i_kafka_positions *positions, rd_kafka_t *handle, bool all,
			     char reason[K2I_KAFKA_REASON_BYTES])
{
	int error;

	(void)pthread_mutex_lock(&positions->mutex);
	error = positions_open(positions, handle, reason);
	if (!error)
		error = positions_follow(positions, all ? handle : positions->handle, reason);
	(void)pthread_mutex_unlock(&positions->mutex);
	return error;
}

void k2i_kafka_positions_tick(struct k2i_kafka_positions *positions)
{
	char reason[K2I_KAFKA_REASON_BYTES];
	unsigned count = 0;

	if (pthread_mutex_trylock(&positions->mutex))
		return;
	while (positions->topic && count++ < TICK_RECORDS_MAX && positions_step(positions, 0, reason) == 0)
		;
	(void)pthread_mutex_unlock(&positions->mutex);
}

bool k2i_kafka_positions_find(struct k2i_kafka_positions *positions, const uint8_t ring[16], uint64_t *position,
			      char owner[K2I_KAFKA_ID_BYTES])
{
	const struct place *place;

	(void)pthread_mutex_lock(&positions->places_mutex);
	place = place_find(positions, ring);
	if (place) {
		*position = place->position;
		(void)snprintf(owner, K2I_KAFKA_ID_BYTES, "%s", place->owner);
	}
	(void)pthread_mutex_unlock(&positions->places_mutex);
	return place != NULL;
}

/* Begin and end --------------------------------------------------------------------------------------------------- */

int k2i_kafka_positions_create(struct k2i_kafka_sink *kafka, struct k2i_kafka_positions **positions)
{
	struct k2i_kafka_positions *made = calloc(1, sizeof(*made));

	if (!made)
		return -ENOMEM;
	made->kafka = kafka;
	made->name = kafka->settings->kafka_positions_topic;
	(void)pthread_mutex_init(&made->mutex, NULL);
	(void)pthread_mutex_init(&made->places_mutex, NULL);
	*positions = made;
	return 0;
}

void k2i_kafka_positions_free(struct k2i_kafka_positions *positions)
{
	if (!positions)
		return;
	if (positions->topic) {
		(void)rd_kafka_consume_stop(positions->topic, PARTITION);
		rd_kafka_topic_destroy(positions->topic);
	}
	if (positions->handle)
		rd_kafka_destroy(positions->handle);
	k2i_table_each(&positions->places, place_free, NULL);
	k2i_table_free(&positions->places);
	(void)pthread_mutex_destroy(&positions->mutex);
	(void)pthread_mutex_destroy(&positions->places_mutex);
	free(positions);
}
