/* SPDX-License-Identifier: MIT */
#include "receiver/sink/forward/msgpack.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/utf8.h"

/* Packing --------------------------------------------------------------------------------------------------------- */

uint8_t *k2i_pack_reserve(struct k2i_packed *packed, size_t more)
{
	size_t room = packed->room ? packed->room : 4096;
	uint8_t *bytes;

	while (room - packed->count < more && room < SIZE_MAX / 2)
		room *= 2;
	if (!packed->failed && room > packed->room) {
		bytes = realloc(packed->bytes, room);
		packed->failed = !bytes;
		packed->bytes = bytes ? bytes : packed->bytes;
		packed->room = bytes ? room : packed->room;
	}
	return packed->failed ? NULL : packed->bytes + packed->count;
}

static void raw_add(struct k2i_packed *packed, const void *bytes, size_t count)
{
	uint8_t *room = k2i_pack_reserve(packed, count);

	if (!room)
		return;
	memcpy(room, bytes, count);
	packed->count += count;
}

/* A byte, and behind it a number of so many bytes, the highest first. */
static void head_add(struct k2i_packed *packed, uint8_t first, uint64_t number, unsigned bytes)
{
	uint8_t head[9] = {first};

	for (unsigned at = bytes; at > 0; at--, number >>= 8)
		head[at] = (uint8_t)number;
	raw_add(packed, head, bytes + 1);
}

/* Heads of three widths: `first`, `first` + 1 and `first` + 2 have 1, 2 and 4 bytes of length. */
static void length_add(struct k2i_packed *packed, uint8_t first, size_t count)
{
	unsigned width = count < 256 ? 0 : count < 65536 ? 1 : 2;

	head_add(packed, (uint8_t)(first + width), count, 1u << width);
}

void k2i_pack_array(struct k2i_packed *packed, uint32_t count)
{
	head_add(packed, (uint8_t)(0x90 | count), 0, 0);
}

void k2i_pack_map(struct k2i_packed *packed, uint32_t count)
{
	head_add(packed, (uint8_t)(0x80 | count), 0, 0);
}

void k2i_pack_unsigned(struct k2i_packed *packed, uint64_t number)
{
	if (number < 128)
		head_add(packed, (uint8_t)number, 0, 0);
	else if (number <= UINT32_MAX)
		head_add(packed, 0xce, number, 4);
	else
		head_add(packed, 0xcf, number, 8);
}

void k2i_pack_binary(struct k2i_packed *packed, const void *bytes, size_t count)
{
	length_add(packed, 0xc4, count);
	raw_add(packed, bytes, count);
}

void k2i_pack_text(struct k2i_packed *packed, const char *text, size_t count)
{
	if (k2i_utf8_kind(text, count) == K2I_UTF8_NOT) {
		k2i_pack_binary(packed, text, count);
		return;
	}
	if (count < 32)
		head_add(packed, (uint8_t)(0xa0 | count), 0, 0);
	else
		length_add(packed, 0xd9, count);
	raw_add(packed, text, count);
}

void k2i_pack_time(struct k2i_packed *packed, uint64_t time_ns)
{
	const uint64_t seconds = time_ns / K2I_SECOND_NS & UINT32_MAX;

	head_add(packed, 0xd7, 0, 0);
	head_add(packed, 0, seconds << 32 | time_ns % K2I_SECOND_NS, 8);
}

/* Unpacking ------------------------------------------------------------------------------------------------------- */

/* A form: how many bytes of length or number follow its first byte, and how many bytes, that are passed over, follow them. */
struct form {
	enum k2i_unpacked_kind kind;
	unsigned width, more;
};

static const struct form forms[] = {
	/* c0 to c3: nil, none, false, true */
	{K2I_UNPACKED_OTHER, 0, 0},
	{K2I_UNPACKED_OTHER, 0, 0},
	{K2I_UNPACKED_BOOLEAN, 0, 0},
	{K2I_UNPACKED_BOOLEAN, 0, 0},
	/* c4 to c9: binary, extensions with a length */
	{K2I_UNPACKED_TEXT, 1, 0},
	{K2I_UNPACKED_TEXT, 2, 0},
	{K2I_UNPACKED_TEXT, 4, 0},
	{K2I_UNPACKED_TEXT, 1, 1},
	{K2I_UNPACKED_TEXT, 2, 1},
	{K2I_UNPACKED_TEXT, 4, 1},
	/* ca to d3: numbers */
	{K2I_UNPACKED_OTHER, 0, 4},
	{K2I_UNPACKED_OTHER, 0, 8},
	{K2I_UNPACKED_OTHER, 0, 1},
	{K2I_UNPACKED_OTHER, 0, 2},
	{K2I_UNPACKED_OTHER, 0, 4},
	{K2I_UNPACKED_OTHER, 0, 8},
	{K2I_UNPACKED_OTHER, 0, 1},
	{K2I_UNPACKED_OTHER, 0, 2},
	{K2I_UNPACKED_OTHER, 0, 4},
	{K2I_UNPACKED_OTHER, 0, 8},
	/* d4 to d8: extensions of a fixed length, and their type */
	{K2I_UNPACKED_OTHER, 0, 2},
	{K2I_UNPACKED_OTHER, 0, 3},
	{K2I_UNPACKED_OTHER, 0, 5},
	{K2I_UNPACKED_OTHER, 0, 9},
	{K2I_UNPACKED_OTHER, 0, 17},
	/* d9 to df: strings, arrays, maps */
	{K2I_UNPACKED_TEXT, 1, 0},
	{K2I_UNPACKED_TEXT, 2, 0},
	{K2I_UNPACKED_TEXT, 4, 0},
	{K2I_UNPACKED_ARRAY, 2, 0},
	{K2I_UNPACKED_ARRAY, 4, 0},
	{K2I_UNPACKED_MAP, 2, 0},
	{K2I_UNPACKED_MAP, 4, 0},
};

/* Forms whose first byte has the length in it. */
static bool short_form(uint8_t first, struct k2i_unpacked *value)
{
	value->kind = first < 0x80 || first >= 0xe0 ? K2I_UNPACKED_OTHER
		      : first < 0x90                ? K2I_UNPACKED_MAP
		      : first < 0xa0                ? K2I_UNPACKED_ARRAY
						    : K2I_UNPACKED_TEXT;
	value->count = value->kind == K2I_UNPACKED_OTHER  ? 0
		       : value->kind == K2I_UNPACKED_TEXT ? first & 0x1fu
							  : first & 0x0fu;
	return first < 0xc0 || first >= 0xe0;
}

int k2i_unpack_next(const uint8_t *bytes, size_t count, size_t *at, struct k2i_unpacked *value)
{
	size_t next = *at;
	struct form form = {0};
	uint8_t first;

	if (next == count)
		return 0;
	first = bytes[next++];
	*value = (struct k2i_unpacked){.truth = first == 0xc3};
	if (first == 0xc1)
		return -EPROTO;
	if (!short_form(first, value)) {
		form = forms[first - 0xc0];
		value->kind = form.kind;
		value->count = 0;
	}
	if (count - next < form.width)
		return 0;
	while (form.width-- > 0)
		value->count = value->count << 8 | bytes[next++];
	if (value->count > K2I_UNPACK_BYTES_MAX)
		return -EPROTO;
	value->bytes = bytes + next;
	next += form.more + (value->kind == K2I_UNPACKED_TEXT ? value->count : 0);
	if (form.more)
		value->kind = K2I_UNPACKED_OTHER;
	if (next > count)
		return 0;
	*at = next;
	return 1;
}

int k2i_unpack_skip(const uint8_t *bytes, size_t count, size_t *at)
{
	uint64_t left = 1;
	size_t next = *at;
	struct k2i_unpacked value;
	int result;

	for (; left > 0; left--) {
		result = k2i_unpack_next(bytes, count, &next, &value);
		if (result <= 0)
			return result;
		if (value.kind == K2I_UNPACKED_ARRAY || value.kind == K2I_UNPACKED_MAP)
			left += (uint64_t)value.count << (value.kind == K2I_UNPACKED_MAP);
	}
	*at = next;
	return 1;
}

bool k2i_unpacked_is(const struct k2i_unpacked *value, const char *text)
{
	return value->kind == K2I_UNPACKED_TEXT && value->count == strlen(text) &&
	       memcmp(value->bytes, text, value->count) == 0;
}
