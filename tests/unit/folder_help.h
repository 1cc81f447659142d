/* SPDX-License-Identifier: MIT */
#ifndef K2I_TESTS_UNIT_FOLDER_HELP_H
#define K2I_TESTS_UNIT_FOLDER_HELP_H

/* A folder of the tests of one program, for the set-up and the tear-down of all of them or of each. */
#include "file_help.h"

static char folder[256];

static inline int folder_begin(void **state)
{
	(void)state;
	folder_make(folder, sizeof(folder));
	return 0;
}

static inline int folder_end(void **state)
{
	(void)state;
	folder_remove(folder);
	return 0;
}

#endif
