/* SPDX-License-Identifier: MIT */
#include <k2hft/frame.h>

#include <errno.h>

#include "message.h"

static bool ack_valid(const struct k2hft_ack *ack)
{
	return ack->position % 8 == 0 && ack->window_end >= ack->position && k2i_message_level_valid(ack->level) &&
	       ack->status <= K2HFT_STATUS_FAILED;
}

int k2hft_ack_encode(const struct k2hft_ack *ack, uint8_t *bytes, size_t frame_room)
{
	struct k2i_message_writer writer;

	if (!ack_valid(ack))
		return -EINVAL;
	k2i_message_begin(&writer, bytes, frame_room);
	k2i_message_put_u64(&writer, ack->position);
	k2i_message_put_u64(&writer, ack->window_end);
	k2i_message_put_u8(&writer, ack->level);
	k2i_message_put_u8(&writer, ack->status);
	k2i_message_put_zeros(&writer, 6);
	return k2i_message_end(&writer, K2HFT_FRAME_ACK);
}

int k2hft_ack_decode(const void *body, size_t body_bytes, struct k2hft_ack *ack)
{
	struct k2i_message_reader reader;

	k2i_message_open(&reader, body, body_bytes);
	ack->position = k2i_message_u64(&reader);
	ack->window_end = k2i_message_u64(&reader);
	ack->level = k2i_message_u8(&reader);
	ack->status = k2i_message_u8(&reader);
	k2i_message_zeros(&reader, 6);
	return k2i_message_complete(&reader) && ack_valid(ack) ? 0 : -EBADMSG;
}
