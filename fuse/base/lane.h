/* SPDX-License-Identifier: MIT */
#ifndef K2I_FUSE_BASE_LANE_H
#define K2I_FUSE_BASE_LANE_H

#include <stdbool.h>
#include <stddef.h>

struct k2hft_client;
struct k2hft_producer;
struct k2hft_ring;

/* A ring and the way to its receiver. A mount has one lane. */
struct k2i_mount_lane {
	char *ring_file; /* the ring's absolute path; NULL: memory, or without a name */
	int ring_fd;     /* the keeper's, which keeps it */

	/* The worker's own. */
	struct k2hft_ring *ring;
	struct k2hft_producer *producer;
	struct k2hft_client *client;
	bool streams_forgotten; /* when this worker opened the ring: no declaration of the one before counts */
	size_t chunk_bytes_max; /* payload of one chunk in this ring */
};

#endif
