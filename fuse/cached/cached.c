/* SPDX-License-Identifier: MIT */
#include "fuse/cached/cached.h"

#include <errno.h>
#include <string.h>

#include "fuse/base/journal.h"
#include "fuse/intake/line_buffer.h"

struct k2i_cached_piece {
	struct k2i_cached_piece *next;
	uint64_t offset;
	size_t bytes;
	char data[];
};

/* A copy of `bytes` of data between `*place` and what stands there. */
static int piece_keep(struct k2i_cached_piece **place, uint64_t offset, const char *data, size_t bytes)
{
	struct k2i_cached_piece *piece = k2i_journal_alloc(sizeof(*piece) + bytes);

	if (!piece)
		return -ENOMEM;
	piece->next = *place;
	piece->offset = offset;
	piece->bytes = bytes;
	memcpy(piece->data, data, bytes);
	K2I_JOURNAL_KEEP(place);
	*place = piece;
	return 0;
}

/* Keeps of [at, end) what no piece has yet; `data` is what belongs to `at`. */
static int gaps_keep(struct k2i_cached *cached, uint64_t at, uint64_t end, const char *data)
{
	struct k2i_cached_piece **place = &cached->first;
	int status = 0;

	for (; status == 0 && at < end; place = &(*place)->next) {
		const struct k2i_cached_piece *next = *place;
		uint64_t gap_end = next && next->offset < end ? next->offset : end;

		if (next && next->offset + next->bytes <= at)
			continue;
		if (at < gap_end)
			status = piece_keep(place, at, data, (size_t)(gap_end - at));
		else
			gap_end = next->offset + next->bytes;
		if (gap_end >= end)
			break;
		data += gap_end - at;
		at = gap_end;
	}
	return status;
}

int k2i_cached_give(struct k2i_cached *cached, uint64_t watermark, uint64_t offset, const char *data, size_t bytes,
		    struct k2i_cached_part *part)
{
	uint64_t at = offset > watermark ? offset : watermark, end;

	*part = (struct k2i_cached_part){.data = data, .bytes = 0};
	if (offset > INT64_MAX || bytes > INT64_MAX - offset)
		return -EFBIG;
	end = offset + bytes;
	if (end <= at)
		return 0;
	data += at - offset;
	if (at == watermark) {
		const struct k2i_cached_piece *first = cached->first;
		uint64_t taken = first && first->offset < end ? first->offset : end;

		/* A piece that the watermark is in already comes before this. */
		taken = taken > at ? taken : at;
		*part = (struct k2i_cached_part){.data = data, .bytes = (size_t)(taken - at)};
		data += taken - at;
		at = taken;
	}
	return gaps_keep(cached, at, end, data);
}

bool k2i_cached_next(const struct k2i_cached *cached, uint64_t watermark, struct k2i_cached_part *part)
{
	const struct k2i_cached_piece *first = cached->first;

	if (!first || first->offset > watermark || first->offset + first->bytes <= watermark)
		return false;
	part->data = first->data + (watermark - first->offset);
	part->bytes = (size_t)(first->offset + first->bytes - watermark);
	return true;
}

uint64_t k2i_cached_begin(const struct k2i_cached *cached)
{
	return cached->first ? cached->first->offset : 0;
}

static void piece_drop_first(struct k2i_cached *cached)
{
	struct k2i_cached_piece *first = cached->first;

	K2I_JOURNAL_KEEP(cached);
	cached->first = first->next;
	k2i_journal_free(first);
}

void k2i_cached_advance(struct k2i_cached *cached, uint64_t watermark)
{
	while (cached->first && cached->first->offset + cached->first->bytes <= watermark)
		piece_drop_first(cached);
}

uint64_t k2i_cached_forget(struct k2i_cached *cached)
{
	uint64_t records = 0;

	for (; cached->first; piece_drop_first(cached))
		records += k2i_lines_count(cached->first->data, cached->first->bytes);
	return records;
}
