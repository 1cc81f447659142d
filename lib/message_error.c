/* SPDX-License-Identifier: MIT */
#include <k2hft/frame.h>

#include <errno.h>

#include "message.h"

int k2hft_error_encode(const struct k2hft_error_message *error, uint8_t *bytes, size_t frame_room)
{
	struct k2i_message_writer writer;
	struct k2hft_error_message clean = *error;

	if (error->code == 0)
		return -EINVAL;
	/* The text can quote a peer, and an ERROR must get out: what may not be in it is replaced, not refused. */
	for (size_t i = 0; i < sizeof(clean.text) && clean.text[i]; i++) {
		char one[2] = {clean.text[i], '\0'};

		if (!k2i_message_text_valid(one))
			clean.text[i] = '?';
	}
	k2i_message_begin(&writer, bytes, frame_room);
	k2i_message_put_u16(&writer, clean.code);
	k2i_message_put_string(&writer, clean.text, sizeof(clean.text));
	return k2i_message_end(&writer, K2HFT_FRAME_ERROR);
}

int k2hft_error_decode(const void *body, size_t body_bytes, struct k2hft_error_message *error)
{
	struct k2i_message_reader reader;

	k2i_message_open(&reader, body, body_bytes);
	error->code = k2i_message_u16(&reader);
	k2i_message_string(&reader, error->text, sizeof(error->text));
	return k2i_message_sound(&reader) && error->code != 0 && k2i_message_text_valid(error->text) ? 0 : -EBADMSG;
}
