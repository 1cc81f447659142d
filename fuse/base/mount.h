/* SPDX-License-Identifier: MIT */
#ifndef K2I_FUSE_BASE_MOUNT_H
#define K2I_FUSE_BASE_MOUNT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "app/program/reload.h"
#include "app/rules/rules.h"
#include "base/clock.h"
#include "base/log.h"
#include "config/sender.h"
#include "config/settings.h"
#include "fuse/base/counts.h"
#include "fuse/base/kernel.h"
#include "fuse/base/lane.h"

/* The largest data of a WRITE request. */
#define K2I_WRITE_BYTES_MAX (1024u * 1024)
#define K2I_REQUEST_HEAD_BYTES 80u /* in front of it */
/* Between a request's data in the ring and the begin of the claim: room for the begin of its first record. */
#define K2I_HEADROOM_BYTES (16u * 1024)

/* The keeper, as the worker sees it. */
struct k2i_keeper {
	pid_t pid;
	unsigned workers; /* that were started */
	unsigned left;    /* of these, ended for another keeper's */
	uint64_t started_ns;
	bool begun;          /* a worker was ready */
	unsigned tries;      /* of keepers to take the mount over, since a worker was ready */
	atomic_uint answers; /* of workers that were asked whether they serve */
};

/* A reload, as the worker that has done it tells the keeper. */
struct k2i_mount_reload {
	struct k2i_reload told;
	uint64_t taken;     /* reloads whose rules are in use: part of the step in which they are taken */
	uint64_t signature; /* of the files of the last of these */
};

/*
 * A mount: each part is a struct of the file that owns it, and this leads to them, so that a folder sees no part of one
 * above it; fuse/keeper/parts.h holds them all. The folders, from above: keeper, device, ops, cached, intake, copy,
 * tree, base. The mount is in shared memory: a keeper makes it and starts the worker that serves it, and another worker
 * if that dies. A single thread serves; the clients' threads touch loop->waiting and loop->progress_fd only.
 */
struct k2i_mount {
	const struct k2i_mount_options *options;
	struct k2i_sender_config config;
	struct k2i_settings *settings; /* config's */
	struct k2i_rules *rules;
	struct k2i_outputfiles *outputfiles;
	struct k2i_node_table *nodes;
	bool asked;  /* to end, by a signal: the next one ends the wait */
	bool ending; /* the mount drains, and accepts nothing new */

	struct k2i_keeper keeper;
	struct k2i_mount_reload reload;
	struct k2i_kernel kernel;
	struct k2i_mount_lanes lanes;
	struct k2i_mount_counts counts;
	struct k2i_mount_log log;

	struct k2i_feeder *feeder; /* the worker's own; NULL: no rule has a PLUGIN */

	struct k2i_loop *loop;
	struct k2i_drain *drain;
	struct k2i_deferred_requests *deferred_requests;
	struct k2i_deferred_write *deferred_writes; /* the worker's own, see request.c */
	struct k2i_stat_texts *stat;
	struct k2i_pull *pull;
	struct k2i_truncate_probes *probes;
	struct k2i_handle_table *handles;
	struct k2i_routes *routes;
	struct k2i_queues *queues;
	struct k2i_line_limits *line_limits;
};

/* Nobody may open a file for writing any more, nor append to one through the page cache. */
static inline bool k2i_mount_ends(const struct k2i_mount *mount)
{
	return mount->asked || mount->ending;
}

#endif
