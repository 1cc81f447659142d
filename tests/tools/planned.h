/* SPDX-License-Identifier: MIT */
/*
 * For libraries of preload.inc: what a test has planned, a file of that name in the folder $PLANS. Each time that it is
 * done, the file gets a line.
 */
#ifndef K2I_TESTS_TOOLS_PLANNED_H
#define K2I_TESTS_TOOLS_PLANNED_H

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static inline int planned(const char *name)
{
	const char *folder = getenv("PLANS");
	char path[4200];
	int file = -1;

	if (folder && snprintf(path, sizeof(path), "%s/%s", folder, name) > 0)
		file = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
	if (file < 0)
		return 0;
	(void)!write(file, "\n", 1);
	(void)close(file);
	return 1;
}

#endif
