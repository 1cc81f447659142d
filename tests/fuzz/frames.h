/* SPDX-License-Identifier: MIT */
#ifndef K2I_TESTS_FUZZ_FRAMES_H
#define K2I_TESTS_FUZZ_FRAMES_H

#include <k2hft/frame.h>

#include "frame/wire.h"
#include "fuzz.h"
#include "base/hash.h"
#include "base/byte_order.h"

/*
 * Inputs that are frames of k2hft-protocol(7): two bytes that say how the target goes about it, then what a peer sends.
 * No mutation would ever hit a checksum, so they are put right first, unless the input says that they be left.
 */
#define FRAMES_CONTROL_BYTES 2u
#define FRAMES_LEAVE 1u /* in the first byte: checksums stay as they are */
#define FRAMES_CHAIN 2u /* DATA continues where the last one ended, whatever its header says */

/* The frame at the begin of `bytes`: its length, 0 if none begins there or it is not complete. */
static inline size_t frames_length(const uint8_t *bytes, size_t byte_count)
{
	uint32_t body_bytes;

	if (byte_count < K2HFT_FRAME_HEADER_BYTES || k2i_wire_u32(bytes) != K2I_FRAME_MAGIC)
		return 0;
	body_bytes = k2i_wire_u32(bytes + K2I_FRAME_BODY_AT);
	return body_bytes <= byte_count - K2HFT_FRAME_HEADER_BYTES ? K2HFT_FRAME_HEADER_BYTES + body_bytes : 0;
}

static inline void frames_mend(uint8_t *bytes, size_t byte_count, unsigned control)
{
	uint64_t end = 0;
	size_t length;

	for (; (length = frames_length(bytes, byte_count)) != 0; bytes += length, byte_count -= length) {
		if (bytes[K2I_FRAME_TYPE_AT] == K2HFT_FRAME_DATA && control & FRAMES_CHAIN) {
			k2i_wire_u64_put(bytes + K2I_FRAME_POSITION_AT, end);
			end += k2i_wire_u32(bytes + K2I_FRAME_RAW_AT) & ~UINT32_C(7);
		}
		if (!(control & FRAMES_LEAVE))
			k2i_wire_u64_put(bytes + K2I_FRAME_CHECKSUM_AT,
					 k2i_hash_pair(bytes, K2I_FRAME_CHECKSUM_AT, bytes + K2HFT_FRAME_HEADER_BYTES,
						       length - K2HFT_FRAME_HEADER_BYTES));
	}
}

#define FRAMES_MAX 64u

struct frames_list {
	size_t at[FRAMES_MAX + 1]; /* the last: where the frames end */
	size_t count;
};

static inline void frames_find(const uint8_t *data, size_t size, struct frames_list *list)
{
	size_t at = FRAMES_CONTROL_BYTES, length;

	list->count = 0;
	while (list->count < FRAMES_MAX && (length = frames_length(data + at, size - at)) != 0) {
		list->at[list->count++] = at;
		at += length;
	}
	list->at[list->count] = at;
}

/* Puts `byte_count` bytes in the place of [from, to). Returns the new size; the old one if there is no room. */
static inline size_t frames_splice(uint8_t *data, size_t size, size_t max_size, size_t from, size_t to,
				   const uint8_t *bytes, size_t byte_count)
{
	size_t changed = size - (to - from) + byte_count;

	if (changed > max_size)
		return size;
	memmove(data + from + byte_count, data + to, size - to);
	if (byte_count)
		memcpy(data + from, bytes, byte_count);
	return changed;
}

/* Changes the body of a frame, and the lengths with it. */
static inline size_t frames_mutate_body(uint8_t *data, size_t size, size_t max_size, size_t from, size_t to)
{
	size_t body_bytes = to - from - K2HFT_FRAME_HEADER_BYTES, room = body_bytes + 64, changed;
	uint8_t *frame = calloc(1, K2HFT_FRAME_HEADER_BYTES + room + 8);

	fuzz_check(frame);
	memcpy(frame, data + from, to - from);
	changed = LLVMFuzzerMutate(frame + K2HFT_FRAME_HEADER_BYTES, body_bytes, room);
	memset(frame + K2HFT_FRAME_HEADER_BYTES + changed, 0, room + 8 - changed);
	if (frame[K2I_FRAME_TYPE_AT] == K2HFT_FRAME_DATA && !frame[K2I_FRAME_FLAGS_AT])
		changed = (changed + 7) & ~(size_t)7;
	k2i_wire_u32_put(frame + K2I_FRAME_BODY_AT, (uint32_t)changed);
	if (!frame[K2I_FRAME_FLAGS_AT])
		k2i_wire_u32_put(frame + K2I_FRAME_RAW_AT, (uint32_t)changed);
	size = frames_splice(data, size, max_size, from, to, frame, K2HFT_FRAME_HEADER_BYTES + changed);
	free(frame);
	return size;
}

/* A frame once more, at another place. */
static inline size_t frames_repeat(uint8_t *data, size_t size, size_t max_size, size_t from, size_t to, size_t at)
{
	uint8_t *frame = fuzz_copy(data + from, to - from);

	size = frames_splice(data, size, max_size, at, at, frame, to - from);
	free(frame);
	return size;
}

/* Mutations that leave the input a row of frames, and some that do not. */
static inline size_t frames_mutate(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
	uint64_t random = seed | UINT64_C(0x9e3779b900000000);
	struct frames_list list = {.count = 0};

	if (size > FRAMES_CONTROL_BYTES)
		frames_find(data, size, &list);
	if (list.count == 0 || fuzz_random(&random) % 5 == 0)
		return LLVMFuzzerMutate(data, size, max_size);
	size_t which = (size_t)fuzz_random(&random) % list.count,
	       other = (size_t)fuzz_random(&random) % (list.count + 1);
	size_t from = list.at[which], to = list.at[which + 1];
	switch (fuzz_random(&random) % 8) {
	case 0: /* all that is behind the magic and the version, but no length */
		(void)LLVMFuzzerMutate(data + from + K2I_FRAME_TYPE_AT, 3, 3);
		(void)LLVMFuzzerMutate(data + from + K2I_FRAME_POSITION_AT, 12, 12);
		return size;
	case 1:
		return frames_repeat(data, size, max_size, from, to, list.at[other]);
	case 2:
		return frames_splice(data, size, max_size, from, to, NULL, 0);
	case 3:
		(void)LLVMFuzzerMutate(data, FRAMES_CONTROL_BYTES, FRAMES_CONTROL_BYTES);
		return size;
	default:
		return frames_mutate_body(data, size, max_size, from, to);
	}
}

#endif
