/* SPDX-License-Identifier: MIT */
#ifndef K2I_TOOLS_BASE_ERRORS_H
#define K2I_TOOLS_BASE_ERRORS_H

#include <k2hft/log.h>

/*
 * Exit status of a command. WRONG: its arguments or a configuration are; FOUND: it has found the bad thing that it
 * looked for.
 */
enum { STATUS_OK = 0, STATUS_FAILED = 1, STATUS_WRONG = 2, STATUS_FOUND = 3 };

/* On a terminal: a line on standard error that takes the place of the one before, and is no wider than it has room. */
void progress_show(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* So that another line can stand there. */
void progress_clear(void);
/*
 * A line on standard error, whole whatever other threads write: "k2hft COMMAND: TEXT", with ? for what a terminal would
 * obey in a file's name.
 */
void command_error(const char *command, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same; returns `status`. */
int command_failed(int status, const char *command, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* For k2hft_log_callback_set: `command` is COMMAND's text. */
void command_log(void *command, enum k2hft_log_level level, const char *text);
/* The library's threads may still log, which is no news from now on: the callback itself must not change under them. */
void command_log_end(void);
/* The line behind an error in the arguments: where they are explained. */
void command_help_hint(const char *command);

#endif
