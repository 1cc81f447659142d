/* SPDX-License-Identifier: MIT */
#include "base/log.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/caller.h"
#include "base/clock.h"
#include "base/text.h"

#define TEXT_BYTES 1024u
#define LIMIT_INTERVAL_NS (10 * K2I_SECOND_NS)

void k2i_log(enum k2hft_log_level level, const char *format, ...)
{
	char text[TEXT_BYTES];
	va_list arguments;
	K2I_ERRNO_KEPT;

	va_start(arguments, format);
	(void)vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	k2i_text_controls_mask(text);
	k2hft_log_write(level, text);
}

/* All atomics of a limit are relaxed: one thread gets the line, and nothing else depends on it. */
bool k2i_log_limit_due(struct k2i_log_limit *limit, uint64_t now_ns)
{
	uint64_t next_ns = atomic_load_explicit(&limit->next_ns, memory_order_relaxed);

	if (now_ns >= next_ns &&
	    atomic_compare_exchange_strong_explicit(&limit->next_ns, &next_ns, now_ns + LIMIT_INTERVAL_NS,
						    memory_order_relaxed, memory_order_relaxed)) {
		atomic_store_explicit(&limit->used, 1, memory_order_relaxed);
		return true;
	}
	if (atomic_load_explicit(&limit->used, memory_order_relaxed) < limit->burst &&
	    atomic_fetch_add_explicit(&limit->used, 1, memory_order_relaxed) < limit->burst)
		return true;
	(void)atomic_fetch_add_explicit(&limit->passed_over, 1, memory_order_relaxed);
	return false;
}

void k2i_log_limited(struct k2i_log_limit *limit, uint64_t now_ns, enum k2hft_log_level level, const char *format, ...)
{
	char text[TEXT_BYTES], more[64] = "";
	uint64_t passed_over, last_ns;
	va_list arguments;

	if (!k2i_log_limit_due(limit, now_ns))
		return;
	passed_over = atomic_exchange_explicit(&limit->passed_over, 0, memory_order_relaxed);
	last_ns = atomic_exchange_explicit(&limit->last_ns, now_ns, memory_order_relaxed);
	if (passed_over && now_ns > last_ns)
		(void)snprintf(more, sizeof(more), " (and %" PRIu64 " more in the last %" PRIu64 " s)", passed_over,
			       (now_ns - last_ns) / K2I_SECOND_NS);
	va_start(arguments, format);
	(void)vsnprintf(text, sizeof(text) - sizeof(more), format, arguments);
	va_end(arguments);
	k2i_log(level, "%s%s", text, more);
}
