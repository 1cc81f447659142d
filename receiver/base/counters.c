/* SPDX-License-Identifier: MIT */
#include "receiver/base/counters.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/clock.h"

/* A message has 1,024 bytes at most, so the counters can take more than one line. */
#define LINE_BYTES 960u
#define COUNTER_BYTES_MAX 64u

void k2i_counters_copy(struct k2i_counters *counters, uint64_t values[K2I_RECEIVER_COUNTER_COUNT])
{
	size_t at = 0;

#define K2I_RECEIVER_COUNTER(name, kind, loss, help)                                                                   \
	values[at++] = atomic_load_explicit(&counters->name, memory_order_relaxed);
#include "app/program/counters.def"
#undef K2I_RECEIVER_COUNTER
}

void k2i_counters_latency(struct k2i_counters *counters, struct k2i_histogram *of, uint64_t chunks, uint64_t written_ns)
{
	uint64_t now_ns = k2i_clock_ns(CLOCK_REALTIME), age_ns = now_ns > written_ns ? now_ns - written_ns : 0;

	k2i_histogram_add(&counters->latency, chunks, age_ns);
	if (of)
		k2i_histogram_add(of, chunks, age_ns);
	if (written_ns > now_ns)
		k2i_count(&counters->early_chunks, chunks);
}

void k2i_counters_log(struct k2i_counters *counters, enum k2hft_log_level level)
{
	const struct k2i_counter_table *table = &k2i_receiver_counter_table;
	uint64_t values[K2I_RECEIVER_COUNTER_COUNT];
	char text[LINE_BYTES] = " all are 0";
	size_t used = 0, at;

	k2i_counters_copy(counters, values);
	for (at = 0; at < table->count && table->counters[at].kind == K2I_COUNTER; at++) {
		if (!values[at])
			continue;
		if (used + COUNTER_BYTES_MAX > sizeof(text)) {
			k2i_log(level, "counters:%s", text);
			used = 0;
		}
		used += (size_t)snprintf(text + used, sizeof(text) - used, " %s=%" PRIu64, table->counters[at].name,
					 values[at]);
	}
	k2i_log(level, "counters:%s", text);
}
