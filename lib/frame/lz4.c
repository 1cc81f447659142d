/* SPDX-License-Identifier: MIT */
#include <k2hft/frame.h>

#include <errno.h>
#include <limits.h>

#include <lz4.h>

_Static_assert(K2HFT_FRAME_BODY_BYTES_MAX <= LZ4_MAX_INPUT_SIZE && K2HFT_FRAME_BODY_BYTES_MAX <= INT_MAX,
	       "lengths fit into LZ4's int");

size_t k2hft_frame_compress_bound(size_t raw_bytes)
{
	if (raw_bytes > K2HFT_FRAME_BODY_BYTES_MAX)
		return 0;
	return (size_t)LZ4_compressBound((int)raw_bytes);
}

int k2hft_frame_compress(const void *raw, size_t raw_bytes, void *body, size_t body_room)
{
	if (raw_bytes > K2HFT_FRAME_BODY_BYTES_MAX)
		return -EINVAL;
	/* LZ4 gives up as soon as the room is used: less than raw_bytes makes "not smaller" cheap to find out. */
	if (body_room >= raw_bytes)
		body_room = raw_bytes ? raw_bytes - 1 : 0;
	if (body_room == 0)
		return 0;
	return LZ4_compress_default(raw, body, (int)raw_bytes, (int)body_room);
}

int k2hft_frame_decompress(const void *body, size_t body_bytes, void *raw, size_t raw_bytes)
{
	if (body_bytes == 0 || body_bytes > K2HFT_FRAME_BODY_BYTES_MAX || raw_bytes > K2HFT_FRAME_BODY_BYTES_MAX)
		return -EBADMSG;
	if (LZ4_decompress_safe(body, raw, (int)body_bytes, (int)raw_bytes) != (int)raw_bytes)
		return -EBADMSG;
	return 0;
}
