/* SPDX-License-Identifier: MIT */
/* Records that wait in a ring, as a member of its status, or of its mount's. */
#include "tools/stat/stat.h"

#include <stdlib.h>
#include <string.h>

#include <k2hft/ring.h>

#define STREAMS_SHOWN_MAX 1000u /* those behind them are in the sums */

struct sum {
	uint64_t records, bytes, oldest_ns;
};

struct backlog_sum {
	struct sum all, ring;
	unsigned streams;
	struct k2i_report list;
};

static void sum_add(struct sum *sum, const struct sum *more)
{
	sum->records += more->records;
	sum->bytes += more->bytes;
	if (more->records && (!sum->oldest_ns || more->oldest_ns < sum->oldest_ns))
		sum->oldest_ns = more->oldest_ns;
}

static void sum_report(struct k2i_report *report, const struct sum *sum)
{
	k2i_report_number(report, "records", sum->records);
	k2i_report_number(report, "bytes", sum->bytes);
	k2i_report_number(report, "oldest_ns", sum->oldest_ns);
}

static void stream_add(void *argument, const struct k2hft_backlog *backlog)
{
	const struct sum stream = {backlog->records, backlog->bytes, backlog->oldest_ns};
	struct backlog_sum *sum = argument;

	sum_add(&sum->ring, &stream);
	if (sum->streams++ >= STREAMS_SHOWN_MAX)
		return;
	k2i_report_open(&sum->list, NULL, '{');
	k2i_report_text(&sum->list, "path", backlog->path);
	if (*backlog->host)
		k2i_report_text(&sum->list, "host", backlog->host);
	sum_report(&sum->list, &stream);
	k2i_report_close(&sum->list, '}');
}

/* Array "rings", of those of a sender that has several. */
static void rings_report(struct k2i_report *report, const char *const ring_paths[], const struct sum rings[],
			 size_t count)
{
	k2i_report_open(report, "rings", '[');
	for (size_t at = 0; at < count; at++) {
		k2i_report_open(report, NULL, '{');
		k2i_report_text(report, "ring_file", ring_paths[at]);
		sum_report(report, &rings[at]);
		k2i_report_close(report, '}');
	}
	k2i_report_close(report, ']');
}

void stat_backlog_report(struct k2i_report *report, const char *const ring_paths[], size_t count)
{
	struct backlog_sum sum = {0};
	struct sum rings[STAT_LANES_MAX];
	int error = 0;

	k2i_report_open(&sum.list, "streams", '[');
	/* A sum of some rings only would be less than what waits. */
	for (size_t at = 0; at < count && !error; at++) {
		sum.ring = (struct sum){0};
		error = k2hft_ring_backlog(ring_paths[at], stream_add, &sum);
		rings[at] = sum.ring;
		sum_add(&sum.all, &sum.ring);
	}
	if (!error) {
		k2i_report_close(&sum.list, ']');
		k2i_report_open(report, "backlog", '{');
		sum_report(report, &sum.all);
		k2i_report_number(report, "stream_count", sum.streams);
		if (count > 1)
			rings_report(report, ring_paths, rings, count);
		k2i_report_add(report, ", %s", sum.list.failed ? "\"streams\": []" : sum.list.text);
		k2i_report_close(report, '}');
		report->failed |= sum.list.failed;
	}
	free(sum.list.text);
}
