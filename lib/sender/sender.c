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
#define DRAIN_TURN_MS 200

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

static int sender_create(struct k2hft_sender **sender)
{
	K2I_ERRNO_KEPT;
	struct k2hft_sender *made = calloc(1, sizeof(*made));

	if (!made)
		return -ENOMEM;
	(void)pthread_mutex_init(&made->change, NULL);
	(void)pthread_mutex_init(&made->mutex, NULL);
	k2i_condition_init(&made->sealed);
	*sender = made;
	return 0;
}

void k2i_sender_free(struct k2hft_sender *sender)
{
	struct k2i_lane *ended;

	k2i_sender_enders_stop(sender);
	/* Also into a ring that is left to others. */
	(void)k2i_writers_end_lines(sender, NULL);
	for (uint32_t at = 0; at < sender->lane_count; at++)
		k2i_lane_close(sender->lanes[at]);
	while ((ended = sender->ended) != NULL) {
		sender->ended = ended->ended;
		k2i_lane_free(ended);
	}
	free(sender->lanes);
	k2i_sender_options_free(&sender->options);
	(void)pthread_cond_destroy(&sender->sealed);
	(void)pthread_mutex_destroy(&sender->mutex);
	(void)pthread_mutex_destroy(&sender->change);
	free(sender);
}

/* The single lane of a sender without a client. */
static int lane_alone(struct k2hft_sender *sender, const struct k2hft_ring_options *options, const char *attach_path)
{
	struct k2i_lane *lane = k2i_lane_create(sender);
	int status;

	if (!lane)
		return -ENOMEM;
	status = options ? k2hft_ring_open(options, &lane->ring) : k2hft_ring_attach(attach_path, &lane->ring);
	if (status == 0)
		status = k2i_sender_lane_add(sender, lane);
	if (status) {
		k2i_lane_close(lane);
		return status;
	}
	sender->sizes = k2i_lane_sizes(lane);
	sender->others_send = true;
	return 0;
}

int k2i_sender_create(const struct k2hft_ring_options *ring_options, uint32_t full, struct k2hft_sender **sender)
{
	struct k2hft_sender *made;
	int status = sender_create(&made);

	if (status)
		return status;
	made->full = full;
	made->asymmetric = k2i_seal_asymmetric();
	status = lane_alone(made, ring_options, NULL);
	if (status)
		k2i_sender_free(made);
	else
		*sender = made;
	return status;
}

int k2hft_sender_open(const struct k2hft_sender_options *options, struct k2hft_sender **sender)
{
	K2I_ERRNO_KEPT;
	struct k2hft_sender_options known;
	struct k2hft_sender *made;
	int status = k2i_options_copy(&known, sizeof(known), options);

	if (status)
		return status;
	if (!sender)
		return -EINVAL;
	/* Before a ring file is begun afresh for it. */
	status = k2i_sender_options_check(&known);
	if (status)
		return status;
	status = sender_create(&made);
	if (status)
		return status;
	made->full = known.full;
	made->asymmetric = k2i_seal_asymmetric();
	made->spread = known.spread;
	made->copies = known.copies ? known.copies : 1;
	made->copies_kept = known.spread == K2HFT_SPREAD_ALL || made->copies > 1;
	status = k2i_sender_options_copy(&known, &made->options);
	if (status == 0)
		status = k2i_sender_lanes_open(made, &known);
	if (status)
		k2i_sender_free(made);
	else
		*sender = made;
	return status;
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
	made->copies = 1;
	status = lane_alone(made, NULL, ring_path);
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
	uint64_t target = k2i_ring_stats(sender->lanes[0]->ring).tail;
	struct k2hft_ring_stats stats;
	bool abandoned;
	K2I_ERRNO_KEPT;

	for (;;) {
		/* Before the positions: what the process did at last is in them. */
		abandoned = k2i_ring_abandoned(sender->lanes[0]->ring);
		stats = k2i_ring_stats(sender->lanes[0]->ring);
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

/* With copies in turns, since a receiver that is removed meanwhile may never answer. */
static int lane_drain(struct k2i_lane *lane, uint64_t deadline_ns)
{
	struct k2hft_ring_stats stats = k2i_ring_stats(lane->ring);
	int status, left_ms;

	if (!lane->sender->copies_kept || stats.head >= stats.tail)
		return k2hft_client_drain(lane->client, deadline_left_ms(deadline_ns));
	do {
		left_ms = deadline_left_ms(deadline_ns);
		status = k2i_client_drained_wait(lane->client, stats.tail,
						 left_ms < 0 || left_ms > DRAIN_TURN_MS ? DRAIN_TURN_MS : left_ms);
		if (status == -ETIMEDOUT && k2i_lane_given_up(lane))
			return 0;
	} while (status == -ETIMEDOUT && left_ms != 0);
	return status;
}

/* The first failure counts, but one lane that is late must not hide that another has ended. */
static int lanes_drain(struct k2hft_sender *sender, uint64_t deadline_ns)
{
	struct k2i_lane **lanes;
	uint32_t count = k2i_sender_lanes_hold(sender, &lanes);
	int status = count ? 0 : -ENOMEM;

	for (uint32_t at = 0; at < count; at++) {
		int error = lane_drain(lanes[at], deadline_ns);

		if (status == 0 || status == -ETIMEDOUT)
			status = error ? error : status;
	}
	k2i_sender_lanes_release(sender, lanes, count);
	return status;
}

static int sender_flush(struct k2hft_sender *sender, uint64_t deadline_ns)
{
	int status = k2i_sender_sealed_wait(sender, k2i_sender_seal(sender), deadline_ns);

	if (status)
		return status;
	return sender->others_send ? acked_wait(sender, deadline_ns) : lanes_drain(sender, deadline_ns);
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
	if (status == 0 && k2i_writers_end_lines(sender, NULL))
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

		open_records += (records - sealed) * writer->copy_count;
		known.written_records += records;
		known.written_bytes += atomic_load_explicit(&writer->bytes, memory_order_relaxed);
		known.dropped_records += atomic_load_explicit(&writer->dropped_records, memory_order_relaxed);
	}
	for (uint32_t at = 0; at < sender->lane_count; at++)
		known.unacked_records += k2i_ring_stats(sender->lanes[at]->ring).unacked_records;
	(void)pthread_mutex_unlock(&sender->mutex);
	known.refused_writes = atomic_load_explicit(&sender->refused_writes, memory_order_relaxed);
	known.excepted_records = atomic_load_explicit(&sender->excepted_records, memory_order_relaxed);
	known.pieces = atomic_load_explicit(&sender->pieces, memory_order_relaxed);
	known.unacked_records += open_records;
	return k2i_stats_copy(stats, &known, sizeof(known));
}

struct k2hft_ring *k2hft_sender_ring(struct k2hft_sender *sender)
{
	struct k2hft_lane lane = K2HFT_LANE_INIT;

	(void)k2hft_sender_lane(sender, 0, &lane);
	return lane.ring;
}

struct k2hft_client *k2hft_sender_client(struct k2hft_sender *sender)
{
	struct k2hft_lane lane = K2HFT_LANE_INIT;

	(void)k2hft_sender_lane(sender, 0, &lane);
	return lane.client;
}
