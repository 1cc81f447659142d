/* SPDX-License-Identifier: MIT */
/*
 * Brokers for tests: librdkafka's, without a disk and without transactions that hide anything. Prints their addresses, and
 * runs until its standard input ends. Lines there: `down N` and `up N` of broker N, `error API CODE COUNT` for the next
 * COUNT requests of a kind, `topic NAME CODE` for an error of a topic, 0 to end it. Each is answered by a line.
 *
 * `kafka_mock read BROKERS TOPIC COUNT` prints the first COUNT messages of a topic, one partition after the other, in lines:
 * key, headers but pid and time, and payload, with tabs between them.
 */
#if __has_include(<librdkafka/rdkafka_mock.h>)

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>

static void errors_push(rd_kafka_mock_cluster_t *cluster, int api, int code, int count)
{
	rd_kafka_resp_err_t errors[64];
	int i;

	for (i = 0; i < count && i < 64; i++)
		errors[i] = (rd_kafka_resp_err_t)code;
	rd_kafka_mock_push_request_errors_array(cluster, (int16_t)api, (size_t)i, errors);
}

static void command_do(rd_kafka_mock_cluster_t *cluster, const char *line)
{
	char name[256];
	int first, second, third;

	if (sscanf(line, "down %d", &first) == 1)
		(void)rd_kafka_mock_broker_set_down(cluster, first);
	else if (sscanf(line, "up %d", &first) == 1)
		(void)rd_kafka_mock_broker_set_up(cluster, first);
	else if (sscanf(line, "error %d %d %d", &first, &second, &third) == 3)
		errors_push(cluster, first, second, third);
	else if (sscanf(line, "topic %255s %d", name, &first) == 2)
		rd_kafka_mock_topic_set_error(cluster, name, (rd_kafka_resp_err_t)first);
	(void)printf("done\n");
}

static void message_print(const rd_kafka_message_t *message)
{
	rd_kafka_headers_t *headers = NULL;
	const char *name;
	const void *value;
	size_t bytes, i;

	(void)rd_kafka_message_headers(message, &headers);
	(void)printf("%.*s", (int)message->key_len, (const char *)message->key);
	for (i = 0; headers && !rd_kafka_header_get_all(headers, i, &name, &value, &bytes); i++)
		if (strcmp(name, "pid") != 0 && strcmp(name, "time") != 0)
			(void)printf("\t%s=%.*s", name, (int)bytes, (const char *)value);
	(void)printf("\t");
	(void)fwrite(message->payload, 1, message->len, stdout);
	(void)printf("\n");
}

static int32_t partitions_count(rd_kafka_t *handle, rd_kafka_topic_t *topic)
{
	const struct rd_kafka_metadata *metadata;
	int count = 0;

	if (rd_kafka_metadata(handle, 0, topic, &metadata, 10000) == RD_KAFKA_RESP_ERR_NO_ERROR) {
		count = metadata->topic_cnt ? metadata->topics[0].partition_cnt : 0;
		rd_kafka_metadata_destroy(metadata);
	}
	return count;
}

static int topic_read(const char *brokers, const char *name, long count)
{
	char reason[512];
	rd_kafka_conf_t *conf = rd_kafka_conf_new();
	rd_kafka_t *handle;
	rd_kafka_topic_t *topic;
	rd_kafka_message_t *message;
	int32_t partitions;

	(void)rd_kafka_conf_set(conf, "bootstrap.servers", brokers, reason, sizeof(reason));
	(void)rd_kafka_conf_set(conf, "enable.partition.eof", "true", reason, sizeof(reason));
	handle = rd_kafka_new(RD_KAFKA_CONSUMER, conf, reason, sizeof(reason));
	topic = rd_kafka_topic_new(handle, name, NULL);
	partitions = partitions_count(handle, topic);
	for (int32_t partition = 0; count > 0 && partition < partitions; partition++) {
		(void)rd_kafka_consume_start(topic, partition, RD_KAFKA_OFFSET_BEGINNING);
		while ((message = rd_kafka_consume(topic, partition, 10000)) != NULL && !message->err) {
			message_print(message);
			count--;
			rd_kafka_message_destroy(message);
		}
		if (message)
			rd_kafka_message_destroy(message);
		(void)rd_kafka_consume_stop(topic, partition);
	}
	rd_kafka_topic_destroy(topic);
	rd_kafka_destroy(handle);
	return count > 0;
}

static int cluster_run(int count)
{
	char reason[512], line[512];
	rd_kafka_conf_t *conf = rd_kafka_conf_new();
	rd_kafka_mock_cluster_t *cluster;
	rd_kafka_t *handle = rd_kafka_new(RD_KAFKA_PRODUCER, conf, reason, sizeof(reason));

	cluster = handle ? rd_kafka_mock_cluster_new(handle, count) : NULL;
	if (!cluster)
		return 1;
	(void)setvbuf(stdout, NULL, _IOLBF, 0);
	(void)printf("%s\n", rd_kafka_mock_cluster_bootstraps(cluster));
	while (fgets(line, sizeof(line), stdin))
		command_do(cluster, line);
	rd_kafka_mock_cluster_destroy(cluster);
	rd_kafka_destroy(handle);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 5 && strcmp(argv[1], "read") == 0)
		return topic_read(argv[2], argv[3], strtol(argv[4], NULL, 10));
	return cluster_run(3);
}

#else

#include <stdio.h>

int main(void)
{
	(void)printf("SKIP: no librdkafka here\n");
	return 77;
}

#endif
