/* SPDX-License-Identifier: MIT */
#ifndef K2I_RING_COUNTS_H
#define K2I_RING_COUNTS_H

#include <stdbool.h>
#include <stdint.h>

#include <k2hft/ring.h>

/*
 * What the ring's header counts of the way of its records: there it outlives the processes, and can be read by others,
 * whoever feeds the ring and whoever empties it. A place is never given to another count; new ones go to the end. Fields
 * of struct k2hft_ring_stats have these names.
 */
#define K2I_RING_COUNTS(each)                                                                                          \
	each(dropped_records) each(expired_records) each(unknown_records) each(repaired_places) each(connects)         \
		each(connect_failures) each(refusals) each(ledger_lost) each(discarded_ranges) each(sent_frames)       \
			each(sent_records) each(sent_bytes) each(resent_frames) each(compressed_frames)                \
				each(refused_writes) each(pieces)

enum k2i_ring_count {
#define K2I_RING_COUNT_NUMBER(name) K2I_RING_##name,
	K2I_RING_COUNTS(K2I_RING_COUNT_NUMBER)
#undef K2I_RING_COUNT_NUMBER
		K2I_RING_COUNT_COUNT
};
#define K2I_RING_COUNT_ROOM 64u

/* For all that is built with the library: the structure has the right size, so k2hft_ring_stats can't fail. */
static inline struct k2hft_ring_stats k2i_ring_stats(const struct k2hft_ring *ring)
{
	struct k2hft_ring_stats stats = {.size = sizeof(stats)};

	(void)k2hft_ring_stats(ring, &stats);
	return stats;
}

/* Any thread of any process. */
void k2i_ring_count(const struct k2hft_ring *ring, enum k2i_ring_count count, uint64_t add);

/* Records that wait in a file which is about to be begun afresh, and are lost with that. 0: none that is known. */
uint64_t k2i_ring_waiting(const struct k2hft_ring_options *options);

#endif
