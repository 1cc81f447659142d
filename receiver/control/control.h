/* SPDX-License-Identifier: MIT */
#ifndef K2I_RECEIVER_CONTROL_CONTROL_H
#define K2I_RECEIVER_CONTROL_CONTROL_H

#include "config/settings.h"
#include "receiver/control/status.h"

/*
 * CTLPORT: status and metrics by HTTP. It has a thread of its own, so that a request costs the senders nothing and is
 * answered while the loops wait for a disk. Requests read, and change nothing.
 */
struct k2i_control;

/* The most connections at a time: the oldest makes room for the next. */
#define K2I_CONTROL_CLIENTS_MAX 64u

/*
 * Binds where CTLPORT and CTLADDRESS say, which can need privileges; a client that connects is refused as yet.
 * `*control` is NULL if there is no CTLPORT. An error was logged.
 */
int k2i_control_open(const struct k2i_settings *settings, struct k2i_control **control);
/* Listens, says where, and answers from now on; `status` must outlive it. An error was logged. */
int k2i_control_start(struct k2i_control *control, const struct k2i_status *status);
/* NULL is allowed. */
void k2i_control_close(struct k2i_control *control);

#endif
