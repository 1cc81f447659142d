/* SPDX-License-Identifier: MIT */
#ifndef K2I_RECEIVER_DAEMON_RECEIVER_H
#define K2I_RECEIVER_DAEMON_RECEIVER_H

#include "receiver/daemon/options.h"
#include "config/settings.h"

/* The whole receiver: built from a configuration, run until a signal ends it, then taken down. */
struct k2i_receiver;

#define K2I_EXIT_FAILED 1
#define K2I_EXIT_CONFIGURATION 2

/*
 * 0, or the exit status after an error that was logged. `options` must outlive the receiver; the settings are its own, also
 * after an error.
 */
int k2i_receiver_open(struct k2i_settings *settings, const struct k2i_options *options, struct k2i_receiver **receiver);
/* Until SIGTERM or SIGINT. */
void k2i_receiver_run(struct k2i_receiver *receiver);
/* The exit status. NULL is allowed. */
int k2i_receiver_close(struct k2i_receiver *receiver);

#endif
