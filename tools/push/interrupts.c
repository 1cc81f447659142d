/* SPDX-License-Identifier: MIT */
#include "tools/push/push.h"

#include <signal.h>
#include <stdatomic.h>

#include "app/program/standard.h"

static atomic_int interrupts;

int push_interrupts(void)
{
	return atomic_load_explicit(&interrupts, memory_order_relaxed);
}

static void interrupted(int number)
{
	/* A terminal that goes says so more than once: itself, and by its shell. */
	if (number != SIGHUP || push_interrupts() == 0)
		atomic_fetch_add_explicit(&interrupts, 1, memory_order_relaxed);
}

void push_signals_set(void)
{
	struct sigaction action = {.sa_handler = interrupted}, before;

	k2i_standard_signals_ignore();
	/* Not SA_RESTART: a read that waits is to end. */
	(void)sigaction(SIGINT, &action, NULL);
	(void)sigaction(SIGTERM, &action, NULL);
	(void)sigaction(SIGQUIT, &action, NULL);
	/* A signal that nohup(1) has turned off stays so. */
	if (sigaction(SIGHUP, NULL, &before) == 0 && before.sa_handler != SIG_IGN)
		(void)sigaction(SIGHUP, &action, NULL);
}
