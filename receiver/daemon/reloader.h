/* SPDX-License-Identifier: MIT */
#ifndef K2I_RECEIVER_DAEMON_RELOADER_H
#define K2I_RECEIVER_DAEMON_RELOADER_H

#include <pthread.h>

#include "app/program/reload.h"
#include "receiver/connection/acceptor.h"
#include "receiver/daemon/state.h"

/*
 * Reads the configuration again: all of it is in use afterwards, or nothing has changed. Connections stay; what a HELLO
 * grants, and TLS, concern those that come.
 */
struct k2i_reloader {
	const char *config;            /* as the command line has it */
	struct k2i_settings *first;    /* that the parts were opened with, which point to them */
	struct k2i_settings *settings; /* in use */
	struct k2i_service *service;
	struct k2i_loops *loops;
	struct k2i_state *state;
	size_t connections_max; /* that the limit of open files allows */
	pthread_mutex_t mutex;  /* guards what follows */
	struct k2i_reload reload;
};

/* Begins with `settings`, which are its own from then on. */
void k2i_reloader_start(struct k2i_reloader *reloader, const char *config, struct k2i_settings *settings);
/* Says in STATEDIR which process it is; the other fields are set. */
void k2i_reloader_tell(const struct k2i_reloader *reloader);
/* On the thread for reloads, see housekeeper.h. */
void k2i_reloader_run(struct k2i_reloader *reloader);
void k2i_reloader_end(struct k2i_reloader *reloader);

#endif
