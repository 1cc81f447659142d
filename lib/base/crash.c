/* SPDX-License-Identifier: MIT */
#include "base/crash.h"

#ifdef K2I_CRASH_POINTS

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define STEPS 32u
#define NAME_BYTES 60u

/* tests/faults/parts/crash.py knows this layout. */
struct plan {
	_Atomic uint32_t step; /* the one that is waited for; each is one death */
	_Atomic uint32_t step_count;
	struct {
		_Atomic uint32_t passes; /* until it happens */
		char point[NAME_BYTES];
	} steps[STEPS];
};

static struct plan *plan;
static pthread_once_t once = PTHREAD_ONCE_INIT;
/* Set before the plan goes on: other threads run on for a moment and must not take its next step for this death. */
static atomic_bool dying;

static void plan_map(void)
{
	const char *path = getenv("K2HFT_CRASH");
	int file = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
	void *mapped =
		file < 0 ? MAP_FAILED : mmap(NULL, sizeof(struct plan), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);

	if (file >= 0)
		(void)close(file);
	if (mapped != MAP_FAILED)
		plan = mapped;
}

void k2i_crash(const char *point)
{
	uint32_t step;

	(void)pthread_once(&once, plan_map);
	if (!plan)
		return;
	step = atomic_load(&plan->step);
	if (step >= atomic_load(&plan->step_count) || step >= STEPS ||
	    strncmp(plan->steps[step].point, point, NAME_BYTES) != 0 || atomic_load(&dying))
		return;
	if (atomic_fetch_sub(&plan->steps[step].passes, 1) != 1)
		return;
	atomic_store(&dying, true);
	atomic_store(&plan->step, step + 1);
	(void)kill(getpid(), SIGKILL);
	/* The signal can come late: this thread goes no further. */
	for (;;)
		(void)pause();
}

#endif
