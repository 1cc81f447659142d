/* SPDX-License-Identifier: MIT */
#ifndef ERRORS_H
#define ERRORS_H

/* A line on standard error, whole whatever other threads write: "k2hft COMMAND: TEXT". */
void command_error(const char *command, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The line behind an error in the arguments: where they are explained. */
void command_help_hint(const char *command);

#endif
