/* SPDX-License-Identifier: MIT */
#include <k2hft/frame.h>

#include <errno.h>

#include "message.h"

static bool welcome_valid(const struct k2hft_welcome *welcome)
{
	return welcome->version >= 1 && k2i_message_level_valid(welcome->level) &&
	       !(welcome->flags & ~K2HFT_WELCOME_KNOWN) && !k2i_message_uuid_zero(welcome->receiver_uuid) &&
	       welcome->position % 8 == 0 && welcome->window_end >= welcome->position &&
	       welcome->frame_bytes_max >= K2HFT_FRAME_BODY_BYTES_MIN &&
	       welcome->frame_bytes_max <= K2HFT_FRAME_BODY_BYTES_MAX && k2i_message_text_valid(welcome->software);
}

int k2hft_welcome_encode(const struct k2hft_welcome *welcome, uint8_t *bytes, size_t frame_room)
{
	struct k2i_message_writer writer;

	k2i_message_begin(&writer, bytes, frame_room);
	k2i_message_put_u16(&writer, welcome->version);
	k2i_message_put_u8(&writer, welcome->level);
	k2i_message_put_u8(&writer, welcome->flags);
	k2i_message_put_u32(&writer, welcome->features);
	k2i_message_put_bytes(&writer, welcome->receiver_uuid, sizeof(welcome->receiver_uuid));
	k2i_message_put_u64(&writer, welcome->position);
	k2i_message_put_u64(&writer, welcome->window_end);
	k2i_message_put_u32(&writer, welcome->frame_bytes_max);
	k2i_message_put_zeros(&writer, 4);
	k2i_message_put_string(&writer, welcome->software, sizeof(welcome->software));
	if (!writer.error && !welcome_valid(welcome))
		return -EINVAL;
	return k2i_message_end(&writer, K2HFT_FRAME_WELCOME);
}

int k2hft_welcome_decode(const void *body, size_t body_bytes, struct k2hft_welcome *welcome)
{
	struct k2i_message_reader reader;

	k2i_message_open(&reader, body, body_bytes);
	welcome->version = k2i_message_u16(&reader);
	welcome->level = k2i_message_u8(&reader);
	welcome->flags = k2i_message_u8(&reader);
	welcome->features = k2i_message_u32(&reader);
	k2i_message_bytes(&reader, welcome->receiver_uuid, sizeof(welcome->receiver_uuid));
	welcome->position = k2i_message_u64(&reader);
	welcome->window_end = k2i_message_u64(&reader);
	welcome->frame_bytes_max = k2i_message_u32(&reader);
	k2i_message_zeros(&reader, 4);
	k2i_message_string(&reader, welcome->software, sizeof(welcome->software));
	return k2i_message_complete(&reader) && welcome_valid(welcome) ? 0 : -EBADMSG;
}
