/* SPDX-License-Identifier: MIT */
#ifndef K2I_BASE_TURNSTILE_H
#define K2I_BASE_TURNSTILE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Lets threads of a process through one by one, in the order in which they came. A single thread of many that need room
 * in a ring waits for it: each acknowledgement would wake all of them otherwise, for a room that a few can use.
 */
struct k2i_turnstile {
	pthread_mutex_t mutex;
	struct k2i_turnstile_place *first, *last; /* first: it is its turn */
};

/* A thread that waits, or whose turn it is; {0}: neither. On its thread's stack. */
struct k2i_turnstile_place {
	struct k2i_turnstile_place *next;
	_Atomic(uint32_t) called;
	bool entered;
};

void k2i_turnstile_init(struct k2i_turnstile *turnstile);
void k2i_turnstile_destroy(struct k2i_turnstile *turnstile);

/* Waits for the turn, which lasts until leave. 0 at once if it is its turn, 1 after a wait; -EINTR: it has left. */
int k2i_turnstile_enter(struct k2i_turnstile *turnstile, struct k2i_turnstile_place *place);

/* Nothing happens if it has not entered. */
void k2i_turnstile_leave(struct k2i_turnstile *turnstile, struct k2i_turnstile_place *place);

#endif
