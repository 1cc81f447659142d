/* SPDX-License-Identifier: MIT */
#ifndef STRESS_PROCESSES_H
#define STRESS_PROCESSES_H

#include "ring_stress.h"

static inline void process_start(struct worker *worker)
{
	worker->process = fork();
	REQUIRE(worker->process >= 0);
	if (worker->process == 0) {
		struct k2hft_ring *attached;

		REQUIRE(k2hft_ring_attach(worker->stress->link, &attached) == 0);
		produce(attached, worker);
		k2hft_ring_close(attached);
		_exit(0);
	}
}

static void workers_start(struct stress *stress)
{
	for (unsigned at = 0; at < stress->producers; at++)
		process_start(&stress->workers[at]);
}

static void workers_end(struct stress *stress)
{
	for (unsigned at = 0; at < stress->producers; at++) {
		int status;

		REQUIRE(waitpid(stress->workers[at].process, &status, 0) == stress->workers[at].process);
		REQUIRE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	}
}

#endif
