/* SPDX-License-Identifier: MIT */
/* A thread that waits in k2hft_client_drain, for tests of what it waits for. */
#ifndef TEST_CLIENT_DRAIN_H
#define TEST_CLIENT_DRAIN_H

#include <pthread.h>

#include "client_peer.h"
#include "client_state.h"

/* For pthread_create(3); its result points to what drain said. */
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

	(void)pthread_mutex_lock(&f->client->lock);
	somebody = f->client->drainers > 0;
	(void)pthread_mutex_unlock(&f->client->lock);
	return somebody;
}

#endif
