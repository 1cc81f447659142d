/* SPDX-License-Identifier: MIT */
#ifndef K2I_FUSE_DEVICE_DRAIN_H
#define K2I_FUSE_DEVICE_DRAIN_H

#include <stdbool.h>
#include <stdint.h>

struct k2i_mount;

struct k2i_drain {
	uint32_t files; /* whose bytes are to be taken before the mount ends, see k2i_drain_ask */
	bool aborted;   /* by the kernel, without an unmount */
	uint64_t deadline_ns;
	uint64_t last_ns; /* when requests are answered no longer although all is acknowledged; 0: it is not yet */
};

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
