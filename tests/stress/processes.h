/* SPDX-License-Identifier: MIT */
#ifndef K2I_TESTS_STRESS_PROCESSES_H
#define K2I_TESTS_STRESS_PROCESSES_H

#include "ring_stress.h"

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
