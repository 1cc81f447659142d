/* SPDX-License-Identifier: MIT */
#ifndef K2I_FUSE_BASE_LANE_H
#define K2I_FUSE_BASE_LANE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/spread.h"

struct k2hft_chunk;
struct k2hft_client;
struct k2hft_producer;
struct k2hft_ring;
struct k2hft_target;
struct k2i_populated;
struct k2i_left_target;
struct k2i_rule;
struct k2i_route_stream;

#define K2I_LANE_COUNT_MAX 64u /* a set of lanes is a word, see k2i_lane_bit */
#define K2I_LANE_UNWRITABLE "mount: the ring can't be written: the disk of its file is full, or fails"

/* A ring and the way to its receiver. */
struct k2i_mount_lane {
	unsigned index;                    /* among the mount's lanes */
	const struct k2i_rule *plugin;     /* whose PLUGIN reads its ring; NULL: a receiver does */
	const struct k2hft_target *target; /* its home */
	struct k2hft_target *others;       /* that may take it over, in this order; NULL: none */
	uint32_t others_count;
	struct k2i_left_target *left; /* its target, if the configuration names it no more; see left_rings.h */
	char *ring_file;              /* the ring's absolute path; NULL: memory, or without a name */
	int ring_fd;                  /* the keeper's, which keeps it */
	struct k2i_route_stream *missing_newline_first; /* see k2i_routes_terminate */

	/* The worker's own. */
	struct k2hft_ring *ring;
	struct k2hft_producer *producer;
	struct k2hft_client *client;
	struct k2i_populated *populated;
	bool streams_forgotten; /* when this worker opened the ring: no declaration of the one before counts */
};

/* A mount has a lane for each receiver, and one for each rule with a PLUGIN. */
struct k2i_mount_lanes {
	unsigned count;
	unsigned takers;                /* the first so many get what is written */
	unsigned plugins;               /* behind them, of rules with PLUGIN; the others only empty, see left_rings.h */
	uint32_t spread, copies;        /* of the sender's options; copies: 1 or more */
	size_t chunk_bytes_max;         /* payload of one chunk in the smallest ring */
	struct k2i_mount_lane *claimed; /* has the claim, if there is one */

	/* See spread.h. */
	struct k2i_mount_lane *chosen, *last, *likely;
	size_t chosen_bytes; /* that go there still */
	uint64_t random;

	struct k2i_mount_lane lane[K2I_LANE_COUNT_MAX];
	const char *homes[K2I_LANE_COUNT_MAX]; /* their names */
	char names[K2I_LANE_COUNT_MAX][K2I_SPREAD_HOME_BYTES];
};

static inline uint64_t k2i_lane_bit(const struct k2i_mount_lane *lane)
{
	return UINT64_C(1) << lane->index;
}

/*
 * There is at most one claim of ring memory. A later claim takes its place, a commit ends it, and the loop drops it
 * when its request is served: so nobody else gives one back, and data in a claim holds until the next call of these.
 */

/* Errors as those of k2hft_producer_reserve, but for -EBUSY. */
int k2i_lane_claim(struct k2i_mount_lanes *lanes, struct k2i_mount_lane *lane, size_t bytes, void **payload);
/* The same for a claim of another lane into which data of this one is copied: that of `data`, at `at` of the new one. */
int k2i_lane_claim_with(struct k2i_mount_lanes *lanes, struct k2i_mount_lane *lane, size_t at, const char *data,
			size_t bytes, char **payload);
/* Ends the step, see k2i_journal_commit. After an error the claim is dropped. */
int k2i_lane_commit(struct k2i_mount_lanes *lanes, const struct k2hft_chunk *chunk, size_t offset, size_t bytes,
		    bool answered);
void k2i_lane_drop_claim(const struct k2i_mount_lanes *lanes);

/* Bytes in all rings that are not acknowledged, and the room of all. */
struct k2i_lanes_room {
	uint64_t used_bytes, ring_bytes, head; /* head: the sum, which changes when any does */
};
struct k2i_lanes_room k2i_lanes_room(const struct k2i_mount_lanes *lanes);

#endif
