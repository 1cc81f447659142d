/* SPDX-License-Identifier: MIT */
#ifndef K2I_APP_PROGRAM_FLOW_H
#define K2I_APP_PROGRAM_FLOW_H

#include <stddef.h>
#include <stdint.h>

#include "app/program/latency.h"
#include "app/program/report.h"

/* Records of one sender, or of one stream, that a receiver has committed. */
struct k2i_flow_values {
	uint64_t records, bytes;
	uint64_t last_ns; /* when it was committed last, since 1970; 0: never */
	struct k2i_latency latency;
};

/* Members records, bytes, last_ns, latency_chunks (an array with a place for each bucket), latency_sum_ms. */
void k2i_flow_report(struct k2i_report *report, const struct k2i_flow_values *values);

#define K2I_FLOW_SAMPLES_MAX 100u /* of one kind and receiver: each costs the monitoring system memory */

struct k2i_flow_sample {
	char *labels; /* name="value", ... */
	struct k2i_flow_values values;
};

struct k2i_flow_samples { /* zero at first */
	struct k2i_flow_sample *list;
	size_t count, room;
	bool failed; /* no memory */
};
/*
 * Takes the labels' text. A sample whose labels are among the last K2I_FLOW_SAMPLES_MAX is left out: a ring whose connection
 * is not over yet can have another.
 */
void k2i_flow_sample_add(struct k2i_flow_samples *samples, struct k2i_report *labels,
			 const struct k2i_flow_values *values);
/* Metrics k2hft_receiver_KIND_..., each with all samples, which are gone then. */
void k2i_flow_metrics(struct k2i_report *report, const char *kind, struct k2i_flow_samples *samples);

/* A sink's state. */
struct k2i_sink_sample {
	char *labels;
	double held, waiting_bytes, waiting_s;
};
/* Metrics k2hft_receiver_sink_... */
void k2i_sink_metrics(struct k2i_report *report, const struct k2i_sink_sample *samples, size_t count);

#endif
