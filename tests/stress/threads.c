/* SPDX-License-Identifier: MIT */
#include "ring_stress.h"

static void *thread_main(void *argument)
{
	struct worker *worker = argument;

	produce(worker->ring, worker);
	return NULL;
}

static void workers_start(struct stress *stress)
{
	for (unsigned at = 0; at < stress->producers; at++)
		REQUIRE(pthread_create(&stress->workers[at].thread, NULL, thread_main, &stress->workers[at]) == 0);
}

static void workers_disturb(struct stress *stress)
{
	REQUIRE(stress->claims_recovered == 0);
}

static void workers_end(struct stress *stress)
{
	/* A thread that waits for room goes on waiting until it is over: nobody needs to read meanwhile. */
	for (unsigned at = 0; at < stress->producers; at++)
		REQUIRE(pthread_join(stress->workers[at].thread, NULL) == 0);
}
