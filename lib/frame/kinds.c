/* SPDX-License-Identifier: MIT */
/* The messages of k2hft-protocol(7), but STREAM: what is in them, and what may be. */
#include <k2hft/frame.h>

#include <errno.h>
#include <string.h>

#include "frame/message.h"
#include "base/text.h"
#include "base/uuid.h"

static bool level_valid(uint8_t level)
{
	return level >= K2HFT_LEVEL_RECEIVED && level <= K2HFT_LEVEL_SYNCED;
}

/* HELLO ---------------------------------------------------------------------------------------------------------- */

static bool unsettled_valid(const struct k2hft_hello *hello)
{
	for (uint8_t at = 0; at < hello->unsettled_count; at++) {
		const struct k2hft_unsettled *unsettled = &hello->unsettled[at];

		if (k2i_uuid_zero(unsettled->receiver_uuid) || unsettled->position % 8 != 0)
			return false;
		for (uint8_t before = 0; before < at; before++) {
			if (memcmp(hello->unsettled[before].receiver_uuid, unsettled->receiver_uuid, 16) == 0)
				return false;
		}
	}
	return true;
}

static bool hello_valid(const void *message)
{
	const struct k2hft_hello *hello = message;

	return hello->version_min >= 1 && hello->version_max >= hello->version_min && level_valid(hello->level) &&
	       !(hello->flags & ~(K2HFT_HELLO_BEGINS | K2HFT_HELLO_COPY)) && !k2i_uuid_zero(hello->ring_uuid) &&
	       hello->acked % 8 == 0 && hello->frame_bytes_max >= 1 &&
	       hello->frame_bytes_max <= K2HFT_FRAME_BODY_BYTES_MAX && unsettled_valid(hello) &&
	       k2i_text_plain(hello->host) && k2i_text_plain(hello->software);
}

static const struct k2i_message hello_kind = {
	.valid = hello_valid,
	.open_ended = true,
	.fields =
		{
			K2I_NUMBER(k2hft_hello, version_min),
			K2I_NUMBER(k2hft_hello, version_max),
			K2I_NUMBER(k2hft_hello, features_required),
			K2I_NUMBER(k2hft_hello, features_optional),
			K2I_NUMBER(k2hft_hello, level),
			K2I_NUMBER(k2hft_hello, flags),
			K2I_ZEROS(2),
			K2I_BYTES(k2hft_hello, ring_uuid),
			K2I_BYTES(k2hft_hello, receiver_uuid),
			K2I_NUMBER(k2hft_hello, epoch),
			K2I_NUMBER(k2hft_hello, acked),
			K2I_NUMBER(k2hft_hello, frame_bytes_max),
			K2I_NUMBER(k2hft_hello, attempt),
			K2I_NUMBER(k2hft_hello, opening),
			K2I_UNSETTLED(k2hft_hello, unsettled, unsettled_count),
			K2I_STRING(k2hft_hello, host),
			K2I_STRING(k2hft_hello, software),
		},
};

K2I_MESSAGE_FUNCTIONS(hello, k2hft_hello, K2HFT_FRAME_HELLO)

/* WELCOME -------------------------------------------------------------------------------------------------------- */

static bool welcome_valid(const void *message)
{
	const struct k2hft_welcome *welcome = message;

	return welcome->version >= 1 && level_valid(welcome->level) &&
	       !(welcome->flags & ~(K2HFT_WELCOME_KNOWN | K2HFT_WELCOME_COPIED)) &&
	       !k2i_uuid_zero(welcome->receiver_uuid) && welcome->position % 8 == 0 &&
	       welcome->window_end >= welcome->position && welcome->frame_bytes_max >= K2HFT_FRAME_BODY_BYTES_MIN &&
	       welcome->frame_bytes_max <= K2HFT_FRAME_BODY_BYTES_MAX && k2i_text_plain(welcome->software);
}

static const struct k2i_message welcome_kind = {
	.valid = welcome_valid,
	.fields =
		{
			K2I_NUMBER(k2hft_welcome, version),
			K2I_NUMBER(k2hft_welcome, level),
			K2I_NUMBER(k2hft_welcome, flags),
			K2I_NUMBER(k2hft_welcome, features),
			K2I_BYTES(k2hft_welcome, receiver_uuid),
			K2I_NUMBER(k2hft_welcome, position),
			K2I_NUMBER(k2hft_welcome, window_end),
			K2I_NUMBER(k2hft_welcome, frame_bytes_max),
			K2I_ZEROS(4),
			K2I_NUMBER(k2hft_welcome, cut_records),
			K2I_NUMBER(k2hft_welcome, retracted_records),
			K2I_STRING(k2hft_welcome, software),
		},
};

K2I_MESSAGE_FUNCTIONS(welcome, k2hft_welcome, K2HFT_FRAME_WELCOME)

/* ACK ------------------------------------------------------------------------------------------------------------ */

static bool ack_valid(const void *message)
{
	const struct k2hft_ack *ack = message;

	return ack->position % 8 == 0 && ack->window_end >= ack->position && level_valid(ack->level) &&
	       ack->status <= K2HFT_STATUS_FAILED;
}

static const struct k2i_message ack_kind = {
	.valid = ack_valid,
	.fields = {K2I_NUMBER(k2hft_ack, position), K2I_NUMBER(k2hft_ack, window_end), K2I_NUMBER(k2hft_ack, level),
		   K2I_NUMBER(k2hft_ack, status), K2I_ZEROS(6)},
};

K2I_MESSAGE_FUNCTIONS(ack, k2hft_ack, K2HFT_FRAME_ACK)

/* DISCARD -------------------------------------------------------------------------------------------------------- */

static bool discard_valid(const void *message)
{
	const struct k2hft_discard *discard = message;

	return (discard->from | discard->to) % 8 == 0 && discard->from < discard->to &&
	       discard->reason >= K2HFT_DISCARD_REPAIRED && discard->reason <= K2HFT_DISCARD_EXPIRED;
}

static const struct k2i_message discard_kind = {
	.valid = discard_valid,
	.fields = {K2I_NUMBER(k2hft_discard, from), K2I_NUMBER(k2hft_discard, to),
		   K2I_NUMBER(k2hft_discard, record_count), K2I_NUMBER(k2hft_discard, reason), K2I_ZEROS(7)},
};

K2I_MESSAGE_FUNCTIONS(discard, k2hft_discard, K2HFT_FRAME_DISCARD)

/* PING, PONG and BYE --------------------------------------------------------------------------------------------- */

static const struct k2i_message ping_kind = {.fields = {K2I_NUMBER(k2hft_ping, token)}};

int k2hft_ping_encode(uint8_t type, const struct k2hft_ping *ping, uint8_t *bytes, size_t frame_room)
{
	if (type != K2HFT_FRAME_PING && type != K2HFT_FRAME_PONG && (type != K2HFT_FRAME_BYE || ping->token % 8 != 0))
		return -EINVAL;
	return k2i_message_encode(&ping_kind, type, ping, bytes, frame_room);
}

int k2hft_ping_decode(const void *body, size_t body_bytes, struct k2hft_ping *ping)
{
	return k2i_message_decode(&ping_kind, body, body_bytes, ping);
}

/* ERROR ---------------------------------------------------------------------------------------------------------- */

static bool error_valid(const void *message)
{
	const struct k2hft_error_message *error = message;

	return error->code != 0 && k2i_text_plain(error->text);
}

static const struct k2i_message error_kind = {
	.valid = error_valid,
	.open_ended = true,
	.fields = {K2I_NUMBER(k2hft_error_message, code), K2I_STRING(k2hft_error_message, text)},
};

int k2hft_error_encode(const struct k2hft_error_message *error, uint8_t *bytes, size_t frame_room)
{
	struct k2hft_error_message clean = *error;

	/* The text can quote a peer, and an ERROR must get out: what may not be in it is replaced, not refused. */
	if (memchr(clean.text, '\0', sizeof(clean.text)))
		k2i_text_controls_mask(clean.text);
	return k2i_message_encode(&error_kind, K2HFT_FRAME_ERROR, &clean, bytes, frame_room);
}

int k2hft_error_decode(const void *body, size_t body_bytes, struct k2hft_error_message *error)
{
	return k2i_message_decode(&error_kind, body, body_bytes, error);
}
