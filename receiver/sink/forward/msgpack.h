/* SPDX-License-Identifier: MIT */
#ifndef K2I_RECEIVER_SINK_FORWARD_MSGPACK_H
#define K2I_RECEIVER_SINK_FORWARD_MSGPACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * MessagePack, as much of it as Forward needs. Answers are looked at where they were received: whatever lengths a peer
 * says, nothing is allocated for them.
 */
struct k2i_packed {
	uint8_t *bytes;
	size_t count, room;
	bool failed; /* no memory: nothing more is added */
};

/* Room for so many bytes more, which count when the caller says so. NULL: no memory. */
uint8_t *k2i_pack_reserve(struct k2i_packed *packed, size_t more);
void k2i_pack_array(struct k2i_packed *packed, uint32_t count);
void k2i_pack_map(struct k2i_packed *packed, uint32_t count);
void k2i_pack_unsigned(struct k2i_packed *packed, uint64_t number);
void k2i_pack_binary(struct k2i_packed *packed, const void *bytes, size_t count);
/* A string; binary where it is not UTF-8. */
void k2i_pack_text(struct k2i_packed *packed, const char *text, size_t count);
/* EventTime. */
void k2i_pack_time(struct k2i_packed *packed, uint64_t time_ns);

enum k2i_unpacked_kind {
	K2I_UNPACKED_OTHER,
	K2I_UNPACKED_BOOLEAN,
	K2I_UNPACKED_TEXT,
	K2I_UNPACKED_ARRAY,
	K2I_UNPACKED_MAP
};

struct k2i_unpacked {
	enum k2i_unpacked_kind kind;
	bool truth;
	const uint8_t *bytes; /* TEXT: a string or binary */
	uint32_t count;       /* bytes of it, elements of an ARRAY, pairs of a MAP, which follow */
};

#define K2I_UNPACK_BYTES_MAX 65536u

/* The value at `*at`, which moves behind it. 1; 0 more bytes are needed; -EPROTO it is none, or too long. */
int k2i_unpack_next(const uint8_t *bytes, size_t count, size_t *at, struct k2i_unpacked *value);
/* The same for a value with all that is in it. */
int k2i_unpack_skip(const uint8_t *bytes, size_t count, size_t *at);
/* Whether it is a string, or binary, with these bytes. */
bool k2i_unpacked_is(const struct k2i_unpacked *value, const char *text);

#endif
