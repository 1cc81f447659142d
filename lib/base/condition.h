/* SPDX-License-Identifier: MIT */
#ifndef K2I_BASE_CONDITION_H
#define K2I_BASE_CONDITION_H

#include <pthread.h>
#include <time.h>

/* A condition whose waits end by CLOCK_MONOTONIC. Nothing of it is allocated, and so nothing can fail. */
static inline void k2i_condition_init(pthread_cond_t *condition)
{
	pthread_condattr_t attributes;

	(void)pthread_condattr_init(&attributes);
	(void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	(void)pthread_cond_init(condition, &attributes);
	(void)pthread_condattr_destroy(&attributes);
}

#endif
