/* SPDX-License-Identifier: MIT */
#include "ring/handle.h"

/*
 * The ring: what it promises, and why that holds.
 *
 * Memory (layout.h). The pages of an area are mapped twice in a row, so an entry that begins near the end goes on behind
 * it and is contiguous for every reader. Entries are only ever addressed from their begin in the first view.
 *
 *	| header | slots | streams |  area 0: capacity  | the same again |  area 1  | again |  area 2  | again |
 *	                            ^ area + (position & (bytes of the area - 1))
 *
 *	           acked    head      read                  tail
 *	             |  gap  | sent    | committed, claimed  |  free, up to head + capacity
 *
 * Positions are 64-bit numbers that grow for ever; they are multiples of 8. tail belongs to the producers, all others to
 * the consumer, who trusts its own copies and not the header's.
 *
 * Areas. A ring that is used all round touches memory that no cache holds. So a large ring has small areas besides: which
 * one the next claim is in stands in the free low bits of the tail, and a position with these bits is a place. A claim
 * in an area stays within its bytes from the head. That is all that keeps entries from each other: in
 * one area two of them are less than its bytes apart, however often it was left and entered in between. A producer that
 * finds no room, or passes a multiple of `turn`, claims an 8-byte entry in the area that it leaves, a SWITCH, which says in
 * which area the next entry is: readers that go from the head, whose place is in the header, know the area of all that
 * comes. The small areas keep room for a SWITCH, since the low bits count when room is looked for. It switches to the
 * smallest area of which half is enough; the largest is always enough for what the ring as a whole has room for.
 *
 * Entries. The first word of an entry, its mark, holds kind, size and a tag that only this position of this ring has.
 *
 *	            claim (R2)          mark (R1)              commit (R1)
 *	free room ------------> unmarked ---------> CLAIMED ---------------> [GAP] CHUNK [GAP]
 *	    ^                                         |    discard (R1)
 *	    |                                         |--------------------> DISCARDED
 *	    |            discard, nobody behind (R5)  |
 *	    +-----------------------------------------+
 *
 * A commit of less than was claimed gives back the rear by moving the tail, or as a GAP if somebody has claimed behind,
 * and the front as a GAP. Everything of a claim appears to the consumer with the one store of its first mark. CHUNK, GAP
 * and DISCARDED are final until the head has passed them.
 *
 * Edges. A release is marked R, its acquire A with the same number, at every place where one is in the code.
 *
 *	     word               R                            A                          what goes along
 *	 1   entry.mark         commit, discard, reserve     consumer, repair           the entry; the slot's claim
 *	 2   header.tail        claim, give back             consumer; other claims     the slot's claim; unmarked room; a head
 *	 3   slot.claim, rear   end of a claim, the next one search for an owner        the mark, or the tail moved back
 *	 4   header.head        release, gaps skipped        claim                      that the room is not read any more
 *	 5   give_backs         discard, slot taken over     around a search            that a claim has vanished
 *	 6   sleeping           sleep; mark, tail            commit; mark, tail         one of both sees the other (Dekker)
 *	 7   space_waiters      wait, head and tail          head and tail, wait        one of both sees the other (Dekker)
 *	 8   slot.owner         close                        open; search for an owner  the slot's counters, namespace; the mark
 *	 9   stream.generation  declare                      find                       the stream's text
 *	10   header.consumer    open, close                  attach                     that the ring is ready
 *	11   space_sequence     wake                         wait                       what was freed
 *	12   stream.references  release of a stream          find; declare              the tail of that moment
 *	13   streams_locked     end of a declaration         declare                    the table
 *	14   has_client         end of a client              begin of the next          the consumer's own positions
 *	15   limit              k2hft_ring_limit             consumer                   that what is before it was noted elsewhere
 *	16   archived           a chunk is archived          the next consumer          the file that it counts
 *
 * 6 and 7 are sequentially consistent accesses on both sides, not fences: a commit's mark and its look at `sleeping`
 * can't pass each other, nor can the consumer's store and its look at the mark.
 *
 * Invariants.
 *
 *	I1  Every claim below the tail is either marked, or its slot names it: the slot is written before R2, and emptied
 *	    (R3) after the final mark or after the tail has moved back.
 *	I2  No word of the free room is a valid mark: tags of other laps differ, and before the tail moves back to a
 *	    position the word there is cleared. Hence an unmarked entry is never mistaken for another.
 *	I3  The tail never moves back below a committed entry, nor below what the consumer has passed.
 *	I4  A slot's owner word changes only by its owner, or by one who found the owner dead.
 *	I5  A position has one area for ever: the tail gets another one only by a SWITCH, which never goes back.
 *
 * Death of a producer. It can die between any two stores. Before R2 nothing is claimed, and its slot's claim names room
 * that somebody else will mark. After R2 and before the mark, the consumer finds an unmarked entry at `read` and the
 * dead one's slot: the room up to the next mark, live claim or the tail is discarded (by I1 whatever else is claimed there
 * is one of these; if one of them was a SWITCH, what was discarded becomes one to the area of what was found behind
 * it). With the mark, exactly the claim is. While it gives back its rear, its mark already says where the
 * claim ends, and the slot's `rear` stands for the rest. While it wakes the consumer, `sleeping` still tells the next
 * one to do so. Nothing else of a producer is waited for.
 *
 * Search for an owner (entry_examine() of repair.c, chunk_absent() of consumer.c). Slots and marks are not read in one
 * instant. A claim that is missed in its slot because it ended has left its mark (A3), with one exception: it went back
 * as a whole, and the room may have been claimed again by one whose slot was passed already. But then give_backs was
 * raised before that slot was emptied; it is read before and after, and if it moved, nothing is concluded. Its increment
 * lies behind the move of the tail, so a search that sees it from the start sees the tail, too. An owner that dies
 * between the two raises nothing: so nothing is concluded from a death before another search, which begins after the
 * death was known, has found the same; and who takes over the slot of a dead one raises give_backs in its stead.
 *
 * An attached process is not trusted with the consumer's life: what can't be an entry is -EBADMSG and then skipped and
 * counted. It can still destroy what is in the ring.
 */

uint64_t k2i_tail_place(const struct k2hft_ring *ring)
{
	/* A2, A4 */
	uint64_t tail = atomic_load_explicit(&ring->header->tail, memory_order_acquire);
	uint64_t head = ring->consumer ? ring->head
				       : k2i_position(atomic_load_explicit(&ring->header->head, memory_order_acquire));

	/* A15, A6 */
	uint64_t limit = atomic_load_explicit(&ring->limit, memory_order_seq_cst);

	if (limit && k2i_position(tail) > k2i_position(limit))
		tail = k2i_position(limit) | (tail & K2I_PLACE_AREA);
	if (k2i_place_valid(ring, head, tail))
		return tail;
	return k2i_position(tail - head <= ring->capacity ? tail : head + ring->capacity) | K2I_AREA_ALL;
}

unsigned k2i_mark_read(const struct k2hft_ring *ring, uint64_t place, uint64_t mark, uint64_t *size)
{
	uint64_t word = le64toh(mark);
	unsigned kind = (unsigned)(word >> K2I_MARK_KIND_SHIFT & K2I_MARK_KIND_MASK);

	*size = word & K2I_MARK_SIZE_MASK;
	if (word >> K2I_MARK_TAG_SHIFT != (uint32_t)k2i_mark_tag(ring, place) || *size % 8 || *size == 0)
		return 0;
	if (kind == K2I_KIND_CHUNK || kind == K2I_KIND_CLAIMED)
		return *size >= 16 && *size <= K2HFT_CHUNK_BYTES_MAX && *size <= ring->capacity / 4 ? kind : 0;
	if (kind < K2I_KIND_SWITCH)
		return kind;
	return kind - K2I_KIND_SWITCH < K2I_AREA_COUNT && ring->areas[kind - K2I_KIND_SWITCH].bytes ? kind : 0;
}

uint64_t k2i_chunk_read(const struct k2hft_ring *ring, uint64_t place, uint64_t size, struct k2i_chunk_fields *fields)
{
	struct k2i_entry *entry = k2i_entry_at(ring, place);
	/* relaxed: A1 with this entry's mark, or with the mark of the claim that it is in, came before. */
	uint64_t stream_records = le64toh(atomic_load_explicit(&entry->stream_records, memory_order_relaxed));
	uint64_t time_ns = le64toh(atomic_load_explicit(&entry->time_ns, memory_order_relaxed));
	uint64_t rest = le64toh(atomic_load_explicit(&entry->rest, memory_order_relaxed));

	*fields = k2i_chunk_decode(stream_records, time_ns, rest);
	return k2i_stream_declared(ring, fields->stream_id) ? k2i_chunk_payload_bytes(fields, size) : 0;
}

const void *k2i_ring_first_view(const struct k2hft_ring *ring, const void *data)
{
	for (unsigned at = 0; at < K2I_AREA_COUNT; at++) {
		const struct k2i_area *area = &ring->areas[at];
		uintptr_t offset = (uintptr_t)data - (uintptr_t)area->data;

		if (offset >= area->bytes && offset < 2 * area->bytes)
			return (const uint8_t *)data - area->bytes;
	}
	return data;
}
