/* SPDX-License-Identifier: MIT */
#ifndef K2I_RECEIVER_SESSION_RINGS_H
#define K2I_RECEIVER_SESSION_RINGS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "receiver/base/counters.h"
#include "receiver/base/owner.h"
#include "receiver/base/table.h"
#include "receiver/commit/commit.h"
#include "receiver/sink/group.h"

/*
 * The rings that are connected now. Each has one connection that may commit, its owner: the last one that greeted with
 * an epoch that is not older than any before. Any thread.
 */
struct k2i_rings;

struct k2i_ring {
	uint8_t uuid[16];
	pthread_mutex_t mutex;                      /* the ring's lock, k2i_ring_enter; it guards what follows */
	struct k2i_ledger_ring rows[K2I_SINKS_MAX]; /* by the sinks' numbers */
	struct k2i_owner owner;                     /* id 0: none */
	uint64_t epoch, opening;                    /* opening: the owner's; 0: not told */
	uint32_t attempt;                           /* likewise */
	/* The table's lock guards what follows. */
	struct k2i_table_node node;
	unsigned references;
};

/* Called when an owner has lost its ring to another, from that one's thread, without locks. */
typedef void k2i_owner_fenced(struct k2i_owner owner);

/* -ENOMEM. `ledger`, which has a row of each ring for each of `sinks`, and these must outlive it. */
int k2i_rings_create(struct k2i_ledger *ledger, const struct k2i_sinks *sinks, struct k2i_counters *counters,
		     k2i_owner_fenced *fenced, struct k2i_rings **rings);
void k2i_rings_free(struct k2i_rings *rings);

struct k2i_ring_greeting { /* the contents of a HELLO */
	uint8_t uuid[16];
	uint64_t epoch, acked, opening;
	uint32_t attempt;
	bool acked_here; /* it was this receiver that acknowledged; else the lane was elsewhere */
	bool begins;     /* nothing was, under this uuid */
	bool copy;       /* the sender has a copy of the ring, and sends chunks that the original has, too */
	/* The destination, if the lane went on elsewhere: what is beyond `settled` is taken back; NULL: it did not. */
	const struct k2i_destination *unsettled;
	uint64_t settled;
};

struct k2i_ring_place {
	uint64_t positions[K2I_SINKS_MAX];       /* by the sinks' numbers */
	uint64_t position;                       /* where the sender goes on: the least of them */
	uint64_t number;                         /* the last commit that the ledger has */
	uint64_t cut_records, retracted_records; /* settled */
	bool known;                              /* to the ledger */
	bool copied;                             /* the last of it came from a copy */
	bool deferred; /* some of what is before it was for a sender that waits for the disk, and may not be there yet */
};

/*
 * Makes `owner` the owner of a ring. -ESTALE the epoch, if not a copy's, is older than one that was seen, or the attempt
 * than the owner's; -EEXIST it is the owner's epoch in another opening, so one of the two is a copy; -ENOMEM; others as
 * k2i_settle. Each success wants one k2i_ring_detach.
 */
int k2i_ring_attach(struct k2i_rings *rings, const struct k2i_ring_greeting *greeting, struct k2i_owner owner,
		    struct k2i_ring **found, struct k2i_ring_place *place);
void k2i_ring_detach(struct k2i_rings *rings, struct k2i_ring *ring, struct k2i_owner owner);

/* The sender says that this ring never comes again. Only its owner can. */
void k2i_ring_end(struct k2i_rings *rings, struct k2i_ring *ring, struct k2i_owner owner);

/* Takes the ring's lock for a commit. -ESTALE, without it: `owner` is not its owner any more. */
int k2i_ring_enter(struct k2i_ring *ring, struct k2i_owner owner);
void k2i_ring_leave(struct k2i_ring *ring);

#endif
