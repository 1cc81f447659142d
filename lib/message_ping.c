/* SPDX-License-Identifier: MIT */
#include <k2hft/frame.h>

#include <errno.h>

#include "message.h"

int k2hft_ping_encode(uint8_t type, const struct k2hft_ping *ping, uint8_t *bytes, size_t frame_room)
{
	struct k2i_message_writer writer;

	if (type != K2HFT_FRAME_PING && type != K2HFT_FRAME_PONG && (type != K2HFT_FRAME_BYE || ping->token % 8 != 0))
		return -EINVAL;
	k2i_message_begin(&writer, bytes, frame_room);
	k2i_message_put_u64(&writer, ping->token);
	return k2i_message_end(&writer, type);
}

int k2hft_ping_decode(const void *body, size_t body_bytes, struct k2hft_ping *ping)
{
	struct k2i_message_reader reader;

	k2i_message_open(&reader, body, body_bytes);
	ping->token = k2i_message_u64(&reader);
	return k2i_message_complete(&reader) ? 0 : -EBADMSG;
}
