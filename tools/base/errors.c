/* SPDX-License-Identifier: MIT */
#include "tools/base/errors.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/log.h"
#include "base/text.h"

#define LINE_ROOM 512
#define MESSAGE_ROOM 8192 /* two paths */

/* The lock of stderr guards it. relaxed, all of it: that lock orders it, but no sanitizer knows of such locks. */
static atomic_bool progress_stands;

/* A line that wraps could not be written over: the terminal's width is all that is shown of it. */
void progress_show(const char *format, ...)
{
	struct winsize window = {0};
	char line[LINE_ROOM];
	va_list arguments;
	int most = LINE_ROOM;

	va_start(arguments, format);
	(void)vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 0)
		most = window.ws_col - 1;
	flockfile(stderr);
	(void)fprintf(stderr, "\r%.*s\033[K", most, line);
	(void)fflush(stderr);
	atomic_store_explicit(&progress_stands, true, memory_order_relaxed);
	funlockfile(stderr);
}

void progress_clear(void)
{
	flockfile(stderr);
	if (atomic_exchange_explicit(&progress_stands, false, memory_order_relaxed))
		(void)fputs("\r\033[K", stderr);
	funlockfile(stderr);
}

__attribute__((format(printf, 2, 0))) static void line_write(const char *command, const char *format, va_list arguments)
{
	char text[MESSAGE_ROOM];

	(void)vsnprintf(text, sizeof(text), format, arguments);
	k2i_text_controls_mask(text);
	flockfile(stderr);
	progress_clear();
	(void)fprintf(stderr, "k2hft %s: %s\n", command, text);
	funlockfile(stderr);
}

void command_error(const char *command, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	line_write(command, format, arguments);
	va_end(arguments);
}

int command_failed(int status, const char *command, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	line_write(command, format, arguments);
	va_end(arguments);
	return status;
}

static atomic_bool log_ended;

void command_log(void *command, enum k2hft_log_level level, const char *text)
{
	(void)level;
	/* relaxed: a message more or less. */
	if (!atomic_load_explicit(&log_ended, memory_order_relaxed))
		command_error(command, "%s", text);
}

void command_log_end(void)
{
	atomic_store_explicit(&log_ended, true, memory_order_relaxed);
}

void command_help_hint(const char *command)
{
	(void)fprintf(stderr, "Try 'k2hft %s --help'.\n", command);
}
