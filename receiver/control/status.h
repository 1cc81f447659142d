/* SPDX-License-Identifier: MIT */
#ifndef K2I_RECEIVER_CONTROL_STATUS_H
#define K2I_RECEIVER_CONTROL_STATUS_H

#include <pthread.h>
#include <stdbool.h>

#include "receiver/connection/service.h"
#include "app/program/reload.h"

/* The report of a receiver. Any thread; waits for no loop and no disk. */
struct k2i_status {
	struct k2i_service *service;
	const struct k2i_reload *reload;
	pthread_mutex_t *reload_mutex; /* guards it */
	uint64_t started_ns;
};

/* The longest list of connections, and of files. Counters count all. */
#define K2I_STATUS_LISTED_MAX 4096u

/* False while records of a connection can't be written, or a sink can't take them. */
bool k2i_status_healthy(const struct k2i_status *status);
void k2i_status_json(const struct k2i_status *status, struct k2i_report *report);
void k2i_status_metrics(const struct k2i_status *status, struct k2i_report *report);

#endif
