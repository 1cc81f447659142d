/* SPDX-License-Identifier: MIT */
/*
 * A limit of the consumer: a program that commits chunks and notes elsewhere that it has has both or none after its death.
 * The rest is behind the limit, where nobody has read it, and is cut off.
 */
#include <errno.h>

#include "ring/handle.h"

int k2hft_ring_limit(struct k2hft_ring *ring, uint64_t position)
{
	if (!ring->consumer)
		return -EINVAL;
	/* R15, R6 */
	atomic_store_explicit(&ring->limit, position == UINT64_MAX ? 0 : k2i_position(position) | 1,
			      memory_order_seq_cst);
	k2i_consumer_wake_asleep(ring);
	return 0;
}

/* A position has one area for ever, and its mark is valid there only. Else the walk begins at the head. */
static uint64_t place_find(const struct k2hft_ring *ring, uint64_t position)
{
	uint64_t size;

	for (uint64_t place = position; place < position + 2 * K2I_AREA_COUNT; place += 2) {
		/* A1 */
		if (k2i_area_of(ring, place)->bytes &&
		    k2i_mark_read(ring, place,
				  atomic_load_explicit(&k2i_entry_at(ring, place)->mark, memory_order_acquire), &size))
			return place;
	}
	/* A4 */
	return atomic_load_explicit(&ring->header->head, memory_order_acquire);
}

int k2hft_ring_cut(struct k2hft_ring *ring, uint64_t position)
{
	struct k2i_chunk_fields fields;
	uint64_t place, tail, size, mark, records = 0;
	unsigned kind;

	if (!ring->consumer || position & 7)
		return -EINVAL;
	/* A2 */
	tail = k2i_position(atomic_load_explicit(&ring->header->tail, memory_order_acquire));
	for (place = place_find(ring, position); k2i_position(place) < tail;
	     place = k2i_place_behind(place, kind, size)) {
		struct k2i_entry *entry = k2i_entry_at(ring, place);

		/* A1 */
		mark = atomic_load_explicit(&entry->mark, memory_order_acquire);
		kind = k2i_mark_read(ring, place, mark, &size);
		if (!kind || kind == K2I_KIND_CLAIMED)
			break;
		if (kind != K2I_KIND_CHUNK || k2i_position(place) < position)
			continue;
		if (k2i_chunk_read(ring, place, size, &fields))
			records += fields.record_count;
		/* R1 */
		atomic_store_explicit(&entry->mark, k2i_mark_make(ring, place, K2I_KIND_DISCARDED, size),
				      memory_order_release);
	}
	/* relaxed: for statistics. They never will be acknowledged, and do not wait for it. */
	(void)atomic_fetch_add_explicit(&ring->header->acked_records, records, memory_order_relaxed);
	return 0;
}
