/* SPDX-License-Identifier: MIT */
#include "tools/push/push.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"

#define SHOW_NS UINT64_C(200000000)
#define SLICE_MS 100

static double megabytes(uint64_t bytes)
{
	return (double)bytes / 1e6;
}

static struct k2hft_sender_stats sender_stats(const struct push *push)
{
	struct k2hft_sender_stats stats = {.size = sizeof(stats)};

	(void)k2hft_sender_stats(push->sender, &stats);
	return stats;
}

/* All lanes: one for each receiver. */
struct lanes {
	uint64_t connects, acked, given_up;
	bool connected;
	char last_error[256]; /* of one that never connected */
};

static struct lanes lanes_look(const struct push *push)
{
	struct k2hft_client_stats client = {.size = sizeof(client)};
	struct k2hft_ring_stats ring = {.size = sizeof(ring)};
	struct k2hft_lane lane = K2HFT_LANE_INIT;
	struct lanes lanes = {.connects = 0};

	for (uint32_t at = 0; k2hft_sender_lane(push->sender, at, &lane) == 0; at++) {
		(void)k2hft_client_stats(lane.client, &client);
		(void)k2hft_ring_stats(lane.ring, &ring);
		lanes.connects += client.connects;
		lanes.acked += ring.acked;
		lanes.given_up += client.expired_records + client.unknown_records;
		lanes.connected |= client.state == K2HFT_CLIENT_CONNECTED;
		if (client.last_error[0])
			memcpy(lanes.last_error, client.last_error, sizeof(lanes.last_error));
	}
	return lanes;
}

/* "1.2 MB", or the share of a length that is known. A file that grows is more than that. */
static void read_text(const struct push *push, char *text, size_t room)
{
	if (push->total_bytes < push->input_bytes || !push->total_bytes)
		(void)snprintf(text, room, "%.1f MB", megabytes(push->input_bytes));
	else
		(void)snprintf(text, room, "%.0f%% of %.1f MB",
			       100.0 * (double)push->input_bytes / (double)push->total_bytes,
			       megabytes(push->total_bytes));
}

/* Until all is read, at the rate so far; "" if that is not known. */
static void left_text(const struct push *push, double seconds, char *text, size_t room)
{
	uint64_t left_s;

	*text = '\0';
	if (push->total_bytes <= push->input_bytes || !push->input_bytes)
		return;
	left_s = (uint64_t)(seconds * (double)(push->total_bytes - push->input_bytes) / (double)push->input_bytes) + 1;
	if (left_s < 120)
		(void)snprintf(text, room, ", %" PRIu64 " s left", left_s);
	else if (left_s < 7200)
		(void)snprintf(text, room, ", %" PRIu64 " min left", left_s / 60);
	else
		(void)snprintf(text, room, ", %" PRIu64 " h left", left_s / 3600);
}

void push_progress(struct push *push)
{
	char read[64], left[32];
	uint64_t now_ns = k2i_clock_ns(CLOCK_MONOTONIC);
	double seconds = (double)(now_ns - push->started_ns) / 1e9;

	if (!push->show || now_ns - push->shown_ns < SHOW_NS)
		return;
	push->shown_ns = now_ns;
	read_text(push, read, sizeof(read));
	left_text(push, seconds, left, sizeof(left));
	progress_show("%s read, %.1f MB/s%s, %" PRIu64 " records not acknowledged%s", read,
		      seconds > 0 ? megabytes(push->input_bytes) / seconds : 0, left,
		      sender_stats(push).unacked_records, lanes_look(push).connected ? "" : ", not connected");
}

static const char *reason(const char *last_error)
{
	return last_error[0] ? last_error : "no answer yet";
}

int push_connection_check(struct push *push)
{
	struct lanes lanes;
	struct k2hft_lane lane = K2HFT_LANE_INIT;

	if (push->connected ||
	    k2i_clock_ns(CLOCK_MONOTONIC) - push->started_ns < push->options.timeout_s * UINT64_C(1000000000))
		return STATUS_OK;
	lanes = lanes_look(push);
	push->connected = lanes.connects > 0;
	if (push->connected)
		return STATUS_OK;
	(void)k2hft_sender_lane(push->sender, 0, &lane);
	push_error("receiver %s port %s%s: %s", lane.host, lane.port,
		   k2hft_sender_lane_count(push->sender) > 1 ? ", and no other" : "", reason(lanes.last_error));
	/* The time is up for what was read, too. */
	push->options.timeout_s = 0;
	return STATUS_FAILED;
}

bool push_stalled(struct push *push)
{
	uint64_t now_ns = k2i_clock_ns(CLOCK_MONOTONIC);
	uint64_t acked;

	if (push_interrupts() > 1)
		return true;
	acked = lanes_look(push).acked;
	if (acked != push->acked || !push->progress_ns) {
		push->acked = acked;
		push->progress_ns = now_ns;
	}
	return now_ns - push->progress_ns >= push->options.timeout_s * UINT64_C(1000000000);
}

static void lane_remain_tell(const struct k2hft_lane *lane)
{
	struct k2hft_client_stats client = {.size = sizeof(client)};
	struct k2hft_ring_stats ring = {.size = sizeof(ring)};

	(void)k2hft_client_stats(lane->client, &client);
	(void)k2hft_ring_stats(lane->ring, &ring);
	if (ring.unacked_records)
		push_error("%" PRIu64 " record%s not acknowledged by %s port %s: %s", ring.unacked_records,
			   ring.unacked_records == 1 ? " is" : "s are", lane->host, lane->port,
			   reason(client.last_error));
}

static void remain_tell(struct push *push)
{
	const struct k2hft_sender_options *options = &push->config.options;
	struct k2hft_lane lane = K2HFT_LANE_INIT;

	for (uint32_t at = 0; k2hft_sender_lane(push->sender, at, &lane) == 0; at++)
		lane_remain_tell(&lane);
	if (options->ring_path && !(options->ring_flags & K2HFT_RING_TEMPORARY))
		/* With --ring a configuration does not begin it afresh; and this input was read already. */
		push_error("what remains is in %s: the same command with --ring %s </dev/null, and no files, sends it",
			   options->ring_path, options->ring_path);
	else
		push_error("what remains is lost; --ring FILE would keep it");
}

/* Records that were given up are not waited for; they came from an earlier run's ring, or were read in this one. */
static int given_up_tell(struct push *push)
{
	const uint64_t lost = lanes_look(push).given_up;

	if (lost == 0)
		return STATUS_OK;
	return push_failed(STATUS_FAILED, "%" PRIu64 " records were given up and are lost; all others are acknowledged",
			   lost);
}

/* The last line on a terminal. */
static void sum_show(struct push *push)
{
	double seconds = (double)(k2i_clock_ns(CLOCK_MONOTONIC) - push->started_ns) / 1e9;

	if (!push->show)
		return;
	(void)fprintf(stderr, "%.1f MB in %" PRIu64 " records, %.2f s, %.1f MB/s, all acknowledged\n",
		      megabytes(push->input_bytes), sender_stats(push).written_records, seconds,
		      seconds > 0 ? megabytes(push->input_bytes) / seconds : 0);
}

int push_drain(struct push *push)
{
	int status;

	push->progress_ns = 0;
	do {
		status = k2hft_sender_flush(push->sender, SLICE_MS);
		push_progress(push);
	} while (status == -ETIMEDOUT && !push_stalled(push));
	progress_clear();
	if (status) {
		if (status != -ETIMEDOUT)
			push_error("%s", strerror(-status));
		remain_tell(push);
		return STATUS_FAILED;
	}
	status = given_up_tell(push);
	if (status == STATUS_OK)
		sum_show(push);
	return status;
}
