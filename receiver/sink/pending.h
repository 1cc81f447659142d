/* SPDX-License-Identifier: MIT */
#ifndef K2I_RECEIVER_SINK_PENDING_H
#define K2I_RECEIVER_SINK_PENDING_H

#include <pthread.h>

#include "receiver/base/table.h"
#include "receiver/sink/room.h"

/*
 * Groups that a LATER sink has taken and not stored, of each ring in the order of positions: the first is stored when all
 * of its parts are. Positions that were taken come again with the ring's next connection, and are not taken twice. Any
 * thread.
 */
struct k2i_pending {
	const struct k2i_sink *sink;
	struct k2i_ledger *ledger;
	pthread_mutex_t mutex; /* guards what follows */
	struct k2i_table rings;
	struct k2i_room room; /* bytes_max: of a sink that asks whether it is full */
};
struct k2i_pending_group;

/* The sink's number is set before the first group. */
void k2i_pending_start(struct k2i_pending *pending, const struct k2i_sink *sink, struct k2i_ledger *ledger);
/* All parts are done. `enter`: the loops have ended, and the ledger gets what they did not enter any more. */
void k2i_pending_end(struct k2i_pending *pending, bool enter);

/* The position up to which the ring's chunks were taken. */
uint64_t k2i_pending_taken(struct k2i_pending *pending, const uint8_t ring[16]);
/* The position of the next chunk of the receiver's own ring, whose chunks are one position long. */
uint64_t k2i_pending_own(struct k2i_pending *pending);
/* As k2i_room_full, of the ring's groups. */
bool k2i_pending_full(struct k2i_pending *pending, const uint8_t ring[16], const struct k2i_owner *owner);
/* Memory of all. */
uint64_t k2i_pending_bytes(struct k2i_pending *pending);
/*
 * A group of so many parts, which take so much memory; of a report, or NULL: the next chunk of the receiver's own ring, which
 * is entered in the ledger. It has one part more, which the caller does when it has handed on the others. -ENOMEM
 */
int k2i_pending_begin(struct k2i_pending *pending, struct k2i_sink_report *report, unsigned parts, uint64_t bytes,
		      struct k2i_pending_group **group);
/* A part of it is stored, or, with an error, never will be. */
void k2i_pending_done(struct k2i_pending *pending, struct k2i_pending_group *group, int error);
/* The row of a ring has gone back: what is behind its position comes anew. */
void k2i_pending_settled(struct k2i_pending *pending, const struct k2i_ledger_ring *row);
/* Forgets rings that the ledger has all of. */
void k2i_pending_tick(struct k2i_pending *pending, uint64_t now_ns);

#endif
