/* SPDX-License-Identifier: MIT */
#ifndef K2I_THREAD_H
#define K2I_THREAD_H

#include <pthread.h>
#include <signal.h>

/* All signals are blocked in it: they are for the threads that the program knows. For join or detach. 0 or -errno. */
static inline int k2i_thread_start(pthread_t *thread, void *(*run)(void *argument), void *argument)
{
	sigset_t all, before;
	int error;

	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(thread, NULL, run, argument);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	return -error;
}

#endif
