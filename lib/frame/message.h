/* SPDX-License-Identifier: MIT */
#ifndef K2I_FRAME_MESSAGE_H
#define K2I_FRAME_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A message is a structure, and a list of its fields in the order of the wire by which it is written and read. */
enum k2i_field_kind {
	K2I_FIELD_NUMBER, /* of 1, 2, 4 or 8 bytes; little-endian on the wire */
	K2I_FIELD_BYTES,
	K2I_FIELD_STRING,    /* an array with a terminator; on the wire a u16 says how many bytes come, without it */
	K2I_FIELD_ZEROS,     /* reserved; not in the structure */
	K2I_FIELD_UNSETTLED, /* an array of K2HFT_UNSETTLED_MAX; on the wire a u8 says how many come */
};

struct k2i_field {
	enum k2i_field_kind kind;
	size_t at, bytes; /* in the structure */
	size_t count_at;  /* UNSETTLED: of the u8 there that says how many it has */
};
#define K2I_FIELD(a_kind, message, field)                                                                              \
	{                                                                                                              \
		.kind = K2I_FIELD_##a_kind, .at = offsetof(struct message, field),                                     \
		.bytes = sizeof(((struct message *)0)->field)                                                          \
	}
#define K2I_NUMBER(message, field) K2I_FIELD(NUMBER, message, field)
#define K2I_BYTES(message, field) K2I_FIELD(BYTES, message, field)
#define K2I_STRING(message, field) K2I_FIELD(STRING, message, field)
#define K2I_UNSETTLED(message, field, count_field)                                                                     \
	{                                                                                                              \
		.kind = K2I_FIELD_UNSETTLED, .at = offsetof(struct message, field),                                    \
		.bytes = sizeof(((struct message *)0)->field), .count_at = offsetof(struct message, count_field)       \
	}
#define K2I_ZEROS(count)                                                                                               \
	{                                                                                                              \
		.kind = K2I_FIELD_ZEROS, .bytes = count                                                                \
	}
#define K2I_FIELDS_MAX 17u

struct k2i_message {
	/* Checks the fields, once they are there and strings are terminated. NULL: anything. */
	bool (*valid)(const void *message);
	bool open_ended;                             /* more can be behind the fields, and is not looked at */
	struct k2i_field fields[K2I_FIELDS_MAX + 1]; /* behind the last: one of 0 bytes */
};

/* As the functions of k2hft/frame.h that are made of them. */
int k2i_message_encode(const struct k2i_message *kind, uint8_t type, const void *message, uint8_t *frame,
		       size_t frame_room);
int k2i_message_decode(const struct k2i_message *kind, const void *body, size_t body_bytes, void *message);

/* Defines k2hft_NAME_encode and k2hft_NAME_decode of k2hft/frame.h for `structure`, by NAME_kind. */
#define K2I_MESSAGE_FUNCTIONS(name, structure, type)                                                                   \
	int k2hft_##name##_encode(const struct structure *message, uint8_t *bytes, size_t frame_room)                  \
	{                                                                                                              \
		return k2i_message_encode(&name##_kind, type, message, bytes, frame_room);                             \
	}                                                                                                              \
	int k2hft_##name##_decode(const void *body, size_t body_bytes, struct structure *message)                      \
	{                                                                                                              \
		return k2i_message_decode(&name##_kind, body, body_bytes, message);                                    \
	}

#endif
