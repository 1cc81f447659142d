/* SPDX-License-Identifier: MIT */
#include "ring/handle.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/caller.h"
#include "base/options.h"
#include "base/uuid.h"

/* relaxed, all of this file: a snapshot of words that change on, no conclusion is drawn from one about another. */
static uint64_t word(_Atomic uint64_t *from)
{
	return atomic_load_explicit(from, memory_order_relaxed);
}

static_assert(offsetof(struct k2hft_ring_stats, pieces) + sizeof(uint64_t) == sizeof(struct k2hft_ring_stats),
	      "the counts are the last fields");

static void slots_count(const struct k2hft_ring *ring, struct k2hft_ring_stats *stats)
{
	unsigned used = k2i_slots_used(ring);

	for (unsigned at = 0; at < used; at++) {
		struct k2i_slot *slot = &ring->slots[at];

		stats->committed_records += word(&slot->committed_records);
		stats->committed_bytes += word(&slot->committed_bytes);
		stats->producers += word(&slot->owner) != 0 && word(&slot->attachment) == 0;
	}
}

/*
 * An empty ring has none, whatever the counters say: records that were damaged are never acknowledged, nor is a chunk
 * that its producer counted and did not live to publish.
 */
static uint64_t unacked(const struct k2hft_ring_stats *stats)
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
		.epoch = word(&header->epoch),
		.ring_bytes = ring->capacity,
		.payload_bytes_max = k2i_payload_bytes_max(ring),
		.tail = word(&header->tail),
		.read = word(&header->read),
		.acked = word(&header->acked),
		.head = word(&header->head),
		.acked_records = word(&header->acked_records),
		.discarded_claims = word(&header->discarded_claims),
		.damaged_bytes = word(&header->damaged_bytes),
		.streams = k2i_streams_declared(ring),
		.streams_forgotten = ring->streams_forgotten,
	};
	uint64_t counts[K2I_RING_COUNT_COUNT];

	for (unsigned count = 0; count < K2I_RING_COUNT_COUNT; count++)
		counts[count] = word(&header->counts[count]);
	memcpy((uint8_t *)&now + offsetof(struct k2hft_ring_stats, dropped_records), counts, sizeof(counts));
	memcpy(now.uuid, (const uint64_t[]){word(&header->uuid[0]), word(&header->uuid[1])}, sizeof(now.uuid));
	slots_count(ring, &now);
	now.unacked_records = unacked(&now);
	return k2i_stats_copy(stats, &now, sizeof(now));
}

static int header_dump(const struct k2hft_ring *ring, FILE *output)
{
	struct k2hft_ring_stats stats = k2i_ring_stats(ring);
	unsigned clean = atomic_load_explicit(&ring->header->clean, memory_order_relaxed);
	char uuid[K2I_UUID_TEXT_BYTES];

	fprintf(output, "uuid %s epoch %" PRIu64 " bytes %" PRIu64 "%s\n", k2i_uuid_text(stats.uuid, uuid), stats.epoch,
		stats.ring_bytes, clean ? " clean" : "");
	fprintf(output, "acked %" PRIu64 " head %" PRIu64 " read %" PRIu64 " tail %" PRIu64 "\n", stats.acked,
		stats.head, stats.read, stats.tail);
	fprintf(output, "committed %" PRIu64 " records %" PRIu64 " bytes, acked %" PRIu64 " records\n",
		stats.committed_records, stats.committed_bytes, stats.acked_records);
	fprintf(output, "discarded %" PRIu64 " claims, damaged %" PRIu64 " bytes, producers %u, streams %u\n",
		stats.discarded_claims, stats.damaged_bytes, stats.producers, stats.streams);
	return ferror(output) ? -EIO : 0;
}

static void chunk_dump(const struct k2hft_ring *ring, uint64_t position, uint64_t size, FILE *output)
{
	struct k2i_chunk_fields fields;
	uint64_t payload_bytes = k2i_chunk_read(ring, position, size, &fields);

	if (payload_bytes == 0) {
		fprintf(output, "%" PRIu64 " damaged chunk, %" PRIu64 " bytes\n", position, size);
		return;
	}
	fprintf(output,
		"%" PRIu64 " chunk, %" PRIu64 " bytes: stream %" PRIu32 " records %" PRIu32 " payload %" PRIu64
		" pid %" PRIu32 " time %" PRIu64 ".%09" PRIu64 "%s%s\n",
		position, size, fields.stream_id, fields.record_count, payload_bytes, fields.writer_pid,
		fields.time_ns / 1000000000, fields.time_ns % 1000000000,
		fields.flags & K2HFT_CHUNK_CONTINUED ? " continued" : "",
		fields.flags & K2HFT_CHUNK_CONTINUES ? " continues" : "");
}

/* Next position from which a mark is valid, so that one bad entry does not hide the rest. */
static uint64_t mark_next(const struct k2hft_ring *ring, uint64_t position, uint64_t tail)
{
	uint64_t size;

	for (position += 8; position < tail; position += 8) {
		if (k2i_mark_read(ring, position, word(&k2i_entry_at(ring, position)->mark), &size))
			break;
	}
	return position;
}

static uint64_t entry_dump(const struct k2hft_ring *ring, uint64_t position, uint64_t tail, FILE *output)
{
	static const char *const names[] = {"", "claimed", "chunk", "gap", "discarded"};
	uint64_t size;
	/* A1 */
	uint64_t mark = atomic_load_explicit(&k2i_entry_at(ring, position)->mark, memory_order_acquire);
	unsigned kind = k2i_mark_read(ring, position, mark, &size);

	if (kind == 0 || size > tail - position) {
		uint64_t next = mark_next(ring, position, tail);

		fprintf(output, "%" PRIu64 " %s, %" PRIu64 " bytes\n", position,
			k2i_position_claimed(ring, position) ? "claimed, no mark yet" : "no entry", next - position);
		return next;
	}
	if (kind == K2I_KIND_CHUNK)
		chunk_dump(ring, position, size, output);
	else
		fprintf(output, "%" PRIu64 " %s, %" PRIu64 " bytes\n", position, names[kind], size);
	return position + size;
}

int k2hft_ring_dump(const struct k2hft_ring *ring, FILE *output)
{
	/* The header's, also of the consumer: its own are for its thread. */
	uint64_t position = k2i_align_down(word(&ring->header->head), 8);
	uint64_t tail = k2i_align_down(word(&ring->header->tail), 8);
	K2I_ERRNO_KEPT;
	int error = header_dump(ring, output);

	/* Read one after the other, or written over: there is never more than a lap to look at. */
	if (tail - position > ring->capacity)
		tail = position + ring->capacity;
	while (!error && position < tail) {
		position = entry_dump(ring, position, tail, output);
		error = ferror(output) ? -EIO : 0;
	}
	if (!error && fflush(output))
		error = -EIO;
	return error;
}
