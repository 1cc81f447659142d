/* SPDX-License-Identifier: MIT */
#include "receiver/daemon/housekeeper.h"

#include <errno.h>

#include "base/clock.h"
#include "base/condition.h"
#include "base/thread.h"

/* With the mutex: until the next second, or until there is something to do. */
static void housekeeper_await(struct k2i_housekeeper *housekeeper)
{
	struct timespec until = k2i_timespec(k2i_clock_now_ns() + K2I_SECOND_NS);
	int error = 0;

	while (!housekeeper->reload && !housekeeper->stopping && error != ETIMEDOUT)
		error = pthread_cond_timedwait(&housekeeper->wake, &housekeeper->mutex, &until);
}

static void *housekeeper_run(void *argument)
{
	struct k2i_housekeeper *housekeeper = argument;
	bool reload;

	(void)pthread_mutex_lock(&housekeeper->mutex);
	for (;;) {
		housekeeper_await(housekeeper);
		if (housekeeper->stopping)
			break;
		reload = housekeeper->reload;
		housekeeper->reload = false;
		(void)pthread_mutex_unlock(&housekeeper->mutex);
		if (reload)
			k2i_reloader_run(housekeeper->reloader);
		else
			k2i_state_tick(housekeeper->state);
		(void)pthread_mutex_lock(&housekeeper->mutex);
	}
	(void)pthread_mutex_unlock(&housekeeper->mutex);
	return NULL;
}

int k2i_housekeeper_start(struct k2i_housekeeper *housekeeper, struct k2i_state *state, struct k2i_reloader *reloader)
{
	int error;

	housekeeper->state = state;
	housekeeper->reloader = reloader;
	(void)pthread_mutex_init(&housekeeper->mutex, NULL);
	k2i_condition_init(&housekeeper->wake);
	error = k2i_thread_start(&housekeeper->thread, housekeeper_run, housekeeper);
	housekeeper->started = !error;
	return error;
}

void k2i_housekeeper_reload(struct k2i_housekeeper *housekeeper)
{
	(void)pthread_mutex_lock(&housekeeper->mutex);
	housekeeper->reload = true;
	(void)pthread_cond_signal(&housekeeper->wake);
	(void)pthread_mutex_unlock(&housekeeper->mutex);
}

void k2i_housekeeper_stop(struct k2i_housekeeper *housekeeper)
{
	if (!housekeeper->started)
		return;
	(void)pthread_mutex_lock(&housekeeper->mutex);
	housekeeper->stopping = true;
	(void)pthread_cond_signal(&housekeeper->wake);
	(void)pthread_mutex_unlock(&housekeeper->mutex);
	(void)pthread_join(housekeeper->thread, NULL);
	(void)pthread_cond_destroy(&housekeeper->wake);
	(void)pthread_mutex_destroy(&housekeeper->mutex);
}
