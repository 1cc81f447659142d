/* SPDX-License-Identifier: MIT */
#include "message.h"

#include <errno.h>
#include <string.h>

#include <k2hft/frame.h>

#include "wire.h"

static const uint8_t zeros[16];

void k2i_message_begin(struct k2i_message_writer *writer, uint8_t *frame, size_t frame_room)
{
	writer->frame = frame;
	writer->room = frame_room;
	writer->used = K2HFT_FRAME_HEADER_BYTES;
	writer->error = frame_room < K2HFT_FRAME_HEADER_BYTES ? -ENOBUFS : 0;
}

void k2i_message_put_bytes(struct k2i_message_writer *writer, const void *bytes, size_t byte_count)
{
	if (writer->error || byte_count == 0)
		return;
	if (byte_count > writer->room - writer->used) {
		writer->error = -ENOBUFS;
		return;
	}
	memcpy(writer->frame + writer->used, bytes, byte_count);
	writer->used += byte_count;
}

void k2i_message_put_u8(struct k2i_message_writer *writer, uint8_t value)
{
	k2i_message_put_bytes(writer, &value, sizeof(value));
}

void k2i_message_put_u16(struct k2i_message_writer *writer, uint16_t value)
{
	uint8_t bytes[sizeof(value)];

	k2i_wire_u16_put(bytes, value);
	k2i_message_put_bytes(writer, bytes, sizeof(bytes));
}

void k2i_message_put_u32(struct k2i_message_writer *writer, uint32_t value)
{
	uint8_t bytes[sizeof(value)];

	k2i_wire_u32_put(bytes, value);
	k2i_message_put_bytes(writer, bytes, sizeof(bytes));
}

void k2i_message_put_u64(struct k2i_message_writer *writer, uint64_t value)
{
	uint8_t bytes[sizeof(value)];

	k2i_wire_u64_put(bytes, value);
	k2i_message_put_bytes(writer, bytes, sizeof(bytes));
}

void k2i_message_put_zeros(struct k2i_message_writer *writer, size_t byte_count)
{
	while (byte_count--)
		k2i_message_put_u8(writer, 0);
}

void k2i_message_put_string(struct k2i_message_writer *writer, const char *field, size_t field_bytes)
{
	size_t bytes = strnlen(field, field_bytes);

	if (writer->error)
		return;
	if (bytes == field_bytes || bytes > UINT16_MAX) {
		writer->error = -EINVAL;
		return;
	}
	k2i_message_put_u16(writer, (uint16_t)bytes);
	k2i_message_put_bytes(writer, field, bytes);
}

int k2i_message_end(struct k2i_message_writer *writer, uint8_t type)
{
	uint32_t body_bytes = (uint32_t)(writer->used - K2HFT_FRAME_HEADER_BYTES);
	struct k2hft_frame frame = {.type = type, .body_bytes = body_bytes, .raw_bytes = body_bytes};
	int error;

	if (writer->error)
		return writer->error;
	error = k2hft_frame_header_encode(&frame, writer->frame + K2HFT_FRAME_HEADER_BYTES, writer->frame);
	return error ? error : (int)writer->used;
}

void k2i_message_open(struct k2i_message_reader *reader, const void *body, size_t body_bytes)
{
	reader->body = body;
	reader->bytes = body_bytes;
	reader->at = 0;
	reader->failed = false;
}

/* Zeros come out of a failed reader, so that no caller sees memory that nobody wrote. */
void k2i_message_bytes(struct k2i_message_reader *reader, void *bytes, size_t byte_count)
{
	if (reader->failed || byte_count > reader->bytes - reader->at) {
		reader->failed = true;
		memset(bytes, 0, byte_count);
		return;
	}
	if (byte_count == 0)
		return;
	memcpy(bytes, reader->body + reader->at, byte_count);
	reader->at += byte_count;
}

uint8_t k2i_message_u8(struct k2i_message_reader *reader)
{
	uint8_t value;

	k2i_message_bytes(reader, &value, sizeof(value));
	return value;
}

uint16_t k2i_message_u16(struct k2i_message_reader *reader)
{
	uint8_t bytes[sizeof(uint16_t)];

	k2i_message_bytes(reader, bytes, sizeof(bytes));
	return k2i_wire_u16(bytes);
}

uint32_t k2i_message_u32(struct k2i_message_reader *reader)
{
	uint8_t bytes[sizeof(uint32_t)];

	k2i_message_bytes(reader, bytes, sizeof(bytes));
	return k2i_wire_u32(bytes);
}

uint64_t k2i_message_u64(struct k2i_message_reader *reader)
{
	uint8_t bytes[sizeof(uint64_t)];

	k2i_message_bytes(reader, bytes, sizeof(bytes));
	return k2i_wire_u64(bytes);
}

void k2i_message_zeros(struct k2i_message_reader *reader, size_t byte_count)
{
	while (byte_count--) {
		if (k2i_message_u8(reader) != 0)
			reader->failed = true;
	}
}

void k2i_message_string(struct k2i_message_reader *reader, char *field, size_t field_bytes)
{
	size_t bytes = k2i_message_u16(reader);

	memset(field, 0, field_bytes);
	if (bytes >= field_bytes) {
		reader->failed = true;
		return;
	}
	k2i_message_bytes(reader, field, bytes);
	if (memchr(field, '\0', bytes))
		reader->failed = true;
}

bool k2i_message_sound(const struct k2i_message_reader *reader)
{
	return !reader->failed;
}

bool k2i_message_complete(const struct k2i_message_reader *reader)
{
	return !reader->failed && reader->at == reader->bytes;
}

bool k2i_message_text_valid(const char *text)
{
	for (; *text; text++) {
		unsigned char byte = (unsigned char)*text;

		if (byte < 32 || byte == 127)
			return false;
	}
	return true;
}

bool k2i_message_uuid_zero(const uint8_t uuid[16])
{
	return memcmp(uuid, zeros, sizeof(zeros)) == 0;
}

bool k2i_message_level_valid(uint8_t level)
{
	return level >= K2HFT_LEVEL_RECEIVED && level <= K2HFT_LEVEL_SYNCED;
}
