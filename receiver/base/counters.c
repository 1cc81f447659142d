/* SPDX-License-Identifier: MIT */
#include "receiver/base/counters.h"

#include <inttypes.h>
#include <stdio.h>

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

void k2i_counters_log(struct k2i_counters *counters, enum k2hft_log_level level)
{
	const struct k2i_counter_table *table = &k2i_receiver_counter_table;
	uint64_t values[K2I_RECEIVER_COUNTER_COUNT];
	char text[LINE_BYTES] = "";
	size_t used = 0, at;

	k2i_counters_copy(counters, values);
	for (at = 0; at < table->count && table->counters[at].kind == K2I_COUNTER; at++) {
		if (used + COUNTER_BYTES_MAX > sizeof(text)) {
			k2i_log(level, "counters:%s", text);
			used = 0;
		}
		used += (size_t)snprintf(text + used, sizeof(text) - used, " %s=%" PRIu64, table->counters[at].name,
					 values[at]);
	}
	k2i_log(level, "counters:%s", text);
}
