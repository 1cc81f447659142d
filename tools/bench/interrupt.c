/* SPDX-License-Identifier: MIT */
/* Interrupts end a run, but not at once: its processes are ended in order. */
#include "tools/bench/bench.h"

#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

static atomic_int interrupts;

static void interrupted(int number)
{
	if (number != SIGALRM)
		atomic_fetch_add_explicit(&interrupts, 1, memory_order_relaxed);
	/* Again and again: one that comes just before a call that waits would not end it. */
	(void)alarm(1);
}

int bench_interrupted(void)
{
	return atomic_load_explicit(&interrupts, memory_order_relaxed);
}

void bench_signals_catch(void)
{
	static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGALRM};
	/* Not SA_RESTART: what waits is to end. */
	struct sigaction action = {.sa_handler = interrupted}, before;
	unsigned number;

	/* A signal that nohup(1) has turned off stays so. */
	for (number = 0; number < sizeof(numbers) / sizeof(numbers[0]); number++)
		if (sigaction(numbers[number], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
			(void)sigaction(numbers[number], &action, NULL);
	/* A sender that is gone must not end this process. */
	(void)signal(SIGPIPE, SIG_IGN);
}
