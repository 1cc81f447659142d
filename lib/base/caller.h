/* SPDX-License-Identifier: MIT */
#ifndef K2I_BASE_CALLER_H
#define K2I_BASE_CALLER_H

#include <errno.h>
#include <pthread.h>

/*
 * State of the caller's thread that a call leaves as it was: each of these, among the declarations of a function, holds
 * until the function returns.
 */

static inline void k2i_errno_restore(const int *before)
{
	errno = *before;
}

static inline int k2i_cancel_disable(void)
{
	int before;

	(void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
	return before;
}

static inline void k2i_cancel_restore(const int *before)
{
	(void)pthread_setcancelstate(*before, NULL);
}

/* Calls of the library return -errno, and leave errno itself alone. */
#define K2I_ERRNO_KEPT __attribute__((cleanup(k2i_errno_restore), unused)) const int errno_before = errno
/* Around cancellation points in the middle of what a thread must not leave as it is. */
#define K2I_CANCEL_DISABLED                                                                                            \
	__attribute__((cleanup(k2i_cancel_restore), unused)) const int cancel_before = k2i_cancel_disable()

#endif
