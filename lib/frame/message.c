/* SPDX-License-Identifier: MIT */
#include "frame/message.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#include <k2hft/frame.h>

#include "base/byte_order.h"

/* Between a structure and the wire, either way. */
static void field_copy(uint8_t *to, const uint8_t *from, const struct k2i_field *field)
{
	bool turned = field->kind == K2I_FIELD_NUMBER && __BYTE_ORDER == __BIG_ENDIAN;

	for (size_t at = 0; at < field->bytes; at++)
		to[at] = from[turned ? field->bytes - 1 - at : at];
}

#define UNSETTLED_BYTES (16u + 8u) /* of one, on the wire */

static uint8_t unsettled_count(const struct k2i_field *field, const void *message)
{
	return ((const uint8_t *)message)[field->count_at];
}

/* How many bytes the field has on the wire; 0: a string that is not terminated, or too many. */
static size_t wire_bytes(const struct k2i_field *field, const void *message)
{
	const char *from = (const char *)message + field->at;

	if (field->kind == K2I_FIELD_UNSETTLED) {
		uint8_t count = unsettled_count(field, message);
		return count <= K2HFT_UNSETTLED_MAX ? 1 + count * UNSETTLED_BYTES : 0;
	}
	if (field->kind != K2I_FIELD_STRING)
		return field->bytes;
	size_t bytes = strnlen(from, field->bytes);
	return bytes < field->bytes ? sizeof(uint16_t) + bytes : 0;
}

static void unsettled_put(const struct k2hft_unsettled *from, uint8_t count, uint8_t *to)
{
	for (*to++ = count; count; count--, from++, to += UNSETTLED_BYTES) {
		memcpy(to, from->receiver_uuid, sizeof(from->receiver_uuid));
		k2i_wire_u64_put(to + sizeof(from->receiver_uuid), from->position);
	}
}

static void field_put(const struct k2i_field *field, const void *message, uint8_t *to, size_t bytes)
{
	const uint8_t *from = (const uint8_t *)message + field->at;

	if (field->kind == K2I_FIELD_ZEROS) {
		memset(to, 0, bytes);
	} else if (field->kind == K2I_FIELD_UNSETTLED) {
		unsettled_put((const void *)from, unsettled_count(field, message), to);
	} else if (field->kind == K2I_FIELD_STRING) {
		k2i_wire_u16_put(to, (uint16_t)(bytes - sizeof(uint16_t)));
		memcpy(to + sizeof(uint16_t), from, bytes - sizeof(uint16_t));
	} else {
		field_copy(to, from, field);
	}
}

int k2i_message_encode(const struct k2i_message *kind, uint8_t type, const void *message, uint8_t *frame,
		       size_t frame_room)
{
	struct k2hft_frame header = {.type = type};
	size_t used = K2HFT_FRAME_HEADER_BYTES;

	if (frame_room < used)
		return -ENOBUFS;
	for (const struct k2i_field *field = kind->fields; field->bytes; field++) {
		size_t bytes = wire_bytes(field, message);

		if (bytes == 0)
			return -EINVAL;
		if (bytes > frame_room - used)
			return -ENOBUFS;
		field_put(field, message, frame + used, bytes);
		used += bytes;
	}
	if (kind->valid && !kind->valid(message))
		return -EINVAL;
	header.body_bytes = header.raw_bytes = (uint32_t)(used - K2HFT_FRAME_HEADER_BYTES);
	int error = k2hft_frame_header_encode(&header, frame + K2HFT_FRAME_HEADER_BYTES, frame);
	return error ? error : (int)used;
}

static size_t unsettled_take(const struct k2i_field *field, const uint8_t *from, size_t left, void *message)
{
	struct k2hft_unsettled *to = (void *)((uint8_t *)message + field->at);
	uint8_t count = left ? *from : 0;

	if (!left || count > K2HFT_UNSETTLED_MAX || count * UNSETTLED_BYTES > left - 1)
		return 0;
	((uint8_t *)message)[field->count_at] = count;
	memset(to, 0, field->bytes);
	from++;
	for (uint8_t at = 0; at < count; at++, to++, from += UNSETTLED_BYTES) {
		memcpy(to->receiver_uuid, from, sizeof(to->receiver_uuid));
		to->position = k2i_wire_u64(from + sizeof(to->receiver_uuid));
	}
	return 1 + count * UNSETTLED_BYTES;
}

/* How many of the `left` bytes at `from` are the field's; 0: it is not all there, or not what it may be. */
static size_t field_take(const struct k2i_field *field, const uint8_t *from, size_t left, void *message)
{
	static const uint8_t zeros[16];
	uint8_t *to = (uint8_t *)message + field->at;
	size_t bytes = field->bytes;

	if (field->kind == K2I_FIELD_UNSETTLED)
		return unsettled_take(field, from, left, message);
	if (field->kind == K2I_FIELD_STRING) {
		if (left < sizeof(uint16_t))
			return 0;
		bytes = k2i_wire_u16(from);
		if (bytes >= field->bytes || bytes > left - sizeof(uint16_t) ||
		    memchr(from + sizeof(uint16_t), '\0', bytes))
			return 0;
		memset(to, 0, field->bytes);
		memcpy(to, from + sizeof(uint16_t), bytes);
		return sizeof(uint16_t) + bytes;
	}
	if (bytes > left)
		return 0;
	if (field->kind == K2I_FIELD_ZEROS)
		return memcmp(from, zeros, bytes) == 0 ? bytes : 0;
	field_copy(to, from, field);
	return bytes;
}

int k2i_message_decode(const struct k2i_message *kind, const void *body, size_t body_bytes, void *message)
{
	size_t at = 0;

	for (const struct k2i_field *field = kind->fields; field->bytes; field++) {
		size_t bytes = field_take(field, (const uint8_t *)body + at, body_bytes - at, message);

		if (bytes == 0)
			return -EBADMSG;
		at += bytes;
	}
	if (at < body_bytes && !kind->open_ended)
		return -EBADMSG;
	return !kind->valid || kind->valid(message) ? 0 : -EBADMSG;
}
