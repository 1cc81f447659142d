/* SPDX-License-Identifier: MIT */
/* The sender of libk2hft that a run writes through. */
#include "tools/bench/bench.h"

#include <k2hft/sender.h>

int bench_library_open(const struct bench_run *run, struct k2hft_sender **sender)
{
	const struct k2hft_tls_options tls = {.size = sizeof(tls), .shared_key_path = run->shared_key};
	struct k2hft_sender_options options = {.size = sizeof(options),
					       .ring_bytes = run->point.ring_bytes,
					       .level = K2HFT_LEVEL_RECEIVED + (uint32_t)run->point.level,
					       .compress = (uint32_t)run->point.compress,
					       .tls = run->point.tls ? &tls : NULL};

	struct k2hft_target targets[BENCH_RECEIVERS_MAX];

	for (unsigned number = 0; number < run->point.receivers; number++)
		targets[number] =
			(struct k2hft_target){.host = run->host, .port = run->ports[number], .tls = options.tls};
	if (run->point.receivers > 1) {
		options.targets = targets;
		options.target_count = (uint32_t)run->point.receivers;
		options.tls = NULL;
		options.spread = run->point.way == BENCH_FAILOVER ? K2HFT_SPREAD_HASH : K2HFT_SPREAD_RANDOM;
		options.failover_ms = BENCH_FAILOVERTIME_MS;
	} else {
		options.host = run->host;
		options.port = run->ports[0];
	}
	return k2hft_sender_open(&options, sender);
}
