/* SPDX-License-Identifier: MIT */
/*
 * For libraries of preload.inc, in place of libc's: the second that the keeper waits before it tries again, and what it
 * waits before that, takes a twentieth of its time or less.
 */
#ifndef K2I_TESTS_TOOLS_SHORT_PAUSES_H
#define K2I_TESTS_TOOLS_SHORT_PAUSES_H

#include <time.h>

int nanosleep(const struct timespec *wanted, struct timespec *left)
{
	struct timespec shorter = {.tv_nsec = wanted->tv_sec ? 20000000 : wanted->tv_nsec / 20};

	return clock_nanosleep(CLOCK_MONOTONIC, 0, &shorter, left) ? -1 : 0;
}

#endif
