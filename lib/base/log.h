/* SPDX-License-Identifier: MIT */
#ifndef K2I_BASE_LOG_H
#define K2I_BASE_LOG_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <k2hft/log.h>

/*
 * A line to the callback of k2hft_log_callback_set, if it wants that level. No line end; begins "subsystem: ". Control
 * characters, which only what is quoted can have, come out as '?'.
 */
void k2i_log(enum k2hft_log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * For events that can come by the thousand, and that a counter counts: one limiter for one place in the code, zero at
 * first, for any number of threads. `now_ns`: CLOCK_MONOTONIC.
 */
struct k2i_log_limit {
	_Atomic uint64_t next_ns, last_ns, passed_over;
	_Atomic uint32_t used;
	uint32_t burst; /* lines in ten seconds, where each can be about something else; 0: one */
};
/*
 * k2i_log at the first event and then at most once (or `burst` times) in ten seconds, with " (and N more in the last S s)"
 * behind it.
 */
void k2i_log_limited(struct k2i_log_limit *limit, uint64_t now_ns, enum k2hft_log_level level, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
/* For what is not a line of its own: whether it is time for one. It counts as passed over if not. */
bool k2i_log_limit_due(struct k2i_log_limit *limit, uint64_t now_ns);

#endif
