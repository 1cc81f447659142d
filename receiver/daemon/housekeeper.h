/* SPDX-License-Identifier: MIT */
#ifndef K2I_RECEIVER_DAEMON_HOUSEKEEPER_H
#define K2I_RECEIVER_DAEMON_HOUSEKEEPER_H

#include <pthread.h>
#include <stdbool.h>

#include "receiver/daemon/reloader.h"

/*
 * Two threads for work that no connection asks for: k2i_state_tick once a second, and the reload at SIGHUP. A disk that
 * does not answer stops the one that looks at it, and neither the reload nor the thread that accepts connections and takes
 * signals.
 */
struct k2i_housekeeper {
	struct k2i_state *state;
	struct k2i_reloader *reloader;
	pthread_t ticks, reloads;
	bool ticks_started, reloads_started;
	pthread_cond_t wake;
	pthread_mutex_t mutex; /* guards what follows */
	bool reload, stopping;
};

/* Both must outlive it. Errors as pthread_create(3). */
int k2i_housekeeper_start(struct k2i_housekeeper *housekeeper, struct k2i_state *state, struct k2i_reloader *reloader);
/* Reloads, and returns at once. */
void k2i_housekeeper_reload(struct k2i_housekeeper *housekeeper);
/* Ends the threads, and waits for the disk if they do. Nothing happens if it was not started. */
void k2i_housekeeper_stop(struct k2i_housekeeper *housekeeper);

#endif
