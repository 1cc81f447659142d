/* SPDX-License-Identifier: MIT */
#include "fuse/intake/text.h"

#include <errno.h>
#include <string.h>

#include "fuse/keeper/journal.h"
#include "base/line_ends.h"

/* Memory that a long line needed is given back when the line has ended. */
#define HELD_ROOM_KEPT (64u * 1024)

int k2i_text_room(struct k2i_text *text, size_t bytes)
{
	size_t needed = text->held_bytes + bytes, room = text->held_room ? text->held_room : 256;
	char *held;

	if (needed <= text->held_room)
		return 0;
	while (room < needed)
		room *= 2;
	held = k2i_shared_alloc(room);
	if (!held)
		return -ENOMEM;
	if (text->held_bytes)
		memcpy(held, text->held, text->held_bytes);
	K2I_SHARED_KEEP(text);
	k2i_shared_free(text->held);
	text->held = held;
	text->held_room = room;
	return 0;
}

int k2i_text_hold(struct k2i_text *text, const char *data, size_t bytes)
{
	if (k2i_text_room(text, bytes))
		return -ENOMEM;
	K2I_SHARED_KEEP(text);
	if (bytes)
		memcpy(text->held + text->held_bytes, data, bytes);
	text->held_bytes += bytes;
	return 0;
}

void k2i_text_free(struct k2i_text *text)
{
	k2i_shared_free(text->held);
}

/*
 * Nothing is held any more; the memory still has it, so that a step that is not done gets it back: who holds something
 * new in that step keeps it. With BYTELIMIT it can be longer than what a journal holds.
 */
void k2i_text_let_go(struct k2i_text *text)
{
	K2I_SHARED_KEEP(text);
	text->held_bytes = 0;
}

/* The part is what is held with `bytes` of data behind it. Nothing is held then, but the memory still has it. */
static int make_part(struct k2i_text *text, const char *data, size_t bytes, struct k2i_text_part *part)
{
	*part = (struct k2i_text_part){.data = data, .bytes = bytes, .continued = text->continued};
	K2I_SHARED_KEEP(text);
	if (text->held_bytes == 0)
		return 0;
	if (k2i_text_hold(text, data, bytes))
		return -ENOMEM;
	part->data = text->held;
	part->bytes = text->held_bytes;
	text->held_bytes = 0;
	return 0;
}

static int skip_rest(struct k2i_text *text, const char *data, size_t bytes, size_t *taken)
{
	const char *end = memchr(data, '\n', bytes);

	*taken = end ? (size_t)(end - data) + 1 : bytes;
	K2I_SHARED_KEEP(text);
	if (end)
		text->skipping = text->continued = false;
	return K2I_TEXT_NOTHING;
}

static int too_long(struct k2i_text *text, bool ended)
{
	k2i_text_let_go(text);
	text->skipping = !ended;
	return K2I_TEXT_TOO_LONG;
}

static void trim(struct k2i_text *text)
{
	if (text->held_bytes == 0 && text->held_room > HELD_ROOM_KEPT) {
		K2I_SHARED_KEEP(text);
		k2i_shared_free(text->held);
		text->held = NULL;
		text->held_room = 0;
	}
}

int k2i_text_take(struct k2i_text *text, const struct k2i_text_limits *limits, const char *data, size_t bytes,
		  size_t *taken, struct k2i_text_part *part)
{
	const char *end;
	size_t line;
	int status;

	*taken = 0;
	trim(text);
	if (bytes == 0)
		return K2I_TEXT_NOTHING;
	if (text->skipping)
		return skip_rest(text, data, bytes, taken);
	end = memchr(data, '\n', bytes);
	line = end ? (size_t)(end - data) + 1 : bytes;
	if (limits->record_bytes_max && text->held_bytes + line > limits->record_bytes_max) {
		*taken = line;
		return too_long(text, end != NULL);
	}
	if (!limits->record_bytes_max && text->held_bytes + line > limits->piece_bytes_max) {
		line = limits->piece_bytes_max - text->held_bytes;
		status = make_part(text, data, line, part);
		if (status == 0)
			text->continued = true;
	} else if (end) {
		status = make_part(text, data, line, part);
		if (status == 0)
			text->continued = false;
	} else {
		status = k2i_text_hold(text, data, line);
	}
	if (status)
		return status;
	*taken = line;
	if (text->held_bytes)
		return K2I_TEXT_NOTHING;
	return text->continued ? K2I_TEXT_PIECE : K2I_TEXT_RECORD;
}

enum k2i_text_event k2i_text_end(struct k2i_text *text, struct k2i_text_part *part)
{
	size_t bytes = text->held_bytes;

	*part = (struct k2i_text_part){.data = text->held, .bytes = bytes, .continued = text->continued};
	k2i_text_let_go(text);
	text->continued = text->skipping = false;
	return bytes ? K2I_TEXT_RECORD : K2I_TEXT_NOTHING;
}

enum k2i_text_event k2i_text_so_far(struct k2i_text *text, struct k2i_text_part *part)
{
	size_t bytes = text->held_bytes;

	*part = (struct k2i_text_part){.data = text->held, .bytes = bytes, .continued = text->continued};
	if (bytes == 0)
		return K2I_TEXT_NOTHING;
	k2i_text_let_go(text);
	text->continued = true;
	return K2I_TEXT_PIECE;
}

size_t k2i_text_whole(const char *data, size_t bytes)
{
	const char *end = memrchr(data, '\n', bytes);

	return end ? (size_t)(end - data) + 1 : 0;
}

uint32_t k2i_text_records(const char *data, size_t bytes)
{
	uint64_t ends = k2i_line_ends_count((const uint8_t *)data, bytes);

	return (uint32_t)(bytes && data[bytes - 1] != '\n' ? ends + 1 : ends);
}

size_t k2i_text_chunk(const char *data, size_t bytes, size_t bytes_max, size_t piece_bytes_max, bool *continues)
{
	size_t whole;

	*continues = false;
	if (bytes <= bytes_max)
		return bytes;
	whole = k2i_text_whole(data, bytes_max);
	if (whole)
		return whole;
	*continues = true;
	return piece_bytes_max < bytes_max ? piece_bytes_max : bytes_max;
}
