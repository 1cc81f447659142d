/* SPDX-License-Identifier: MIT */
#include "base/turnstile.h"

#include <errno.h>
#include <stddef.h>

#include "base/caller.h"
#include "base/futex.h"

/* With a time-out the kernel does not go on with the wait by itself after a signal, whatever SA_RESTART says. */
static const struct timespec look_around = {.tv_sec = 1};

void k2i_turnstile_init(struct k2i_turnstile *turnstile)
{
	turnstile->first = turnstile->last = NULL;
	(void)pthread_mutex_init(&turnstile->mutex, NULL);
}

void k2i_turnstile_destroy(struct k2i_turnstile *turnstile)
{
	(void)pthread_mutex_destroy(&turnstile->mutex);
}

/* Whether it is its turn at once. */
static bool place_append(struct k2i_turnstile *turnstile, struct k2i_turnstile_place *place)
{
	bool alone;

	place->next = NULL;
	place->entered = true;
	/* relaxed: nobody knows the place yet. */
	atomic_store_explicit(&place->called, 0, memory_order_relaxed);
	(void)pthread_mutex_lock(&turnstile->mutex);
	alone = !turnstile->first;
	if (alone)
		turnstile->first = place;
	else
		turnstile->last->next = place;
	turnstile->last = place;
	(void)pthread_mutex_unlock(&turnstile->mutex);
	return alone;
}

static void place_remove(struct k2i_turnstile *turnstile, struct k2i_turnstile_place *place)
{
	struct k2i_turnstile_place **link = &turnstile->first, *before = NULL;

	while (*link != place) {
		before = *link;
		link = &before->next;
	}
	*link = place->next;
	if (turnstile->last == place)
		turnstile->last = before;
}

void k2i_turnstile_leave(struct k2i_turnstile *turnstile, struct k2i_turnstile_place *place)
{
	_Atomic(uint32_t) *next = NULL;

	if (!place->entered)
		return;
	place->entered = false;
	(void)pthread_mutex_lock(&turnstile->mutex);
	place_remove(turnstile, place);
	/* Somebody who leaves out of turn calls the first once more, which is harmless. */
	if (turnstile->first) {
		next = &turnstile->first->called;
		atomic_store_explicit(next, 1, memory_order_release);
	}
	(void)pthread_mutex_unlock(&turnstile->mutex);
	/* It may have gone on, and its place be no more: a wake at an address that nobody waits at is none. */
	if (next)
		k2i_futex_wake(next, FUTEX_WAKE_PRIVATE, 1);
}

static int turn_wait(struct k2i_turnstile_place *place)
{
	while (!atomic_load_explicit(&place->called, memory_order_acquire))
		if (k2i_futex(&place->called, FUTEX_WAIT_PRIVATE, 0, &look_around) < 0 && errno == EINTR)
			return -EINTR;
	return 1;
}

int k2i_turnstile_enter(struct k2i_turnstile *turnstile, struct k2i_turnstile_place *place)
{
	int status;
	K2I_ERRNO_KEPT;

	if (place->entered || place_append(turnstile, place))
		return 0;
	status = turn_wait(place);
	if (status < 0)
		k2i_turnstile_leave(turnstile, place);
	return status;
}
