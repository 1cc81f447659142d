/* SPDX-License-Identifier: MIT */
#ifndef K2I_BASE_THREAD_H
#define K2I_BASE_THREAD_H

#include <pthread.h>
#include <signal.h>
#include <stddef.h>

/* For compression, TLS, and what looks names up, which can be anybody's module. */
#define K2I_THREAD_STACK_BYTES_MIN ((size_t)256 * 1024)

/* The program's own choice (ulimit -s, pthread_setattr_default_np(3)), unless that is too small a stack. 0 or -errno. */
static inline int k2i_thread_attributes(pthread_attr_t *attributes)
{
	size_t stack_bytes = 0;
	int error = pthread_getattr_default_np(attributes);

	if (error)
		return -error;
	(void)pthread_attr_getstacksize(attributes, &stack_bytes);
	if (stack_bytes < K2I_THREAD_STACK_BYTES_MIN)
		(void)pthread_attr_setstacksize(attributes, K2I_THREAD_STACK_BYTES_MIN);
	return 0;
}

/* All signals are blocked in it: they are for the threads that the program knows. For join or detach. 0 or -errno. */
static inline int k2i_thread_start(pthread_t *thread, void *(*run)(void *argument), void *argument)
{
	pthread_attr_t attributes;
	sigset_t all, before;
	int error = k2i_thread_attributes(&attributes);

	if (error)
		return error;
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(thread, &attributes, run, argument);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	(void)pthread_attr_destroy(&attributes);
	return -error;
}

#endif
