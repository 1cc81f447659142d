/* SPDX-License-Identifier: MIT */
/* A producer that commits a transaction every so often: k2hft bench sets a receiver beside it. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "app/program/module.h"
#include "base/clock.h"
#include "receiver/sink/kafka/internal.h"

#define CALL_MS 60000
#define STEP 64u /* messages between two looks at the clock */
static const char key[] = "host bench/0";

struct plain {
	const struct k2i_kafka_plain *wanted;
	rd_kafka_t *producer;
	const char *at; /* in the block */
	uint64_t done;
};

static rd_kafka_t *producer_open(const char *brokers, char *reason, size_t reason_room)
{
	const char *const options[][2] = {{"bootstrap.servers", brokers},
					  {"transactional.id", K2I_KAFKA_ID_PREFIX "plain"},
					  {"delivery.report.only.error", "true"},
					  {"log_level", "2"}};
	rd_kafka_conf_t *conf = rd_kafka_conf_new();
	rd_kafka_t *producer = NULL;
	bool fine = true;

	for (size_t i = 0; fine && i < sizeof(options) / sizeof(options[0]); i++)
		fine = rd_kafka_conf_set(conf, options[i][0], options[i][1], reason, reason_room) == RD_KAFKA_CONF_OK;
	if (fine)
		producer = rd_kafka_new(RD_KAFKA_PRODUCER, conf, reason, reason_room);
	if (!producer)
		rd_kafka_conf_destroy(conf);
	return producer;
}

/* A transaction fails to commit if one of its messages was not delivered. */
static rd_kafka_resp_err_t record_send(struct plain *plain)
{
	const struct k2i_kafka_plain *wanted = plain->wanted;
	const char *end = wanted->block + wanted->block_bytes;
	const char *line_end = memchr(plain->at, '\n', (size_t)(end - plain->at));
	size_t bytes = (size_t)((line_end ? line_end : end) - plain->at);
	rd_kafka_resp_err_t error;

	while ((error = rd_kafka_producev(
			plain->producer, RD_KAFKA_V_TOPIC(wanted->topic), RD_KAFKA_V_KEY(key, sizeof(key) - 1),
			RD_KAFKA_V_VALUE((void *)(uintptr_t)plain->at, bytes), RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY),
			RD_KAFKA_V_END)) == RD_KAFKA_RESP_ERR__QUEUE_FULL)
		(void)rd_kafka_poll(plain->producer, 1);
	plain->done += bytes + 1;
	plain->at = line_end && line_end + 1 < end ? line_end + 1 : wanted->block;
	return error;
}

static rd_kafka_error_t *transaction_make(struct plain *plain)
{
	const struct k2i_kafka_plain *wanted = plain->wanted;
	uint64_t end_ns = k2i_clock_now_ns() + wanted->commit_ms * K2I_MILLISECOND_NS;
	uint64_t bytes_max = wanted->commit_bytes < K2I_KAFKA_TRANSACTION_BYTES_MAX ? wanted->commit_bytes
										    : K2I_KAFKA_TRANSACTION_BYTES_MAX;
	uint64_t end = wanted->bytes - plain->done < bytes_max ? wanted->bytes : plain->done + bytes_max;
	rd_kafka_error_t *failed = rd_kafka_begin_transaction(plain->producer);
	rd_kafka_resp_err_t error = RD_KAFKA_RESP_ERR_NO_ERROR;

	if (failed)
		return failed;
	do {
		for (unsigned i = 0; i < STEP && !error && plain->done < end; i++)
			error = record_send(plain);
		(void)rd_kafka_poll(plain->producer, 0);
	} while (!error && plain->done < end && k2i_clock_now_ns() < end_ns);
	return error ? rd_kafka_error_new(error, "%s", rd_kafka_err2str(error))
		     : rd_kafka_commit_transaction(plain->producer, CALL_MS);
}

int k2i_kafka_plain_run(const struct k2i_kafka_plain *wanted, double *seconds, char *reason, size_t reason_room)
{
	struct plain plain = {.wanted = wanted, .at = wanted->block};
	rd_kafka_error_t *failed;
	uint64_t begin_ns;

	plain.producer = producer_open(wanted->brokers, reason, reason_room);
	if (!plain.producer)
		return -EAGAIN;
	failed = rd_kafka_init_transactions(plain.producer, CALL_MS);
	begin_ns = k2i_clock_now_ns();
	while (!failed && plain.done < wanted->bytes)
		failed = transaction_make(&plain);
	*seconds = (double)(k2i_clock_now_ns() - begin_ns) / 1e9;
	if (failed) {
		(void)snprintf(reason, reason_room, "%s", rd_kafka_error_string(failed));
		rd_kafka_error_destroy(failed);
		(void)rd_kafka_purge(plain.producer, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
	}
	rd_kafka_destroy(plain.producer);
	return failed ? -EAGAIN : 0;
}
