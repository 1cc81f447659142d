/* SPDX-License-Identifier: MIT */
/* Records that wait in a ring, as a member of its status, or of its mount's. */
#include "tools/stat/stat.h"

#include <stdlib.h>
#include <string.h>

#include <k2hft/ring.h>

#define STREAMS_SHOWN_MAX 1000u /* those behind them are in the sums */

struct backlog_sum {
	uint64_t records, bytes, oldest_ns;
	unsigned streams;
	struct k2i_report list;
};

static void stream_add(void *argument, const struct k2hft_backlog *backlog)
{
	struct backlog_sum *sum = argument;

	sum->records += backlog->records;
	sum->bytes += backlog->bytes;
	if (!sum->oldest_ns || backlog->oldest_ns < sum->oldest_ns)
		sum->oldest_ns = backlog->oldest_ns;
	if (sum->streams++ >= STREAMS_SHOWN_MAX)
		return;
	k2i_report_open(&sum->list, NULL, '{');
	k2i_report_text(&sum->list, "path", backlog->path);
	if (*backlog->host)
		k2i_report_text(&sum->list, "host", backlog->host);
	k2i_report_number(&sum->list, "records", backlog->records);
	k2i_report_number(&sum->list, "bytes", backlog->bytes);
	k2i_report_number(&sum->list, "oldest_ns", backlog->oldest_ns);
	k2i_report_close(&sum->list, '}');
}

void stat_backlog_report(struct k2i_report *report, const char *const ring_paths[], size_t count)
{
	struct backlog_sum sum = {0};
	int error = 0;

	k2i_report_open(&sum.list, "streams", '[');
	/* A sum of some rings only would be less than what waits. */
	for (size_t at = 0; at < count && !error; at++)
		error = k2hft_ring_backlog(ring_paths[at], stream_add, &sum);
	if (!error) {
		k2i_report_close(&sum.list, ']');
		k2i_report_open(report, "backlog", '{');
		k2i_report_number(report, "records", sum.records);
		k2i_report_number(report, "bytes", sum.bytes);
		k2i_report_number(report, "oldest_ns", sum.oldest_ns);
		k2i_report_number(report, "stream_count", sum.streams);
		k2i_report_add(report, ", %s", sum.list.failed ? "\"streams\": []" : sum.list.text);
		k2i_report_close(report, '}');
		report->failed |= sum.list.failed;
	}
	free(sum.list.text);
}
