/* SPDX-License-Identifier: MIT */
#ifndef K2I_RECEIVER_BASE_FLOW_H
#define K2I_RECEIVER_BASE_FLOW_H

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "app/program/flow.h"

/* A histogram as struct k2i_latency. Any thread adds to it. */
struct k2i_histogram {
	atomic_uint_fast64_t chunks[K2I_LATENCY_BUCKETS], sum_us;
};
void k2i_histogram_add(struct k2i_histogram *histogram, uint64_t chunks, uint64_t age_ns);
void k2i_histogram_copy(const struct k2i_histogram *histogram, struct k2i_latency *latency);

/* Records of a stream that were committed. Any thread adds. */
struct k2i_flow {
	atomic_uint_fast64_t records, bytes, last_ns;
	struct k2i_histogram latency;
};

/*
 * The table of streams for the status: what is declared first has a place there, also after it has ended, until another
 * one needs the place. A stream without a place is in the counters only.
 */
#define K2I_FLOWS_MAX 256u

struct k2i_flow_place {
	char *path, *host; /* NULL: free */
	uint64_t hash;
	unsigned users; /* streams of sessions */
	struct k2i_flow flow;
};

struct k2i_flows {
	pthread_mutex_t mutex;
	struct k2i_flow_place places[K2I_FLOWS_MAX];
};

void k2i_flows_start(struct k2i_flows *flows);
void k2i_flows_end(struct k2i_flows *flows);
/* NULL: all places are taken, or no memory. */
struct k2i_flow *k2i_flow_take(struct k2i_flows *flows, const char *path, const char *host);
void k2i_flow_give(struct k2i_flows *flows, struct k2i_flow *flow);
/* `each` must not wait for anything. */
void k2i_flows_each(struct k2i_flows *flows,
		    void (*each)(void *argument, const char *path, const char *host,
				 const struct k2i_flow_values *values),
		    void *argument);

#endif
