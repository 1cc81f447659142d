/* SPDX-License-Identifier: MIT */
#ifndef K2I_APP_PROGRAM_STANDARD_H
#define K2I_APP_PROGRAM_STANDARD_H

#include <stdio.h>

/*
 * For the begin of a program, which can be started with standard input, output or error closed: takes those numbers, so
 * that no file or socket gets one and then what is meant for the terminal. As before, nothing can be read or written
 * there. And with SIGCHLD ignored or signals blocked, as whoever started it may do: it would not hear of its children's
 * ends, and nothing but SIGKILL would end it.
 * 0, or -errno of /dev/null, with a message.
 */
int k2i_standard_keep(void);

/*
 * For what has records that wait: signals with another meaning than an end, which would end it at once, are ignored, in its
 * children, too. Before it sets handlers for any of them.
 */
void k2i_standard_signals_ignore(void);

/* For the end of what prints: 0, or -errno if not all could be written to `output`, which is stdout, with a message. */
int k2i_standard_flush(FILE *output, const char *program);

#endif
