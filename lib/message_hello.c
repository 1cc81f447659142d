/* SPDX-License-Identifier: MIT */
#include <k2hft/frame.h>

#include <errno.h>

#include "message.h"

static bool hello_valid(const struct k2hft_hello *hello)
{
	return hello->version_min >= 1 && hello->version_max >= hello->version_min &&
	       k2i_message_level_valid(hello->level) && !k2i_message_uuid_zero(hello->ring_uuid) &&
	       hello->acked % 8 == 0 && hello->frame_bytes_max >= 1 &&
	       hello->frame_bytes_max <= K2HFT_FRAME_BODY_BYTES_MAX && k2i_message_text_valid(hello->host) &&
	       k2i_message_text_valid(hello->software);
}

int k2hft_hello_encode(const struct k2hft_hello *hello, uint8_t *bytes, size_t frame_room)
{
	struct k2i_message_writer writer;

	k2i_message_begin(&writer, bytes, frame_room);
	k2i_message_put_u16(&writer, hello->version_min);
	k2i_message_put_u16(&writer, hello->version_max);
	k2i_message_put_u32(&writer, hello->features_required);
	k2i_message_put_u32(&writer, hello->features_optional);
	k2i_message_put_u8(&writer, hello->level);
	k2i_message_put_zeros(&writer, 3);
	k2i_message_put_bytes(&writer, hello->ring_uuid, sizeof(hello->ring_uuid));
	k2i_message_put_bytes(&writer, hello->receiver_uuid, sizeof(hello->receiver_uuid));
	k2i_message_put_u64(&writer, hello->epoch);
	k2i_message_put_u64(&writer, hello->acked);
	k2i_message_put_u32(&writer, hello->frame_bytes_max);
	k2i_message_put_zeros(&writer, 4);
	k2i_message_put_string(&writer, hello->host, sizeof(hello->host));
	k2i_message_put_string(&writer, hello->software, sizeof(hello->software));
	/* The strings are known to be terminated only if they were written. */
	if (!writer.error && !hello_valid(hello))
		return -EINVAL;
	return k2i_message_end(&writer, K2HFT_FRAME_HELLO);
}

int k2hft_hello_decode(const void *body, size_t body_bytes, struct k2hft_hello *hello)
{
	struct k2i_message_reader reader;

	k2i_message_open(&reader, body, body_bytes);
	hello->version_min = k2i_message_u16(&reader);
	hello->version_max = k2i_message_u16(&reader);
	hello->features_required = k2i_message_u32(&reader);
	hello->features_optional = k2i_message_u32(&reader);
	hello->level = k2i_message_u8(&reader);
	k2i_message_zeros(&reader, 3);
	k2i_message_bytes(&reader, hello->ring_uuid, sizeof(hello->ring_uuid));
	k2i_message_bytes(&reader, hello->receiver_uuid, sizeof(hello->receiver_uuid));
	hello->epoch = k2i_message_u64(&reader);
	hello->acked = k2i_message_u64(&reader);
	hello->frame_bytes_max = k2i_message_u32(&reader);
	k2i_message_zeros(&reader, 4);
	k2i_message_string(&reader, hello->host, sizeof(hello->host));
	k2i_message_string(&reader, hello->software, sizeof(hello->software));
	return k2i_message_sound(&reader) && hello_valid(hello) ? 0 : -EBADMSG;
}
