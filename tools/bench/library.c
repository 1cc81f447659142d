/* SPDX-License-Identifier: MIT */
/* The sender of libk2hft that a run writes through. */
#include "tools/bench/bench.h"

#include <k2hft/sender.h>

int bench_library_open(const struct bench_run *run, struct k2hft_sender **sender)
{
	const struct k2hft_tls_options tls = {.size = sizeof(tls), .shared_key_path = run->shared_key};
	struct k2hft_sender_options options = {.size = sizeof(options),
					       .host = run->host,
					       .port = run->port,
					       .ring_bytes = run->point.ring_bytes,
					       .level = K2HFT_LEVEL_RECEIVED + (uint32_t)run->point.level,
					       .compress = (uint32_t)run->point.compress,
					       .tls = run->point.tls ? &tls : NULL};

	return k2hft_sender_open(&options, sender);
}
