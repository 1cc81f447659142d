/* SPDX-License-Identifier: MIT */
#include <k2hft/frame.h>

#include <errno.h>
#include <stdbool.h>

#include "frame/wire.h"
#include "base/wire.h"

/* Whether bytes_left hold a whole chunk of `size` with at least one byte of payload between lead and pad. */
static bool size_valid(uint64_t size, size_t bytes_left, unsigned lead_bytes, unsigned pad_bytes)
{
	return size % 8 == 0 && size <= bytes_left && size <= K2HFT_CHUNK_BYTES_MAX && lead_bytes < 8 &&
	       pad_bytes < 8 && size > K2HFT_CHUNK_HEADER_BYTES + lead_bytes + pad_bytes;
}

static void chunk_read(const uint8_t *header, struct k2hft_chunk *chunk)
{
	chunk->stream_id = k2i_wire_u32(header + K2I_CHUNK_STREAM_AT);
	chunk->record_count = k2i_wire_u32(header + K2I_CHUNK_RECORDS_AT);
	chunk->time_ns = k2i_wire_u64(header + K2I_CHUNK_TIME_AT);
	chunk->writer_pid = k2i_wire_u32(header + K2I_CHUNK_PID_AT);
	chunk->flags = k2i_wire_u16(header + K2I_CHUNK_FLAGS_AT);
	chunk->reserved = 0;
}

int k2hft_chunk_next(const void *body, size_t body_bytes, uint64_t position, size_t *offset,
		     struct k2hft_chunk_view *view)
{
	const uint8_t *header;
	uint64_t mark, size;
	unsigned lead_bytes, pad_bytes;

	if (*offset == body_bytes)
		return 0;
	if (*offset > body_bytes || body_bytes - *offset < K2HFT_CHUNK_HEADER_BYTES ||
	    position > UINT64_MAX - body_bytes)
		return -EBADMSG;
	header = (const uint8_t *)body + *offset;
	mark = k2i_wire_u64(header + K2I_CHUNK_MARK_AT);
	size = mark & K2I_MARK_SIZE_MASK;
	lead_bytes = header[K2I_CHUNK_LEAD_AT];
	pad_bytes = header[K2I_CHUNK_PAD_AT];
	if (((mark >> K2I_MARK_KIND_SHIFT) & K2I_MARK_KIND_MASK) != K2I_KIND_CHUNK ||
	    !size_valid(size, body_bytes - *offset, lead_bytes, pad_bytes))
		return -EBADMSG;
	chunk_read(header, &view->chunk);
	view->payload = header + K2HFT_CHUNK_HEADER_BYTES + lead_bytes;
	view->payload_bytes = (size_t)size - K2HFT_CHUNK_HEADER_BYTES - lead_bytes - pad_bytes;
	view->position = position + *offset;
	view->end = view->position + size;
	if (view->chunk.flags & ~K2I_CHUNK_FLAGS_KNOWN || view->chunk.record_count == 0 ||
	    view->chunk.record_count > view->payload_bytes)
		return -EBADMSG;
	*offset += (size_t)size;
	return 1;
}
