/* SPDX-License-Identifier: MIT */
#ifndef K2I_TESTS_UNIT_UNCACHED_HELP_H
#define K2I_TESTS_UNIT_UNCACHED_HELP_H

/* As unpulled_help.h, whole: nothing goes through the page cache. */
#include "unpulled_help.h"

void k2i_pull_before(struct k2i_mount *mount, uint32_t node, k2i_pull_then *then, void *argument)
{
	(void)node;
	then(mount, argument);
}

#endif
