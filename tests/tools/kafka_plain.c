/* SPDX-License-Identifier: MIT */
/* kafka_plain BROKERS TOPIC BYTES SIZE MS: what a receiver stands against, a transactional producer that commits every MS. */
#if __has_include(<librdkafka/rdkafka.h>)

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <librdkafka/rdkafka.h>

#include "base/clock.h"

#define CALL_MS 60000
/* Messages between two looks at the clock. */
#define STEP 64u
static const char key[] = "host bench/0";

static void check(const char *what, rd_kafka_error_t *error)
{
	if (!error)
		return;
	(void)fprintf(stderr, "kafka_plain: %s: %s\n", what, rd_kafka_error_string(error));
	exit(1);
}

static rd_kafka_t *producer_open(const char *brokers)
{
	const char *const options[][2] = {{"bootstrap.servers", brokers},
					  {"transactional.id", "k2hft-plain"},
					  {"delivery.report.only.error", "true"},
					  {"log_level", "2"}};
	rd_kafka_conf_t *conf = rd_kafka_conf_new();
	rd_kafka_t *producer;
	char reason[512] = "";

	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
		(void)rd_kafka_conf_set(conf, options[i][0], options[i][1], reason, sizeof(reason));
	producer = rd_kafka_new(RD_KAFKA_PRODUCER, conf, reason, sizeof(reason));
	if (!producer) {
		(void)fprintf(stderr, "kafka_plain: %s\n", reason);
		exit(1);
	}
	check("transactions", rd_kafka_init_transactions(producer, CALL_MS));
	return producer;
}

/* A transaction fails to commit if one of its messages was not delivered. */
static void message_send(rd_kafka_t *producer, const char *topic, const char *record, size_t size)
{
	rd_kafka_resp_err_t error;

	while ((error = rd_kafka_producev(producer, RD_KAFKA_V_TOPIC(topic), RD_KAFKA_V_KEY(key, sizeof(key) - 1),
					  RD_KAFKA_V_VALUE((void *)(uintptr_t)record, size),
					  RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_END)) ==
	       RD_KAFKA_RESP_ERR__QUEUE_FULL)
		(void)rd_kafka_poll(producer, 1);
	if (error) {
		(void)fprintf(stderr, "kafka_plain: %s: %s\n", topic, rd_kafka_err2str(error));
		exit(1);
	}
}

int main(int argc, char **argv)
{
	uint64_t left, interval_ns, begin_ns, end_ns;
	size_t size = argc == 6 ? (size_t)strtoull(argv[4], NULL, 10) : 0;
	char *record = size ? malloc(size) : NULL;
	rd_kafka_t *producer;

	if (!record) {
		(void)fputs("usage: kafka_plain BROKERS TOPIC BYTES SIZE MS\n", stderr);
		return 2;
	}
	memset(record, 'a', size);
	left = strtoull(argv[3], NULL, 10) / size;
	interval_ns = strtoull(argv[5], NULL, 10) * 1000000;
	producer = producer_open(argv[1]);
	begin_ns = k2i_clock_now_ns();
	while (left > 0) {
		check("begin", rd_kafka_begin_transaction(producer));
		end_ns = k2i_clock_now_ns() + interval_ns;
		do {
			for (unsigned i = 0; i < STEP && left > 0; i++, left--)
				message_send(producer, argv[2], record, size - 1);
			(void)rd_kafka_poll(producer, 0);
		} while (left > 0 && k2i_clock_now_ns() < end_ns);
		check("commit", rd_kafka_commit_transaction(producer, CALL_MS));
	}
	(void)printf("%.9f\n", (double)(k2i_clock_now_ns() - begin_ns) / 1e9);
	rd_kafka_destroy(producer);
	free(record);
	return 0;
}

#else

int main(void)
{
	return 77;
}

#endif
