/* SPDX-License-Identifier: MIT */
#ifndef K2I_APP_PLUGIN_RUN_H
#define K2I_APP_PLUGIN_RUN_H

#include <stdatomic.h>

#include "app/plugin/command.h"

/*
 * Runs a program once, with one more argument behind its own, and waits for its end: nothing on its standard input, and
 * its messages go to the log. `stop` ends it. Its status, which is 1 if a signal has ended it; or errors as pipe2(2),
 * fork(2) and execve(2).
 */
int k2i_plugin_run(const struct k2i_plugin_command *command, const char *last_argument, const char *area,
		   const atomic_bool *stop);

#endif
