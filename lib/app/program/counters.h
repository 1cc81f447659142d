/* SPDX-License-Identifier: MIT */
#ifndef K2I_APP_PROGRAM_COUNTERS_H
#define K2I_APP_PROGRAM_COUNTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <k2hft/ring.h>

/* counters.def as data: for each program, in the order of the file. */
enum k2i_counter_kind { K2I_COUNTER, K2I_GAUGE };

struct k2i_counter {
	const char *name;
	enum k2i_counter_kind kind;
	bool loss;
	const char *help;
};

struct k2i_counter_table {
	const char *program; /* its word in names of metrics */
	const struct k2i_counter *counters;
	size_t count;
};

extern const struct k2i_counter_table k2i_receiver_counter_table, k2i_mount_counter_table, k2i_ring_counter_table;
#define K2I_COUNTER_TABLES 3u
extern const struct k2i_counter_table *const k2i_counter_tables[K2I_COUNTER_TABLES];

enum {
#define K2I_RING_COUNTER(name, value, kind, loss, help) K2I_RING_COUNTER_##name,
#include "app/program/counters.def"
#undef K2I_RING_COUNTER
	K2I_RING_COUNTER_COUNT
};
/* A ring's counters in the order of the table. */
void k2i_ring_counters_get(const struct k2hft_ring_stats *stats, uint64_t values[K2I_RING_COUNTER_COUNT]);

/* All tables as tab-separated lines: program, name, counter or gauge, loss or fine, help. -EIO */
int k2i_counters_print(FILE *output);

#endif
