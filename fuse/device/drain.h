/* SPDX-License-Identifier: MIT */
#ifndef K2I_FUSE_DEVICE_DRAIN_H
#define K2I_FUSE_DEVICE_DRAIN_H

#include <stdbool.h>

struct k2i_mount;

/* Nobody is to open a file for writing any more, nor to append to one through the page cache. */
bool k2i_drain_wanted(const struct k2i_mount *mount);
/* The mount is to end: takes what the page cache has, then k2i_drain_begin. */
void k2i_drain_ask(struct k2i_mount *mount);
/*
 * The mount ends: takes the mount point away, ends all records, and from here on nothing new is accepted. A successor does
 * it again, as one that died may not have come to its end.
 */
void k2i_drain_begin(struct k2i_mount *mount);
/* Whether there is nothing to wait for any more, or the time is over. Waits a moment. */
bool k2i_drain_done(struct k2i_mount *mount);
/* Says what remains. 0, or -ENODATA: records are lost. */
int k2i_drain_report(struct k2i_mount *mount);

#endif
