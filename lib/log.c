/* SPDX-License-Identifier: MIT */
#include "log.h"

#include <stdarg.h>
#include <stdio.h>

#define LIMIT_INTERVAL_NS UINT64_C(10000000000)

/* Written before other threads start (the contract of k2hft_log_callback_set), so plain variables are enough. */
static k2hft_log_callback *log_callback;
static void *log_argument;
static enum k2hft_log_level log_level;

void k2hft_log_callback_set(k2hft_log_callback *callback, void *argument, enum k2hft_log_level level)
{
	log_callback = callback;
	log_argument = argument;
	log_level = level;
}

/* A path or a peer's text can hold a line end, and what follows it would look like a message of its own. */
static void line_keep(char *text)
{
	for (; *text; text++) {
		if ((unsigned char)*text < 32 || *text == 127)
			*text = '?';
	}
}

void k2i_log(enum k2hft_log_level level, const char *format, ...)
{
	char text[1024];
	va_list arguments;

	if (!log_callback || level > log_level)
		return;
	va_start(arguments, format);
	(void)vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	line_keep(text);
	log_callback(log_argument, level, text);
}

int k2i_log_limit_due(struct k2i_log_limit *limit, uint64_t now_ns, uint64_t *silent)
{
	limit->count++;
	if (now_ns < limit->next_ns) {
		limit->passed_over++;
		return 0;
	}
	*silent = limit->passed_over;
	limit->passed_over = 0;
	limit->next_ns = now_ns + LIMIT_INTERVAL_NS;
	return 1;
}
