/* SPDX-License-Identifier: MIT */
#include "errors.h"

#include <stdarg.h>
#include <stdio.h>

void command_error(const char *command, const char *format, ...)
{
	va_list arguments;

	flockfile(stderr);
	(void)fprintf(stderr, "k2hft %s: ", command);
	va_start(arguments, format);
	(void)vfprintf(stderr, format, arguments);
	va_end(arguments);
	(void)fputc('\n', stderr);
	funlockfile(stderr);
}

void command_help_hint(const char *command)
{
	(void)fprintf(stderr, "Try 'k2hft %s --help'.\n", command);
}
