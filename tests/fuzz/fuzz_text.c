/* SPDX-License-Identifier: MIT */
/*
 * How the mount cuts what is written to a file into records, whatever the writes are: against what the whole of it says.
 * The input: flags, longest piece, longest record (0: any), a number that decides the writes, then the text.
 */
#include "fuse/intake/line_buffer.h"
#include "fuzz.h"

#define PIECES 1u /* what is held goes out as a piece now and then */

struct taken {
	char *bytes;
	size_t count;
	bool in_record; /* the last part is followed by another */
	unsigned skipped;
};

static void part_keep(struct taken *taken, enum k2i_line_event event, const struct k2i_line_part *part,
		      size_t piece_max)
{
	fuzz_check(part->bytes > 0 && part->bytes <= piece_max);
	fuzz_check(part->continued == taken->in_record);
	fuzz_check(!memchr(part->data, '\n', part->bytes - 1));
	fuzz_check(event == K2I_LINE_RECORD || part->data[part->bytes - 1] != '\n');
	memcpy(taken->bytes + taken->count, part->data, part->bytes);
	taken->count += part->bytes;
	taken->in_record = event == K2I_LINE_PIECE;
}

static void write_take(struct k2i_line_buffer *text, const struct k2i_line_limits *limits, const char *data,
		       size_t bytes, struct taken *taken)
{
	size_t part_max = (size_t)(limits->record_bytes_max ? limits->record_bytes_max : limits->piece_bytes_max);
	struct k2i_line_part part;
	size_t done = 0, length;

	for (size_t rounds = 0; done < bytes; rounds++, done += length) {
		int event = k2i_line_buffer_take(text, limits, data + done, bytes - done, &length, &part);

		fuzz_check(event >= 0 && length <= bytes - done && rounds <= 2 * bytes);
		taken->skipped += event == K2I_LINE_TOO_LONG;
		if (event == K2I_LINE_RECORD || event == K2I_LINE_PIECE)
			part_keep(taken, (enum k2i_line_event)event, &part, part_max);
	}
}

/* Without those that are too long, and in one go. */
static size_t wanted_make(const char *data, size_t bytes, uint64_t record_max, char *wanted, unsigned *skipped)
{
	size_t count = 0;

	while (bytes) {
		const char *end = memchr(data, '\n', bytes);
		size_t line = end ? (size_t)(end - data) + 1 : bytes;
		bool fits = record_max == 0 || line <= record_max;

		if (fits)
			memcpy(wanted + count, data, line);
		count += fits ? line : 0;
		*skipped += !fits;
		data += line;
		bytes -= line;
	}
	return count;
}

static void writes_run(const struct k2i_line_limits *limits, unsigned flags, uint64_t random, const char *data,
		       size_t bytes)
{
	struct taken taken = {.bytes = malloc(bytes + 1)};
	char *wanted = malloc(bytes + 1);
	size_t at = 0, wanted_bytes;
	struct k2i_line_part part;
	struct k2i_line_buffer text = {0};
	unsigned skipped = 0;
	enum k2i_line_event event;

	fuzz_check(taken.bytes && wanted);
	while (at < bytes) {
		size_t step = 1 + (size_t)fuzz_random(&random) % 40;
		char *copy;

		step = step < bytes - at ? step : bytes - at;
		copy = (char *)fuzz_copy(data + at, step);
		write_take(&text, limits, copy, step, &taken);
		free(copy);
		at += step;
		if (flags & PIECES && !limits->record_bytes_max && fuzz_random(&random) % 4 == 0 &&
		    k2i_line_buffer_flush(&text, false, &part) == K2I_LINE_PIECE)
			part_keep(&taken, K2I_LINE_PIECE, &part, limits->piece_bytes_max);
	}
	event = k2i_line_buffer_flush(&text, true, &part);
	if (event == K2I_LINE_RECORD)
		part_keep(&taken, event, &part, SIZE_MAX);
	k2i_line_buffer_free(&text);
	wanted_bytes = wanted_make(data, bytes, limits->record_bytes_max, wanted, &skipped);
	fuzz_check(taken.count == wanted_bytes && memcmp(taken.bytes, wanted, wanted_bytes) == 0);
	fuzz_check(taken.skipped == skipped);
	free(taken.bytes);
	free(wanted);
}

/* Chunks end where records do, unless a record is too long for one. */
static void chunks_run(const char *data, size_t bytes, size_t bytes_max, size_t piece_max)
{
	while (bytes) {
		bool continues;
		size_t count = k2i_lines_chunk(data, bytes, bytes_max, piece_max, &continues);

		fuzz_check(count > 0 && count <= bytes && count <= bytes_max);
		fuzz_check(count == bytes || continues != (data[count - 1] == '\n') || count < bytes_max);
		fuzz_check(k2i_lines_count(data, count) > 0 && k2i_lines_count(data, count) <= count);
		fuzz_check(k2i_lines_whole(data, count) <= count);
		data += count;
		bytes -= count;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct k2i_line_limits limits;
	char *text;

	if (size < 4)
		return 0;
	limits = (struct k2i_line_limits){.piece_bytes_max = 1u + data[1], .record_bytes_max = data[2]};
	text = (char *)fuzz_copy(data + 4, size - 4);
	writes_run(&limits, data[0], data[3] | UINT64_C(0x100000000), text, size - 4);
	chunks_run(text, size - 4, 1u + data[3], limits.piece_bytes_max);
	free(text);
	return 0;
}
