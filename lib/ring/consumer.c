/* SPDX-License-Identifier: MIT */
#include "ring/handle.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "base/crash.h"

/*
 * The consumer trusts its own positions and nothing in the mapping: an entry counts when its mark is one, lies within a
 * lap of the head and its fields fit together.
 */

/* Kind of the whole entry at `place`, 0 if there is none, and where the next one begins. */
static unsigned entry_kind(struct k2hft_ring *ring, uint64_t place, uint64_t *behind)
{
	/* A1 */
	uint64_t mark = atomic_load_explicit(&k2i_entry_at(ring, place)->mark, memory_order_acquire), size;
	unsigned kind = k2i_mark_read(ring, place, mark, &size);

	*behind = k2i_place_behind(place, kind, size);
	if (!kind || !k2i_entry_valid(ring, ring->head, place, kind, *behind))
		return 0;
	if (k2i_position(*behind) > ring->tail_seen) {
		ring->tail_seen = k2i_tail_load(ring);
		if (k2i_position(*behind) > ring->tail_seen)
			return 0;
	}
	return kind;
}

static void read_move(struct k2hft_ring *ring, uint64_t place)
{
	ring->read = k2i_position(place);
	ring->read_area = place & K2I_PLACE_AREA;
	/* relaxed: for statistics only. */
	atomic_store_explicit(&ring->header->read, place, memory_order_relaxed);
}

static void head_move(struct k2hft_ring *ring, uint64_t place)
{
	ring->head = k2i_position(place);
	ring->head_area = place & K2I_PLACE_AREA;
	/* R4, R7 */
	atomic_store_explicit(&ring->header->head, place, memory_order_seq_cst);
	/* A7 */
	if (atomic_load_explicit(&ring->header->space_waiters, memory_order_seq_cst))
		k2i_space_wake(ring);
}

/* Moves `read` over gaps, and the head with it if nothing before them waits for an acknowledgement. */
static void gaps_skip(struct k2hft_ring *ring)
{
	uint64_t place = k2i_read_place(ring), behind;

	while (k2i_kind_gap(entry_kind(ring, place, &behind)))
		place = behind;
	if (k2i_position(place) == ring->read)
		return;
	if (ring->head == ring->read)
		head_move(ring, place);
	read_move(ring, place);
}

/* Why there is no chunk at `read`: 0 nothing was committed, or it is there now; -EBADMSG the entry is damaged. */
static int chunk_absent(struct k2hft_ring *ring, int *claimed)
{
	uint64_t place = k2i_read_place(ring), position = ring->read, behind, size, mark;
	/* A5 */
	uint64_t give_backs = atomic_load_explicit(&ring->header->give_backs, memory_order_acquire);
	uint64_t tail = k2i_tail_load(ring);
	unsigned kind;

	if (tail <= position)
		return 0;
	*claimed = k2i_position_claimed(ring, position);
	/* A1 */
	mark = atomic_load_explicit(&k2i_entry_at(ring, place)->mark, memory_order_acquire);
	kind = k2i_mark_read(ring, place, mark, &size);
	behind = k2i_place_behind(place, kind, size);
	if (kind && size <= tail - position && k2i_entry_valid(ring, ring->head, place, kind, behind)) {
		struct k2i_chunk_fields fields;

		*claimed = kind == K2I_KIND_CLAIMED;
		return kind == K2I_KIND_CHUNK && !k2i_chunk_read(ring, place, size, &fields) ? -EBADMSG : 0;
	}
	/* A5: a claim that went back meanwhile was neither in its slot nor in the ring, and that is no damage. */
	if (*claimed || atomic_load_explicit(&ring->header->give_backs, memory_order_acquire) != give_backs)
		return 0;
	return -EBADMSG;
}

static bool span_takes(const struct k2hft_span *span, uint64_t size, uint32_t records, size_t bytes_max,
		       uint64_t records_max)
{
	if (span->chunk_count == 0)
		return true;
	if (span->chunk_count == INT_MAX || size > bytes_max || span->bytes > bytes_max - size)
		return false;
	return records_max == 0 || span->record_count + records <= records_max;
}

int k2hft_ring_read(struct k2hft_ring *ring, size_t bytes_max, uint64_t records_max, struct k2hft_span *span,
		    int *claimed)
{
	struct k2i_chunk_fields fields;
	uint64_t place, behind, gap_bytes;
	int stands_in_way = 0, status;

	if (!ring->consumer)
		return -EINVAL;
	memset(span, 0, sizeof(*span));
	gaps_skip(ring);
	place = k2i_read_place(ring);
	while (entry_kind(ring, place, &behind) == K2I_KIND_CHUNK &&
	       k2i_chunk_read(ring, place, behind - place, &fields) &&
	       span_takes(span, behind - place, fields.record_count, bytes_max, records_max)) {
		span->bytes += (size_t)(behind - place);
		span->record_count += fields.record_count;
		span->chunk_count++;
		place = behind;
	}
	status = span->chunk_count ? 0 : chunk_absent(ring, &stands_in_way);
	ring->claim_told = stands_in_way != 0;
	if (claimed)
		*claimed = stands_in_way;
	if (span->chunk_count == 0)
		return status;
	gap_bytes = ring->read - ring->chunk_end;
	span->data = k2i_entry_at(ring, k2i_read_place(ring));
	span->position = ring->read;
	span->gap_bytes = gap_bytes < UINT32_MAX ? (uint32_t)gap_bytes : UINT32_MAX;
	ring->chunk_end = k2i_position(place);
	read_move(ring, place);
	return (int)span->chunk_count;
}

/*
 * Walks entries from `*place` to `position`, which must be where one ends; counts the records of chunks. Behind an entry
 * that was damaged since it was read nothing can be checked or counted.
 */
static int entries_walk(struct k2hft_ring *ring, uint64_t *place, uint64_t position, uint64_t *records)
{
	struct k2i_chunk_fields fields;

	while (k2i_position(*place) < position) {
		uint64_t behind;
		unsigned kind = entry_kind(ring, *place, &behind);
		bool is_chunk = kind == K2I_KIND_CHUNK && k2i_chunk_read(ring, *place, behind - *place, &fields);

		if (!is_chunk && !k2i_kind_gap(kind))
			return -EBADMSG;
		if (k2i_position(behind) > position)
			return -EINVAL;
		*records += is_chunk ? fields.record_count : 0;
		*place = behind;
	}
	return 0;
}

/* The place of a position that no walk leads to: if nothing is there either, the next read finds that and repairs it. */
static uint64_t place_guess(const struct k2hft_ring *ring, uint64_t position)
{
	uint64_t size;

	if (position == ring->read)
		return k2i_read_place(ring);
	for (uint64_t place = position; place < position + 2 * K2I_AREA_COUNT; place += 2) {
		/* A1 */
		if (k2i_area_of(ring, place)->bytes &&
		    k2i_mark_read(ring, place,
				  atomic_load_explicit(&k2i_entry_at(ring, place)->mark, memory_order_acquire), &size))
			return place;
	}
	return position | K2I_AREA_ALL;
}

int k2hft_ring_rewind(struct k2hft_ring *ring, uint64_t position)
{
	uint64_t place = position < ring->read ? k2i_head_place(ring) : k2i_read_place(ring), records = 0;

	if (!ring->consumer || position < ring->acked || position > k2i_tail_load(ring))
		return -EINVAL;
	/* Only gaps lie between acked and head: the next chunk's gap_bytes tell of them, wherever the receiver stands. */
	if (position <= ring->head) {
		read_move(ring, k2i_head_place(ring));
		ring->chunk_end = ring->acked;
		return 0;
	}
	if (entries_walk(ring, &place, position, &records))
		return -EINVAL;
	read_move(ring, place);
	ring->chunk_end = position;
	return 0;
}

int k2hft_ring_release(struct k2hft_ring *ring, uint64_t position)
{
	struct k2i_ring_header *header = ring->header;
	uint64_t place = k2i_head_place(ring), behind, records = 0;
	int status;

	if (!ring->consumer || position < ring->acked || position > ring->read)
		return -EINVAL;
	if (position <= ring->head)
		return 0;
	status = entries_walk(ring, &place, position, &records);
	if (status == -EINVAL)
		return -EINVAL;
	if (status)
		place = place_guess(ring, position);
	ring->acked = position;
	/* relaxed: for the next consumer and statistics, and the consumer alone writes them. */
	atomic_store_explicit(&header->acked, place, memory_order_relaxed);
	(void)atomic_fetch_add_explicit(&header->acked_records, records, memory_order_relaxed);
	K2I_CRASH(ring_acked);
	while (k2i_position(place) < ring->read && k2i_kind_gap(entry_kind(ring, place, &behind)) &&
	       k2i_position(behind) <= ring->read)
		place = behind;
	head_move(ring, place);
	K2I_CRASH(ring_released);
	gaps_skip(ring);
	return 0;
}

int k2hft_ring_committed(const struct k2hft_ring *ring, uint64_t position)
{
	uint64_t place, size;
	unsigned kind;

	if (!ring->consumer)
		return -EINVAL;
	if (position < ring->head)
		return 1;
	if (position >= k2i_tail_load(ring))
		return 0;
	place = place_guess(ring, position);
	/* A1. A gap at a claim's begin is what the commit left in front of its chunk. */
	kind = k2i_mark_read(ring, place, atomic_load_explicit(&k2i_entry_at(ring, place)->mark, memory_order_acquire),
			     &size);
	return kind == K2I_KIND_CHUNK || kind == K2I_KIND_GAP;
}

int k2hft_ring_sleep(struct k2hft_ring *ring)
{
	struct k2i_entry *entry = k2i_entry_at(ring, k2i_read_place(ring));
	uint64_t size, tail;
	unsigned kind;
	bool claim;

	if (!ring->consumer)
		return -EINVAL;
	ring->sleep_number += ring->sleep_number == UINT32_MAX ? 2 : 1;
	/* R6 */
	atomic_store_explicit(&ring->header->sleeping, ring->sleep_number, memory_order_seq_cst);
	/* A1, A6: a commit that this does not see sees `sleeping`. */
	kind = k2i_mark_read(ring, ring->read, atomic_load_explicit(&entry->mark, memory_order_seq_cst), &size);
	/* A6: a claim before one whose commit found nobody asleep is seen, even if its owner died in it. */
	(void)atomic_load_explicit(&ring->header->tail, memory_order_seq_cst);
	tail = k2i_tail_load(ring); /* not older than that */
	claim = kind == K2I_KIND_CLAIMED || (!kind && k2i_position_claimed(ring, ring->read));
	/* A claim that the caller was not told of is news: its producer can be dead, and only who knows of it finds out. */
	if (tail <= ring->read || (claim && ring->claim_told)) {
		k2i_wake_arm(ring);
		return 1;
	}
	/* relaxed: a wake too many is harmless. */
	atomic_store_explicit(&ring->header->sleeping, 0, memory_order_relaxed);
	return 0;
}
