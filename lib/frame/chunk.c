/* SPDX-License-Identifier: MIT */
#include <k2hft/frame.h>

#include <errno.h>

#include "frame/chunk.h"
#include "base/byte_order.h"

int k2hft_chunk_next(const void *body, size_t body_bytes, uint64_t position, size_t *offset,
		     struct k2hft_chunk_view *view)
{
	struct k2i_chunk_fields fields;
	const uint8_t *header;
	uint64_t mark, size, payload_bytes;

	if (*offset == body_bytes)
		return 0;
	if (*offset > body_bytes || body_bytes - *offset < K2HFT_CHUNK_HEADER_BYTES ||
	    position > UINT64_MAX - body_bytes)
		return -EBADMSG;
	header = (const uint8_t *)body + *offset;
	mark = k2i_wire_u64(header + K2I_CHUNK_MARK_AT);
	size = mark & K2I_MARK_SIZE_MASK;
	fields = k2i_chunk_decode(k2i_wire_u64(header + K2I_CHUNK_STREAM_AT), k2i_wire_u64(header + K2I_CHUNK_TIME_AT),
				  k2i_wire_u64(header + K2I_CHUNK_PID_AT));
	payload_bytes = k2i_chunk_payload_bytes(&fields, size);
	if (((mark >> K2I_MARK_KIND_SHIFT) & K2I_MARK_KIND_MASK) != K2I_KIND_CHUNK || size % 8 ||
	    size > body_bytes - *offset || size > K2HFT_CHUNK_BYTES_MAX || payload_bytes == 0)
		return -EBADMSG;
	view->chunk = (struct k2hft_chunk){
		.stream_id = fields.stream_id,
		.record_count = fields.record_count,
		.time_ns = fields.time_ns,
		.writer_pid = fields.writer_pid,
		.flags = (uint16_t)fields.flags,
	};
	view->payload = header + K2HFT_CHUNK_HEADER_BYTES + fields.lead_bytes;
	view->payload_bytes = (size_t)payload_bytes;
	view->position = position + *offset;
	view->end = view->position + size;
	*offset += (size_t)size;
	return 1;
}
