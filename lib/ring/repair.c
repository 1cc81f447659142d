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
	uint64_t head;             /* a position */
	uint64_t read, place, end; /* places; end: behind what stands at place */
};

static struct walk walk_begin(const struct k2hft_ring *ring)
{
	struct walk walk = {.place = k2i_head_place(ring), .read = k2i_read_place(ring)};

	if (!ring->consumer) {
		/* relaxed: nobody else is at work, says the contract. */
		walk.place = atomic_load_explicit(&ring->header->head, memory_order_relaxed);
		walk.read = atomic_load_explicit(&ring->header->read, memory_order_relaxed);
	}
	walk.head = k2i_position(walk.place);
	if (!k2i_area_of(ring, walk.place)->bytes)
		walk.place = walk.head | K2I_AREA_ALL;
	if (!k2i_place_valid(ring, walk.head, walk.read))
		walk.read = walk.head;
	return walk;
}

static bool walk_ends(const struct k2hft_ring *ring, const struct walk *walk)
{
	return k2i_position(walk->place) >= k2i_tail_load(ring);
}

static uint64_t mark_load(const struct k2hft_ring *ring, uint64_t place)
{
	/* A1 */
	return atomic_load_explicit(&k2i_entry_at(ring, place)->mark, memory_order_acquire);
}

/* Kind of the entry at `place`, 0 if none can be there, and the place behind it. */
static unsigned entry_look(const struct k2hft_ring *ring, const struct walk *walk, uint64_t place, uint64_t mark,
			   uint64_t tail, uint64_t *behind)
{
	uint64_t size;
	unsigned kind = k2i_mark_read(ring, place, mark, &size);

	*behind = k2i_place_behind(place, kind, size);
	return kind && size <= tail - k2i_position(place) && k2i_entry_valid(ring, walk->head, place, kind, *behind)
		       ? kind
		       : 0;
}

/* Whether a valid mark is at the position, in the area that `*place` then says. */
static bool entry_find(const struct k2hft_ring *ring, const struct walk *walk, uint64_t position, uint64_t tail,
		       uint64_t *place)
{
	uint64_t behind;

	for (unsigned area = 0; area < K2I_AREA_COUNT; area++) {
		*place = position | (uint64_t)area << 1;
		if (ring->areas[area].bytes && entry_look(ring, walk, *place, mark_load(ring, *place), tail, &behind))
			return true;
	}
	return false;
}

/*
 * The next place behind `walk->place` where something begins: a valid mark, a live producer's claim, the consumer's
 * `read`, or the tail. The slots first: a claim that has left its slot since shows its mark. Between the two can have been
 * a switch to another area.
 */
static uint64_t boundary_find(const struct k2hft_ring *ring, const struct walk *walk, uint64_t tail)
{
	uint64_t limit = walk->place < walk->read && walk->read < tail ? walk->read : tail, found;

	limit = k2i_live_claim_next(ring, walk->head, walk->place, limit);
	for (uint64_t position = k2i_position(walk->place) + 8; position < k2i_position(limit); position += 8) {
		if (entry_find(ring, walk, position, k2i_position(tail), &found))
			return found;
	}
	return limit;
}

static bool entry_whole(const struct k2hft_ring *ring, const struct walk *walk, unsigned kind)
{
	struct k2i_chunk_fields fields;

	if (kind == 0)
		return false;
	/* `read` was found by walking: nothing reaches over it. */
	if (walk->place < walk->read && k2i_position(walk->end) > k2i_position(walk->read))
		return false;
	return kind != K2I_KIND_CHUNK || k2i_chunk_read(ring, walk->place, walk->end - walk->place, &fields) != 0;
}

/* Looks once at walk->place; `*dead`: the owner whose claims stand there, as k2i_owner_find. */
static enum place mark_look(const struct k2hft_ring *ring, struct walk *walk, uint64_t *dead)
{
	/* A5 */
	uint64_t give_backs = atomic_load_explicit(&ring->header->give_backs, memory_order_acquire);
	uint64_t tail = k2i_tail_place(ring), position = k2i_position(walk->place);
	uint64_t mark = mark_load(ring, walk->place);
	unsigned kind = entry_look(ring, walk, walk->place, mark, k2i_position(tail), &walk->end);
	bool whole = entry_whole(ring, walk, kind);
	enum k2i_owner owner;

	*dead = 0;
	if (k2i_position(tail) <= position)
		return PLACE_LIVE;
	if (whole && kind == K2I_KIND_CHUNK)
		return PLACE_CHUNK;
	if (whole && kind != K2I_KIND_CLAIMED)
		return PLACE_GAP;
	owner = k2i_owner_find(ring, position, dead);
	if (owner == K2I_OWNER_LIVE)
		return PLACE_LIVE;
	if (!whole)
		walk->end = boundary_find(ring, walk, tail);
	/* A5 */
	if (mark_load(ring, walk->place) != mark ||
	    atomic_load_explicit(&ring->header->give_backs, memory_order_acquire) != give_backs)
		return PLACE_LIVE;
	return owner == K2I_OWNER_DEAD || whole ? PLACE_DEAD : PLACE_DAMAGED;
}

/*
 * Says what stands at walk->place and sets walk->end; `ring.c` argues why the owner's search can be trusted. An
 * owner that was found dead can have given its claim back in the middle of the look, and have died before it said so.
 * Once its death is known, another look sees all that it did.
 */
static enum place entry_examine(const struct k2hft_ring *ring, struct walk *walk)
{
	uint64_t dead = 0, before;
	enum place place;

	do {
		before = dead;
		place = mark_look(ring, walk, &dead);
	} while (place == PLACE_DEAD && dead != before);
	return place;
}

static void skip_mark(struct k2hft_ring *ring, uint64_t place, unsigned kind, uint64_t size)
{
	/* R1: for the next consumer; this one is the only reader now. */
	atomic_store_explicit(&k2i_entry_at(ring, place)->mark, k2i_mark_make(ring, place, kind, size),
			      memory_order_release);
}

/* Makes [from, to), in one area, discarded entries, the first one last. */
static void skip_row(struct k2hft_ring *ring, uint64_t from, uint64_t to)
{
	uint64_t at = from + (to - from - 1) / K2I_GAP_BYTES_MAX * K2I_GAP_BYTES_MAX;

	for (uint64_t end = to; end > from; end = at, at -= K2I_GAP_BYTES_MAX)
		skip_mark(ring, at, K2I_KIND_DISCARDED, end - at);
}

/*
 * The same where `to` can be in another area. A small area ends within its bytes from the head, so behind that the row may
 * write to the next one; whether there was more than one switch in between does not matter any more.
 */
static void skip_write(struct k2hft_ring *ring, const struct walk *walk)
{
	uint64_t from = walk->place, area = walk->end & K2I_PLACE_AREA, to = k2i_position(walk->end);
	uint64_t limit = walk->head + k2i_area_of(ring, from)->bytes, middle = to < limit ? to : limit;

	if ((from & K2I_PLACE_AREA) == area) {
		skip_row(ring, from, walk->end);
		return;
	}
	if (middle - k2i_position(from) > K2I_GAP_BYTES_MAX)
		middle = k2i_position(from) + K2I_GAP_BYTES_MAX;
	if (middle < to)
		skip_row(ring, middle | area, walk->end);
	skip_mark(ring, from, K2I_KIND_SWITCH + (unsigned)(area >> 1), middle - k2i_position(from));
}

/* In the ring, since who has mended it can end before anybody is told. */
static void damage_keep(struct k2hft_ring *ring, const struct walk *walk)
{
	struct k2i_ring_header *header = ring->header;
	/* relaxed: the consumer's own words, which the next one finds after its end. */
	uint64_t from = atomic_load_explicit(&header->damaged_from, memory_order_relaxed);
	uint64_t to = atomic_load_explicit(&header->damaged_to, memory_order_relaxed);

	uint64_t begin = k2i_position(walk->place), end = k2i_position(walk->end);

	if (to <= ring->acked || begin < from)
		atomic_store_explicit(&header->damaged_from, begin, memory_order_relaxed);
	if (to <= ring->acked || end > to)
		atomic_store_explicit(&header->damaged_to, end, memory_order_relaxed);
}

static void entry_mend(struct k2hft_ring *ring, const struct walk *walk, enum place place)
{
	K2I_CRASH(ring_mend_before);
	skip_write(ring, walk);
	K2I_CRASH(ring_mended);
	if (place == PLACE_DAMAGED)
		damage_keep(ring, walk);
	/* relaxed: counters. */
	if (place == PLACE_DEAD)
		(void)atomic_fetch_add_explicit(&ring->header->discarded_claims, 1, memory_order_relaxed);
	else
		(void)atomic_fetch_add_explicit(&ring->header->damaged_bytes,
						k2i_position(walk->end) - k2i_position(walk->place),
						memory_order_relaxed);
}

uint64_t k2i_ring_sound_end(const struct k2hft_ring *ring)
{
	struct walk walk = walk_begin(ring);
	uint64_t end = ring->acked;

	while (!walk_ends(ring, &walk)) {
		enum place place = entry_examine(ring, &walk);

		if (place != PLACE_CHUNK && place != PLACE_GAP)
			break;
		if (place == PLACE_CHUNK)
			end = k2i_position(walk.end);
		walk.place = walk.end;
	}
	return end;
}

int k2hft_ring_validate(const struct k2hft_ring *ring)
{
	struct walk walk = walk_begin(ring);
	int damaged = 0;

	while (!walk_ends(ring, &walk) && damaged < INT_MAX) {
		enum place place = entry_examine(ring, &walk);

		/* Its size can still change, so nothing behind it can be found. */
		if (place == PLACE_LIVE)
			break;
		damaged += place == PLACE_DAMAGED;
		walk.place = walk.end;
	}
	return damaged;
}

int k2hft_ring_repair(struct k2hft_ring *ring)
{
	struct walk walk = walk_begin(ring);
	int mended = 0;

	if (!ring->consumer)
		return -EINVAL;
	while (!walk_ends(ring, &walk) && mended < INT_MAX) {
		enum place place = entry_examine(ring, &walk);

		if (place == PLACE_LIVE)
			break;
		if (place == PLACE_DEAD || place == PLACE_DAMAGED) {
			entry_mend(ring, &walk, place);
			mended++;
		}
		walk.place = walk.end;
	}
	k2i_slots_sweep(ring);
	k2i_ring_count(ring, repaired_places, (uint64_t)mended);
	return mended;
}

int k2hft_ring_recover(struct k2hft_ring *ring)
{
	struct walk walk = walk_begin(ring);
	uint64_t behind;

	if (!ring->consumer)
		return -EINVAL;
	for (walk.place = k2i_read_place(ring); !walk_ends(ring, &walk); walk.place = behind) {
		if (!k2i_kind_gap(entry_look(ring, &walk, walk.place, mark_load(ring, walk.place), k2i_tail_load(ring),
					     &behind)))
			break;
	}
	if (walk_ends(ring, &walk) || entry_examine(ring, &walk) != PLACE_DEAD)
		return 0;
	entry_mend(ring, &walk, PLACE_DEAD);
	k2i_slots_sweep(ring);
	return 1;
}

static bool bytes_zero(const struct k2hft_ring *ring, uint64_t file_at, uint64_t bytes)
{
	return bytes == 0 || fallocate(ring->descriptor, FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE, (off_t)file_at,
				       (off_t)bytes) == 0;
}

/* Where the file system can say that a range is zeros without reading or writing it. */
static bool room_zero(const struct k2hft_ring *ring, const struct k2i_area *area, uint64_t from, uint64_t to)
{
	uint64_t at = from & area->mask, first_bytes = area->bytes - at;

	if (first_bytes > to - from)
		first_bytes = to - from;
	return bytes_zero(ring, area->file_at + at, first_bytes) &&
	       bytes_zero(ring, area->file_at, to - from - first_bytes);
}

/* Takes the marks out of the memory that the positions [from, to) would have in an area. */
static void room_clear(const struct k2hft_ring *ring, unsigned number, uint64_t from, uint64_t to)
{
	const struct k2i_area *area = &ring->areas[number];
	uint64_t size;

	if (to > ring->head + area->bytes)
		to = ring->head + area->bytes;
	/* Looking at each place reads all of it: minutes for a ring of many gigabytes, at each start after a boot. */
	if (from >= to || room_zero(ring, area, from, to))
		return;
	for (uint64_t place = from | (uint64_t)number << 1; place < to; place += 8) {
		/* Marks of a small area can be many laps old. */
		if (number != K2I_AREA_ALL || k2i_mark_read(ring, place, mark_load(ring, place), &size))
			/* relaxed: the consumer is about to be opened, and its producers with it. */
			atomic_store_explicit(&k2i_entry_at(ring, place)->mark, 0, memory_order_relaxed);
	}
}

void k2i_free_room_clear(struct k2hft_ring *ring)
{
	uint64_t free_from[K2I_AREA_COUNT] = {ring->head, ring->head, ring->head};
	struct walk walk = walk_begin(ring);

	for (; !walk_ends(ring, &walk); walk.place = walk.end) {
		unsigned area = (unsigned)(walk.place & K2I_PLACE_AREA) >> 1;
		uint64_t tail = k2i_tail_load(ring);

		/* All of it is mended, and nobody is at work. */
		if (!entry_look(ring, &walk, walk.place, mark_load(ring, walk.place), tail, &walk.end))
			return;
		room_clear(ring, area, free_from[area], k2i_position(walk.place));
		free_from[area] = k2i_position(walk.end);
	}
	for (unsigned area = 0; area < K2I_AREA_COUNT; area++)
		room_clear(ring, area, free_from[area], UINT64_MAX);
}

/* The same for the entry of an area that ends behind where the file was cut. */
static void cut_clear(struct k2hft_ring *ring, unsigned number, uint64_t cut)
{
	uint64_t begin = cut > K2HFT_CHUNK_BYTES_MAX ? cut - K2HFT_CHUNK_BYTES_MAX : 0,
		 bytes = ring->areas[number].bytes;
	uint64_t head_at = ring->head & (bytes - 1), tail = k2i_tail_load(ring), size;

	/* Each place in the data has one position between head and a lap behind it, and a mark is valid at one only. */
	for (uint64_t at = begin; at < cut; at += 8) {
		uint64_t position = ring->head - head_at + at + (at < head_at ? bytes : 0);
		uint64_t place = position | (uint64_t)number << 1;

		if (position < tail && k2i_mark_read(ring, place, mark_load(ring, place), &size) && at + size > cut)
			/* relaxed: the consumer is about to be opened. */
			atomic_store_explicit(&k2i_entry_at(ring, place)->mark, 0, memory_order_relaxed);
	}
}

void k2i_cut_entry_clear(struct k2hft_ring *ring, uint64_t file_bytes)
{
	for (unsigned number = 0; number < K2I_AREA_COUNT; number++) {
		const struct k2i_area *area = &ring->areas[number];

		if (file_bytes > area->file_at && file_bytes < area->file_at + area->bytes)
			cut_clear(ring, number, k2i_align_down(file_bytes - area->file_at, 8));
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
