/* SPDX-License-Identifier: MIT */
#include "receiver/sink/room.h"

#include <stdlib.h>

/* Those who wait are told when so much of all is given back: each try of them reads a frame again. */
#define WAKE_PART 64u

/* Without memory the owner finds out by itself within a second. */
static void waiter_add(struct k2i_room *room, struct k2i_owner owner)
{
	struct k2i_owner *waiters = room->waiters;

	for (size_t i = 0; i < room->waiter_count; i++)
		if (waiters[i].id == owner.id)
			return;
	if (room->waiter_count == room->waiter_room) {
		waiters = reallocarray(waiters, room->waiter_room + 16, sizeof(*waiters));
		if (!waiters)
			return;
		room->waiters = waiters;
		room->waiter_room += 16;
	}
	waiters[room->waiter_count++] = owner;
}

bool k2i_room_full(struct k2i_room *room, uint64_t own_bytes, const struct k2i_owner *owner)
{
	if (!k2i_share_full(own_bytes, room->bytes, room->bytes_max))
		return false;
	if (owner)
		waiter_add(room, *owner);
	return true;
}

void k2i_room_give(struct k2i_room *room, const struct k2i_sink *sink, uint64_t bytes)
{
	room->bytes -= bytes;
	room->given += bytes;
	if (room->given < room->bytes_max / WAKE_PART)
		return;
	room->given = 0;
	for (size_t i = 0; i < room->waiter_count; i++)
		k2i_sink_ready(sink, room->waiters[i]);
	room->waiter_count = 0;
}

void k2i_room_free(struct k2i_room *room)
{
	free(room->waiters);
}
