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

/* Kind of the whole entry at `position`, 0 if there is none. */
static unsigned entry_kind(struct k2hft_ring *ring, uint64_t position, uint64_t *size)
{
	/* A1 */
	uint64_t mark = atomic_load_explicit(&k2i_entry_at(ring, position)->mark, memory_order_acquire);
	unsigned kind = k2i_mark_read(ring, position, mark, size);

	if (kind && position + *size > ring->tail_seen) {
		ring->tail_seen = k2i_tail_load(ring);
		if (position > ring->tail_seen || *size > ring->tail_seen - position)
			return 0;
	}
	return kind;
}

static bool is_gap(unsigned kind)
{
	return kind == K2I_KIND_GAP || kind == K2I_KIND_DISCARDED;
}

static void read_move(struct k2hft_ring *ring, uint64_t position)
{
	ring->read = position;
	/* relaxed: for statistics only. */
	atomic_store_explicit(&ring->header->read, position, memory_order_relaxed);
}

static void head_move(struct k2hft_ring *ring, uint64_t position)
{
	ring->head = position;
	/* R4, R7 */
	atomic_store_explicit(&ring->header->head, position, memory_order_seq_cst);
	/* A7 */
	if (atomic_load_explicit(&ring->header->space_waiters, memory_order_seq_cst))
		k2i_space_wake(ring);
}

/* Moves `read` over gaps, and the head with it if nothing before them waits for an acknowledgement. */
static void gaps_skip(struct k2hft_ring *ring)
{
	uint64_t position = ring->read, size;

	while (is_gap(entry_kind(ring, position, &size)))
		position += size;
	if (position == ring->read)
		return;
	if (ring->head == ring->read)
		head_move(ring, position);
	read_move(ring, position);
}

/* Why there is no chunk at `read`: 0 nothing was committed, or it is there now; -EBADMSG the entry is damaged. */
static int absence(struct k2hft_ring *ring, int *claimed)
{
	uint64_t position = ring->read, size, mark;
	/* A5 */
	uint64_t give_backs = atomic_load_explicit(&ring->header->give_backs, memory_order_acquire);
	uint64_t tail = k2i_tail_load(ring);
	unsigned kind;

	if (tail <= position)
		return 0;
	*claimed = k2i_position_claimed(ring, position);
	/* A1 */
	mark = atomic_load_explicit(&k2i_entry_at(ring, position)->mark, memory_order_acquire);
	kind = k2i_mark_read(ring, position, mark, &size);
	if (kind && size <= tail - position) {
		struct k2i_chunk_fields fields;

		*claimed = kind == K2I_KIND_CLAIMED;
		return kind == K2I_KIND_CHUNK && !k2i_chunk_read(ring, position, size, &fields) ? -EBADMSG : 0;
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
	uint64_t position, size, gap_bytes;
	int stands_in_way = 0, status;

	if (!ring->consumer)
		return -EINVAL;
	memset(span, 0, sizeof(*span));
	gaps_skip(ring);
	position = ring->read;
	while (entry_kind(ring, position, &size) == K2I_KIND_CHUNK && k2i_chunk_read(ring, position, size, &fields) &&
	       span_takes(span, size, fields.record_count, bytes_max, records_max)) {
		span->bytes += (size_t)size;
		span->record_count += fields.record_count;
		span->chunk_count++;
		position += size;
	}
	status = span->chunk_count ? 0 : absence(ring, &stands_in_way);
	ring->claim_told = stands_in_way != 0;
	if (claimed)
		*claimed = stands_in_way;
	if (span->chunk_count == 0)
		return status;
	gap_bytes = ring->read - ring->chunk_end;
	span->data = k2i_entry_at(ring, ring->read);
	span->position = ring->read;
	span->gap_bytes = gap_bytes < UINT32_MAX ? (uint32_t)gap_bytes : UINT32_MAX;
	ring->chunk_end = position;
	read_move(ring, position);
	return (int)span->chunk_count;
}

/*
 * Walks entries from `from` to `position`, which must be where one ends; counts the records of chunks. Behind an entry
 * that was damaged since it was read nothing can be checked or counted.
 */
static int walk(struct k2hft_ring *ring, uint64_t from, uint64_t position, uint64_t *records)
{
	struct k2i_chunk_fields fields;

	while (from < position) {
		uint64_t size;
		unsigned kind = entry_kind(ring, from, &size);
		bool is_chunk = kind == K2I_KIND_CHUNK && k2i_chunk_read(ring, from, size, &fields);

		if (!is_chunk && !is_gap(kind))
			return -EBADMSG;
		if (size > position - from)
			return -EINVAL;
		*records += is_chunk ? fields.record_count : 0;
		from += size;
	}
	return 0;
}

int k2hft_ring_rewind(struct k2hft_ring *ring, uint64_t position)
{
	uint64_t records = 0;

	if (!ring->consumer || position < ring->acked || position > k2i_tail_load(ring))
		return -EINVAL;
	/* Only gaps lie between acked and head: the next chunk's gap_bytes tell of them, wherever the receiver stands. */
	if (position <= ring->head) {
		read_move(ring, ring->head);
		ring->chunk_end = ring->acked;
		return 0;
	}
	if (walk(ring, position < ring->read ? ring->head : ring->read, position, &records))
		return -EINVAL;
	read_move(ring, position);
	ring->chunk_end = position;
	return 0;
}

int k2hft_ring_release(struct k2hft_ring *ring, uint64_t position)
{
	struct k2i_ring_header *header = ring->header;
	uint64_t records = 0, size;

	if (!ring->consumer || position < ring->acked || position > ring->read)
		return -EINVAL;
	if (position <= ring->head)
		return 0;
	if (walk(ring, ring->head, position, &records) == -EINVAL)
		return -EINVAL;
	ring->acked = position;
	/* relaxed: for statistics only, and the consumer alone writes them. */
	atomic_store_explicit(&header->acked, position, memory_order_relaxed);
	(void)atomic_fetch_add_explicit(&header->acked_records, records, memory_order_relaxed);
	K2I_CRASH(ring_acked);
	while (position < ring->read && is_gap(entry_kind(ring, position, &size)) && size <= ring->read - position)
		position += size;
	head_move(ring, position);
	K2I_CRASH(ring_released);
	gaps_skip(ring);
	return 0;
}

int k2hft_ring_committed(const struct k2hft_ring *ring, uint64_t position)
{
	uint64_t size;
	unsigned kind;

	if (!ring->consumer)
		return -EINVAL;
	if (position < ring->head)
		return 1;
	if (position >= k2i_tail_load(ring))
		return 0;
	/* A1. A gap at a claim's begin is what the commit left in front of its chunk. */
	kind = k2i_mark_read(ring, position,
			     atomic_load_explicit(&k2i_entry_at(ring, position)->mark, memory_order_acquire), &size);
	return kind == K2I_KIND_CHUNK || kind == K2I_KIND_GAP;
}

int k2hft_ring_sleep(struct k2hft_ring *ring)
{
	struct k2i_entry *entry = k2i_entry_at(ring, ring->read);
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
