/* SPDX-License-Identifier: MIT */
#ifndef K2I_TOOLS_CHECK_CONNECT_H
#define K2I_TOOLS_CHECK_CONNECT_H

#include "config/settings.h"

/*
 * Reports each receiver that doesn't greet a sender of these settings, which are of `file`, within 5 seconds; and for a
 * receiver's own, ports that can't be bound and directories that this user can't write in.
 */
void k2i_check_connect(const struct k2i_settings *settings, const char *file, k2i_settings_report *report,
		       void *argument);

#endif
