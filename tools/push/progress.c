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

static struct k2hft_client_stats client_stats(const struct push *push)
{
	struct k2hft_client_stats stats = {.size = sizeof(stats)};

	(void)k2hft_client_stats(k2hft_sender_client(push->sender), &stats);
	return stats;
}

void push_progress(struct push *push)
{
	uint64_t now_ns = k2i_clock_ns(CLOCK_MONOTONIC);
	double seconds = (double)(now_ns - push->started_ns) / 1e9;

	if (!push->show || now_ns - push->shown_ns < SHOW_NS)
		return;
	push->shown_ns = now_ns;
	progress_show("%.1f MB read, %.1f MB/s, %" PRIu64 " records not acknowledged%s", megabytes(push->input_bytes),
		      seconds > 0 ? megabytes(push->input_bytes) / seconds : 0, sender_stats(push).unacked_records,
		      client_stats(push).state == K2HFT_CLIENT_CONNECTED ? "" : ", not connected");
}

static const char *reason(const struct k2hft_client_stats *client)
{
	return client->last_error[0] ? client->last_error : "no answer yet";
}

int push_connection_check(struct push *push)
{
	struct k2hft_client_stats client;

	if (k2i_clock_ns(CLOCK_MONOTONIC) - push->started_ns < push->options.timeout_s * UINT64_C(1000000000))
		return STATUS_OK;
	client = client_stats(push);
	if (client.connects)
		return STATUS_OK;
	push_error("receiver %s port %s: %s", push->config.options.host, push->config.options.port, reason(&client));
	/* The time is up for what was read, too. */
	push->options.timeout_s = 0;
	return STATUS_FAILED;
}

bool push_stalled(struct push *push)
{
	uint64_t now_ns = k2i_clock_ns(CLOCK_MONOTONIC);
	struct k2hft_ring_stats ring = {.size = sizeof(ring)};

	if (push_interrupts() > 1)
		return true;
	(void)k2hft_ring_stats(k2hft_sender_ring(push->sender), &ring);
	if (ring.acked != push->acked || !push->progress_ns) {
		push->acked = ring.acked;
		push->progress_ns = now_ns;
	}
	return now_ns - push->progress_ns >= push->options.timeout_s * UINT64_C(1000000000);
}

static void remain_tell(struct push *push)
{
	const struct k2hft_sender_options *options = &push->config.options;
	const struct k2hft_client_stats client = client_stats(push);
	const uint64_t records = sender_stats(push).unacked_records;

	push_error("%" PRIu64 " record%s not acknowledged by %s port %s: %s", records, records == 1 ? " is" : "s are",
		   options->host, options->port, reason(&client));
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
	const struct k2hft_client_stats client = client_stats(push);
	const uint64_t lost = client.expired_records + client.unknown_records;

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
