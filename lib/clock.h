/* SPDX-License-Identifier: MIT */
#ifndef K2I_CLOCK_H
#define K2I_CLOCK_H

#include <stdint.h>
#include <time.h>

/* For those who hand the time to the ring and the batch, which ask no clock. */
static inline uint64_t k2i_clock_ns(clockid_t clock)
{
	struct timespec now;

	(void)clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

#endif
