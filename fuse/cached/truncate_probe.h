/* SPDX-License-Identifier: MIT */
#ifndef K2I_FUSE_CACHED_TRUNCATE_PROBE_H
#define K2I_FUSE_CACHED_TRUNCATE_PROBE_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct k2i_mount;
struct k2i_node_entry;

/*
 * A random value at the new end of a file that is to be cut and is written through the kernel's page cache. As long as
 * the kernel shows it there, it has not done the cut (writeback_pull.h). Bytes behind the end are taken already, and
 * nobody reads a file by its pages. Zero-initialised, it is the probe of a file that does not become shorter.
 */
struct k2i_truncate_probe {
	struct k2i_truncate_probe *next;
	pid_t process; /* that leaves it */
	uint32_t node;
	uint64_t value, *page; /* it alone is in the page */
	uint8_t bytes;         /* of it */
	uint64_t end, until_ns;
	void (*then)(struct k2i_mount *mount, void *argument);
	void *argument;
};

struct k2i_truncate_probes {
	pthread_mutex_t lock;             /* robust; held by a process that leaves a probe */
	struct k2i_truncate_probe *first; /* the worker's own */
};

/* Before there is a worker. 0 or -errno */
int k2i_truncate_probe_prepare(struct k2i_mount *mount);

/* Calls `then` with `argument` when the probe is there; requests are served meanwhile. */
void k2i_truncate_probe_leave(struct k2i_mount *mount, uint32_t node, uint64_t bytes, struct k2i_truncate_probe *probe);
/* A process has ended: goes on with what is there. */
void k2i_truncate_probes_ended(struct k2i_mount *mount);
/* Goes on without those that take too long. When to come again; -1: that does not depend on time. */
int k2i_truncate_probes_run(struct k2i_mount *mount);

/*
 * Whether what the kernel gives from the end on shows that the cut is done; -1: a page that has left the cache since, and
 * was read again, has zeros.
 */
int k2i_truncate_probe_shows_cut(const struct k2i_node_entry *entry, const char *data, size_t bytes);

#endif
