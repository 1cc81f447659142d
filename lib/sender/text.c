/* SPDX-License-Identifier: MIT */
/* Texts: lines with their ends, in pieces as they come. */
#include "base/bits.h"
#include "sender/call.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/caller.h"
#include "base/clock.h"
#include "base/line_ends.h"
#include "base/utf8.h"
#include "sender/sender.h"

/* Least room behind the tail that is worth a read(2). */
#define RESERVE_BYTES_MIN 4096u

static int tail_room(struct k2hft_writer *writer, size_t bytes)
{
	size_t room = writer->tail_room ? writer->tail_room : 1024;
	uint8_t *tail;
	K2I_ERRNO_KEPT;

	if (bytes <= writer->tail_room)
		return 0;
	while (room < bytes)
		room *= 2;
	tail = realloc(writer->tail, room);
	if (!tail)
		return -ENOMEM;
	writer->tail = tail;
	writer->tail_room = room;
	return 0;
}

static int tail_append(struct k2hft_writer *writer, const uint8_t *text, size_t bytes)
{
	int status = tail_room(writer, writer->tail_bytes + bytes);

	if (status)
		return status;
	memcpy(writer->tail + writer->tail_bytes, text, bytes);
	writer->tail_bytes += bytes;
	return 0;
}

static uint16_t continued_flag(const struct k2hft_writer *writer)
{
	return writer->continued ? K2HFT_CHUNK_CONTINUED : 0;
}

int k2i_writer_end_put(struct k2hft_writer *writer)
{
	struct k2i_piece piece = {.first = "\n", .first_bytes = 1, .record_count = 1, .flags = K2HFT_CHUNK_CONTINUED};
	int status;

	if (!writer->end_missing)
		return 0;
	status = k2i_writer_put(writer, &piece);
	if (status)
		return status;
	/* The record was counted when it was dropped. */
	k2i_writer_count_sealed(writer, 0, 1);
	writer->end_missing = false;
	return 0;
}

/* The tail and `bytes` of text behind it, which end in LF: into the open chunk if they are few. */
static int lines_append(struct k2hft_writer *writer, const uint8_t *text, size_t bytes, uint64_t records)
{
	size_t needed = writer->tail_bytes + bytes;
	uint8_t *cursor;
	int status;

	if (needed > k2i_writer_room(writer)) {
		status = k2i_writer_open_chunk(writer, needed);
		if (status)
			return status;
	}
	cursor = writer->begin + k2i_writer_filled(writer);
	if (writer->tail_bytes)
		memcpy(cursor, writer->tail, writer->tail_bytes);
	memcpy(cursor + writer->tail_bytes, text, bytes);
	k2i_writer_count_open(writer, records, needed);
	writer->tail_bytes = 0;
	return 0;
}

static int lines_put(struct k2hft_writer *writer, const uint8_t *text, size_t bytes, uint64_t records)
{
	struct k2i_piece piece = {.first = writer->tail,
				  .first_bytes = writer->tail_bytes,
				  .second = text,
				  .second_bytes = bytes,
				  .record_count = (uint32_t)records,
				  .flags = continued_flag(writer)};
	int status = k2i_writer_end_put(writer);

	if (status)
		return status;
	/* An open chunk has no flags and is for small amounts. */
	if (!writer->continued && writer->tail_bytes + bytes <= writer->sender->sizes.open_bytes_max / 2)
		return lines_append(writer, text, bytes, records);
	status = k2i_writer_put(writer, &piece);
	if (status)
		return status;
	k2i_writer_count_sealed(writer, records, writer->tail_bytes + bytes);
	writer->tail_bytes = 0;
	writer->continued = false;
	return 0;
}

/* Where the last character begins. */
static size_t last_character(const uint8_t *text, size_t bytes)
{
	return k2i_utf8_cut((const char *)text, bytes, bytes - 1);
}

/*
 * The tail and `bytes` of text: no end of line in sight. The last character becomes the new tail: the line's last piece
 * must not be empty, should no more come, or no more find room. `bytes`: none, or that character begins in them.
 */
static int piece_put(struct k2hft_writer *writer, const uint8_t *text, size_t bytes)
{
	int status = tail_room(writer, K2I_UTF8_BYTES_MAX);
	const uint8_t *last = bytes ? text : writer->tail;
	size_t all = bytes ? bytes : writer->tail_bytes, cut = last_character(last, all);
	struct k2i_piece piece = {.first = writer->tail,
				  .first_bytes = bytes ? writer->tail_bytes : cut,
				  .second = text,
				  .second_bytes = bytes ? cut : 0,
				  .record_count = 1,
				  .flags = (uint16_t)(K2HFT_CHUNK_CONTINUES | continued_flag(writer))};

	if (status == 0)
		status = k2i_writer_end_put(writer);
	if (status == 0)
		status = k2i_writer_put(writer, &piece);
	if (status)
		return status;
	k2i_writer_count_sealed(writer, 0, piece.first_bytes + piece.second_bytes);
	writer->tail_bytes = all - cut;
	memmove(writer->tail, last + cut, writer->tail_bytes);
	writer->continued = true;
	return 0;
}

/* `records` lines, or 0: a part of one, whose rest is skipped. */
static void text_drop(struct k2hft_writer *writer, int status, uint64_t records)
{
	writer->tail_bytes = 0;
	/* Without its end the next line would be the rest of this one. */
	writer->end_missing |= writer->continued;
	writer->continued = false;
	writer->skipping = records == 0;
	k2i_writer_drop(writer, status, records ? records : 1);
}

/* The ring had no room for what `status` was asked to take, and the sender drops: 0 then. */
static int full_drop(struct k2hft_writer *writer, int status, uint64_t records)
{
	if (status != -ENOBUFS)
		return status;
	text_drop(writer, status, records);
	return 0;
}

void k2i_writer_tail_drop(struct k2hft_writer *writer, int status)
{
	if (writer->tail_bytes)
		text_drop(writer, status, 0);
}

/* Up to and with the first LF, or all. */
static size_t line_bytes(const uint8_t *text, size_t bytes)
{
	const uint8_t *end = memchr(text, '\n', bytes);

	return end ? (size_t)(end - text) + 1 : bytes;
}

/* The end of what goes into the next chunk: lines up to a run, or one long line; 0: no line ends there. */
static size_t run_end(const struct k2hft_writer *writer, const uint8_t *text, size_t bytes)
{
	const struct k2i_lane_sizes *sizes = &writer->sender->sizes;
	size_t limit = 0, furthest;
	const uint8_t *end = NULL;

	if (writer->tail_bytes < sizes->run_bytes_max) {
		limit = k2i_least_bytes(bytes, sizes->run_bytes_max - writer->tail_bytes);
		end = memrchr(text, '\n', limit);
	}
	furthest = k2i_least_bytes(bytes, sizes->piece_bytes_max - writer->tail_bytes);
	if (!end && furthest > limit)
		end = memchr(text + limit, '\n', furthest - limit);
	return end ? (size_t)(end - text) + 1 : 0;
}

/* Takes the next `*step` bytes. */
static int text_step(struct k2hft_writer *writer, const uint8_t *text, size_t bytes, size_t *step)
{
	uint64_t records;

	if (writer->skipping) {
		*step = line_bytes(text, bytes);
		writer->skipping = text[*step - 1] != '\n';
		return 0;
	}
	*step = run_end(writer, text, bytes);
	if (*step) {
		records = k2i_line_ends_count(text, *step);
		return full_drop(writer, lines_put(writer, text, *step, records), records);
	}
	if (writer->tail_bytes + bytes > writer->sender->sizes.piece_bytes_max) {
		*step = writer->sender->sizes.piece_bytes_max - writer->tail_bytes;
		if (*step < K2I_UTF8_BYTES_MAX)
			*step = 0;
		return full_drop(writer, piece_put(writer, text, *step), 0);
	}
	*step = bytes;
	return tail_append(writer, text, bytes);
}

int k2hft_writer_lines(struct k2hft_writer *writer, const void *text, size_t bytes, size_t *taken)
{
	const uint8_t *from = text;
	size_t done = 0, step = 0;
	int status = 0;

	if (taken)
		*taken = 0;
	if (writer->binary || (bytes && !text))
		return k2i_writer_answer(writer, -EINVAL);
	if (writer->reserved)
		return k2i_writer_answer(writer, -EBUSY);
	k2i_writer_enter(writer);
	for (; done < bytes && status == 0; done += status ? 0 : step)
		status = text_step(writer, from + done, bytes - done, &step);
	if (writer->each_call)
		k2i_writer_commit_open(writer, true);
	k2i_writer_leave(writer);
	if (taken)
		*taken = done;
	return k2i_writer_answer(writer, status);
}

int k2i_writer_tail_end(struct k2hft_writer *writer)
{
	struct k2i_piece piece = {.first = writer->tail,
				  .first_bytes = writer->tail_bytes,
				  .record_count = 1,
				  .flags = continued_flag(writer)};
	int status;

	if (!writer->tail_bytes && !writer->end_missing && writer->copy_count == 1)
		return 0;
	k2i_writer_enter(writer);
	status = k2i_writer_end_put(writer);
	if (writer->copy_count > 1)
		(void)k2i_copies_end(writer);
	if (status == 0 && writer->tail_bytes)
		status = k2i_writer_put(writer, &piece);
	if (status == 0 && writer->tail_bytes) {
		k2i_writer_count_sealed(writer, 1, writer->tail_bytes);
		writer->tail_bytes = 0;
		writer->continued = false;
	}
	k2i_writer_leave(writer);
	return status;
}

int k2hft_writer_lines_end(struct k2hft_writer *writer)
{
	int status = writer->reserved ? -EBUSY : k2i_writer_tail_end(writer);

	if (status != -ENOBUFS)
		return status;
	k2i_writer_tail_drop(writer, status);
	return 0;
}

int k2hft_writer_reserve(struct k2hft_writer *writer, void **memory, size_t *bytes)
{
	size_t run_bytes = writer->sender->sizes.run_bytes_max, claimed_bytes;
	void *claimed;
	int status;

	if (writer->reserved)
		return -EBUSY;
	k2i_writer_enter(writer);
	k2i_writer_commit_open(writer, true);
	status = k2i_writer_end_put(writer);
	if (status == 0)
		status = k2i_writer_claim(writer, writer->tail_bytes + k2i_least_bytes(run_bytes, RESERVE_BYTES_MIN),
					  writer->tail_bytes + run_bytes, false, &claimed, &claimed_bytes);
	if (status == 0)
		writer->reserved = claimed; /* before the end of the call: its place in the lane is not renewed */
	k2i_writer_leave(writer);
	/* There is no record yet to be dropped. */
	if (status)
		return status == -ENOBUFS ? -EAGAIN : status;
	writer->reserved_bytes = claimed_bytes;
	*memory = writer->reserved + writer->tail_bytes;
	*bytes = claimed_bytes - writer->tail_bytes;
	return 0;
}

/* Publishes the first `all` bytes of the claim, the tail in front, and keeps `rest_bytes` behind them as the new tail. */
static int reserved_lines(struct k2hft_writer *writer, size_t all, size_t rest_bytes, bool ends)
{
	uint16_t flags = (uint16_t)(continued_flag(writer) | (ends ? 0 : K2HFT_CHUNK_CONTINUES));
	uint64_t records = ends ? k2i_line_ends_count(writer->reserved, all) : 0;
	uint8_t *claimed = writer->reserved;
	int status;

	/* Before the commit, which gives the rear of the claim back. */
	if (rest_bytes)
		memcpy(writer->tail, claimed + all, rest_bytes);
	writer->tail_bytes = rest_bytes;
	writer->continued = !ends;
	writer->reserved = NULL;
	status =
		k2i_writer_commit_claim(writer, k2i_clock_ns(CLOCK_REALTIME), ends ? (uint32_t)records : 1, flags, all);
	if (status == 0)
		k2i_writer_count_sealed(writer, records, all);
	return status;
}

/* A reservation that stays for want of memory is as it was. */
static int reserved_text(struct k2hft_writer *writer, size_t bytes)
{
	uint8_t *text = writer->reserved + writer->tail_bytes;
	size_t skipped = writer->skipping ? line_bytes(text, bytes) : 0;
	const uint8_t *end = memrchr(text + skipped, '\n', bytes - skipped);
	size_t rest_bytes = end ? (size_t)(text + bytes - end) - 1 : bytes - skipped;
	int status = tail_room(writer, writer->tail_bytes + rest_bytes + K2I_UTF8_BYTES_MAX);
	size_t all, cut;

	if (status)
		return status;
	if (writer->tail_bytes)
		memcpy(writer->reserved, writer->tail, writer->tail_bytes);
	if (skipped) {
		writer->skipping = text[skipped - 1] != '\n';
		bytes -= skipped;
		memmove(text, text + skipped, bytes);
	}
	all = writer->tail_bytes + bytes;
	if (end)
		return reserved_lines(writer, all - rest_bytes, rest_bytes, true);
	if (all > writer->sender->sizes.piece_bytes_max) {
		cut = last_character(writer->reserved, all);
		return reserved_lines(writer, cut, all - cut, false);
	}
	return bytes ? tail_append(writer, text, bytes) : 0;
}

static int reserved_block(struct k2hft_writer *writer, size_t bytes)
{
	int status;

	writer->reserved = NULL;
	status = k2i_writer_commit_claim(writer, k2i_clock_ns(CLOCK_REALTIME), 1, 0, bytes);
	if (status == 0)
		k2i_writer_count_sealed(writer, 1, bytes);
	return status;
}

int k2hft_writer_commit(struct k2hft_writer *writer, size_t bytes)
{
	int status = 0;

	if (!writer->reserved || bytes > writer->reserved_bytes - writer->tail_bytes)
		return -EINVAL;
	k2i_writer_enter(writer);
	if (bytes)
		status = writer->binary ? reserved_block(writer, bytes) : reserved_text(writer, bytes);
	/* Nothing of it was published: the claim goes back. */
	if (writer->reserved && status == 0) {
		k2i_writer_discard_claim(writer);
		writer->reserved = NULL;
	}
	k2i_writer_leave(writer);
	return status;
}
