/* SPDX-License-Identifier: MIT */
#ifndef K2I_FUSE_BASE_LANE_H
#define K2I_FUSE_BASE_LANE_H

#include <stdbool.h>
#include <stddef.h>

struct k2hft_chunk;
struct k2hft_client;
struct k2hft_producer;
struct k2hft_ring;

#define K2I_LANE_UNWRITABLE "mount: the ring can't be written: the disk of its file is full, or fails"

/* A ring and the way to its receiver. A mount has one lane. */
struct k2i_mount_lane {
	unsigned index;  /* among the mount's lanes */
	char *ring_file; /* the ring's absolute path; NULL: memory, or without a name */
	int ring_fd;     /* the keeper's, which keeps it */

	/* The worker's own. */
	struct k2hft_ring *ring;
	struct k2hft_producer *producer;
	struct k2hft_client *client;
	bool streams_forgotten; /* when this worker opened the ring: no declaration of the one before counts */
	size_t chunk_bytes_max; /* payload of one chunk in this ring */
};

/*
 * The lane has at most one claim of ring memory. A later claim takes its place, a commit ends it, and the loop drops it
 * when its request is served: so nobody else gives one back, and data in a claim holds until the next call of these.
 */

/* Errors as those of k2hft_producer_reserve, but for -EBUSY. */
int k2i_lane_claim(const struct k2i_mount_lane *lane, size_t bytes, void **payload);
/* Ends the step, see k2i_journal_commit. After an error the claim is dropped. */
int k2i_lane_commit(const struct k2i_mount_lane *lane, const struct k2hft_chunk *chunk, size_t offset, size_t bytes,
		    bool answered);
void k2i_lane_drop_claim(const struct k2i_mount_lane *lane);

#endif
