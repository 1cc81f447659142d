/* SPDX-License-Identifier: MIT */
/* A topic as a file: for k2hft verify. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <k2hft/version.h>

#include "app/program/module.h"
#include "base/clock.h"
#include "receiver/sink/kafka/internal.h"

#define STEP_MS 200
#define ASK_MS 10000
#define STALL_NS (UINT64_C(30) * K2I_SECOND_NS)

struct begin { /* of a record in parts */
	struct k2i_table_node node;
	char *key, *bytes;
	size_t key_bytes, count;
};

struct reader {
	const struct k2i_topic *topic;
	char *reason;
	size_t reason_room;
	rd_kafka_t *handle, *ends; /* ends: also of what is not committed */
	rd_kafka_topic_t *from;
	struct k2i_table begins;
};

static int reader_failed(const struct reader *reader, const char *what, const char *text)
{
	(void)snprintf(reader->reason, reader->reason_room, "%s: %s", what, text);
	return -EAGAIN;
}

static rd_kafka_t *handle_open(const struct reader *reader, const char *level)
{
	static const char *const options[][2] = {{"enable.partition.eof", "true"},
						 {"auto.offset.reset", "error"},
						 {"allow.auto.create.topics", "false"}};
	char reason[K2I_KAFKA_REASON_BYTES] = "";
	rd_kafka_conf_t *conf = rd_kafka_conf_new();
	bool fine = rd_kafka_conf_set(conf, "bootstrap.servers", reader->topic->brokers, reason, sizeof(reason)) ==
			    RD_KAFKA_CONF_OK &&
		    rd_kafka_conf_set(conf, "isolation.level", level, reason, sizeof(reason)) == RD_KAFKA_CONF_OK &&
		    k2i_kafka_options_set(conf, reader->topic->options, reason);
	rd_kafka_t *handle = NULL;

	for (size_t i = 0; fine && i < sizeof(options) / sizeof(options[0]); i++)
		fine = rd_kafka_conf_set(conf, options[i][0], options[i][1], reason, sizeof(reason)) ==
		       RD_KAFKA_CONF_OK;
	if (fine)
		handle = rd_kafka_new(RD_KAFKA_CONSUMER, conf, reason, sizeof(reason));
	if (handle)
		return handle;
	(void)reader_failed(reader, reader->topic->brokers, reason);
	rd_kafka_conf_destroy(conf);
	return NULL;
}

/* Records ------------------------------------------------------------------------------------------------------- */

static struct begin *begin_find(struct reader *reader, const rd_kafka_message_t *message)
{
	struct k2i_table_node *node = NULL;
	struct begin *begin;

	while ((node = k2i_table_find(&reader->begins, k2i_table_hash(message->key, message->key_len), node))) {
		begin = K2I_TABLE_ENTRY(node, struct begin, node);
		if (begin->key_bytes == message->key_len && memcmp(begin->key, message->key, message->key_len) == 0)
			return begin;
	}
	return NULL;
}

static int begin_add(struct begin *begin, const rd_kafka_message_t *message)
{
	/* With room for a line end. */
	char *bytes = realloc(begin->bytes, begin->count + message->len + 1);

	if (!bytes)
		return -ENOMEM;
	begin->bytes = bytes;
	if (message->len)
		memcpy(bytes + begin->count, message->payload, message->len);
	begin->count += message->len;
	return 0;
}

static void begin_free(void *argument, struct k2i_table_node *node)
{
	struct begin *begin = K2I_TABLE_ENTRY(node, struct begin, node);

	(void)argument;
	free(begin->key);
	free(begin->bytes);
	free(begin);
}

static int begin_make(struct reader *reader, const rd_kafka_message_t *message, struct begin **begin)
{
	struct begin *made = calloc(1, sizeof(*made));

	if (made)
		made->key = malloc(message->key_len + 1);
	if (!made || !made->key ||
	    k2i_table_insert(&reader->begins, &made->node, k2i_table_hash(message->key, message->key_len))) {
		free(made ? made->key : NULL);
		free(made);
		return -ENOMEM;
	}
	if (message->key_len)
		memcpy(made->key, message->key, message->key_len);
	made->key_bytes = message->key_len;
	*begin = made;
	return 0;
}

static int record_take(const struct reader *reader, const char *bytes, size_t count)
{
	int error = count ? reader->topic->take(reader->topic->argument, bytes, count) : 0;

	if (!error && (!count || bytes[count - 1] != '\n'))
		error = reader->topic->take(reader->topic->argument, "\n", 1);
	return error;
}

/* A part waits for the others of its key. */
static int part_take(struct reader *reader, const rd_kafka_message_t *message, bool ends)
{
	struct begin *begin = begin_find(reader, message);
	int error = begin ? 0 : begin_make(reader, message, &begin);

	if (!error)
		error = begin_add(begin, message);
	if (error || !ends)
		return error;
	error = record_take(reader, begin->bytes, begin->count);
	k2i_table_remove(&reader->begins, &begin->node);
	begin_free(NULL, &begin->node);
	return error;
}

static int message_take(struct reader *reader, const rd_kafka_message_t *message)
{
	rd_kafka_headers_t *headers;
	const void *part;
	size_t bytes;

	if (rd_kafka_message_headers(message, &headers) == RD_KAFKA_RESP_ERR_NO_ERROR &&
	    rd_kafka_header_get_last(headers, "part", &part, &bytes) == RD_KAFKA_RESP_ERR_NO_ERROR)
		return part_take(reader, message, bytes == 3 && memcmp(part, "end", 3) == 0);
	return record_take(reader, message->payload, message->len);
}

/* Partitions ---------------------------------------------------------------------------------------------------- */

/* 1: nothing came. */
static int partition_step(struct reader *reader, int32_t partition, int64_t *at)
{
	rd_kafka_message_t *message = rd_kafka_consume(reader->from, partition, STEP_MS);
	int error = 1;

	(void)rd_kafka_poll(reader->handle, 0);
	if (!message)
		return error;
	if (message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF) {
		*at = message->offset > *at ? message->offset : *at;
	} else if (message->err) {
		error = reader_failed(reader, reader->topic->name, rd_kafka_message_errstr(message));
	} else {
		*at = message->offset + 1;
		error = message_take(reader, message);
	}
	rd_kafka_message_destroy(message);
	return error;
}

static int partition_read(struct reader *reader, int32_t partition)
{
	uint64_t moved_ns = k2i_clock_now_ns();
	int64_t low, high, at = 0;
	rd_kafka_resp_err_t asked =
		rd_kafka_query_watermark_offsets(reader->ends, reader->topic->name, partition, &low, &high, ASK_MS);
	int error = 0;

	if (asked)
		return reader_failed(reader, reader->topic->name, rd_kafka_err2str(asked));
	if (low == high)
		return 0;
	if (rd_kafka_consume_start(reader->from, partition, low))
		return reader_failed(reader, reader->topic->name, rd_kafka_err2str(rd_kafka_last_error()));
	while (error >= 0 && at < high) {
		error = partition_step(reader, partition, &at);
		if (error == 0)
			moved_ns = k2i_clock_now_ns();
		else if (error > 0 && k2i_clock_now_ns() > moved_ns + STALL_NS)
			error = reader_failed(reader, reader->topic->name,
					      "its end is not committed: a transaction is open, or no broker answers");
	}
	(void)rd_kafka_consume_stop(reader->from, partition);
	return error < 0 ? error : 0;
}

static int partitions_count(struct reader *reader, int *count)
{
	const struct rd_kafka_metadata *metadata;
	rd_kafka_resp_err_t error = rd_kafka_metadata(reader->handle, 0, reader->from, &metadata, ASK_MS);

	if (error)
		return reader_failed(reader, reader->topic->brokers, rd_kafka_err2str(error));
	error = metadata->topic_cnt == 1 ? metadata->topics[0].err : RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART;
	*count = error ? 0 : metadata->topics[0].partition_cnt;
	rd_kafka_metadata_destroy(metadata);
	return error ? reader_failed(reader, reader->topic->name, rd_kafka_err2str(error)) : 0;
}

static int topic_read(const struct k2i_topic *topic, char *reason, size_t reason_room)
{
	struct reader reader = {.topic = topic, .reason = reason, .reason_room = reason_room};
	int count = 0, error;

	reader.handle = handle_open(&reader, "read_committed");
	reader.ends = reader.handle ? handle_open(&reader, "read_uncommitted") : NULL;
	reader.from = reader.ends ? rd_kafka_topic_new(reader.handle, topic->name, NULL) : NULL;
	error = reader.from ? partitions_count(&reader, &count) : -EAGAIN;
	for (int32_t partition = 0; partition < count && !error; partition++)
		error = partition_read(&reader, partition);
	if (reader.from)
		rd_kafka_topic_destroy(reader.from);
	if (reader.ends)
		rd_kafka_destroy(reader.ends);
	if (reader.handle)
		rd_kafka_destroy(reader.handle);
	k2i_table_each(&reader.begins, begin_free, NULL);
	k2i_table_free(&reader.begins);
	return error;
}

extern const struct k2i_kafka_tools k2i_kafka_tools __attribute__((visibility("default")));
const struct k2i_kafka_tools k2i_kafka_tools = {
	.version = K2HFT_VERSION_STRING, .read = topic_read, .plain = k2i_kafka_plain_run};
