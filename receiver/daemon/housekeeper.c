/* SPDX-License-Identifier: MIT */
#include "receiver/daemon/housekeeper.h"

#include <errno.h>

#include "base/clock.h"
#include "base/condition.h"
#include "base/thread.h"

/* With the mutex: until the next second, or the end. */
static void second_await(struct k2i_housekeeper *housekeeper)
{
	struct timespec until = k2i_timespec(k2i_clock_now_ns() + K2I_SECOND_NS);
	int error = 0;

	while (!housekeeper->stopping && error != ETIMEDOUT)
		error = pthread_cond_timedwait(&housekeeper->wake, &housekeeper->mutex, &until);
}

static void *ticks_run(void *argument)
{
	struct k2i_housekeeper *housekeeper = argument;

	(void)pthread_mutex_lock(&housekeeper->mutex);
	for (second_await(housekeeper); !housekeeper->stopping; second_await(housekeeper)) {
		(void)pthread_mutex_unlock(&housekeeper->mutex);
		k2i_state_tick(housekeeper->state);
		(void)pthread_mutex_lock(&housekeeper->mutex);
	}
	(void)pthread_mutex_unlock(&housekeeper->mutex);
	return NULL;
}

/* With the mutex: until there is something to do. */
static void reload_await(struct k2i_housekeeper *housekeeper)
{
	while (!housekeeper->reload && !housekeeper->stopping)
		(void)pthread_cond_wait(&housekeeper->wake, &housekeeper->mutex);
}

static void *reloads_run(void *argument)
{
	struct k2i_housekeeper *housekeeper = argument;

	(void)pthread_mutex_lock(&housekeeper->mutex);
	for (reload_await(housekeeper); !housekeeper->stopping; reload_await(housekeeper)) {
		housekeeper->reload = false;
		(void)pthread_mutex_unlock(&housekeeper->mutex);
		k2i_reloader_run(housekeeper->reloader);
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
	error = k2i_thread_start(&housekeeper->ticks, ticks_run, housekeeper);
	housekeeper->ticks_started = !error;
	if (!error)
		error = k2i_thread_start(&housekeeper->reloads, reloads_run, housekeeper);
	housekeeper->reloads_started = !error;
	return error;
}

void k2i_housekeeper_reload(struct k2i_housekeeper *housekeeper)
{
	(void)pthread_mutex_lock(&housekeeper->mutex);
	housekeeper->reload = true;
	(void)pthread_cond_broadcast(&housekeeper->wake);
	(void)pthread_mutex_unlock(&housekeeper->mutex);
}

void k2i_housekeeper_stop(struct k2i_housekeeper *housekeeper)
{
	if (!housekeeper->ticks_started)
		return;
	(void)pthread_mutex_lock(&housekeeper->mutex);
	housekeeper->stopping = true;
	(void)pthread_cond_broadcast(&housekeeper->wake);
	(void)pthread_mutex_unlock(&housekeeper->mutex);
	(void)pthread_join(housekeeper->ticks, NULL);
	if (housekeeper->reloads_started)
		(void)pthread_join(housekeeper->reloads, NULL);
	(void)pthread_cond_destroy(&housekeeper->wake);
	(void)pthread_mutex_destroy(&housekeeper->mutex);
}
