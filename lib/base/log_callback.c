/* SPDX-License-Identifier: MIT */
#include <k2hft/log.h>

#include <errno.h>
#include <stddef.h>

#include "base/cancel.h"

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
	int kept = errno, cancel_state;

	if (!log_callback || level > log_level)
		return;
	/* The callback may write to a file, under locks of its own. */
	cancel_state = k2i_cancel_disable();
	log_callback(log_argument, level, text);
	k2i_cancel_restore(cancel_state);
	errno = kept;
}
