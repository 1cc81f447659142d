/* SPDX-License-Identifier: MIT */
#ifndef K2I_APP_PROGRAM_RELOAD_H
#define K2I_APP_PROGRAM_RELOAD_H

#include <stdbool.h>
#include <stdint.h>

#include "app/program/report.h"

/*
 * The outcome of reloads, for the status of a program and for `k2hft reload`, which waits until more are done than had begun
 * when it asked. All zero at first.
 */
struct k2i_reload {
	uint64_t begun, done, failed; /* done: of those that begun; failed: of those done */
	uint64_t at_s;                /* when the last was done, since 1970 */
	char error[1024];             /* why the last failed, with file and line; "": it did not */
	char restart[512];            /* keys that it would have changed, and that need a restart */
	char file[1024];              /* the configuration */
};

/* The file in the state directory of a receiver that has the same; `k2hft reload` finds the process by it. */
#define K2I_RELOAD_NAME "reload"

void k2i_reload_begin(struct k2i_reload *reload);
/* `error` says whether it failed; both are logged as AREA's. */
void k2i_reload_end(struct k2i_reload *reload, const char *area);
/* The object "reload". */
void k2i_reload_report(struct k2i_report *report, const struct k2i_reload *reload);

#endif
