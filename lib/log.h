/* SPDX-License-Identifier: MIT */
#ifndef K2I_LOG_H
#define K2I_LOG_H

#include <stdint.h>

#include <k2hft/log.h>

/*
 * One line to the callback of k2hft_log_callback_set, if it wants that level. No line end; begins "subsystem: ". Control
 * characters, which only what is quoted can have, come out as '?'.
 */
void k2i_log(enum k2hft_log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * For events that can come by the thousand: true at the first and then at most once in ten seconds. `*count` grows with
 * each call and `*silent` gets how many were passed over since the last line. One limiter for one place in the code.
 */
struct k2i_log_limit {
	uint64_t next_ns, count, passed_over;
};
int k2i_log_limit_due(struct k2i_log_limit *limit, uint64_t now_ns, uint64_t *silent);

#endif
