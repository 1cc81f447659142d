/* SPDX-License-Identifier: MIT */
#ifndef K2I_RECEIVER_BASE_COUNTERS_H
#define K2I_RECEIVER_BASE_COUNTERS_H

#include <stdatomic.h>
#include <stdint.h>

#include "app/program/counters.h"
#include "base/log.h"
#include "receiver/base/flow.h"

/*
 * The receiver's counters, one for each line of counters.def. Any thread adds to a counter, which only ever grows;
 * status.c sets the gauges when somebody asks.
 */
struct k2i_counters {
#define K2I_RECEIVER_COUNTER(name, kind, loss, help) atomic_uint_fast64_t name;
#include "app/program/counters.def"
#undef K2I_RECEIVER_COUNTER
	struct k2i_histogram latency;
};

enum {
#define K2I_RECEIVER_COUNTER(name, kind, loss, help) K2I_RECEIVER_##name,
#include "app/program/counters.def"
#undef K2I_RECEIVER_COUNTER
	K2I_RECEIVER_COUNTER_COUNT
};

static inline void k2i_count(atomic_uint_fast64_t *counter, uint64_t add)
{
	/* relaxed: a counter orders nothing else. */
	atomic_fetch_add_explicit(counter, add, memory_order_relaxed);
}

/*
 * Adds committed chunks to the histogram, all with the age of the one that was written first, and to early_chunks if the
 * clock of its host is ahead: nothing is committed before it is written. `of`: the same of their sender, or NULL.
 */
void k2i_counters_latency(struct k2i_counters *counters, struct k2i_histogram *of, uint64_t chunks,
			  uint64_t written_ns);
/* Copies all values in the order of the table. */
void k2i_counters_copy(struct k2i_counters *counters, uint64_t values[K2I_RECEIVER_COUNTER_COUNT]);
/* Writes log lines with all counters that are not 0. Gauges, which stand behind them in the table, are for the status alone. */
void k2i_counters_log(struct k2i_counters *counters, enum k2hft_log_level level);

#endif
