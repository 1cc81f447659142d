/* SPDX-License-Identifier: MIT */
#ifndef K2I_FUSE_BASE_LANE_H
#define K2I_FUSE_BASE_LANE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/spread.h"
#include "config/settings.h"

struct k2hft_chunk;
struct k2hft_client;
struct k2hft_producer;
struct k2hft_ring;
struct k2hft_target;
struct k2i_populated;
struct k2i_route_stream;

#define K2I_LANE_COUNT_MAX 64u /* a set of lanes is a word, see k2i_lane_bit; K2I_MOUNT_LANES_MAX */
#define K2I_LANE_UNWRITABLE "mount: the ring can't be written: the disk of its file is full, or fails"

enum k2i_lane_state {
	K2I_LANE_TAKES = 0, /* for its receiver, or a rule's PLUGIN */
	K2I_LANE_EMPTIES, /* its receiver, or PLUGIN, is none of the configuration's: it gets nothing new, and ends empty */
	K2I_LANE_ENDED, /* that is done, but for what the keeper has of it */
	K2I_LANE_FREE,  /* no lane */
};

/* PLUGIN of a rule, in shared memory: a reload can take the rule away before its records are read. */
struct k2i_lane_plugin {
	struct k2i_rule rule; /* without its patterns */
	unsigned mode;        /* of its output files */
	uint64_t turn;        /* of two with one TARGET, the one with the lower is done before the other begins */
};

/* A ring and the way to its receiver. */
struct k2i_mount_lane {
	unsigned index; /* among the mount's lanes */
	enum k2i_lane_state state;
	struct k2i_lane_plugin *plugin; /* reads its ring; NULL: a receiver does */
	bool homeless;                  /* EMPTIES: nobody knows whose it was; the first receiver's now */
	bool made;                      /* FREE: a reload has made its ring's file, and is not done */
	int ring_fd;                    /* the keeper's, which keeps it; -1: none */
	uint64_t changed_at; /* chunks below are from before the receivers last changed, see k2i_lanes_behind */
	struct k2i_route_stream *missing_newline_first; /* see k2i_routes_terminate */

	/* Each process's own. */
	const struct k2hft_target *target; /* its home */
	struct k2hft_target *others;       /* that may take it over, in this order */
	uint32_t others_count;

	/* The worker's own. */
	struct k2hft_ring *ring;
	struct k2hft_producer *producer;
	struct k2hft_client *client;
	struct k2i_populated *populated;
	uint64_t away_ns; /* EMPTIES, and nobody takes over: its receiver does not answer since then; 0: it does */
	bool streams_forgotten; /* when this worker opened the ring: no declaration of the one before counts */
};

/* A mount has a lane for each receiver, and one for each rule with a PLUGIN. */
struct k2i_mount_lanes {
	unsigned count;                        /* of `lane`, some of which can be free */
	unsigned takers;                       /* get what is written: */
	unsigned taker[K2I_LANE_COUNT_MAX];    /* their indexes, in the order of the configuration */
	const char *homes[K2I_LANE_COUNT_MAX]; /* and their names */
	uint32_t spread, copies;               /* of the sender's options; copies: 1 or more */
	size_t chunk_bytes_max;                /* payload of one chunk in the smallest ring */
	struct k2i_mount_lane *claimed;        /* has the claim, if there is one */

	/* See spread.h. */
	struct k2i_mount_lane *chosen, *last, *likely;
	size_t chosen_bytes; /* that go there still */
	uint64_t random;

	/* The last change of receivers. */
	uint64_t changed; /* lanes that can have chunks from before it */
	unsigned formers;
	unsigned former[K2I_LANE_COUNT_MAX]; /* the takers before it */

	struct k2i_mount_lane lane[K2I_LANE_COUNT_MAX];
	char names[K2I_LANE_COUNT_MAX][K2I_SPREAD_HOME_BYTES]; /* of the homes, by lane */
	char ring_files[K2I_LANE_COUNT_MAX][PATH_MAX];         /* their absolute paths; "": memory, or without a name */
};

static inline bool k2i_lane_used(const struct k2i_mount_lane *lane)
{
	return lane->state <= K2I_LANE_EMPTIES;
}

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

/* How many have a receiver. */
unsigned k2i_lanes_used(const struct k2i_mount_lanes *lanes);
/* Lanes among these that still have chunks from before the receivers last changed. */
uint64_t k2i_lanes_behind(struct k2i_mount_lanes *lanes, uint64_t asked);
/* All that is in it now is from before a change. */
void k2i_lane_changed(struct k2i_mount_lanes *lanes, struct k2i_mount_lane *lane);

/* Bytes in all rings that are not acknowledged, and the room of all. */
struct k2i_lanes_room {
	uint64_t used_bytes, ring_bytes, head; /* head: the sum, which changes when any does */
};
struct k2i_lanes_room k2i_lanes_room(const struct k2i_mount_lanes *lanes);

#endif
