/* SPDX-License-Identifier: MIT */
#ifndef K2I_CONTROL_H
#define K2I_CONTROL_H

#include "settings.h"
#include "status.h"

/*
 * CTLPORT: status and metrics by HTTP, on a thread of its own, so that whoever asks costs the senders nothing and is
 * answered while the loops wait for a disk. It reads; nothing can be changed through it.
 */
struct k2i_control;

/* The most connections at a time: the oldest makes room for the next. */
#define K2I_CONTROL_CLIENTS_MAX 64u

/*
 * Listens where CTLPORT and CTLADDRESS say, which can need privileges; `*control` is NULL if there is no CTLPORT. An error
 * was logged.
 */
int k2i_control_open(const struct k2i_settings *settings, struct k2i_control **control);
/* Answers from now on; `status` must outlive it. As pthread_create(3). */
int k2i_control_start(struct k2i_control *control, const struct k2i_status *status);
/* NULL is allowed. */
void k2i_control_close(struct k2i_control *control);

#endif
