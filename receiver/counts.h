/* SPDX-License-Identifier: MIT */
#ifndef K2I_COUNTS_H
#define K2I_COUNTS_H

#include <stdatomic.h>
#include <stdint.h>

#include "app/program/counters.h"
#include "base/log.h"

/*
 * What the receiver counts: counters.def. A counter is only ever added to, by any thread; a gauge is set by status.c, when
 * somebody asks.
 */
struct k2i_counters {
#define K2I_RECEIVER_COUNTER(name, kind, loss, help) atomic_uint_fast64_t name;
#include "app/program/counters.def"
#undef K2I_RECEIVER_COUNTER
};

enum {
#define K2I_RECEIVER_COUNTER(name, kind, loss, help) K2I_RECEIVER_##name,
#include "app/program/counters.def"
#undef K2I_RECEIVER_COUNTER
	K2I_RECEIVER_COUNTER_COUNT
};

static inline void k2i_count(atomic_uint_fast64_t *counter, uint64_t add)
{
	/* Nothing else is ordered by a counter. */
	atomic_fetch_add_explicit(counter, add, memory_order_relaxed);
}

/* All of them in the order of the table. */
void k2i_counters_copy(struct k2i_counters *counters, uint64_t values[K2I_RECEIVER_COUNTER_COUNT]);
/* Log lines with all counters; gauges, which stand behind them, are for who asks. */
void k2i_counters_log(struct k2i_counters *counters, enum k2hft_log_level level);

#endif
