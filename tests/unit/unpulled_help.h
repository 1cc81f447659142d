/* SPDX-License-Identifier: MIT */
#ifndef K2I_TESTS_UNIT_UNPULLED_HELP_H
#define K2I_TESTS_UNIT_UNPULLED_HELP_H

/* In place of fuse/cached/writeback_pull.c, for one test program: a page cache that has nothing. */
#include "fuse/cached/writeback_pull.h"

void k2i_pull_cut_done(struct k2i_mount *mount, uint32_t node)
{
	(void)mount;
	(void)node;
}

void k2i_pull_pass_hole(struct k2i_mount *mount, struct k2i_cached_file *file)
{
	(void)mount;
	(void)file;
}

bool k2i_pull_holds_file(const struct k2i_mount *mount, uint64_t node)
{
	(void)mount;
	(void)node;
	return false;
}

bool k2i_pull_leave(const struct k2i_mount *mount, const struct k2i_cached_file *file)
{
	(void)mount;
	(void)file;
	return true;
}

#endif
