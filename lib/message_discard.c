/* SPDX-License-Identifier: MIT */
#include <k2hft/frame.h>

#include <errno.h>

#include "message.h"

static bool discard_valid(const struct k2hft_discard *discard)
{
	return (discard->from | discard->to) % 8 == 0 && discard->from < discard->to &&
	       discard->reason >= K2HFT_DISCARD_REPAIRED && discard->reason <= K2HFT_DISCARD_EXPIRED;
}

int k2hft_discard_encode(const struct k2hft_discard *discard, uint8_t *bytes, size_t frame_room)
{
	struct k2i_message_writer writer;

	if (!discard_valid(discard))
		return -EINVAL;
	k2i_message_begin(&writer, bytes, frame_room);
	k2i_message_put_u64(&writer, discard->from);
	k2i_message_put_u64(&writer, discard->to);
	k2i_message_put_u64(&writer, discard->record_count);
	k2i_message_put_u8(&writer, discard->reason);
	k2i_message_put_zeros(&writer, 7);
	return k2i_message_end(&writer, K2HFT_FRAME_DISCARD);
}

int k2hft_discard_decode(const void *body, size_t body_bytes, struct k2hft_discard *discard)
{
	struct k2i_message_reader reader;

	k2i_message_open(&reader, body, body_bytes);
	discard->from = k2i_message_u64(&reader);
	discard->to = k2i_message_u64(&reader);
	discard->record_count = k2i_message_u64(&reader);
	discard->reason = k2i_message_u8(&reader);
	k2i_message_zeros(&reader, 7);
	return k2i_message_complete(&reader) && discard_valid(discard) ? 0 : -EBADMSG;
}
