/* SPDX-License-Identifier: MIT */
#include "app/program/counters.h"

#include <errno.h>

#define FINE false
#define LOSS true
#define ENTRY(name, kind, loss, help) {#name, K2I_##kind, loss, help},
#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static const struct k2i_counter receiver_counters[] = {
#define K2I_RECEIVER_COUNTER ENTRY
#include "app/program/counters.def"
#undef K2I_RECEIVER_COUNTER
};

static const struct k2i_counter mount_counters[] = {
#define K2I_MOUNT_COUNTER ENTRY
#include "app/program/counters.def"
#undef K2I_MOUNT_COUNTER
};

static const struct k2i_counter ring_counters[] = {
#define K2I_RING_COUNTER(name, value, kind, loss, help) ENTRY(name, kind, loss, help)
#include "app/program/counters.def"
#undef K2I_RING_COUNTER
};

const struct k2i_counter_table k2i_receiver_counter_table = {"receiver", receiver_counters, COUNT(receiver_counters)};
const struct k2i_counter_table k2i_mount_counter_table = {"mount", mount_counters, COUNT(mount_counters)};
const struct k2i_counter_table k2i_ring_counter_table = {"ring", ring_counters, COUNT(ring_counters)};

const struct k2i_counter_table *const k2i_counter_tables[K2I_COUNTER_TABLES] = {
	&k2i_receiver_counter_table, &k2i_mount_counter_table, &k2i_ring_counter_table};

/* Read one by one while the ring is in use: what comes later can be less. */
static uint64_t behind(uint64_t more, uint64_t less)
{
	return more > less ? more - less : 0;
}

void k2i_ring_counters_get(const struct k2hft_ring_stats *stats, uint64_t values[K2I_RING_COUNTER_COUNT])
{
	size_t at = 0;

#define K2I_RING_COUNTER(name, value, kind, loss, help) values[at++] = value;
#include "app/program/counters.def"
#undef K2I_RING_COUNTER
}

int k2i_counters_print(FILE *output)
{
	for (size_t number = 0; number < K2I_COUNTER_TABLES; number++) {
		for (size_t at = 0; at < k2i_counter_tables[number]->count; at++) {
			const struct k2i_counter *counter = &k2i_counter_tables[number]->counters[at];

			(void)fprintf(output, "%s\t%s\t%s\t%s\t%s\n", k2i_counter_tables[number]->program,
				      counter->name, counter->kind == K2I_GAUGE ? "gauge" : "counter",
				      counter->loss ? "loss" : "fine", counter->help);
		}
	}
	return ferror(output) ? -EIO : 0;
}
