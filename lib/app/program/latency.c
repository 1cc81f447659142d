/* SPDX-License-Identifier: MIT */
#include "app/program/latency.h"

#include <inttypes.h>

#include "base/clock.h"

static const uint64_t bounds_ms[K2I_LATENCY_BUCKETS - 1] = {1,   2,    5,    10,   20,    50,    100,  200,
							    500, 1000, 2000, 5000, 10000, 30000, 60000};

unsigned k2i_latency_bucket(uint64_t age_ns)
{
	unsigned at = 0;

	while (at < K2I_LATENCY_BUCKETS - 1 && age_ns > bounds_ms[at] * K2I_MILLISECOND_NS)
		at++;
	return at;
}

uint64_t k2i_latency_count(const struct k2i_latency *latency)
{
	uint64_t count = 0;

	for (unsigned at = 0; at < K2I_LATENCY_BUCKETS; at++)
		count += latency->chunks[at];
	return count;
}

uint64_t k2i_latency_quantile_ms(const struct k2i_latency *latency, unsigned per_mille)
{
	uint64_t count = k2i_latency_count(latency), sum = 0;

	for (unsigned at = 0; at < K2I_LATENCY_BUCKETS - 1; at++) {
		sum += latency->chunks[at];
		if ((double)sum * 1000 >= (double)count * per_mille)
			return bounds_ms[at];
	}
	return UINT64_MAX;
}

void k2i_latency_report(struct k2i_report *report, const struct k2i_latency *latency)
{
	k2i_report_open(report, "latency_ms", '{');
	k2i_report_open(report, "le", '[');
	for (unsigned at = 0; at < K2I_LATENCY_BUCKETS - 1; at++)
		k2i_report_number(report, NULL, bounds_ms[at]);
	k2i_report_close(report, ']');
	k2i_report_open(report, "chunks", '[');
	for (unsigned at = 0; at < K2I_LATENCY_BUCKETS; at++)
		k2i_report_number(report, NULL, latency->chunks[at]);
	k2i_report_close(report, ']');
	k2i_report_number(report, "sum", latency->sum_us / 1000);
	k2i_report_close(report, '}');
}

void k2i_latency_metrics_begin(struct k2i_report *report)
{
	k2i_report_add(report, "# HELP " K2I_LATENCY_NAME " time from the write of records to their commit, in chunks\n"
			       "# TYPE " K2I_LATENCY_NAME " histogram\n");
}

void k2i_latency_metrics(struct k2i_report *report, const char *name, const struct k2i_latency *latency,
			 const char *labels)
{
	const char *comma = *labels ? "," : "", *open = *labels ? "{" : "", *close = *labels ? "}" : "";
	uint64_t sum = 0;

	for (unsigned at = 0; at < K2I_LATENCY_BUCKETS; at++) {
		sum += latency->chunks[at];
		k2i_report_add(report, "%s_bucket{%s%sle=\"", name, labels, comma);
		if (at < K2I_LATENCY_BUCKETS - 1)
			k2i_report_add(report, "%g", (double)bounds_ms[at] / 1000);
		else
			k2i_report_add(report, "+Inf");
		k2i_report_add(report, "\"} %" PRIu64 "\n", sum);
	}
	k2i_report_add(report, "%s_sum%s%s%s %.6f\n", name, open, labels, close, (double)latency->sum_us / 1e6);
	k2i_report_add(report, "%s_count%s%s%s %" PRIu64 "\n", name, open, labels, close, sum);
}
