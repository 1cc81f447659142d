/* SPDX-License-Identifier: MIT */
#include "ring_handle.h"

uint64_t k2i_tail_load(const struct k2hft_ring *ring)
{
	/* A2, A4 */
	uint64_t tail = atomic_load_explicit(&ring->header->tail, memory_order_acquire);
	uint64_t head = ring->consumer ? ring->head : atomic_load_explicit(&ring->header->head, memory_order_acquire);

	return k2i_align_down(tail - head <= ring->capacity ? tail : head + ring->capacity, 8);
}

unsigned k2i_mark_read(const struct k2hft_ring *ring, uint64_t position, uint64_t mark, uint64_t *size)
{
	uint64_t word = le64toh(mark);
	unsigned kind = (unsigned)(word >> K2I_MARK_KIND_SHIFT & K2I_MARK_KIND_MASK);

	*size = word & K2I_MARK_SIZE_MASK;
	if (word >> K2I_MARK_TAG_SHIFT != (uint32_t)k2i_mark_tag(ring, position) || *size % 8 || *size == 0)
		return 0;
	if (kind == K2I_KIND_GAP || kind == K2I_KIND_DISCARDED)
		return kind;
	if (kind != K2I_KIND_CHUNK && kind != K2I_KIND_CLAIMED)
		return 0;
	if (*size < 16 || *size > K2HFT_CHUNK_BYTES_MAX || *size > ring->capacity / 4)
		return 0;
	return kind;
}

bool k2i_chunk_read(const struct k2hft_ring *ring, uint64_t position, uint64_t size, struct k2i_chunk_fields *fields)
{
	struct k2i_entry *entry = k2i_entry_at(ring, position);
	/* relaxed: A1 with this entry's mark, or with the mark of the claim that it is in, came before. */
	uint64_t stream_records = le64toh(atomic_load_explicit(&entry->stream_records, memory_order_relaxed));
	uint64_t time_ns = le64toh(atomic_load_explicit(&entry->time_ns, memory_order_relaxed));
	uint64_t rest = le64toh(atomic_load_explicit(&entry->rest, memory_order_relaxed));
	uint64_t around;

	fields->stream_id = (uint32_t)stream_records;
	fields->record_count = (uint32_t)(stream_records >> 32);
	fields->time_ns = time_ns;
	fields->writer_pid = (uint32_t)rest;
	fields->lead_bytes = rest >> 32 & 0xff;
	fields->pad_bytes = rest >> 40 & 0xff;
	fields->flags = (unsigned)(rest >> 48);
	around = K2HFT_CHUNK_HEADER_BYTES + fields->lead_bytes + fields->pad_bytes;
	if (size <= around || fields->lead_bytes > 7 || fields->pad_bytes > 7 ||
	    fields->flags & ~(K2HFT_CHUNK_CONTINUES | K2HFT_CHUNK_CONTINUED))
		return false;
	fields->payload_bytes = size - around;
	/* Each record has a byte at least, so sums of counts can't overflow either. */
	return fields->record_count > 0 && fields->record_count <= fields->payload_bytes &&
	       k2i_stream_declared(ring, fields->stream_id);
}
