/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "receiver/sink/kafka/internal.h"

#define MESSAGE_BYTES_MAX 1000000u /* message.max.bytes of librdkafka and, nearly, of brokers, if nobody says else */
#define MESSAGE_BYTES_MIN 1024u
#define OVERHEAD_BYTES 512u /* of a message, beside names */
#define TOPIC_BYTES_MAX 249u
#define LOOK_MS 5000
#define LOOKS 5u

struct messages { /* of an entry */
	struct k2i_kafka_producer *producer;
	struct k2i_kafka_ring *ring;
	const struct k2i_kafka_entry *entry;
	rd_kafka_headers_t *headers;
	size_t bytes_max;
};

/* Templates ------------------------------------------------------------------------------------------------------- */

static int template_render(const struct k2i_format *format, const struct k2i_format_origin *origin, const char *record,
			   struct k2i_format_buffer *text)
{
	text->bytes = 0;
	return k2i_format_records(format, origin, true, record, strlen(record), NULL, text);
}

/* Whether it has directives for the record: two records make a difference. */
static bool template_has_record(const struct k2i_format *format)
{
	const struct k2i_format_origin origin = {"", "", 0, 0};
	struct k2i_format_buffer one = {0}, other = {0};
	bool has = template_render(format, &origin, "1", &one) || template_render(format, &origin, "2", &other) ||
		   one.bytes != other.bytes || (one.bytes && memcmp(one.data, other.data, one.bytes) != 0);

	free(one.data);
	free(other.data);
	return has;
}

static int template_compile(const struct k2i_settings *settings, const char *key, const char *text,
			    struct k2i_format **format)
{
	char message[512] = "%L, %l and %J have no place in it", at[PATH_MAX + 16];
	int error = k2i_format_compile(text, settings->time_format, format, message, sizeof(message));

	if (!error && template_has_record(*format))
		error = -EINVAL;
	if (error)
		k2i_log(K2HFT_LOG_ERROR, "kafka: %s: %s = %s: %s",
			k2i_settings_place(settings, K2I_SECTION_K2HFTFUSESVR, key, at, sizeof(at)), key, text,
			message);
	return error;
}

int k2i_kafka_templates_open(struct k2i_kafka_sink *kafka)
{
	int error = template_compile(kafka->settings, "KAFKA_TOPIC", kafka->settings->kafka_topic, &kafka->topic);

	return error ? error : template_compile(kafka->settings, "KAFKA_KEY", kafka->settings->kafka_key, &kafka->key);
}

/* Topics ---------------------------------------------------------------------------------------------------------- */

rd_kafka_resp_err_t k2i_kafka_topic_look(rd_kafka_t *handle, rd_kafka_topic_t *topic)
{
	const struct rd_kafka_metadata *metadata;
	rd_kafka_resp_err_t error = rd_kafka_metadata(handle, 0, topic, &metadata, LOOK_MS);

	if (error)
		return error;
	error = metadata->topic_cnt == 1 ? metadata->topics[0].err : RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART;
	if (!error && metadata->topics[0].partition_cnt == 0)
		error = RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART;
	rd_kafka_metadata_destroy(metadata);
	return error;
}

/* The library would wait for a topic that is not there, with all records behind: it is looked for once before. */
static rd_kafka_resp_err_t topic_open(struct k2i_kafka_producer *producer, uint64_t hash)
{
	struct k2i_kafka_topic *topic = calloc(1, sizeof(*topic));
	rd_kafka_resp_err_t error = RD_KAFKA_RESP_ERR__FAIL;
	const struct timespec pause = {.tv_nsec = 200 * 1000 * 1000};

	if (topic)
		topic->handle = rd_kafka_topic_new(producer->handle, producer->topic_name, NULL);
	for (unsigned try = 0; topic && topic->handle && try < LOOKS; try++) {
		error = k2i_kafka_topic_look(producer->handle, topic->handle);
		if (error != RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART && error != RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE)
			break;
		/* Brokers may be making it. */
		(void)nanosleep(&pause, NULL);
	}
	if (topic)
		(void)snprintf(topic->name, sizeof(topic->name), "%s", producer->topic_name);
	if (!error && k2i_table_insert(&producer->topics, &topic->node, hash))
		error = RD_KAFKA_RESP_ERR__FAIL;
	if (!error) {
		producer->topic = topic;
		return error;
	}
	if (topic && topic->handle)
		rd_kafka_topic_destroy(topic->handle);
	free(topic);
	return error;
}

static void topic_free(void *argument, struct k2i_table_node *node)
{
	struct k2i_kafka_topic *topic = K2I_TABLE_ENTRY(node, struct k2i_kafka_topic, node);

	(void)argument;
	rd_kafka_topic_destroy(topic->handle);
	free(topic);
}

void k2i_kafka_topics_free(struct k2i_kafka_producer *producer)
{
	k2i_table_each(&producer->topics, topic_free, NULL);
	k2i_table_free(&producer->topics);
	memset(&producer->topics, 0, sizeof(producer->topics));
	producer->topic = NULL;
}

static rd_kafka_resp_err_t topic_get(struct k2i_kafka_producer *producer, size_t bytes)
{
	uint64_t hash = k2i_table_hash(producer->topic_name, bytes);
	struct k2i_table_node *node = NULL;
	struct k2i_kafka_topic *topic;

	while ((node = k2i_table_find(&producer->topics, hash, node)) != NULL) {
		topic = K2I_TABLE_ENTRY(node, struct k2i_kafka_topic, node);
		if (strcmp(topic->name, producer->topic_name) == 0) {
			producer->topic = topic;
			return RD_KAFKA_RESP_ERR_NO_ERROR;
		}
	}
	return topic_open(producer, hash);
}

/* A topic's name has letters, digits, dots, lines and underlines: what else the template makes becomes _. */
static rd_kafka_resp_err_t topic_take(struct k2i_kafka_producer *producer, const struct k2i_format_origin *origin)
{
	struct k2i_format_buffer *text = &producer->text;
	size_t bytes;

	if (template_render(producer->kafka->topic, origin, "-", text))
		return RD_KAFKA_RESP_ERR__FAIL;
	bytes = text->bytes < TOPIC_BYTES_MAX ? text->bytes : TOPIC_BYTES_MAX;
	for (size_t i = 0; i < bytes; i++) {
		char c = text->data[i];
		bool fits = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
			    c == '_' || c == '-';

		producer->topic_name[i] = fits ? c : '_';
	}
	producer->topic_name[bytes] = '\0';
	if (producer->topic && strcmp(producer->topic->name, producer->topic_name) == 0)
		return RD_KAFKA_RESP_ERR_NO_ERROR;
	return bytes ? topic_get(producer, bytes) : RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION;
}

/* Messages -------------------------------------------------------------------------------------------------------- */

static void header_add(rd_kafka_headers_t *headers, const char *name, const char *value)
{
	(void)rd_kafka_header_add(headers, name, -1, value, -1);
}

static rd_kafka_headers_t *headers_make(const struct k2i_kafka_entry *entry)
{
	rd_kafka_headers_t *headers = rd_kafka_headers_new(5);
	char number[24];

	header_add(headers, "host", entry->host);
	header_add(headers, "path", entry->path);
	(void)snprintf(number, sizeof(number), "%" PRIu32, entry->writer_pid);
	header_add(headers, "pid", number);
	(void)snprintf(number, sizeof(number), "%" PRIu64, entry->time_ns);
	header_add(headers, "time", number);
	return headers;
}

/* `part`: NULL a whole record. The bytes stay where they are until the transaction has ended. */
static rd_kafka_resp_err_t message_produce(const struct messages *messages, const char *bytes, size_t count,
					   const char *part)
{
	struct k2i_kafka_producer *producer = messages->producer;
	uint64_t until_ns = 0;
	rd_kafka_headers_t *headers;
	rd_kafka_resp_err_t error;

	for (;;) {
		headers = rd_kafka_headers_copy(messages->headers);
		if (part)
			header_add(headers, "part", part);
		error = rd_kafka_producev(producer->handle, RD_KAFKA_V_RKT(producer->topic->handle),
					  RD_KAFKA_V_MSGFLAGS(0), RD_KAFKA_V_VALUE((void *)(uintptr_t)bytes, count),
					  RD_KAFKA_V_KEY(producer->key.data, producer->key.bytes),
					  RD_KAFKA_V_HEADERS(headers), RD_KAFKA_V_OPAQUE(messages->ring),
					  RD_KAFKA_V_END);
		if (!error)
			return error;
		rd_kafka_headers_destroy(headers);
		if (error != RD_KAFKA_RESP_ERR__QUEUE_FULL || producer->refused ||
		    atomic_load(&producer->kafka->stopping))
			return error;
		if (!until_ns)
			until_ns = k2i_clock_now_ns() + K2I_KAFKA_ROOM_NS;
		else if (k2i_clock_now_ns() > until_ns)
			return error;
		(void)rd_kafka_poll(producer->handle, 10);
	}
}

/* A record that is larger than a message can be goes in parts, as if the sender had cut it. */
static rd_kafka_resp_err_t record_produce(const struct messages *messages, const char *bytes, size_t count,
					  bool continued, bool continues)
{
	rd_kafka_resp_err_t error = RD_KAFKA_RESP_ERR_NO_ERROR;

	do {
		size_t now = count < messages->bytes_max ? count : messages->bytes_max;
		bool more = continues || now < count;

		error = message_produce(messages, bytes, now,
					continued ? more ? "middle" : "end"
					: more    ? "begin"
						  : NULL);
		bytes += now;
		count -= now;
		continued = true;
	} while (!error && count);
	return error;
}

static rd_kafka_resp_err_t lines_produce(const struct messages *messages)
{
	const struct k2i_kafka_entry *entry = messages->entry;
	const char *at = entry->payload, *end = at + entry->payload_bytes, *line_end;
	rd_kafka_resp_err_t error = RD_KAFKA_RESP_ERR_NO_ERROR;

	while (at < end && !error) {
		line_end = memchr(at, '\n', (size_t)(end - at));
		error = record_produce(messages, at, (size_t)((line_end ? line_end : end) - at),
				       at == entry->payload && entry->flags & K2HFT_CHUNK_CONTINUED,
				       !line_end && entry->flags & K2HFT_CHUNK_CONTINUES);
		at = line_end ? line_end + 1 : end;
	}
	return error;
}

rd_kafka_resp_err_t k2i_kafka_entry_produce(struct k2i_kafka_producer *producer, struct k2i_kafka_ring *ring,
					    const struct k2i_kafka_entry *entry)
{
	const struct k2i_settings *settings = producer->kafka->settings;
	const struct k2i_format_origin origin = {entry->path, entry->host, entry->writer_pid, entry->time_ns};
	struct messages messages = {.producer = producer, .ring = ring, .entry = entry};
	size_t most = producer->message_bytes_max ? producer->message_bytes_max : MESSAGE_BYTES_MAX, overhead;
	rd_kafka_resp_err_t error = topic_take(producer, &origin);

	if (error || template_render(producer->kafka->key, &origin, "-", &producer->key))
		return error ? error : RD_KAFKA_RESP_ERR__FAIL;
	overhead = OVERHEAD_BYTES + producer->key.bytes + strlen(entry->path) + strlen(entry->host);
	messages.bytes_max = most > overhead + MESSAGE_BYTES_MIN ? most - overhead : MESSAGE_BYTES_MIN;
	messages.headers = headers_make(entry);
	if (entry->binary || settings->kafka_batch == K2I_KAFKA_CHUNK)
		error = record_produce(&messages, entry->payload, entry->payload_bytes,
				       entry->flags & K2HFT_CHUNK_CONTINUED, entry->flags & K2HFT_CHUNK_CONTINUES);
	else
		error = lines_produce(&messages);
	rd_kafka_headers_destroy(messages.headers);
	return error;
}
