/* SPDX-License-Identifier: MIT */
#ifndef K2I_APP_PROGRAM_FINDINGS_H
#define K2I_APP_PROGRAM_FINDINGS_H

#include "config/settings.h"

/*
 * All that is wrong or doubtful in a configuration file: what k2i_settings_check finds, and patterns, NAMEs of SLVNODE,
 * formats and directories. `k2hft check` prints this list, and a start logs it. Returns as k2i_settings_check.
 */
int k2i_findings_collect(const char *file, k2i_settings_report *report, void *argument, struct k2i_settings **settings);

/*
 * For a start and a reload: logs errors and warnings, and how many keys have no effect. Directories are left to the start,
 * which may be tried again. -EINVAL there was an error, or as k2i_settings_load; all logged, and the first error is in
 * `first`, with file and line. `*settings` is there after 0 only.
 */
int k2i_findings_log(const char *file, struct k2i_settings **settings, char *first, size_t first_room);

#endif
