/* SPDX-License-Identifier: MIT */
#include "fuse/intake/line_buffer.h"

#include <errno.h>
#include <string.h>

#include "fuse/base/journal.h"
#include "fuse/base/mount.h"
#include "base/line_ends.h"
#include "base/utf8.h"

void k2i_line_limits_set(struct k2i_mount *mount)
{
	size_t chunk = mount->lanes.chunk_bytes_max, most = (size_t)mount->settings->record_bytes_max;

	*mount->line_limits =
		(struct k2i_line_limits){.piece_bytes_max = mount->settings->record_bytes_max < chunk ? most : chunk,
					 .record_bytes_max = mount->settings->record_bytes_limit,
					 .held_bytes_max = mount->settings->held_bytes_max};
}

int k2i_line_buffer_room(struct k2i_line_buffer *line, size_t bytes)
{
	size_t needed = line->held_bytes + bytes, room = line->held_room ? line->held_room : 256;
	char *held;

	if (needed <= line->held_room)
		return 0;
	while (room < needed)
		room *= 2;
	held = k2i_journal_alloc(room);
	if (!held)
		return -ENOMEM;
	if (line->held_bytes)
		memcpy(held, line->held, line->held_bytes);
	K2I_JOURNAL_KEEP(line);
	k2i_journal_free(line->held);
	line->held = held;
	line->held_room = room;
	return 0;
}

int k2i_line_buffer_hold(struct k2i_line_buffer *line, const char *data, size_t bytes)
{
	if (k2i_line_buffer_room(line, bytes))
		return -ENOMEM;
	K2I_JOURNAL_KEEP(line);
	if (bytes)
		memcpy(line->held + line->held_bytes, data, bytes);
	line->held_bytes += bytes;
	return 0;
}

void k2i_line_buffer_free(struct k2i_line_buffer *line)
{
	k2i_journal_free(line->held);
}

/*
 * Nothing is held any more; the memory still has it, so that a step that is not done gets it back: who holds something
 * new in that step keeps it. With BYTELIMIT it can be longer than what a journal holds.
 */
void k2i_line_buffer_let_go(struct k2i_line_buffer *line)
{
	K2I_JOURNAL_KEEP(line);
	line->held_bytes = 0;
}

/* The part is what is held with `bytes` of data behind it. Nothing is held then, but the memory still has it. */
static int part_make(struct k2i_line_buffer *line, const char *data, size_t bytes, struct k2i_line_part *part)
{
	*part = (struct k2i_line_part){.data = data, .bytes = bytes, .continued = line->continued};
	K2I_JOURNAL_KEEP(line);
	if (line->held_bytes == 0)
		return 0;
	if (k2i_line_buffer_hold(line, data, bytes))
		return -ENOMEM;
	part->data = line->held;
	part->bytes = line->held_bytes;
	line->held_bytes = 0;
	return 0;
}

static int record_skip(struct k2i_line_buffer *line, const char *data, size_t bytes, size_t *taken)
{
	const char *end = memchr(data, '\n', bytes);

	*taken = end ? (size_t)(end - data) + 1 : bytes;
	K2I_JOURNAL_KEEP(line);
	if (end)
		line->skipping = line->continued = false;
	return K2I_LINE_NOTHING;
}

static int record_refuse(struct k2i_line_buffer *line, bool ended)
{
	k2i_line_buffer_let_go(line);
	line->skipping = !ended;
	return K2I_LINE_TOO_LONG;
}

void k2i_line_buffer_trim(struct k2i_line_buffer *line, size_t room_kept)
{
	if (line->held_bytes || line->held_room <= room_kept)
		return;
	K2I_JOURNAL_KEEP(line);
	k2i_journal_free(line->held);
	line->held = NULL;
	line->held_room = 0;
}

/*
 * The end of a piece in `bytes` of data behind what is held: in front of a character that the limit is in, or behind it
 * if it can begin in what is held. All of the data: the rest of that character has not come.
 */
static size_t piece_end(const struct k2i_line_buffer *line, size_t limit, const char *data, size_t bytes)
{
	size_t at = limit > line->held_bytes ? limit - line->held_bytes : 0, cut, length;
	size_t before = line->held_bytes < 3 ? line->held_bytes : 3, behind = bytes < 6 ? bytes : 6;
	char around[9];

	if (at > 3)
		return k2i_utf8_cut(data, bytes, at);
	if (before)
		memcpy(around, line->held + line->held_bytes - before, before);
	memcpy(around + before, data, behind);
	cut = k2i_utf8_cut(around, before + behind, before + at);
	if (cut == before + at)
		return at;
	length = k2i_utf8_length((const unsigned char *)around + cut, before + behind - cut);
	return length ? cut + length - before : bytes;
}

int k2i_line_buffer_take(struct k2i_line_buffer *line, const struct k2i_line_limits *limits, const char *data,
			 size_t bytes, size_t *taken, struct k2i_line_part *part)
{
	/* The length of a record of which pieces are out is not counted any more. */
	bool counted = limits->record_bytes_max && !line->continued;
	const char *end;
	size_t length, piece;
	int status;

	*taken = 0;
	k2i_line_buffer_trim(line, K2I_LINE_ROOM_KEPT);
	if (bytes == 0)
		return K2I_LINE_NOTHING;
	if (line->skipping)
		return record_skip(line, data, bytes, taken);
	end = memchr(data, '\n', bytes);
	length = end ? (size_t)(end - data) + 1 : bytes;
	if (counted && line->held_bytes + length > limits->record_bytes_max) {
		*taken = length;
		return record_refuse(line, end != NULL);
	}
	piece = length;
	if (!counted && line->held_bytes + length > limits->piece_bytes_max)
		piece = piece_end(line, limits->piece_bytes_max, data, length);
	if (piece < length) {
		length = piece;
		status = part_make(line, data, length, part);
		if (status == 0)
			line->continued = true;
	} else if (end) {
		status = part_make(line, data, length, part);
		if (status == 0)
			line->continued = false;
	} else {
		status = k2i_line_buffer_hold(line, data, length);
	}
	if (status)
		return status;
	*taken = length;
	if (line->held_bytes)
		return K2I_LINE_NOTHING;
	return line->continued ? K2I_LINE_PIECE : K2I_LINE_RECORD;
}

enum k2i_line_event k2i_line_buffer_flush(struct k2i_line_buffer *line, bool ended, struct k2i_line_part *part)
{
	*part = (struct k2i_line_part){.data = line->held, .bytes = line->held_bytes, .continued = line->continued};
	k2i_line_buffer_let_go(line);
	if (ended)
		line->continued = line->skipping = false;
	if (part->bytes == 0)
		return K2I_LINE_NOTHING;
	line->continued = !ended;
	return ended ? K2I_LINE_RECORD : K2I_LINE_PIECE;
}

size_t k2i_line_buffer_run(const struct k2i_line_buffer *line, const struct k2i_line_limits *limits, const char *data,
			   size_t bytes)
{
	const char *end;

	if (line->skipping || limits->record_bytes_max || bytes > limits->piece_bytes_max)
		return 0;
	end = memchr(data, '\n', bytes);
	if (!end || line->held_bytes + (size_t)(end - data) >= limits->piece_bytes_max)
		return 0;
	return k2i_lines_whole(data, bytes);
}

size_t k2i_lines_whole(const char *data, size_t bytes)
{
	const char *end = memrchr(data, '\n', bytes);

	return end ? (size_t)(end - data) + 1 : 0;
}

uint32_t k2i_lines_count(const char *data, size_t bytes)
{
	uint64_t ends = k2i_line_ends_count((const uint8_t *)data, bytes);

	return (uint32_t)(bytes && data[bytes - 1] != '\n' ? ends + 1 : ends);
}

size_t k2i_lines_chunk(const char *data, size_t bytes, size_t bytes_max, size_t piece_bytes_max, bool *continues)
{
	size_t whole;

	*continues = false;
	if (bytes <= bytes_max)
		return bytes;
	whole = k2i_lines_whole(data, bytes_max);
	if (whole)
		return whole;
	*continues = true;
	return k2i_utf8_cut(data, bytes, piece_bytes_max < bytes_max ? piece_bytes_max : bytes_max);
}
