/* SPDX-License-Identifier: MIT */
#ifndef K2I_MOUNT_H
#define K2I_MOUNT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <k2hft/client.h>
#include <k2hft/ring.h>

#include "log.h"
#include "nodes.h"
#include "park.h"
#include "rules.h"
#include "sender_config.h"
#include "settings.h"
#include "text.h"

struct k2i_mount_options;
struct k2i_outputs;
struct k2i_handle;
struct fuse_session;

/* The largest data of a WRITE request. */
#define K2I_WRITE_BYTES_MAX (1024u * 1024)
#define K2I_REQUEST_HEAD_BYTES 80u /* in front of it */
/* Between a request's data in the ring and the begin of the claim: room for the begin of its first record. */
#define K2I_HEADROOM_BYTES (16u * 1024)

/* A mount at work. One thread serves it; the client's thread touches `waiting` and `progress_fd` only. */
struct k2i_mount {
	const struct k2i_mount_options *options;
	struct k2i_sender_config config;
	struct k2i_settings *settings; /* config's */
	struct k2i_rules *rules;
	struct k2i_outputs *outputs;
	struct k2i_node_table *nodes;
	struct k2hft_ring *ring;
	char *ring_file; /* its absolute path; NULL: memory, or without a name */
	struct k2hft_producer *producer;
	struct k2hft_client *client;
	struct fuse_session *session;
	bool mounted;

	int device_fd;   /* /dev/fuse; -1 when the kernel has ended the mount */
	int progress_fd; /* eventfd: room came free or something was acknowledged */
	int signal_fd;
	atomic_uint waiting; /* 1: somebody wants progress_fd */
	bool ending;         /* draining: nothing new is accepted */
	uint64_t deadline_ns;

	char *request;          /* one whole request that does not go to the ring */
	char *body;             /* its data, K2I_REQUEST_HEAD_BYTES behind */
	size_t chunk_bytes_max; /* payload of one chunk in this ring */
	bool in_place;          /* a claim for the largest request fits into the ring */
	struct k2i_text_limits limits;

	struct k2i_handle **handles; /* by number; NULL: free */
	uint32_t handle_room, handle_free, handles_open;
	struct k2i_handle *flushed_first; /* have an unterminated record, and a close since */
	struct k2i_park park;

	struct k2i_log_limit full_limit, long_limit, rule_limit, output_limit;
	uint64_t dropped_records; /* RINGFULL = drop */
};

uint64_t k2i_mount_clock_ns(void); /* CLOCK_MONOTONIC */

#endif
