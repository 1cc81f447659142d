/* SPDX-License-Identifier: MIT */
#ifndef K2I_FUSE_CACHED_CACHE_DROP_H
#define K2I_FUSE_CACHED_CACHE_DROP_H

#include <stdint.h>

#include "fuse/base/fuse_api.h"

struct k2i_mount;

/*
 * The worker's side of cache_dropper.h: it orders when pages that have been taken leave the kernel's cache. A file that
 * is written to gets an order when many of its pages have been written back; the kernel does that by itself, so nothing
 * is written sooner than without orders. A file that nobody appends to, or that is closed, gets one when it has some
 * pages.
 *
 * The dropper keeps a file open while that is written to, which keeps the mount as busy as the writer's descriptor
 * does. But umount(8) right behind the last close(2) has to succeed: so a close is answered when the dropper has closed
 * the file, too. There is one order at a time; pages that it does not cover go with the next.
 */

struct k2i_cache_drop_wait;

struct k2i_cache_drop {
	uint64_t ordered, done;
	uint64_t wait_ends_ns;             /* closes that wait for the last order are answered then */
	uint32_t node;                     /* of the last order */
	uint32_t kept_node;                /* open in the dropper when that is done; K2I_NODE_NONE */
	struct k2i_cache_drop_wait *waits; /* the worker's own */
};

/* In place of a process that died. */
void k2i_cache_drop_inherit(struct k2i_mount *mount);
/* The kernel has written pages back, up to `end`. */
void k2i_cache_drop_written(struct k2i_mount *mount, uint32_t node, uint64_t end);
/* Nobody appends to it. */
void k2i_cache_drop_idle(struct k2i_mount *mount, uint32_t node);
/* The kernel is to write back what it has of the file; where that can't be ordered, it does so in its own time. */
void k2i_cache_drop_write_back(struct k2i_mount *mount, uint32_t node);
/* Answers `req`, by which somebody closes a descriptor of a file in the cache. */
void k2i_cache_drop_flush(struct k2i_mount *mount, uint32_t node, fuse_req_t req);
/* The last writer of a file has gone. */
void k2i_cache_drop_closed(struct k2i_mount *mount);
/* The file has `bytes` now. */
void k2i_cache_drop_cut(struct k2i_mount *mount, uint32_t node, uint64_t bytes);
/* The dropper has answered an order. */
void k2i_cache_drop_heard(struct k2i_mount *mount);
/* Answers those that have waited too long. When to come again; -1: that does not depend on time. */
int k2i_cache_drop_run(struct k2i_mount *mount);
/* The mount ends: nobody waits. */
void k2i_cache_drop_abandon(struct k2i_mount *mount);

#endif
