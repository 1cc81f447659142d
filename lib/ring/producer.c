/* SPDX-License-Identifier: MIT */
#include "ring/handle.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/caller.h"
#include "base/crash.h"

int k2hft_producer_open(struct k2hft_ring *ring, struct k2hft_producer **producer)
{
	K2I_ERRNO_KEPT;
	struct k2hft_producer *opened = calloc(1, sizeof(*opened));

	if (!opened)
		return -ENOMEM;
	opened->slot = k2i_slot_take(ring);
	if (!opened->slot) {
		free(opened);
		return -ENOSPC;
	}
	opened->ring = ring;
	opened->bytes_max = k2i_payload_bytes_max(ring);
	/* relaxed: A8 in k2i_slot_take made them this producer's own. */
	opened->committed_records = atomic_load_explicit(&opened->slot->committed_records, memory_order_relaxed);
	opened->committed_bytes = atomic_load_explicit(&opened->slot->committed_bytes, memory_order_relaxed);
	*producer = opened;
	return 0;
}

void k2hft_producer_close(struct k2hft_producer *producer)
{
	if (!producer)
		return;
	if (producer->size)
		(void)k2hft_producer_discard(producer);
	k2i_slot_free(producer->slot);
	free(producer);
}

/* A tail that is not one (another process can have written it) has no room behind it either. */
static bool room_for(const struct k2hft_producer *producer, uint64_t tail, uint64_t size)
{
	return k2i_place_valid(producer->ring, producer->head_seen, tail + size);
}

/* Moves the tail from `tail` to `next`. The slot says so first: whoever sees the claim can find its producer. */
static bool tail_move(struct k2hft_producer *producer, uint64_t *tail, uint64_t next)
{
	/* R3: R2 below publishes it, but a search for the last claim's owner that finds it must find that mark. */
	atomic_store_explicit(&producer->slot->claim, *tail | 1, memory_order_release);
	K2I_CRASH(ring_claim_before);
	/* R2, A2, R6: room that a producer gave back comes with what it wrote there. relaxed on failure: a guess. */
	if (!atomic_compare_exchange_weak_explicit(&producer->ring->header->tail, tail, next, memory_order_seq_cst,
						   memory_order_relaxed))
		return false;
	producer->place = *tail;
	return true;
}

/* The first mark of the claim: with it everything behind it is the consumer's, who may have to be woken. */
static void mark_publish(struct k2hft_ring *ring, uint64_t place, unsigned kind, uint64_t size)
{
	/* R1, R6 */
	atomic_store_explicit(&k2i_entry_at(ring, place)->mark, k2i_mark_make(ring, place, kind, size),
			      memory_order_seq_cst);
	/* relaxed: it is set before there are producers, and who moves it wakes. */
	if (atomic_load_explicit(&ring->limit, memory_order_relaxed))
		return;
	/* A6 */
	if (atomic_load_explicit(&ring->header->sleeping, memory_order_seq_cst))
		k2i_consumer_wake(ring);
}

static void claim_end(struct k2hft_producer *producer)
{
	/* R3: whoever finds the slot empty finds the mark that was stored before, or the tail back. */
	atomic_store_explicit(&producer->slot->rear, 0, memory_order_release);
	atomic_store_explicit(&producer->slot->claim, 0, memory_order_release);
	producer->size = 0;
}

/* The smallest area of which half is enough for `bytes`. */
static unsigned area_choose(const struct k2hft_ring *ring, uint64_t bytes)
{
	for (unsigned at = 1; at < K2I_AREA_COUNT; at++) {
		if (bytes <= ring->areas[at].bytes / 2)
			return at;
	}
	return K2I_AREA_ALL;
}

/*
 * Where there is no room, or in the middle of a large area: claims a switch to another area, if that is to be had. 1: the
 * tail is another, or may be; 0: `*tail` has room; -EAGAIN.
 */
static int area_turn(struct k2hft_producer *producer, uint64_t *tail, uint64_t size)
{
	struct k2hft_ring *ring = producer->ring;
	struct k2i_ring_header *header = ring->header;
	const struct k2i_area *from;
	unsigned to;

	/* A2: and then the head, which is not older than that of those who moved the tail. */
	*tail = atomic_load_explicit(&header->tail, memory_order_acquire);
	/* A4: what the consumer read from the room is read before it is written again. */
	producer->head_seen = k2i_position(atomic_load_explicit(&header->head, memory_order_acquire));
	/* The tail is older than the head, which came with a later one; else it is none. */
	if (!k2i_place_valid(ring, producer->head_seen, *tail))
		/* relaxed: A4 came before. */
		return atomic_load_explicit(&header->tail, memory_order_relaxed) == *tail ? -EAGAIN : 1;
	from = k2i_area_of(ring, *tail);
	to = area_choose(ring, *tail + size + 8 - producer->head_seen);
	if (room_for(producer, *tail, size) && ring->areas[to].bytes >= from->bytes)
		return 0;
	if (&ring->areas[to] == from)
		return -EAGAIN;
	if (tail_move(producer, tail, k2i_place_behind(*tail, K2I_KIND_SWITCH + to, 8))) {
		K2I_CRASH(ring_switch_claimed);
		mark_publish(ring, producer->place, K2I_KIND_SWITCH + to, 8);
		K2I_CRASH(ring_switched);
		claim_end(producer);
	}
	return 1;
}

/* Moves the tail over `size` bytes. */
static int tail_claim(struct k2hft_producer *producer, uint64_t size)
{
	struct k2hft_ring *ring = producer->ring;
	/* relaxed: only a guess, the exchange checks it. */
	uint64_t tail = atomic_load_explicit(&ring->header->tail, memory_order_relaxed);
	int status;

	do {
		while (!room_for(producer, tail, size) || (tail ^ (tail + size)) >= ring->turn) {
			status = area_turn(producer, &tail, size);
			if (status == 0)
				break;
			if (status < 0) {
				/* R3: a claim that was about to be made is none. */
				atomic_store_explicit(&producer->slot->claim, 0, memory_order_release);
				return status;
			}
		}
	} while (!tail_move(producer, &tail, tail + size));
	K2I_CRASH(ring_claimed);
	producer->size = size;
	return 0;
}

int k2hft_producer_reserve(struct k2hft_producer *producer, size_t bytes, void **payload)
{
	struct k2i_entry *entry;
	int status;

	if (producer->size)
		return -EBUSY;
	if (bytes > producer->bytes_max)
		return -EMSGSIZE;
	status = tail_claim(producer, k2i_align_up(K2HFT_CHUNK_HEADER_BYTES + bytes, 8));
	if (status)
		return status;
	entry = k2i_entry_at(producer->ring, producer->place);
	/* R1: A1 finds the claim's size, and its owner in the slot. */
	atomic_store_explicit(&entry->mark,
			      k2i_mark_make(producer->ring, producer->place, K2I_KIND_CLAIMED, producer->size),
			      memory_order_release);
	K2I_CRASH(ring_reserved);
	producer->bytes = bytes;
	*payload = entry + 1;
	return 0;
}

static void mark_store_relaxed(struct k2hft_ring *ring, uint64_t place, unsigned kind, uint64_t size)
{
	/* relaxed: nobody looks there before this claim's first mark is stored (R1). */
	atomic_store_explicit(&k2i_entry_at(ring, place)->mark, k2i_mark_make(ring, place, kind, size),
			      memory_order_relaxed);
}

/* Takes the mark out of room that goes back with the tail. */
static void mark_clear(struct k2hft_ring *ring, uint64_t place)
{
	/*
	 * R1 where another process is the next to claim that room: R2 orders the two, but a tool that checks one process
	 * only sees no other way from here to the consumer.
	 */
	atomic_store_explicit(&k2i_entry_at(ring, place)->mark, 0, memory_order_release);
}

/* Moves the tail back from the claim's end to `end`, if the claim is still the last one. */
static bool tail_back(struct k2hft_producer *producer, uint64_t end)
{
	struct k2i_ring_header *header = producer->ring->header;
	uint64_t tail = producer->place + producer->size;

	/* R2, R7. relaxed on failure: nothing is read then. */
	if (!atomic_compare_exchange_strong_explicit(&header->tail, &tail, end, memory_order_seq_cst,
						     memory_order_relaxed))
		return false;
	/* A7 */
	if (atomic_load_explicit(&header->space_waiters, memory_order_seq_cst))
		k2i_space_wake(producer->ring);
	return true;
}

/*
 * Gives back [end, end of claim). A producer can die between any two of these stores: the claim's mark must say that it
 * ends at `end` before somebody else can claim there, and what is there until then must have an owner and no mark.
 */
static void rear_give_back(struct k2hft_producer *producer, uint64_t end)
{
	struct k2hft_ring *ring = producer->ring;
	uint64_t rear_bytes = producer->place + producer->size - end;
	uint64_t mark = k2i_mark_make(ring, producer->place, K2I_KIND_CLAIMED, end - producer->place);

	mark_clear(ring, end);
	K2I_CRASH(ring_rear_before);
	/* relaxed: R1 follows. */
	atomic_store_explicit(&producer->slot->rear, end | 1, memory_order_relaxed);
	/* R1 */
	atomic_store_explicit(&k2i_entry_at(ring, producer->place)->mark, mark, memory_order_release);
	if (!tail_back(producer, end))
		mark_store_relaxed(ring, end, K2I_KIND_GAP, rear_bytes);
	K2I_CRASH(ring_rear_given);
	producer->size = end - producer->place;
}

static void chunk_write(struct k2hft_ring *ring, uint64_t begin, const struct k2hft_chunk *chunk, unsigned lead_bytes,
			unsigned pad_bytes, size_t bytes)
{
	struct k2i_entry *entry = k2i_entry_at(ring, begin);
	uint8_t *lead = (uint8_t *)(entry + 1);
	uint64_t stream_records = (uint64_t)chunk->record_count << 32 | chunk->stream_id;
	uint64_t rest = (uint64_t)chunk->flags << 48 | (uint64_t)pad_bytes << 40 | (uint64_t)lead_bytes << 32 |
			chunk->writer_pid;

	/* relaxed: published by the claim's first mark, R1. They are atomic, since a search for a mark may look on. */
	atomic_store_explicit(&entry->stream_records, htole64(stream_records), memory_order_relaxed);
	atomic_store_explicit(&entry->time_ns, htole64(chunk->time_ns), memory_order_relaxed);
	atomic_store_explicit(&entry->rest, htole64(rest), memory_order_relaxed);
	/* The bytes of an earlier lap must not go over the wire. */
	memset(lead, 0, lead_bytes);
	memset(lead + lead_bytes + bytes, 0, pad_bytes);
}

static void records_count(struct k2hft_producer *producer, uint32_t records, size_t bytes)
{
	producer->committed_records += records;
	producer->committed_bytes += bytes;
	/* relaxed: this producer alone writes them; statistics may be a moment old. */
	atomic_store_explicit(&producer->slot->committed_records, producer->committed_records, memory_order_relaxed);
	atomic_store_explicit(&producer->slot->committed_bytes, producer->committed_bytes, memory_order_relaxed);
}

int k2hft_producer_commit(struct k2hft_producer *producer, const struct k2hft_chunk *chunk, size_t offset, size_t bytes)
{
	struct k2hft_ring *ring = producer->ring;
	unsigned lead_bytes = offset & 7, pad_bytes;
	uint64_t begin, end, size;

	if (!producer->size || bytes == 0 || offset > producer->bytes || bytes > producer->bytes - offset)
		return -EINVAL;
	if (chunk->flags & ~K2I_CHUNK_FLAGS_KNOWN || chunk->reserved || chunk->record_count == 0 ||
	    chunk->record_count > bytes || !k2i_stream_referenced(ring, chunk->stream_id))
		return -EINVAL;
	begin = producer->place + offset - lead_bytes;
	size = k2i_align_up(K2HFT_CHUNK_HEADER_BYTES + lead_bytes + bytes, 8);
	pad_bytes = (unsigned)(size - K2HFT_CHUNK_HEADER_BYTES - lead_bytes - bytes);
	end = begin + size;
	if (end < producer->place + producer->size)
		rear_give_back(producer, end);
	chunk_write(ring, begin, chunk, lead_bytes, pad_bytes, bytes);
	records_count(producer, chunk->record_count, bytes);
	K2I_CRASH(ring_commit_before);
	if (begin == producer->place) {
		mark_publish(ring, begin, K2I_KIND_CHUNK, size);
	} else {
		mark_store_relaxed(ring, begin, K2I_KIND_CHUNK, size);
		mark_publish(ring, producer->place, K2I_KIND_GAP, begin - producer->place);
	}
	K2I_CRASH(ring_committed);
	claim_end(producer);
	K2I_CRASH(ring_claim_ended);
	return 0;
}

int k2hft_producer_discard(struct k2hft_producer *producer)
{
	struct k2hft_ring *ring = producer->ring;

	if (!producer->size)
		return -EINVAL;
	mark_clear(ring, producer->place);
	if (tail_back(producer, producer->place))
		/* R5: between the tail's way back and R3, so that a search for the owner notices, see ring.c. */
		(void)atomic_fetch_add_explicit(&ring->header->give_backs, 1, memory_order_release);
	else
		mark_publish(ring, producer->place, K2I_KIND_DISCARDED, producer->size);
	claim_end(producer);
	return 0;
}

uint64_t k2hft_producer_position(const struct k2hft_producer *producer)
{
	return k2i_position(producer->place);
}

void k2hft_producer_drop(struct k2hft_producer *producer, uint64_t record_count)
{
	k2i_ring_count(producer->ring, dropped_records, record_count);
}

int k2hft_producer_push(struct k2hft_producer *producer, const struct k2hft_chunk *chunk, const void *data,
			size_t bytes)
{
	void *payload;
	int status;

	if (bytes == 0)
		return -EINVAL;
	status = k2hft_producer_reserve(producer, bytes, &payload);
	if (status)
		return status;
	memcpy(payload, data, bytes);
	status = k2hft_producer_commit(producer, chunk, 0, bytes);
	if (status)
		(void)k2hft_producer_discard(producer);
	return status;
}
