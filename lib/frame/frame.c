/* SPDX-License-Identifier: MIT */
#include <k2hft/frame.h>

#include <errno.h>
#include <stdbool.h>

#include "frame/wire.h"
#include "base/hash.h"
#include "base/byte_order.h"

/* A match of LZ4 grows by at most 255 bytes for each byte of its length: more than this is not LZ4, but a bomb. */
#define LZ4_RATIO_MAX 255u
#define LZ4_RATIO_SLACK 64u

_Static_assert(K2I_FRAME_CHECKSUM_AT + sizeof(uint64_t) == K2HFT_FRAME_HEADER_BYTES, "the checksum ends the header");

static bool data_valid(const struct k2hft_frame *frame)
{
	uint64_t aligned = frame->position | frame->gap_bytes | frame->raw_bytes;

	if (frame->flags & ~K2HFT_FRAME_LZ4 || aligned % 8 != 0)
		return false;
	if (frame->raw_bytes < K2I_CHUNK_BYTES_MIN || frame->gap_bytes > frame->position ||
	    frame->position > UINT64_MAX - frame->raw_bytes)
		return false;
	if (!(frame->flags & K2HFT_FRAME_LZ4))
		return frame->body_bytes == frame->raw_bytes;
	return frame->body_bytes < frame->raw_bytes &&
	       frame->raw_bytes <= (uint64_t)LZ4_RATIO_MAX * frame->body_bytes + LZ4_RATIO_SLACK;
}

static bool frame_valid(const struct k2hft_frame *frame)
{
	if (frame->type < K2HFT_FRAME_HELLO || frame->type > K2HFT_FRAME_ERROR)
		return false;
	if (frame->type == K2HFT_FRAME_DATA)
		return data_valid(frame);
	return frame->flags == 0 && frame->raw_bytes == frame->body_bytes && frame->gap_bytes == 0 &&
	       frame->position == 0;
}

static bool frame_fits(const struct k2hft_frame *frame, uint32_t body_bytes_max)
{
	if (frame->type != K2HFT_FRAME_DATA && body_bytes_max > K2HFT_MESSAGE_BYTES_MAX)
		body_bytes_max = K2HFT_MESSAGE_BYTES_MAX;
	return frame->body_bytes <= body_bytes_max && frame->raw_bytes <= body_bytes_max;
}

int k2hft_frame_header_encode(struct k2hft_frame *frame, const void *body, uint8_t header[K2HFT_FRAME_HEADER_BYTES])
{
	if (!frame_valid(frame) || !frame_fits(frame, K2HFT_FRAME_BODY_BYTES_MAX))
		return -EINVAL;
	k2i_wire_u32_put(header + K2I_FRAME_MAGIC_AT, K2I_FRAME_MAGIC);
	header[K2I_FRAME_VERSION_AT] = K2HFT_FRAME_VERSION;
	header[K2I_FRAME_TYPE_AT] = frame->type;
	k2i_wire_u16_put(header + K2I_FRAME_FLAGS_AT, frame->flags);
	k2i_wire_u32_put(header + K2I_FRAME_BODY_AT, frame->body_bytes);
	k2i_wire_u32_put(header + K2I_FRAME_RAW_AT, frame->raw_bytes);
	k2i_wire_u64_put(header + K2I_FRAME_POSITION_AT, frame->position);
	k2i_wire_u32_put(header + K2I_FRAME_GAP_AT, frame->gap_bytes);
	k2i_wire_u32_put(header + K2I_FRAME_RESERVED_AT, 0);
	frame->checksum = k2i_hash_pair(header, K2I_FRAME_CHECKSUM_AT, body, frame->body_bytes);
	k2i_wire_u64_put(header + K2I_FRAME_CHECKSUM_AT, frame->checksum);
	return 0;
}

/* Looks at as many bytes as there are, so that a peer of another protocol is not waited for until it sent 40. */
static bool magic_matches(const uint8_t *bytes, size_t byte_count)
{
	uint8_t wanted[K2I_FRAME_VERSION_AT + 1];

	k2i_wire_u32_put(wanted, K2I_FRAME_MAGIC);
	wanted[K2I_FRAME_VERSION_AT] = K2HFT_FRAME_VERSION;
	return memcmp(bytes, wanted, byte_count < sizeof(wanted) ? byte_count : sizeof(wanted)) == 0;
}

int k2hft_frame_header_decode(const void *bytes, size_t byte_count, uint32_t body_bytes_max, struct k2hft_frame *frame)
{
	const uint8_t *header = bytes;

	if (byte_count == 0)
		return -EAGAIN;
	if (!magic_matches(header, byte_count))
		return -EPROTO;
	if (byte_count < K2HFT_FRAME_HEADER_BYTES)
		return -EAGAIN;
	frame->type = header[K2I_FRAME_TYPE_AT];
	frame->flags = k2i_wire_u16(header + K2I_FRAME_FLAGS_AT);
	frame->body_bytes = k2i_wire_u32(header + K2I_FRAME_BODY_AT);
	frame->raw_bytes = k2i_wire_u32(header + K2I_FRAME_RAW_AT);
	frame->position = k2i_wire_u64(header + K2I_FRAME_POSITION_AT);
	frame->gap_bytes = k2i_wire_u32(header + K2I_FRAME_GAP_AT);
	frame->checksum = k2i_wire_u64(header + K2I_FRAME_CHECKSUM_AT);
	if (!frame_fits(frame, body_bytes_max))
		return -EMSGSIZE;
	if (!frame_valid(frame) || k2i_wire_u32(header + K2I_FRAME_RESERVED_AT) != 0)
		return -EBADMSG;
	return 0;
}

int k2hft_frame_verify(const uint8_t header[K2HFT_FRAME_HEADER_BYTES], const struct k2hft_frame *frame,
		       const void *body)
{
	uint64_t checksum = k2i_hash_pair(header, K2I_FRAME_CHECKSUM_AT, body, frame->body_bytes);

	return checksum == frame->checksum ? 0 : -EBADMSG;
}
