/* SPDX-License-Identifier: MIT */
#ifndef K2I_BASE_CLOCK_H
#define K2I_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

#define K2I_MILLISECOND_NS UINT64_C(1000000)
#define K2I_SECOND_NS UINT64_C(1000000000)

/* Loops and waits ask the clock and hand the time down: the floors below them get it as an argument. */
static inline uint64_t k2i_clock_ns(clockid_t clock)
{
	struct timespec now;

	(void)clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * K2I_SECOND_NS + (uint64_t)now.tv_nsec;
}

/* The clock of time limits, which no change of the date moves. */
static inline uint64_t k2i_clock_now_ns(void)
{
	return k2i_clock_ns(CLOCK_MONOTONIC);
}

static inline struct timespec k2i_timespec(uint64_t ns)
{
	return (struct timespec){.tv_sec = (time_t)(ns / K2I_SECOND_NS), .tv_nsec = (long)(ns % K2I_SECOND_NS)};
}

#endif
