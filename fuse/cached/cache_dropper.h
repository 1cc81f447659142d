/* SPDX-License-Identifier: MIT */
#ifndef K2I_FUSE_CACHED_CACHE_DROPPER_H
#define K2I_FUSE_CACHED_CACHE_DROPPER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "fuse/tree/tree.h"

struct k2i_mount;

/*
 * Pages that have been taken are of no use to anybody, yet the kernel keeps them, as it does with those of any file, and
 * logs that nobody reads fill its cache. A process has to open the file to have them dropped (POSIX_FADV_DONTNEED,
 * which passes over pages that are dirty or locked). A process that waits for the worker must not have its /dev/fuse:
 * if both die, the kernel ends the mount only when the last descriptor of that has gone, and until then nothing kills a
 * process that waits for a mount. So the dropper is a process of its own, with no descriptor but a socket and the
 * file's.
 *
 * The keeper starts it, and again if it dies. The worker gives one order at a time (cache_drop.h).
 */
struct k2i_cache_drop_order {
	uint64_t number; /* is sent back when the order is done */
	uint64_t end;    /* pages before it may go */
	uint32_t node;   /* K2I_NODE_NONE: no pages are dropped */
	/*
	 * Whether the file stays open for the next order: closing it makes the kernel write all of it back, and wait for
	 * that. Another file that was open is closed in any case.
	 */
	bool keep;
	char path[K2I_PATH_BYTES_MAX + 1]; /* "": only the file that is open is meant */
};

enum { K2I_CACHE_DROP_WORKER, K2I_CACHE_DROP_DROPPER };

struct k2i_cache_dropper {
	atomic_int process; /* 0: there is none */
	bool missing;       /* it could not be forked */
	int fds[2];         /* the socket's ends */
};

/* When the mount is there. 0 or -errno; logs what is wrong. */
int k2i_cache_dropper_prepare(struct k2i_mount *mount);
/* Unless there is one, or nothing goes through the page cache. */
void k2i_cache_dropper_start(struct k2i_mount *mount);
/* A child of the keeper died: starts another dropper if it was that. */
void k2i_cache_dropper_check(struct k2i_mount *mount);
/* When the keeper's descriptors of /dev/fuse are closed: one that waits for the mount can be ended then. */
void k2i_cache_dropper_end(struct k2i_mount *mount);
/* Whether a request comes from it: `pid` as the kernel says. */
bool k2i_cache_dropper_is(const struct k2i_mount *mount, pid_t pid);

#endif
