/* SPDX-License-Identifier: MIT */
#include "processes.h"

/* Kills one of the producers in any state and starts it again, as its next life. */
static void workers_disturb(struct stress *stress)
{
	struct worker *worker = &stress->workers[random_next(&stress->random) % stress->producers];
	int status;

	if (random_next(&stress->random) % 8)
		return;
	REQUIRE(kill(worker->process, SIGKILL) == 0);
	REQUIRE(waitpid(worker->process, &status, 0) == worker->process);
	REQUIRE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	worker->life++;
	stress->kills++;
	process_start(worker);
}
