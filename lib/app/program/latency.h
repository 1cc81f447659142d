/* SPDX-License-Identifier: MIT */
#ifndef K2I_APP_PROGRAM_LATENCY_H
#define K2I_APP_PROGRAM_LATENCY_H

#include <stdint.h>

#include "app/program/report.h"

/*
 * How long records took from their write to their commit: a histogram that counts chunks. Bounds never change: a
 * monitoring system adds up those of several receivers.
 */
#define K2I_LATENCY_BUCKETS 16u /* the last one has no bound */

struct k2i_latency {
	uint64_t chunks[K2I_LATENCY_BUCKETS]; /* each in one bucket only */
	uint64_t sum_us;
};

unsigned k2i_latency_bucket(uint64_t age_ns);
uint64_t k2i_latency_count(const struct k2i_latency *latency);
/* The bound, in milliseconds, of the bucket in which the slowest `per_mille` of chunks begin; UINT64_MAX: beyond all bounds. */
uint64_t k2i_latency_quantile_ms(const struct k2i_latency *latency, unsigned per_mille);

/* Object "latency_ms": le, the bounds, and chunks, which has one more; sum. */
void k2i_latency_report(struct k2i_report *report, const struct k2i_latency *latency);
/* HELP and TYPE of that of a whole receiver; then samples, whose labels (name="value", or "") are escaped already. */
#define K2I_LATENCY_NAME "k2hft_receiver_latency_seconds"
void k2i_latency_metrics_begin(struct k2i_report *report);
void k2i_latency_metrics(struct k2i_report *report, const char *name, const struct k2i_latency *latency,
			 const char *labels);

#endif
