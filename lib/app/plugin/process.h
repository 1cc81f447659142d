/* SPDX-License-Identifier: MIT */
#ifndef K2I_APP_PLUGIN_PROCESS_H
#define K2I_APP_PLUGIN_PROCESS_H

#include <stdbool.h>
#include <sys/types.h>

#include "app/plugin/command.h"

/* A program that runs, in a process group of its own: its pipes, of which no read or write here waits. */
struct k2i_process {
	pid_t pid;
	int input;         /* its standard input */
	int errors;        /* its standard error */
	size_t pipe_bytes; /* as much its input holds, in full pages */
};

/*
 * Runs it with `output` as its standard output, and signals as a program expects them. Errors as pipe2(2), fork(2) and
 * execve(2).
 */
int k2i_process_start(const struct k2i_plugin_command *command, int output, struct k2i_process *process);
/* Whether it has ended: then it is gone, and `status` as wait(2) has it, -1: nobody knows. */
bool k2i_process_ended(struct k2i_process *process, int *status);
/* To all of its group. */
void k2i_process_signal(const struct k2i_process *process, int number);
/* Bytes that it has not read from its input. */
size_t k2i_process_unread(const struct k2i_process *process);

#endif
