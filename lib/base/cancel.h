/* SPDX-License-Identifier: MIT */
#ifndef K2I_BASE_CANCEL_H
#define K2I_BASE_CANCEL_H

#include <pthread.h>

/* Around calls that are cancellation points, in the middle of what a thread must not leave as it is. */
static inline int k2i_cancel_disable(void)
{
	int before;

	(void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
	return before;
}

static inline void k2i_cancel_restore(int before)
{
	(void)pthread_setcancelstate(before, NULL);
}

#endif
