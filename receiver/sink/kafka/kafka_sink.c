/* SPDX-License-Identifier: MIT */
#include "receiver/sink/kafka/kafka_sink.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "receiver/base/text.h"
#include "receiver/sink/kafka/internal.h"
#include "receiver/sink/module.h"

#define HELD_WEIGHT 16u
#define HELD_SHOWN_NS K2I_SECOND_NS /* beyond KAFKA_COMMITMS */

/* Groups ---------------------------------------------------------------------------------------------------------- */

/* The producer has groups that others wait for: it stays until the sink ends. */
static int thread_open(struct k2i_sink *sink, void **thread)
{
	struct k2i_kafka_producer *producer;
	int error = k2i_kafka_producer_start(k2i_kafka_sink(sink), &producer);

	if (!error)
		*thread = producer;
	return error;
}

/* With the mutex. */
static int group_take(struct k2i_kafka_sink *kafka, struct k2i_group *group, struct k2i_sink_report *report)
{
	struct k2i_kafka_ring *ring = k2i_kafka_ring_get(kafka, report->ring);
	struct k2i_kafka_group *copy;

	if (!ring)
		return -ENOMEM;
	if (ring->refused_owner == report->owner.id) {
		/* Those in front of it come again, with another owner. */
		k2i_sink_stored(&kafka->sink, report, -ESTALE);
		return 0;
	}
	if (!ring->producer)
		ring->producer = group->thread;
	/* Many rings whose topic takes nothing, for as long as that lasts, leave room for those of others. */
	if (k2i_room_full(&kafka->room, ring->bytes * (ring->hold_until_ns ? HELD_WEIGHT : 1), &report->owner))
		return K2I_SINK_WAITS;
	copy = k2i_kafka_group_copy(group, ring->handed, report);
	if (!copy)
		return -ENOMEM;
	copy->ring = ring;
	ring->handed = report->position > ring->handed ? report->position : ring->handed;
	k2i_kafka_queue_push(ring->producer, copy);
	return 0;
}

static int group_store(struct k2i_group *group, struct k2i_sink_report *report)
{
	struct k2i_kafka_sink *kafka = k2i_kafka_sink(group->sink);
	int result;

	(void)pthread_mutex_lock(&kafka->mutex);
	result = group_take(kafka, group, report);
	(void)pthread_mutex_unlock(&kafka->mutex);
	return result;
}

/*
 * A ring that went on at another receiver: that one has read its position from the topic, and has sent only what was not
 * there. So nothing is there twice.
 */
static int ring_settle(struct k2i_sink *sink, struct k2i_settling *settling)
{
	(void)sink;
	(void)settling;
	return 0;
}

static void ring_ended(struct k2i_sink *sink, const uint8_t ring[16])
{
	struct k2i_kafka_sink *kafka = k2i_kafka_sink(sink);

	(void)pthread_mutex_lock(&kafka->mutex);
	k2i_kafka_ring_end(kafka, ring);
	(void)pthread_mutex_unlock(&kafka->mutex);
}

/* Other threads --------------------------------------------------------------------------------------------------- */

static void kafka_tick(struct k2i_sink *sink, uint64_t now_ns)
{
	struct k2i_kafka_sink *kafka = k2i_kafka_sink(sink);

	(void)pthread_mutex_lock(&kafka->mutex);
	k2i_kafka_rings_tick(kafka, now_ns);
	(void)pthread_mutex_unlock(&kafka->mutex);
	k2i_kafka_positions_tick(kafka->positions);
}

/* Why records wait: also before a try has failed, if they have waited for long. */
static const char *held_text(const struct k2i_kafka_producer *producer, uint64_t waiting_ns)
{
	uint64_t commit_ns = producer->kafka->settings->kafka_commit_ms * K2I_MILLISECOND_NS;

	if (*producer->held || waiting_ns < commit_ns + HELD_SHOWN_NS)
		return producer->held;
	return *producer->fault ? producer->fault : "the brokers have not answered yet";
}

static void producer_show(const struct k2i_kafka_producer *producer, struct k2i_report *report, uint64_t now_ns,
			  struct k2i_sink_state *state)
{
	uint64_t waiting_ns = producer->first ? now_ns - producer->first->taken_ns : 0;

	k2i_sink_state_add(state, held_text(producer, waiting_ns), producer->bytes, waiting_ns);
	k2i_report_open(report, NULL, '{');
	k2i_report_text(report, "peer", producer->kafka->settings->kafka_brokers);
	k2i_report_text(report, "transactional_id", producer->id);
	k2i_report_number(report, "waiting_bytes", producer->bytes);
	k2i_report_number(report, "waiting_s", waiting_ns / K2I_SECOND_NS);
	k2i_report_number(report, "retries", producer->retries);
	k2i_report_text(report, "held", held_text(producer, waiting_ns));
	k2i_report_close(report, '}');
}

static void kafka_show(struct k2i_sink *sink, struct k2i_report *report, unsigned listed_max,
		       struct k2i_sink_state *state)
{
	struct k2i_kafka_sink *kafka = k2i_kafka_sink(sink);

	state->name = "kafka";
	k2i_report_open(report, "kafka", '[');
	(void)pthread_mutex_lock(&kafka->mutex);
	for (unsigned i = 0; i < kafka->producer_count && i < listed_max; i++)
		producer_show(kafka->producers[i], report, k2i_clock_now_ns(), state);
	(void)pthread_mutex_unlock(&kafka->mutex);
	k2i_report_close(report, ']');
}

static void ring_free(void *argument, struct k2i_table_node *node)
{
	(void)argument;
	free(K2I_TABLE_ENTRY(node, struct k2i_kafka_ring, node));
}

static int kafka_close(struct k2i_sink *sink, bool sync)
{
	struct k2i_kafka_sink *kafka = k2i_kafka_sink(sink);

	(void)sync;
	atomic_store(&kafka->stopping, true);
	for (unsigned i = 0; i < kafka->producer_count; i++)
		k2i_kafka_producer_stop(kafka->producers[i]);
	k2i_kafka_positions_free(kafka->positions);
	k2i_table_each(&kafka->rings, ring_free, NULL);
	k2i_table_free(&kafka->rings);
	k2i_room_free(&kafka->room);
	k2i_format_free(kafka->topic);
	k2i_format_free(kafka->key);
	(void)pthread_mutex_destroy(&kafka->mutex);
	free(kafka);
	return 0;
}

static const struct k2i_sink_ops kafka_ops = {
	.traits = K2I_SINK_LATER,
	.thread_open = thread_open,
	.store = group_store,
	.settle = ring_settle,
	.ended = ring_ended,
	.tick = kafka_tick,
	.show = kafka_show,
	.close = kafka_close,
};

/* Opening --------------------------------------------------------------------------------------------------------- */

int k2i_kafka_sink_open(const struct k2i_sink_options *options, struct k2i_sink **sink)
{
	struct k2i_kafka_sink *kafka = calloc(1, sizeof(*kafka));
	int error;

	if (!kafka) {
		k2i_log(K2HFT_LOG_ERROR, "kafka: can't start: %s", k2i_text_error(-ENOMEM));
		return -ENOMEM;
	}
	kafka->sink.ops = &kafka_ops;
	kafka->settings = options->settings;
	kafka->ledger = options->ledger;
	kafka->room.bytes_max = options->settings->buffer_bytes;
	(void)pthread_mutex_init(&kafka->mutex, NULL);
	error = k2i_kafka_templates_open(kafka);
	if (!error)
		error = k2i_kafka_client_check(options->settings);
	if (!error)
		error = k2i_kafka_positions_create(kafka, &kafka->positions);
	if (error)
		(void)kafka_close(&kafka->sink, false);
	else
		*sink = &kafka->sink;
	return error;
}

const struct k2i_sink_module k2i_sink_module = {.version = K2I_SINK_MODULE_VERSION, .open = k2i_kafka_sink_open};
