/* SPDX-License-Identifier: MIT */
#ifndef K2I_MESSAGE_H
#define K2I_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Fields of a message, one after the other. The first failure is kept and everything behind it does nothing, so a
 * message's code is its list of fields, and one check at the end.
 */
struct k2i_message_writer {
	uint8_t *frame; /* header, then body */
	size_t room, used;
	int error;
};

struct k2i_message_reader {
	const uint8_t *body;
	size_t bytes, at;
	bool failed;
};

void k2i_message_begin(struct k2i_message_writer *writer, uint8_t *frame, size_t frame_room);
void k2i_message_put_u8(struct k2i_message_writer *writer, uint8_t value);
void k2i_message_put_u16(struct k2i_message_writer *writer, uint16_t value);
void k2i_message_put_u32(struct k2i_message_writer *writer, uint32_t value);
void k2i_message_put_u64(struct k2i_message_writer *writer, uint64_t value);
void k2i_message_put_bytes(struct k2i_message_writer *writer, const void *bytes, size_t byte_count);
void k2i_message_put_zeros(struct k2i_message_writer *writer, size_t byte_count);
/* `field` is an array of `field_bytes` that must hold a terminator. */
void k2i_message_put_string(struct k2i_message_writer *writer, const char *field, size_t field_bytes);
/* Writes the frame header. The frame's length, -EINVAL or -ENOBUFS. */
int k2i_message_end(struct k2i_message_writer *writer, uint8_t type);

void k2i_message_open(struct k2i_message_reader *reader, const void *body, size_t body_bytes);
uint8_t k2i_message_u8(struct k2i_message_reader *reader);
uint16_t k2i_message_u16(struct k2i_message_reader *reader);
uint32_t k2i_message_u32(struct k2i_message_reader *reader);
uint64_t k2i_message_u64(struct k2i_message_reader *reader);
void k2i_message_bytes(struct k2i_message_reader *reader, void *bytes, size_t byte_count);
void k2i_message_zeros(struct k2i_message_reader *reader, size_t byte_count);
/* Into an array of `field_bytes`, terminated; a NUL inside or no room is a failure. */
void k2i_message_string(struct k2i_message_reader *reader, char *field, size_t field_bytes);
/* Whether all was there and nothing is left; k2i_message_sound: something may be left. */
bool k2i_message_complete(const struct k2i_message_reader *reader);
bool k2i_message_sound(const struct k2i_message_reader *reader);

/* No control characters. `text` is terminated. */
bool k2i_message_text_valid(const char *text);
bool k2i_message_uuid_zero(const uint8_t uuid[16]);
bool k2i_message_level_valid(uint8_t level);

#endif
