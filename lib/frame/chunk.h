/* SPDX-License-Identifier: MIT */
#ifndef K2I_FRAME_CHUNK_H
#define K2I_FRAME_CHUNK_H

#include <stdbool.h>
#include <stdint.h>

#include <k2hft/chunk.h>

#include "frame/wire.h"

/* The header of a chunk behind its mark, decoded. */
struct k2i_chunk_fields {
	uint32_t stream_id, record_count, writer_pid;
	uint64_t time_ns;
	unsigned lead_bytes, pad_bytes, flags;
};

/* The one decoder. The ring reads the header as three words, each atomic; `rest` is the last of them. */
static inline struct k2i_chunk_fields k2i_chunk_decode(uint64_t stream_records, uint64_t time_ns, uint64_t rest)
{
	return (struct k2i_chunk_fields){
		.stream_id = (uint32_t)stream_records,
		.record_count = (uint32_t)(stream_records >> 32),
		.writer_pid = (uint32_t)rest,
		.time_ns = time_ns,
		.lead_bytes = rest >> 32 & 0xff,
		.pad_bytes = rest >> 40 & 0xff,
		.flags = (unsigned)(rest >> 48),
	};
}

/* The payload of a chunk of `size`; 0: it says what no chunk can. A record has a byte at least. */
static inline uint64_t k2i_chunk_payload_bytes(const struct k2i_chunk_fields *fields, uint64_t size)
{
	uint64_t around = K2HFT_CHUNK_HEADER_BYTES + fields->lead_bytes + fields->pad_bytes;

	if (size <= around || fields->lead_bytes > 7 || fields->pad_bytes > 7 ||
	    fields->flags & ~K2I_CHUNK_FLAGS_KNOWN || fields->record_count == 0 || fields->record_count > size - around)
		return 0;
	return size - around;
}

#endif
