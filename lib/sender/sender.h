/* SPDX-License-Identifier: MIT */
#ifndef K2I_SENDER_SENDER_H
#define K2I_SENDER_SENDER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <k2hft/sender.h>

#include "base/log.h"
#include "sender/lane.h"

/* The inside of a sender, for its writers and for who consumes its ring without a client. */
struct k2hft_sender {
	bool others_send; /* its single lane has no client */
	bool attached;    /* another process consumes the ring: a call commits what it writes */
	uint32_t full;    /* K2HFT_FULL_* */
	bool asymmetric;  /* membarrier(2) serves this process */
	uint32_t spread;  /* K2HFT_SPREAD_* */
	uint32_t copies;
	bool copies_kept;            /* a record can be in several lanes, so that no receiver takes over from another */
	struct k2i_lane_sizes sizes; /* the smallest of its lanes when it was opened */

	pthread_mutex_t change;              /* of those who add and remove lanes, one at a time; before `mutex` */
	struct k2hft_sender_options options; /* for lanes that come later; the strings are copies, without targets */

	/* Under the mutex, which whoever seals holds. */
	pthread_mutex_t mutex;
	pthread_cond_t sealed; /* a seal that had to wait for a call was done, or a lane has fewer users */
	struct k2i_lane **lanes;
	struct k2i_lane *ended;           /* removed and drained; their names stay, see k2i_lane_end */
	uint32_t lane_count, lane_number; /* of the last one */
	_Atomic(uint32_t) lanes_version;  /* also read without it */
	bool changed;                     /* there can be chunks of a stream in a lane where no more of it go */
	uint32_t enders;                  /* threads that wait for the end of a removed lane */
	bool closes;
	struct k2hft_writer *writers;
	struct k2hft_writer *unended;                          /* closed, but for the end of a line; by `next` */
	uint64_t seal_ticket;                                  /* last given */
	uint64_t closed_records, closed_bytes, closed_dropped; /* of writers that are closed */

	/* Any thread. */
	_Atomic(uint64_t) busy_ns; /* when a fast writer has last gone on to another lane */
	_Atomic(uint64_t) refused_writes, pieces, excepted_records; /* of all writers */
	struct k2i_log_limit drop_limit, seal_limit, refused_limit, piece_limit;
};

/* A sender without a client, whose caller consumes the ring; and its end, with a client or not. */
int k2i_sender_create(const struct k2hft_ring_options *ring_options, uint32_t full, struct k2hft_sender **sender);
void k2i_sender_free(struct k2hft_sender *sender);

/* seal.c */

/* Whether the asymmetric handshake works in this process, which is asked for it here. */
bool k2i_seal_asymmetric(void);

/*
 * Commits the open chunks of all writers, but of those that are inside a call: these commit at its end. Returns the
 * ticket that k2i_sender_sealed_wait takes.
 */
uint64_t k2i_sender_seal(struct k2hft_sender *sender);
/* The same of those that stand in the way of a lane. */
void k2i_lane_seal(struct k2i_lane *lane);

#define K2I_DEADLINE_NONE UINT64_MAX

/* Waits until nothing that was open at that ticket is. -ETIMEDOUT at `deadline_ns` of CLOCK_MONOTONIC. */
int k2i_sender_sealed_wait(struct k2hft_sender *sender, uint64_t ticket, uint64_t deadline_ns);

/* lanes.c */

/*
 * Opens the lanes of options that were checked, which the sender has a copy of, and those of ring files beside them that
 * have another home. Errors as k2hft_sender_open's.
 */
int k2i_sender_lanes_open(struct k2hft_sender *sender, const struct k2hft_sender_options *options);
/* A lane to a receiver, with its ring. `single`: the ring's file has the very name that the options say. */
int k2i_sender_lane_make(struct k2hft_sender *sender, const struct k2hft_target *target, bool single,
			 struct k2i_lane **made);
/* Starts its client. With `change`, or before there are writers. */
int k2i_sender_lane_start(struct k2hft_sender *sender, struct k2i_lane *lane);
/* The receivers that may take over from each lane are those of now. With `change`. Without memory they stay as they were. */
void k2i_sender_others_renew(struct k2hft_sender *sender);
/* Appends a lane, whose ring is open; k2i_sender_free closes it. -ENOMEM */
int k2i_sender_lane_add(struct k2hft_sender *sender, struct k2i_lane *lane);
/* Waits for the threads of lanes that end, which give up. */
void k2i_sender_enders_stop(struct k2hft_sender *sender);
/*
 * All lanes, as their users, so that none ends meanwhile; to be given to _release. 0 and NULL: no memory.
 */
uint32_t k2i_sender_lanes_hold(struct k2hft_sender *sender, struct k2i_lane ***lanes);
void k2i_sender_lanes_release(struct k2hft_sender *sender, struct k2i_lane **lanes, uint32_t count);
/* A user has done with the lane. With the mutex. */
static inline void k2i_lane_leave(struct k2i_lane *lane)
{
	lane->users--;
	if (lane->removed)
		(void)pthread_cond_broadcast(&lane->sender->sealed);
}

/* ender.c: a removed lane has come to its end when all is acknowledged; a thread waits for that. With `change`. */
int k2i_lane_end_begin(struct k2i_lane *lane);

/* options.c */

/* Fills in defaults. -EINVAL an option is out of range, missing or not known, which is logged. */
int k2i_sender_options_check(struct k2hft_sender_options *options);
/* Copies of the strings of options, but for its receivers, which are left out. 0 or -ENOMEM; to be freed in both cases. */
int k2i_sender_options_copy(const struct k2hft_sender_options *options, struct k2hft_sender_options *copy);
void k2i_sender_options_free(struct k2hft_sender_options *copy);
/* The receivers: `targets`, or the one. */
const struct k2hft_target *k2i_sender_targets(const struct k2hft_sender_options *options, struct k2hft_target *one,
					      uint32_t *count);
struct k2hft_ring_options k2i_ring_options_of(const struct k2hft_sender_options *options);
/* With the first receiver as the home, and no others. */
struct k2hft_client_options k2i_client_options_of(const struct k2hft_sender_options *options);

#endif
