/* SPDX-License-Identifier: MIT */
#include "ring/handle.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/falloc.h>

#include "base/crash.h"

/* The kinds of content at a position below the tail. */
enum place {
	PLACE_CHUNK,
	PLACE_GAP,
	PLACE_LIVE,    /* a live producer's claim, or one that comes and goes too fast to tell */
	PLACE_DEAD,    /* a dead producer's claim */
	PLACE_DAMAGED, /* no entry */
};

struct walk {
	uint64_t head, read, position, end;
};

static struct walk walk_begin(const struct k2hft_ring *ring)
{
	struct walk walk = {.head = ring->head, .read = ring->read};

	if (!ring->consumer) {
		/* relaxed: nobody else is at work, says the contract. */
		walk.head = k2i_align_down(atomic_load_explicit(&ring->header->head, memory_order_relaxed), 8);
		walk.read = k2i_align_down(atomic_load_explicit(&ring->header->read, memory_order_relaxed), 8);
	}
	walk.position = walk.head;
	return walk;
}

static uint64_t mark_load(const struct k2hft_ring *ring, uint64_t position)
{
	/* A1 */
	return atomic_load_explicit(&k2i_entry_at(ring, position)->mark, memory_order_acquire);
}

/*
 * The next place behind `walk->position` where something begins: a valid mark, a live producer's claim, the consumer's
 * `read`, or the tail. The slots first: a claim that has left its slot since shows its mark.
 */
static uint64_t boundary_find(const struct k2hft_ring *ring, const struct walk *walk, uint64_t tail)
{
	uint64_t limit = walk->position < walk->read && walk->read < tail ? walk->read : tail, size;

	limit = k2i_live_claim_next(ring, walk->position, limit);
	for (uint64_t position = walk->position + 8; position < limit; position += 8) {
		if (k2i_mark_read(ring, position, mark_load(ring, position), &size) && size <= tail - position)
			return position;
	}
	return limit;
}

static bool entry_whole(const struct k2hft_ring *ring, const struct walk *walk, unsigned kind, uint64_t size,
			uint64_t tail)
{
	struct k2i_chunk_fields fields;

	if (kind == 0 || size > tail - walk->position)
		return false;
	/* `read` was found by walking: nothing reaches over it. */
	if (walk->position < walk->read && size > walk->read - walk->position)
		return false;
	return kind != K2I_KIND_CHUNK || k2i_chunk_read(ring, walk->position, size, &fields) != 0;
}

/* Looks once at walk->position; `*dead`: the owner whose claims stand there, as k2i_owner_find. */
static enum place look(const struct k2hft_ring *ring, struct walk *walk, uint64_t *dead)
{
	/* A5 */
	uint64_t give_backs = atomic_load_explicit(&ring->header->give_backs, memory_order_acquire);
	uint64_t tail = k2i_tail_load(ring);
	uint64_t mark = mark_load(ring, walk->position), size = 0;
	unsigned kind = k2i_mark_read(ring, walk->position, mark, &size);
	bool whole = entry_whole(ring, walk, kind, size, tail);
	enum k2i_owner owner;

	walk->end = walk->position + size;
	*dead = 0;
	if (tail <= walk->position)
		return PLACE_LIVE;
	if (whole && kind == K2I_KIND_CHUNK)
		return PLACE_CHUNK;
	if (whole && kind != K2I_KIND_CLAIMED)
		return PLACE_GAP;
	owner = k2i_owner_find(ring, walk->position, dead);
	if (owner == K2I_OWNER_LIVE)
		return PLACE_LIVE;
	if (!whole)
		walk->end = boundary_find(ring, walk, tail);
	/* A5 */
	if (mark_load(ring, walk->position) != mark ||
	    atomic_load_explicit(&ring->header->give_backs, memory_order_acquire) != give_backs)
		return PLACE_LIVE;
	return owner == K2I_OWNER_DEAD || whole ? PLACE_DEAD : PLACE_DAMAGED;
}

/*
 * Says what stands at walk->position and sets walk->end; `ring.c` argues why the owner's search can be trusted. An
 * owner that was found dead can have given its claim back in the middle of the look, and have died before it said so.
 * Once its death is known, another look sees all that it did.
 */
static enum place examine(const struct k2hft_ring *ring, struct walk *walk)
{
	uint64_t dead = 0, before;
	enum place place;

	do {
		before = dead;
		place = look(ring, walk, &dead);
	} while (place == PLACE_DEAD && dead != before);
	return place;
}

/* Makes [from, to) discarded entries, the first one last. */
static void skip_write(struct k2hft_ring *ring, uint64_t from, uint64_t to)
{
	uint64_t at = from + (to - from - 1) / K2I_GAP_BYTES_MAX * K2I_GAP_BYTES_MAX;

	for (uint64_t end = to; end > from; end = at, at -= K2I_GAP_BYTES_MAX) {
		uint64_t mark = k2i_mark_make(ring, at, K2I_KIND_DISCARDED, end - at);

		/* R1: for the next consumer; this one is the only reader now. */
		atomic_store_explicit(&k2i_entry_at(ring, at)->mark, mark, memory_order_release);
	}
}

/* In the ring, since who has mended it can end before anybody is told. */
static void damage_keep(struct k2hft_ring *ring, const struct walk *walk)
{
	struct k2i_ring_header *header = ring->header;
	/* relaxed: the consumer's own words, which the next one finds after its end. */
	uint64_t from = atomic_load_explicit(&header->damaged_from, memory_order_relaxed);
	uint64_t to = atomic_load_explicit(&header->damaged_to, memory_order_relaxed);

	if (to <= ring->acked || walk->position < from)
		atomic_store_explicit(&header->damaged_from, walk->position, memory_order_relaxed);
	if (to <= ring->acked || walk->end > to)
		atomic_store_explicit(&header->damaged_to, walk->end, memory_order_relaxed);
}

static void mend(struct k2hft_ring *ring, const struct walk *walk, enum place place)
{
	K2I_CRASH(ring_mend_before);
	skip_write(ring, walk->position, walk->end);
	K2I_CRASH(ring_mended);
	if (place == PLACE_DAMAGED)
		damage_keep(ring, walk);
	/* relaxed: counters. */
	if (place == PLACE_DEAD)
		(void)atomic_fetch_add_explicit(&ring->header->discarded_claims, 1, memory_order_relaxed);
	else
		(void)atomic_fetch_add_explicit(&ring->header->damaged_bytes, walk->end - walk->position,
						memory_order_relaxed);
}

uint64_t k2i_ring_sound_end(const struct k2hft_ring *ring)
{
	struct walk walk = walk_begin(ring);
	uint64_t end = ring->acked;

	while (walk.position < k2i_tail_load(ring)) {
		enum place place = examine(ring, &walk);

		if (place != PLACE_CHUNK && place != PLACE_GAP)
			break;
		if (place == PLACE_CHUNK)
			end = walk.end;
		walk.position = walk.end;
	}
	return end;
}

int k2hft_ring_validate(const struct k2hft_ring *ring)
{
	struct walk walk = walk_begin(ring);
	int damaged = 0;

	while (walk.position < k2i_tail_load(ring) && damaged < INT_MAX) {
		enum place place = examine(ring, &walk);

		/* Its size can still change, so nothing behind it can be found. */
		if (place == PLACE_LIVE)
			break;
		damaged += place == PLACE_DAMAGED;
		walk.position = walk.end;
	}
	return damaged;
}

int k2hft_ring_repair(struct k2hft_ring *ring)
{
	struct walk walk = walk_begin(ring);
	int mended = 0;

	if (!ring->consumer)
		return -EINVAL;
	while (walk.position < k2i_tail_load(ring) && mended < INT_MAX) {
		enum place place = examine(ring, &walk);

		if (place == PLACE_LIVE)
			break;
		if (place == PLACE_DEAD || place == PLACE_DAMAGED) {
			mend(ring, &walk, place);
			mended++;
		}
		walk.position = walk.end;
	}
	k2i_slots_sweep(ring);
	k2i_ring_count(ring, repaired_places, (uint64_t)mended);
	return mended;
}

int k2hft_ring_recover(struct k2hft_ring *ring)
{
	struct walk walk = walk_begin(ring);
	uint64_t size;
	unsigned kind;

	if (!ring->consumer)
		return -EINVAL;
	for (walk.position = ring->read; walk.position < k2i_tail_load(ring); walk.position += size) {
		kind = k2i_mark_read(ring, walk.position, mark_load(ring, walk.position), &size);
		if (kind != K2I_KIND_GAP && kind != K2I_KIND_DISCARDED)
			break;
	}
	if (walk.position >= k2i_tail_load(ring) || examine(ring, &walk) != PLACE_DEAD)
		return 0;
	mend(ring, &walk, PLACE_DEAD);
	k2i_slots_sweep(ring);
	return 1;
}

static bool zero(const struct k2hft_ring *ring, uint64_t data_at, uint64_t bytes)
{
	return bytes == 0 || fallocate(ring->descriptor, FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE,
				       (off_t)(K2I_DATA_AT + data_at), (off_t)bytes) == 0;
}

/* Where the file system can say that a range is zeros without reading or writing it. */
static bool room_zero(const struct k2hft_ring *ring, uint64_t from, uint64_t to)
{
	uint64_t at = from & (ring->capacity - 1), first_bytes = ring->capacity - at;

	if (first_bytes > to - from)
		first_bytes = to - from;
	return zero(ring, at, first_bytes) && zero(ring, 0, to - from - first_bytes);
}

void k2i_free_room_clear(struct k2hft_ring *ring)
{
	uint64_t tail = k2i_tail_load(ring), end = ring->head + ring->capacity, size;

	/* Looking at each place reads all of it: minutes for a ring of many gigabytes, at each start after a boot. */
	if (room_zero(ring, tail, end))
		return;
	for (uint64_t position = tail; position < end; position += 8) {
		/* relaxed: the consumer is about to be opened, and its producers with it. */
		if (k2i_mark_read(ring, position, mark_load(ring, position), &size))
			atomic_store_explicit(&k2i_entry_at(ring, position)->mark, 0, memory_order_relaxed);
	}
}

void k2i_cut_entry_clear(struct k2hft_ring *ring, uint64_t file_bytes)
{
	uint64_t cut = file_bytes > K2I_DATA_AT ? k2i_align_down(file_bytes - K2I_DATA_AT, 8) : 0;
	uint64_t begin = cut > K2HFT_CHUNK_BYTES_MAX ? cut - K2HFT_CHUNK_BYTES_MAX : 0;
	uint64_t head_at = ring->head & (ring->capacity - 1), tail = k2i_tail_load(ring), size;

	/* Each place in the data has one position between head and a lap behind it, and a mark is valid at one only. */
	for (uint64_t at = begin; at < cut; at += 8) {
		uint64_t position = ring->head - head_at + at + (at < head_at ? ring->capacity : 0);

		if (position < tail && k2i_mark_read(ring, position, mark_load(ring, position), &size) &&
		    at + size > cut)
			/* relaxed: the consumer is about to be opened. */
			atomic_store_explicit(&k2i_entry_at(ring, position)->mark, 0, memory_order_relaxed);
	}
}

bool k2i_ring_damage(const struct k2hft_ring *ring, uint64_t *from, uint64_t *to)
{
	/* relaxed: as in damage_keep. */
	*from = atomic_load_explicit(&ring->header->damaged_from, memory_order_relaxed);
	*to = atomic_load_explicit(&ring->header->damaged_to, memory_order_relaxed);
	if (*to > ring->acked)
		return true;
	*from = *to = 0;
	return false;
}
