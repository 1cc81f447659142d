/* SPDX-License-Identifier: MIT */
#include "counters.h"

#include <inttypes.h>
#include <stdio.h>

void k2i_counters_log(struct k2i_counters *counters, enum k2hft_log_level level)
{
	char text[2000] = "";
	size_t used = 0;

#define K2I_COUNTER_PRINT(name, meaning)                                                                               \
	if (used < sizeof(text))                                                                                       \
		used += (size_t)snprintf(text + used, sizeof(text) - used, " %s=%" PRIuFAST64, #name,                  \
					 atomic_load_explicit(&counters->name, memory_order_relaxed));
	K2I_COUNTERS(K2I_COUNTER_PRINT)
#undef K2I_COUNTER_PRINT
	k2i_log(level, "counters:%s", text);
}
