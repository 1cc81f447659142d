/* SPDX-License-Identifier: MIT */
#ifndef K2I_BASE_FUTEX_H
#define K2I_BASE_FUTEX_H

#include <linux/futex.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/caller.h"

/* The older call takes seconds of the size of long, and 32-bit systems can have longer ones. */
#ifdef SYS_futex_time64
#define K2I_FUTEX_NUMBER (sizeof(time_t) > sizeof(long) ? SYS_futex_time64 : SYS_futex)
#else
#define K2I_FUTEX_NUMBER SYS_futex
#endif

/* futex(2). `timeout`: of FUTEX_WAIT from now, of FUTEX_WAIT_BITSET by CLOCK_MONOTONIC. */
static inline long k2i_futex(_Atomic uint32_t *word, int operation, uint32_t value, const struct timespec *timeout)
{
	return syscall(K2I_FUTEX_NUMBER, word, operation, value, timeout, NULL, FUTEX_BITSET_MATCH_ANY);
}

/* Up to `count` who wait. Where a filter of system calls refuses it, nobody is told: errno, too, is left as it was. */
static inline void k2i_futex_wake(_Atomic uint32_t *word, int operation, uint32_t count)
{
	K2I_ERRNO_KEPT;

	(void)k2i_futex(word, operation, count, NULL);
}

#endif
