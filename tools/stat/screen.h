/* SPDX-License-Identifier: MIT */
#ifndef K2I_TOOLS_STAT_SCREEN_H
#define K2I_TOOLS_STAT_SCREEN_H

#include <stdint.h>
#include <stdio.h>

/*
 * The alternate screen of the terminal on standard output, and single keys of standard input if that is one. Signals that
 * end the process restore both. A single thread.
 */
void stat_screen_begin(void);
void stat_screen_end(void);
/* Shows lines of a text, as many as there is room for, and as much of each. */
void stat_screen_show(const char *text);
unsigned stat_screen_columns(void);

enum stat_screen_event { STAT_SCREEN_DUE, STAT_SCREEN_RESIZED, STAT_SCREEN_QUIT };
/* Waits for the end of the pause, another size, or q. */
enum stat_screen_event stat_screen_wait(uint64_t pause_ns);

#endif
