/* SPDX-License-Identifier: MIT */
#ifndef K2I_FUSE_MOUNT_H
#define K2I_FUSE_MOUNT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <k2hft/ring.h>

#include "fuse/base/counts.h"
#include "fuse/device/read_backoff.h"
#include "base/log.h"
#include "fuse/tree/nodes.h"
#include "fuse/intake/queue.h"
#include "app/rules/rules.h"
#include "config/sender.h"
#include "config/settings.h"
#include "fuse/intake/line_buffer.h"

struct k2i_cached_file;
struct k2i_mount_options;
struct k2i_route;
struct k2i_outputfiles;
struct k2i_handle;
struct k2i_truncate_probe;
struct k2i_deferred_write;
struct k2i_deferred_open;
struct k2i_populated;
struct k2i_cache_drop_wait;
struct fuse_session;

/* The largest data of a WRITE request. */
#define K2I_WRITE_BYTES_MAX (1024u * 1024)
#define K2I_REQUEST_HEAD_BYTES 80u /* in front of it */
#define K2I_INIT_BYTES_MAX 256u
/* The kernel's mark in the number of a request that it sends again. */
#define K2I_UNIQUE_RESENT (UINT64_C(1) << 63)
/* Between a request's data in the ring and the begin of the claim: room for the begin of its first record. */
#define K2I_HEADROOM_BYTES (16u * 1024)

/*
 * A mount, in shared memory: a keeper has made it and starts the process that serves it, and another if that dies. What
 * is the process's own is made by each. One thread serves, and sends what is much; the client's touches `waiting` and
 * `progress_fd` only.
 */
struct k2i_mount {
	const struct k2i_mount_options *options;
	struct k2i_sender_config config;
	struct k2i_settings *settings; /* config's */
	struct k2i_rules *rules;
	struct k2i_outputfiles *outputfiles;
	struct k2i_node_table *nodes;
	struct fuse_session *session;
	char *ring_file; /* the ring's absolute path; NULL: memory, or without a name */
	int ring_fd;     /* the keeper's, which keeps it */
	pid_t keeper;
	atomic_int dropper;   /* its process, see sweeper.h; 0: there is none */
	bool dropper_missing; /* it could not be forked */
	int dropper_fds[2];
	dev_t device;     /* of the files below the mount */
	unsigned workers; /* that were started */
	uint64_t started_ns;
	bool begun; /* one of them was ready */
	bool mounted;
	bool resends;   /* the kernel can send requests again */
	bool writeback; /* it caches what is written */
	size_t init_bytes;
	char init[K2I_INIT_BYTES_MAX]; /* the kernel's first request */
	bool swallowing;               /* libfuse's answer to it is not wanted again */
	pthread_mutex_t probe_lock;    /* robust; of processes that leave a mark, see mark.c */

	/* The process's own. */
	struct k2hft_ring *ring;
	struct k2hft_producer *producer;
	bool streams_forgotten; /* when this worker opened the ring: no declaration of the one before counts */
	struct k2hft_client *client;
	struct k2i_populated *populated;
	int device_fd;   /* /dev/fuse; -1 when the kernel has ended the mount */
	int progress_fd; /* eventfd: room came free or something was acknowledged */
	int signal_fd;
	atomic_uint waiting;      /* 1: somebody wants progress_fd */
	struct k2hft_lease lease; /* to send what is much */
	struct k2i_read_backoff hold;
	struct k2i_truncate_probe *probes;
	uint32_t drain_files; /* whose bytes are to be taken before it ends, see k2i_drain_ask */
	bool asked;           /* to end, by a signal: the next one ends the wait */
	bool ending;          /* draining: nothing new is accepted */
	bool aborted;         /* by the kernel, without an unmount */
	uint64_t deadline_ns;
	uint64_t last_ns; /* when requests are answered no longer although all is acknowledged; 0: it is not yet */

	char *request;          /* one whole request that does not go to the ring */
	char *body;             /* its data, K2I_REQUEST_HEAD_BYTES behind */
	size_t chunk_bytes_max; /* payload of one chunk in this ring */
	unsigned large_ahead;   /* so many requests get room for the largest */
	unsigned in_a_row;      /* requests that came one behind the other, nothing between */
	struct k2i_line_limits limits;

	struct k2i_handle **handles; /* by number; NULL: free */
	uint32_t handle_room, handle_free, handles_open;
	struct k2i_handle *flushed_first;        /* k2i_handle_in_record, and a close since */
	struct k2i_route *missing_newline_first; /* line ends, see k2i_routes_terminate */
	struct k2i_queue queue;
	struct k2i_cached_file *cached_first;
	uint32_t cached_count;
	uint64_t pull_due_ns; /* when the first of them is to be asked about */
	uint64_t questions_asked;
	uint64_t drops_ordered, drops_done;
	uint64_t drop_wait_ends_ns;                 /* of those who wait for the last of them */
	uint32_t dropped_node;                      /* by the last of them */
	uint32_t kept_node;                         /* open in the sweeper when that is done; K2I_NODE_NONE */
	struct k2i_cache_drop_wait *drop_waits;     /* the process's own */
	struct k2i_deferred_write *deferred_writes; /* this, too */
	struct k2i_deferred_open *later_first;      /* and these, see later.h */
	bool later_wanted;
	uint64_t later_head, later_due_ns;
	bool resuming; /* the process is new: what waits goes on when the kernel has sent it again */

	struct k2i_log_limit full_limit, long_limit, rule_limit, output_limit, lost_limit, refused_limit, piece_limit,
		filter_limit, open_limit, wait_limit, dropper_limit, short_limit;
	struct k2i_mount_counts counts;

	/* .k2hft-stat as it was when it was opened, see ops_stat.h. */
	struct k2i_stat_text *stat_first;
	uint64_t stat_next;
	uint32_t stat_count;
};

uint64_t k2i_mount_clock_ns(void); /* CLOCK_MONOTONIC */

#endif
