/* SPDX-License-Identifier: MIT */
/* A thread that waits in k2hft_client_drain, for tests of what it waits for. */
#ifndef K2I_TESTS_UNIT_CLIENT_DRAIN_H
#define K2I_TESTS_UNIT_CLIENT_DRAIN_H

#include <pthread.h>

#include "client_peer.h"
#include "client/state.h"

/* Its result points to what drain said. */
static inline void *drain_main(void *argument)
{
	struct fixture *f = argument;
	static int answer;

	answer = k2hft_client_drain(f->client, 20000);
	return &answer;
}

static inline bool somebody_drains(struct fixture *f)
{
	bool somebody;

	(void)pthread_mutex_lock(&f->client->published.lock);
	somebody = f->client->published.drainers > 0;
	(void)pthread_mutex_unlock(&f->client->published.lock);
	return somebody;
}

/* Until it waits. */
static inline void drain_begin(struct fixture *f, pthread_t *thread)
{
	assert_int_equal(pthread_create(thread, NULL, drain_main, f), 0);
	while (!somebody_drains(f))
		(void)poll(NULL, 0, 1);
}

static inline void drain_end(pthread_t thread, int wanted)
{
	void *answer;

	assert_int_equal(pthread_join(thread, &answer), 0);
	assert_int_equal(*(int *)answer, wanted);
}

#endif
