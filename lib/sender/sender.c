/* SPDX-License-Identifier: MIT */
#include "sender/sender.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <time.h>

#include "client/client.h"
#include "base/caller.h"
#include "base/clock.h"
#include "base/condition.h"
#include "base/options.h"
#include "ring/ring.h"
#include "sender/writer.h"

/* How often a sender that is attached looks whether the ring's own sender got on. */
#define ATTACHED_POLL_NS 2000000L

/* From a time-out in milliseconds, -1: none. */
static uint64_t deadline_make(int timeout_ms)
{
	return timeout_ms < 0 ? K2I_DEADLINE_NONE : k2i_clock_ns(CLOCK_MONOTONIC) + (uint64_t)timeout_ms * 1000000;
}

static int deadline_left_ms(uint64_t deadline_ns)
{
	uint64_t now = k2i_clock_ns(CLOCK_MONOTONIC), left_ms;

	if (deadline_ns == K2I_DEADLINE_NONE)
		return -1;
	if (deadline_ns <= now)
		return 0;
	left_ms = (deadline_ns - now + 999999) / 1000000;
	return left_ms > INT_MAX ? INT_MAX : (int)left_ms;
}

static void claim_in_the_way(void *argument)
{
	(void)k2i_sender_seal(argument);
}

static struct k2hft_ring_options ring_options_of(const struct k2hft_sender_options *options)
{
	return (struct k2hft_ring_options){
		.size = sizeof(struct k2hft_ring_options),
		.path = options->ring_path,
		.ring_bytes = options->ring_bytes,
		.flags = options->ring_flags,
	};
}

static struct k2hft_client_options client_options_of(const struct k2hft_sender_options *options)
{
	/* A ring without a name is found by nobody later. */
	bool ends = !options->ring_path || options->ring_flags & K2HFT_RING_TEMPORARY;

	return (struct k2hft_client_options){
		.size = sizeof(struct k2hft_client_options),
		.host = options->host,
		.port = options->port,
		.host_name = options->host_name,
		.level = options->level,
		.compress = options->compress,
		.batch_records_max = options->batch_records_max,
		.expire_s = options->expire_s,
		.flags = ends ? K2HFT_CLIENT_RING_ENDS : 0,
		.tls = options->tls,
	};
}

int k2hft_sender_ring_options(const struct k2hft_sender_options *options, struct k2hft_ring_options *ring_options)
{
	struct k2hft_sender_options known;
	int status = ring_options ? k2i_options_copy(&known, sizeof(known), options) : -EINVAL;

	if (status == 0)
		*ring_options = ring_options_of(&known);
	return status;
}

int k2hft_sender_client_options(const struct k2hft_sender_options *options, struct k2hft_client_options *client_options)
{
	struct k2hft_sender_options known;
	int status = client_options ? k2i_options_copy(&known, sizeof(known), options) : -EINVAL;

	if (status == 0)
		*client_options = client_options_of(&known);
	return status;
}

static int sender_create(struct k2hft_sender **sender)
{
	K2I_ERRNO_KEPT;
	struct k2hft_sender *made = calloc(1, sizeof(*made));

	if (!made)
		return -ENOMEM;
	(void)pthread_mutex_init(&made->mutex, NULL);
	k2i_condition_init(&made->sealed);
	k2i_lane_init(&made->lane);
	*sender = made;
	return 0;
}

void k2i_sender_free(struct k2hft_sender *sender)
{
	/* Also into a ring that is left to others. */
	(void)k2i_writers_end_lines(sender);
	k2i_lane_close(&sender->lane);
	(void)pthread_cond_destroy(&sender->sealed);
	(void)pthread_mutex_destroy(&sender->mutex);
	free(sender);
}

int k2i_sender_create(const struct k2hft_ring_options *ring_options, uint32_t full, struct k2hft_sender **sender)
{
	struct k2hft_sender *made;
	int status = sender_create(&made);

	if (status)
		return status;
	made->full = full;
	made->asymmetric = k2i_seal_asymmetric();
	status = k2i_lane_open(&made->lane, ring_options);
	if (status)
		k2i_sender_free(made);
	else
		*sender = made;
	return status;
}

int k2hft_sender_open(const struct k2hft_sender_options *options, struct k2hft_sender **sender)
{
	struct k2hft_ring_options ring_options;
	struct k2hft_client_options client_options;
	struct k2hft_sender_options known;
	struct k2hft_sender *made;
	uint64_t waiting;
	int status = k2i_options_copy(&known, sizeof(known), options);

	if (status)
		return status;
	if (!sender)
		return -EINVAL;
	if (known.full > K2HFT_FULL_DROP)
		return k2i_option_refuse("full = %u is not known", known.full);
	if (known.target_count)
		return k2i_option_refuse("target_count = %u: several receivers are not available", known.target_count);
	if (known.reserved)
		return k2i_option_refuse("reserved = %u is not 0", known.reserved);
	/* Before a ring file is begun afresh for it. */
	client_options = client_options_of(&known);
	status = k2i_client_options_check(&client_options);
	if (status)
		return status;
	ring_options = ring_options_of(&known);
	waiting = k2i_ring_waiting(&ring_options);
	status = k2i_sender_create(&ring_options, known.full, &made);
	if (status)
		return status;
	if (waiting)
		k2i_log(K2HFT_LOG_WARNING,
			"sender: %s is begun afresh: %llu records in it that were not acknowledged are lost",
			known.ring_path, (unsigned long long)waiting);
	status = k2i_lane_client_start(&made->lane, &client_options, claim_in_the_way, made);
	if (status) {
		k2i_sender_free(made);
		return status;
	}
	*sender = made;
	return 0;
}

int k2hft_sender_attach(const char *ring_path, struct k2hft_sender **sender)
{
	struct k2hft_sender *made;
	int status;

	if (!ring_path || !sender)
		return -EINVAL;
	status = sender_create(&made);
	if (status)
		return status;
	made->attached = true;
	status = k2i_lane_attach(&made->lane, ring_path);
	if (status)
		k2i_sender_free(made);
	else
		*sender = made;
	return status;
}

/*
 * Another process's client sends: all that can be done is to look. Only this process's records are of interest, but the
 * head moves in order, so those of others that lie before them must be acknowledged, too.
 */
static int acked_wait(struct k2hft_sender *sender, uint64_t deadline_ns)
{
	const struct timespec pause = {.tv_nsec = ATTACHED_POLL_NS};
	uint64_t target = k2i_ring_stats(sender->lane.ring).tail;
	struct k2hft_ring_stats stats;
	bool abandoned;
	K2I_ERRNO_KEPT;

	for (;;) {
		/* Before the positions: what the process did at last is in them. */
		abandoned = k2i_ring_abandoned(sender->lane.ring);
		stats = k2i_ring_stats(sender->lane.ring);
		/* The tail that was seen goes back with a claim that is given back: all is there when the ring is empty. */
		if (stats.head >= target || stats.head >= stats.tail)
			return 0;
		if (abandoned)
			return -EPIPE;
		if (deadline_left_ms(deadline_ns) == 0)
			return -ETIMEDOUT;
		(void)nanosleep(&pause, NULL);
	}
}

static int sender_flush(struct k2hft_sender *sender, uint64_t deadline_ns)
{
	int status = k2i_sender_sealed_wait(sender, k2i_sender_seal(sender), deadline_ns);

	if (status)
		return status;
	if (!sender->lane.client)
		return acked_wait(sender, deadline_ns);
	return k2hft_client_drain(sender->lane.client, deadline_left_ms(deadline_ns));
}

int k2hft_sender_flush(struct k2hft_sender *sender, int timeout_ms)
{
	return sender ? sender_flush(sender, deadline_make(timeout_ms)) : -EINVAL;
}

int k2hft_sender_close(struct k2hft_sender *sender, int timeout_ms)
{
	struct k2hft_sender_stats stats = {.size = sizeof(stats)};
	uint64_t deadline_ns = deadline_make(timeout_ms);
	int status;

	if (!sender)
		return 0;
	status = sender_flush(sender, deadline_ns);
	if (status == 0 && k2i_writers_end_lines(sender))
		status = sender_flush(sender, deadline_ns);
	if (status && k2hft_sender_stats(sender, &stats) == 0)
		k2i_log(K2HFT_LOG_WARNING, "sender: closed with %llu records that are not acknowledged",
			(unsigned long long)stats.unacked_records);
	k2i_sender_free(sender);
	return status;
}

int k2hft_sender_stats(struct k2hft_sender *sender, struct k2hft_sender_stats *stats)
{
	struct k2hft_sender_stats known = {.size = sizeof(known)};
	struct k2hft_ring_stats ring;
	uint64_t open_records = 0;

	if (!sender || !stats)
		return -EINVAL;
	(void)pthread_mutex_lock(&sender->mutex);
	known.written_records = sender->closed_records;
	known.written_bytes = sender->closed_bytes;
	known.dropped_records = sender->closed_dropped;
	for (const struct k2hft_writer *writer = sender->writers; writer; writer = writer->next) {
		uint64_t sealed = atomic_load_explicit(&writer->sealed_records, memory_order_acquire); /* edge S5 */
		uint64_t records = atomic_load_explicit(&writer->records, memory_order_relaxed);

		open_records += records - sealed;
		known.written_records += records;
		known.written_bytes += atomic_load_explicit(&writer->bytes, memory_order_relaxed);
		known.dropped_records += atomic_load_explicit(&writer->dropped_records, memory_order_relaxed);
	}
	(void)pthread_mutex_unlock(&sender->mutex);
	known.refused_writes = atomic_load_explicit(&sender->refused_writes, memory_order_relaxed);
	known.pieces = atomic_load_explicit(&sender->pieces, memory_order_relaxed);
	ring = k2i_ring_stats(sender->lane.ring);
	known.unacked_records = open_records + ring.unacked_records;
	return k2i_stats_copy(stats, &known, sizeof(known));
}

struct k2hft_ring *k2hft_sender_ring(struct k2hft_sender *sender)
{
	return sender->lane.ring;
}

struct k2hft_client *k2hft_sender_client(struct k2hft_sender *sender)
{
	return sender->lane.client;
}
