/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "app/program/counters.h"
#include "base/nearest.h"
#include "tools/base/commands.h"

void k2i_counter_nearest_consider(const char *name, const char **best, unsigned *best_distance)
{
	for (size_t table = 0; table < K2I_COUNTER_TABLES; table++)
		for (size_t at = 0; at < k2i_counter_tables[table]->count; at++)
			k2i_nearest_consider(name, k2i_counter_tables[table]->counters[at].name, best, best_distance);
}

/* Also by the name of its metric: k2hft_, that of the table and _ before it, _total behind it. */
static bool counter_named(const struct k2i_counter_table *table, const struct k2i_counter *counter, const char *name)
{
	char metric[128];

	(void)snprintf(metric, sizeof(metric), "k2hft_%s_%s%s", table->program, counter->name,
		       counter->kind == K2I_COUNTER ? "_total" : "");
	return strcmp(counter->name, name) == 0 || strcmp(metric, name) == 0;
}

int k2i_counter_explain(const char *name)
{
	int status = -ENOENT;

	for (size_t table = 0; table < K2I_COUNTER_TABLES; table++) {
		for (size_t at = 0; at < k2i_counter_tables[table]->count; at++) {
			const struct k2i_counter *counter = &k2i_counter_tables[table]->counters[at];

			if (!counter_named(k2i_counter_tables[table], counter, name))
				continue;
			(void)printf("%s, a %s of a %s\n  %s\n", counter->name,
				     counter->kind == K2I_GAUGE ? "gauge" : "counter",
				     k2i_counter_tables[table]->program, counter->help);
			if (counter->loss)
				(void)puts("  Above 0, records are, or may be, missing, there twice, or changed.");
			status = 0;
		}
	}
	if (status == 0)
		(void)puts("k2hft-stat(1) has more.");
	return status;
}
