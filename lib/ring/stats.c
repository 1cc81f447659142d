/* SPDX-License-Identifier: MIT */
#include "ring/handle.h"

#include <string.h>

#include "base/options.h"

/* relaxed, all of this file: a snapshot of words that change on, no conclusion is drawn from one about another. */
static uint64_t header_word(_Atomic uint64_t *from)
{
	return atomic_load_explicit(from, memory_order_relaxed);
}

static_assert(offsetof(struct k2hft_ring_stats, unarchived_records) + 2 * sizeof(uint64_t) ==
		      sizeof(struct k2hft_ring_stats),
	      "the counts are the last fields but one");

static void slots_count(const struct k2hft_ring *ring, struct k2hft_ring_stats *stats)
{
	unsigned used = k2i_slots_used(ring);

	for (unsigned at = 0; at < used; at++) {
		struct k2i_slot *slot = &ring->slots[at];

		stats->committed_records += header_word(&slot->committed_records);
		stats->committed_bytes += header_word(&slot->committed_bytes);
		stats->producers += header_word(&slot->owner) != 0 && header_word(&slot->attachment) == 0;
	}
}

/*
 * An empty ring has none, whatever the counters say: records that were damaged are never acknowledged, nor is a chunk
 * that its producer counted and did not live to publish.
 */
static uint64_t records_unacked(const struct k2hft_ring_stats *stats)
{
	if (stats->head >= stats->tail || stats->committed_records <= stats->acked_records)
		return 0;
	return stats->committed_records - stats->acked_records;
}

void k2i_ring_count_at(const struct k2hft_ring *ring, unsigned count, uint64_t more)
{
	if (more)
		(void)atomic_fetch_add_explicit(&ring->header->counts[count], more, memory_order_relaxed);
}

int k2hft_ring_stats(const struct k2hft_ring *ring, struct k2hft_ring_stats *stats)
{
	struct k2i_ring_header *header = ring->header;
	struct k2hft_ring_stats now = {
		.size = sizeof(now),
		.epoch = header_word(&header->epoch),
		.ring_bytes = ring->capacity,
		.payload_bytes_max = k2i_payload_bytes_max(ring),
		.tail = k2i_position(header_word(&header->tail)),
		.read = k2i_position(header_word(&header->read)),
		.acked = k2i_position(header_word(&header->acked)),
		.head = k2i_position(header_word(&header->head)),
		.acked_records = header_word(&header->acked_records),
		.discarded_claims = header_word(&header->discarded_claims),
		.damaged_bytes = header_word(&header->damaged_bytes),
		.streams = k2i_streams_declared(ring),
		.streams_forgotten = ring->streams_forgotten,
		.waiting_producers = atomic_load_explicit(&header->space_waiters, memory_order_relaxed),
	};
	uint64_t counts[K2I_RING_COUNT_COUNT];

	for (unsigned count = 0; count < K2I_RING_COUNT_COUNT; count++)
		counts[count] = header_word(&header->counts[count]);
	memcpy((uint8_t *)&now + offsetof(struct k2hft_ring_stats, dropped_records), counts, sizeof(counts));
	memcpy(now.uuid, (const uint64_t[]){header_word(&header->uuid[0]), header_word(&header->uuid[1])},
	       sizeof(now.uuid));
	slots_count(ring, &now);
	now.unacked_records = records_unacked(&now);
	return k2i_stats_copy(stats, &now, sizeof(now));
}
