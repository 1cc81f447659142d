/* SPDX-License-Identifier: MIT */
#include <k2hft/log.h>

#include <stddef.h>

#include "base/caller.h"

/*
 * libk2hft alone has this file. The programs and libk2hft-config compile base/log.c in as well, and all of them reach
 * the callback through k2hft_log_write, so that a process has it once.
 */

/* The contract of k2hft_log_callback_set has them written before other threads start: plain variables are enough. */
static k2hft_log_callback *log_callback;
static void *log_argument;
static enum k2hft_log_level log_level;

void k2hft_log_callback_set(k2hft_log_callback *callback, void *argument, enum k2hft_log_level level)
{
	log_callback = callback;
	log_argument = argument;
	log_level = level;
}

void k2hft_log_write(enum k2hft_log_level level, const char *text)
{
	/* The callback may write to a file, under locks of its own. */
	K2I_CANCEL_DISABLED;
	K2I_ERRNO_KEPT;

	if (log_callback && level <= log_level)
		log_callback(log_argument, level, text);
}
