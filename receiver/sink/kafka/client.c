/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "receiver/sink/kafka/internal.h"

#define BEGIN_NS (UINT64_C(30) * K2I_SECOND_NS)
#define COMMIT_NS (UINT64_C(60) * K2I_SECOND_NS)

struct option {
	const char *name, *value;
};

/* The user's own come behind these. */
static const struct option both[] = {
	{"client.id", "k2hft"},
	/* Some calls wait for the answer of a broker for so long, whatever time they are given. */
	{"socket.timeout.ms", "10000"},
	/* A connection that nobody uses is closed by brokers; that is no fault. */
	{"log.connection.close", "false"},
	{"reconnect.backoff.max.ms", "2000"},
};
/*
 * A transaction lasts KAFKA_COMMITMS. Brokers soon end one that its producer does not end: it is in the way of all who
 * read. murmur2: as Java's producers do.
 */
static const struct option writing[] = {
	{"transaction.timeout.ms", "10000"},
	{"partitioner", "murmur2_random"},
	{"delivery.report.only.error", "true"},
	/* The end to read to is the topic's, whether it is committed or not. */
	{"isolation.level", "read_uncommitted"},
};
static const struct option reading[] = {
	{"isolation.level", "read_committed"}, {"enable.partition.eof", "true"}, {"queued.max.messages.kbytes", "1024"},
	{"allow.auto.create.topics", "false"}, {"fetch.wait.max.ms", "20"},
};

static const char *const own[] = {
	"bootstrap.servers", "metadata.broker.list", "transactional.id",           "enable.idempotence",
	"isolation.level",   "enable.partition.eof", "delivery.report.only.error",
};

/* Callbacks ------------------------------------------------------------------------------------------------------- */

static void on_log(const rd_kafka_t *handle, int level, const char *facility, const char *text)
{
	static struct k2i_log_limit limit = {.burst = 5};

	/*
	 * Options of the user are for handles of both kinds; how a transaction ends, and why, is told by who sees to it; the
	 * library asks a coordinator that is not ready again.
	 */
	static const char *const known[] = {"CONFWARN", "AUTOCREATE", "GETPID",   "ADDPARTS",
					    "TXNERR",   "FATAL",      "TERMINATE"};
	bool quiet = level > 5;

	(void)handle;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		quiet |= strcmp(facility, known[i]) == 0;
	if (quiet)
		k2i_log(K2HFT_LOG_DEBUG, "kafka: %s: %s", facility, text);
	else
		k2i_log_limited(&limit, k2i_clock_now_ns(), level > 3 ? K2HFT_LOG_INFO : K2HFT_LOG_WARNING,
				"kafka: librdkafka: %s: %s", facility, text);
}

/* A call that waits for a broker fails by its time alone: this is why. */
static void on_error(rd_kafka_t *handle, int error, const char *reason, void *argument)
{
	struct k2i_kafka_producer *producer = argument;

	(void)handle;
	if (!producer)
		return;
	/* The status reads it. */
	(void)pthread_mutex_lock(&producer->kafka->mutex);
	(void)snprintf(producer->fault, sizeof(producer->fault), "%s: %s", rd_kafka_err2str((rd_kafka_resp_err_t)error),
		       reason);
	(void)pthread_mutex_unlock(&producer->kafka->mutex);
}

/* Only for records that were not delivered; those of a transaction that is aborted are purged. */
static void on_delivery(rd_kafka_t *handle, const rd_kafka_message_t *message, void *argument)
{
	struct k2i_kafka_producer *producer = argument;

	(void)handle;
	if (!message->err || producer->refused || message->err == RD_KAFKA_RESP_ERR__PURGE_QUEUE ||
	    message->err == RD_KAFKA_RESP_ERR__PURGE_INFLIGHT)
		return;
	producer->refused = message->err;
	producer->refused_ring = message->_private;
	(void)snprintf(producer->refused_topic, sizeof(producer->refused_topic), "%s",
		       message->rkt ? rd_kafka_topic_name(message->rkt) : "");
}

/* Handles --------------------------------------------------------------------------------------------------------- */

static bool options_set(rd_kafka_conf_t *conf, const struct option *options, size_t count, char *reason)
{
	for (size_t i = 0; i < count; i++)
		if (rd_kafka_conf_set(conf, options[i].name, options[i].value, reason, K2I_KAFKA_REASON_BYTES))
			return false;
	return true;
}

static bool user_option_set(rd_kafka_conf_t *conf, const char *name, const char *value, char *reason)
{
	char text[K2I_KAFKA_REASON_BYTES - 80];

	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
		if (strcmp(own[i], name) == 0) {
			(void)snprintf(reason, K2I_KAFKA_REASON_BYTES,
				       "KAFKA.%s: the receiver sets it itself; leave it out", name);
			return false;
		}
	}
	if (rd_kafka_conf_set(conf, name, value, text, sizeof(text)) == RD_KAFKA_CONF_OK)
		return true;
	(void)snprintf(reason, K2I_KAFKA_REASON_BYTES, "KAFKA.%.60s: %s", name, text);
	return false;
}

bool k2i_kafka_options_set(rd_kafka_conf_t *conf, const char *lines, char reason[K2I_KAFKA_REASON_BYTES])
{
	char *options = lines ? strdup(lines) : NULL, *at = options, *line, *value;
	bool fine = options || !lines;

	while (fine && at && (line = strsep(&at, "\n")) != NULL && *line) {
		value = strchr(line, '=');
		*value++ = '\0';
		fine = user_option_set(conf, line, value, reason);
	}
	free(options);
	return fine;
}

static bool conf_fill(rd_kafka_conf_t *conf, const struct k2i_settings *settings, const char *id,
		      struct k2i_kafka_producer *producer, char *reason)
{
	const struct option brokers = {"bootstrap.servers", settings->kafka_brokers}, name = {"transactional.id", id};
	char largest[24];
	const struct option size = {"message.max.bytes", largest};

	if (!options_set(conf, both, sizeof(both) / sizeof(both[0]), reason) ||
	    !options_set(conf, &brokers, 1, reason) || !k2i_kafka_options_set(conf, settings->kafka_options, reason))
		return false;
	rd_kafka_conf_set_log_cb(conf, on_log);
	rd_kafka_conf_set_opaque(conf, producer);
	if (!id)
		return options_set(conf, reading, sizeof(reading) / sizeof(reading[0]), reason);
	rd_kafka_conf_set_error_cb(conf, on_error);
	rd_kafka_conf_set_dr_msg_cb(conf, on_delivery);
	if (producer && producer->message_bytes_max) {
		(void)snprintf(largest, sizeof(largest), "%zu", producer->message_bytes_max);
		if (!options_set(conf, &size, 1, reason))
			return false;
	}
	return options_set(conf, &name, 1, reason);
}

rd_kafka_t *k2i_kafka_client_open(const struct k2i_settings *settings, const char *id,
				  struct k2i_kafka_producer *producer, char reason[K2I_KAFKA_REASON_BYTES])
{
	rd_kafka_conf_t *conf = rd_kafka_conf_new();
	rd_kafka_t *handle = NULL;

	/* The user's options come behind, where they may differ. */
	if ((!id || options_set(conf, writing, sizeof(writing) / sizeof(writing[0]), reason)) &&
	    conf_fill(conf, settings, id, producer, reason))
		handle = rd_kafka_new(id ? RD_KAFKA_PRODUCER : RD_KAFKA_CONSUMER, conf, reason, K2I_KAFKA_REASON_BYTES);
	if (!handle)
		rd_kafka_conf_destroy(conf);
	return handle;
}

int k2i_kafka_client_check(const struct k2i_settings *settings)
{
	char reason[K2I_KAFKA_REASON_BYTES] = "";
	rd_kafka_t *writer = k2i_kafka_client_open(settings, "k2hft-check", NULL, reason);
	rd_kafka_t *reader = writer ? k2i_kafka_client_open(settings, NULL, NULL, reason) : NULL;
	bool fine = reader != NULL;

	if (writer)
		rd_kafka_destroy(writer);
	if (reader)
		rd_kafka_destroy(reader);
	if (!fine)
		k2i_log(K2HFT_LOG_ERROR, "kafka: can't start: %s", reason);
	return fine ? 0 : -EINVAL;
}

/* Transactions ---------------------------------------------------------------------------------------------------- */

void k2i_kafka_reason(char reason[K2I_KAFKA_REASON_BYTES], const char *what, rd_kafka_error_t *error,
		      const struct k2i_kafka_producer *producer)
{
	const char *fault = producer ? producer->fault : "";

	(void)snprintf(reason, K2I_KAFKA_REASON_BYTES, "%s: %s%s%.100s%s", what, rd_kafka_error_string(error),
		       *fault ? " (" : "", fault, *fault ? ")" : "");
	rd_kafka_error_destroy(error);
}

/* The time is over, or the receiver ends. */
static bool patience_ends(const struct k2i_kafka_producer *producer, uint64_t until_ns)
{
	return atomic_load(&producer->kafka->stopping) || k2i_clock_now_ns() > until_ns;
}

int k2i_kafka_transactions_begin(struct k2i_kafka_producer *producer, rd_kafka_t *handle,
				 char reason[K2I_KAFKA_REASON_BYTES])
{
	uint64_t until_ns = k2i_clock_now_ns() + BEGIN_NS;
	rd_kafka_error_t *error;
	bool again;

	do {
		error = rd_kafka_init_transactions(handle, K2I_KAFKA_CALL_MS);
		(void)rd_kafka_poll(handle, 0);
		if (!error)
			return 0;
		again = rd_kafka_error_is_retriable(error);
		k2i_kafka_reason(reason, "no transactions can begin", error, producer);
	} while (again && !patience_ends(producer, until_ns));
	return -EAGAIN;
}

int k2i_kafka_transaction_abort(struct k2i_kafka_producer *producer, rd_kafka_t *handle,
				char reason[K2I_KAFKA_REASON_BYTES])
{
	uint64_t until_ns = k2i_clock_now_ns() + COMMIT_NS;
	char failure[K2I_KAFKA_REASON_BYTES];
	rd_kafka_error_t *error;
	bool again;

	do {
		error = rd_kafka_abort_transaction(handle, K2I_KAFKA_CALL_MS);
		if (!error)
			return -EAGAIN;
		again = rd_kafka_error_is_retriable(error);
		k2i_kafka_reason(failure, "a transaction can't be aborted", error, producer);
	} while (again && !patience_ends(producer, until_ns));
	if (!*reason)
		(void)snprintf(reason, K2I_KAFKA_REASON_BYTES, "%s", failure);
	return -ESTALE;
}

int k2i_kafka_transaction_commit(struct k2i_kafka_producer *producer, rd_kafka_t *handle,
				 char reason[K2I_KAFKA_REASON_BYTES])
{
	uint64_t until_ns = k2i_clock_now_ns() + COMMIT_NS;
	rd_kafka_error_t *error;
	bool again, abort;

	do {
		error = rd_kafka_commit_transaction(handle, K2I_KAFKA_CALL_MS);
		if (!error)
			return 0;
		again = rd_kafka_error_is_retriable(error);
		abort = rd_kafka_error_txn_requires_abort(error);
		k2i_kafka_reason(reason, "a transaction can't be committed", error, producer);
		if (abort)
			return k2i_kafka_transaction_abort(producer, handle, reason);
	} while (again && !patience_ends(producer, until_ns));
	return -ESTALE;
}
