/* SPDX-License-Identifier: MIT */
#ifndef K2I_RECEIVER_SINK_ROOM_H
#define K2I_RECEIVER_SINK_ROOM_H

#include "receiver/sink/sink.h"

/*
 * Memory of a LATER sink for chunks that it has not stored. A sender has no more than WINDOW of them, so as long as the
 * room is large enough for its senders, they do not wait for this sink before they would wait for any. Else each may have
 * twice as much as is free: so many senders have as much of it, and some is left for the next one. Under a lock of the sink.
 */
struct k2i_room {
	uint64_t bytes, bytes_max, given; /* given: since waiters were told of room */
	struct k2i_owner *waiters;
	size_t waiter_count, waiter_room;
};

/* Whether one that has `own_bytes` of all gets no more now. */
static inline bool k2i_share_full(uint64_t own_bytes, uint64_t bytes, uint64_t bytes_max)
{
	return own_bytes / 2 >= (bytes < bytes_max ? bytes_max - bytes : 0);
}

/* The same; then its owner, if it has one, is told when there is more. */
bool k2i_room_full(struct k2i_room *room, uint64_t own_bytes, const struct k2i_owner *owner);
/* Gives back what was added to `bytes`. */
void k2i_room_give(struct k2i_room *room, const struct k2i_sink *sink, uint64_t bytes);
void k2i_room_free(struct k2i_room *room);

#endif
