/* SPDX-License-Identifier: MIT */
/* The names that chunks of a copied ring have. */
#include "ring/map.h"

#include <string.h>

/*
 * (uuid, position) names a chunk for ever, so two files must not give the same names to different chunks. A copy of a
 * file is in another place than its header says. It gets a uuid of its own when it is opened, for what comes from then
 * on. The chunks that it brought along keep the names under which the original has them, too: a receiver that has them
 * of either file knows them.
 *
 * That holds for chunks up to the first place where the copy has none: a claim that was open when the file was copied
 * became a chunk of the original, and a hole of the copy. Behind it all is named anew, and can come twice.
 */

/* relaxed, all of this file: words that the consumer alone reads and writes, and its successor after its end. */
static void words_copy(_Atomic uint64_t to[2], _Atomic uint64_t from[2])
{
	for (int at = 0; at < 2; at++)
		atomic_store_explicit(&to[at], atomic_load_explicit(&from[at], memory_order_relaxed),
				      memory_order_relaxed);
}

/* Whether chunks that are not acknowledged have the name from before. */
static bool before_holds(const struct k2hft_ring *ring)
{
	return atomic_load_explicit(&ring->header->before_end, memory_order_relaxed) > ring->acked;
}

/*
 * A process that is killed before it is the consumer has left the place as it was. The next one does this again, and
 * finds the name from before whole, or not in force yet. The middle part of a copy of a copy is named anew.
 */
int k2i_ring_settle(struct k2hft_ring *ring)
{
	struct k2i_ring_header *header = ring->header;
	uint64_t sound_end = k2i_ring_sound_end(ring), epoch;
	int error;

	if (!before_holds(ring)) {
		words_copy(header->before_uuid, header->uuid);
		epoch = atomic_load_explicit(&header->epoch, memory_order_relaxed);
		atomic_store_explicit(&header->before_epoch, epoch, memory_order_relaxed);
		atomic_store_explicit(&header->before_end, sound_end, memory_order_relaxed);
	}
	atomic_store_explicit(&header->begins,
			      before_holds(ring) ? atomic_load_explicit(&header->before_end, memory_order_relaxed)
						 : ring->acked,
			      memory_order_relaxed);
	error = k2i_ring_rename(ring);
	if (error)
		return error;
	/* No receiver has heard of that name. */
	atomic_store_explicit(&header->opened_at, 0, memory_order_relaxed);
	return 0;
}

void k2i_ring_name(const struct k2hft_ring *ring, struct k2i_ring_name *name)
{
	struct k2i_ring_header *header = ring->header;
	bool before = before_holds(ring);
	const _Atomic uint64_t *uuid = before ? header->before_uuid : header->uuid;
	uint64_t words[2] = {atomic_load_explicit(&uuid[0], memory_order_relaxed),
			     atomic_load_explicit(&uuid[1], memory_order_relaxed)};

	memcpy(name->uuid, words, sizeof(name->uuid));
	name->epoch = atomic_load_explicit(before ? &header->before_epoch : &header->epoch, memory_order_relaxed);
	name->end = before ? atomic_load_explicit(&header->before_end, memory_order_relaxed) : UINT64_MAX;
	name->begins = ring->acked && atomic_load_explicit(&header->begins, memory_order_relaxed) == ring->acked;
}

void k2i_ring_name_drop(struct k2hft_ring *ring)
{
	atomic_store_explicit(&ring->header->begins, ring->acked, memory_order_relaxed);
	atomic_store_explicit(&ring->header->before_end, 0, memory_order_relaxed);
}
