/* SPDX-License-Identifier: MIT */
#include "sender/call.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "base/caller.h"
#include "base/clock.h"
#include "base/prefix.h"
#include "base/utf8.h"
#include "ring/ring.h"
#include "sender/sender.h"

/* Both the entry of a chunk that a record in pieces needs beside its payload, and its padding. */
#define PIECE_OVERHEAD_BYTES 64u

static void writer_link(struct k2hft_writer *writer)
{
	struct k2hft_sender *sender = writer->sender;

	(void)pthread_mutex_lock(&sender->mutex);
	writer->next = sender->writers;
	if (writer->next)
		writer->next->previous = writer;
	sender->writers = writer;
	(void)pthread_mutex_unlock(&sender->mutex);
}

static void writer_unlink(struct k2hft_writer *writer)
{
	struct k2hft_sender *sender = writer->sender;

	(void)pthread_mutex_lock(&sender->mutex);
	if (writer->next)
		writer->next->previous = writer->previous;
	if (writer->previous)
		writer->previous->next = writer->next;
	else
		sender->writers = writer->next;
	sender->closed_records += atomic_load_explicit(&writer->records, memory_order_relaxed);
	sender->closed_bytes += atomic_load_explicit(&writer->bytes, memory_order_relaxed);
	sender->closed_dropped += atomic_load_explicit(&writer->dropped_records, memory_order_relaxed);
	/* A flush may wait for a ticket that this writer had. */
	(void)pthread_cond_broadcast(&sender->sealed);
	(void)pthread_mutex_unlock(&sender->mutex);
}

static void writer_free(struct k2hft_writer *writer)
{
	k2i_writer_places_close(writer);
	free(writer->path);
	free(writer->tail);
	free(writer);
}

static int writer_create(struct k2hft_sender *sender, const char *path, uint32_t mode, struct k2hft_writer **writer)
{
	K2I_ERRNO_KEPT;
	struct k2hft_writer *made = aligned_alloc(K2I_CACHE_LINE_BYTES, sizeof(*made));

	if (!made)
		return -ENOMEM;
	memset(made, 0, sizeof(*made));
	made->sender = sender;
	made->full = sender->full;
	made->random = k2i_clock_ns(CLOCK_MONOTONIC) | 1;
	made->excepted = k2i_prefix_any(sender->options.except, sender->options.except_count, path);
	made->asymmetric = sender->asymmetric;
	made->binary = mode == K2HFT_STREAM_BINARY;
	made->each_call = sender->attached;
	made->open_bytes = K2I_OPEN_BYTES_FIRST;
	made->writer_pid = (uint32_t)getpid();
	made->path = strdup(path);
	if (!made->path) {
		free(made);
		return -ENOMEM;
	}
	*writer = made;
	return 0;
}

static void unended_add(struct k2hft_writer *writer)
{
	struct k2hft_sender *sender = writer->sender;

	(void)pthread_mutex_lock(&sender->mutex);
	writer->next = sender->unended;
	sender->unended = writer;
	(void)pthread_mutex_unlock(&sender->mutex);
}

/* A writer that owes a line end, in `lane` unless that is NULL, to the stream unless that is; NULL: none does. */
static struct k2hft_writer *unended_take(struct k2hft_sender *sender, const struct k2i_lane *lane, const char *path)
{
	struct k2hft_writer **place = &sender->unended, *taken;

	(void)pthread_mutex_lock(&sender->mutex);
	while (*place && ((lane && (*place)->to->lane != lane) || (path && strcmp((*place)->path, path) != 0)))
		place = &(*place)->next;
	taken = *place;
	if (taken)
		*place = taken->next;
	(void)pthread_mutex_unlock(&sender->mutex);
	return taken;
}

bool k2i_writers_end_lines(struct k2hft_sender *sender, const struct k2i_lane *lane)
{
	struct k2hft_writer *writer;
	bool any = false;

	while ((writer = unended_take(sender, lane, NULL)) != NULL) {
		any = true;
		/* Room is not waited for: after a signal, those who wait for it owe ends, too. */
		writer->full = K2HFT_FULL_FAIL;
		(void)k2i_writer_tail_end(writer);
		writer_free(writer);
	}
	return any;
}

/* Before anything of this one comes, the end of the line that one before it has left, where that has left it. */
static void unended_inherit(struct k2hft_writer *writer)
{
	for (uint32_t at = 0; at < writer->place_count; at++) {
		struct k2i_writer_lane *place = &writer->places[at];
		struct k2hft_writer *before = unended_take(writer->sender, place->lane, writer->path);

		if (!before)
			continue;
		for (uint32_t copy = 0; copy < writer->copy_count && copy < before->copy_count; copy++) {
			writer->places[copy].skips = before->to[copy].skips;
			writer->places[copy].end_due = before->to[copy].end_due;
		}
		writer->to = writer->copy_count > 1 ? writer->places : place;
		writer->end_missing = before->end_missing;
		writer->record_goes_on = before->record_goes_on;
		writer_free(before);
		return;
	}
}

static int writer_open(struct k2hft_sender *sender, const char *path, uint32_t mode, struct k2hft_writer **writer)
{
	struct k2hft_writer *made;
	int status;

	if (!sender || !path || !writer)
		return -EINVAL;
	status = writer_create(sender, path, mode, &made);
	if (status)
		return status;
	status = k2i_writer_places_open(made);
	if (status == -EINVAL)
		k2i_log(K2HFT_LOG_ERROR,
			"sender: \"%s\" can't be the name of a stream: it must be a relative path without empty, "
			"\".\" and \"..\" parts and without control characters",
			path);
	if (status) {
		writer_free(made);
		return status;
	}
	unended_inherit(made);
	writer_link(made);
	*writer = made;
	return 0;
}

int k2hft_writer_open(struct k2hft_sender *sender, const char *path, struct k2hft_writer **writer)
{
	return writer_open(sender, path, K2HFT_STREAM_TEXT, writer);
}

int k2hft_writer_open_binary(struct k2hft_sender *sender, const char *path, struct k2hft_writer **writer)
{
	return writer_open(sender, path, K2HFT_STREAM_BINARY, writer);
}

void k2hft_writer_close(struct k2hft_writer *writer)
{
	int status;

	if (!writer)
		return;
	if (writer->reserved)
		(void)k2hft_writer_commit(writer, 0);
	status = k2i_writer_tail_end(writer);
	if (status)
		k2i_writer_tail_drop(writer, status);
	k2i_writer_enter(writer);
	k2i_writer_commit_open(writer, true);
	k2i_writer_leave(writer);
	writer_unlink(writer);
	if (writer->end_missing || (writer->copy_count > 1 && !k2i_copies_end(writer)))
		unended_add(writer);
	else
		writer_free(writer);
}

/* Whether a record in pieces may begin: a sender that must not wait for room in the middle of one looks before. */
static int pieces_admit(struct k2hft_writer *writer, size_t bytes)
{
	const struct k2i_lane *lane = writer->to->lane;
	uint64_t needed = bytes + (bytes / writer->sender->sizes.piece_bytes_max + 1) * PIECE_OVERHEAD_BYTES;

	if (writer->full == K2HFT_FULL_BLOCK)
		return 0;
	if (needed > k2i_ring_bytes(lane->ring) / 2)
		return -EMSGSIZE;
	if (writer->copy_count > 1)
		return k2i_copies_admit(writer, needed);
	if (needed <= k2i_ring_free_bytes(lane->ring))
		return 0;
	return writer->full == K2HFT_FULL_FAIL ? -EAGAIN : -ENOBUFS;
}

/* A record in chunks of its own: one, or as many pieces as it needs. */
static int record_put(struct k2hft_writer *writer, const uint8_t *record, size_t bytes)
{
	size_t end_bytes = writer->binary ? 0 : 1, piece_bytes = writer->sender->sizes.piece_bytes_max, at = 0;
	struct k2i_piece piece = {.record_count = 1};
	int status = 0;

	k2i_writer_commit_open(writer, true);
	if (bytes + end_bytes > piece_bytes)
		status = pieces_admit(writer, bytes + end_bytes);
	while (status == 0 && bytes + end_bytes - at > piece_bytes) {
		/* A last piece of the line end alone is fine: it is a byte. */
		piece.first = record + at;
		piece.first_bytes =
			writer->binary ? piece_bytes : k2i_utf8_cut((const char *)record + at, bytes - at, piece_bytes);
		piece.flags = (uint16_t)(K2HFT_CHUNK_CONTINUES | (at ? K2HFT_CHUNK_CONTINUED : 0));
		piece.finish = at != 0;
		status = k2i_writer_put(writer, &piece);
		at += piece.first_bytes;
	}
	if (writer->copy_count > 1)
		k2i_copies_admitted(writer);
	if (status)
		return status;
	piece = (struct k2i_piece){.first = record + at,
				   .first_bytes = bytes - at,
				   .second = "\n",
				   .second_bytes = end_bytes,
				   .record_count = 1,
				   .flags = at ? K2HFT_CHUNK_CONTINUED : 0,
				   .finish = at != 0};
	status = k2i_writer_put(writer, &piece);
	if (status == 0)
		k2i_writer_count_sealed(writer, 1, bytes + end_bytes);
	return status;
}

static void record_append(struct k2hft_writer *writer, const void *record, size_t bytes)
{
	uint8_t *cursor = writer->begin + k2i_writer_filled(writer);

	if (bytes)
		memcpy(cursor, record, bytes);
	cursor[bytes] = '\n';
	k2i_writer_count_open(writer, 1, bytes + 1);
}

/* No room in the open chunk, or none is open. */
static int record_write(struct k2hft_writer *writer, const void *record, size_t bytes)
{
	int status = k2i_writer_end_put(writer);

	if (status) {
		/* The part that goes first finds no room. */
	} else if (writer->binary || bytes >= writer->sender->sizes.open_bytes_max) {
		status = record_put(writer, record, bytes);
	} else {
		status = k2i_writer_open_chunk(writer, bytes + 1);
		if (status == 0)
			record_append(writer, record, bytes);
		if (writer->each_call)
			k2i_writer_commit_open(writer, true);
	}
	if (status == -ENOBUFS) {
		k2i_writer_drop(writer, status, 1);
		status = 0;
	}
	return status;
}

/* A record of any length, also where no chunk is open. */
static int record_take(struct k2hft_writer *writer, const void *record, size_t bytes)
{
	int status = 0;

	if (writer->reserved)
		return -EBUSY;
	/* A line that went out in pieces and has not ended leaves no place for a record of its own. */
	if (writer->binary ? !bytes || !record
			   : (bytes && (!record || memchr(record, '\n', bytes))) || writer->continued)
		return -EINVAL;
	k2i_writer_enter(writer);
	if (bytes < k2i_writer_room(writer))
		record_append(writer, record, bytes);
	else
		status = record_write(writer, record, bytes);
	k2i_writer_leave(writer);
	return status;
}

/* Out of line, so that the short way saves no registers. */
static __attribute__((noinline)) int any_write(struct k2hft_writer *writer, const void *record, size_t bytes)
{
	int status = record_take(writer, record, bytes);

	return status ? k2i_writer_answer(writer, status) : 0;
}

/* Inside a call that has written nothing: the record goes the long way. */
static __attribute__((noinline, cold)) int short_leave(struct k2hft_writer *writer, const void *record, size_t bytes)
{
	k2i_writer_leave(writer);
	return any_write(writer, record, bytes);
}

/* The record is taken, and at the end of the call somebody waits for the open chunk. */
static __attribute__((noinline, cold)) int short_seal(struct k2hft_writer *writer)
{
	k2i_writer_seal_own(writer);
	return 0;
}

/* Up to here a record is copied faster in one pass than looked through and copied by two calls. */
#define SHORT_BYTES_MAX 512u

static inline bool words_have_line_end(uint64_t first, uint64_t last)
{
#ifdef __SSE2__
	/* As below, but compilers take five instructions for its last line where there is one for that. */
	__m128i both = _mm_set_epi64x((long long)last, (long long)first);

	return _mm_movemask_epi8(_mm_cmpeq_epi8(both, _mm_set1_epi8('\n'))) != 0;
#else
	uint64_t words __attribute__((vector_size(16))) = {first, last};
	uint8_t bytes __attribute__((vector_size(sizeof(words))));
	int8_t equal __attribute__((vector_size(sizeof(words))));

	memcpy(&bytes, &words, sizeof(bytes));
	equal = bytes == '\n';
	memcpy(&words, &equal, sizeof(words));
	return (words[0] | words[1]) != 0;
#endif
}

/* Sixteen bytes or more; the last block overlaps. Whether a line end is among them: what was copied is nothing then. */
static inline bool blocks_copy(uint8_t *to, const uint8_t *from, size_t bytes)
{
	uint64_t words __attribute__((vector_size(16)));
	uint8_t block __attribute__((vector_size(sizeof(words))));
	int8_t ends __attribute__((vector_size(sizeof(words)))) = {0};
	size_t last = bytes - sizeof(block);

	for (size_t at = 0; at < last; at += sizeof(block)) {
		memcpy(&block, from + at, sizeof(block));
		memcpy(to + at, &block, sizeof(block));
		ends |= block == '\n';
	}
	memcpy(&block, from + last, sizeof(block));
	memcpy(to + last, &block, sizeof(block));
	ends |= block == '\n';
	memcpy(&words, &ends, sizeof(words));
	return (words[0] | words[1]) != 0;
}

/*
 * Eight to sixteen bytes go as two words that overlap, more as `blocks`: looking for a line end and copying take two calls
 * otherwise, which cost more than all the rest of a short record. Rare work is left to calls in its last place, and it
 * is compiled for each kind of handshake, and without the blocks: so the shortest records pass a few tests, and no
 * register is saved for them.
 *
 * The pains are for a figure: a record of 10 bytes costs 2 ns, and 7 ns by any_write (k2hft bench --by record --size
 * 10).
 *
 * No chunk begins here, so there is none to announce.
 */
static inline __attribute__((always_inline)) int short_write(struct k2hft_writer *writer, const uint8_t *record,
							     size_t bytes, bool asymmetric, bool blocks)
{
	uint64_t first, last, at_bytes, end_bytes;
	uint8_t *cursor;

	k2i_writer_busy(writer, asymmetric);
	if (k2i_writer_seal_asked(writer))
		return short_leave(writer, record, bytes);
	at_bytes = atomic_load_explicit(&writer->bytes, memory_order_relaxed);
	end_bytes = at_bytes + bytes + 1;
	if (end_bytes > writer->end_bytes)
		return short_leave(writer, record, bytes);
	cursor = writer->begin + (at_bytes - writer->begin_bytes);
	if (blocks) {
		if (blocks_copy(cursor, record, bytes))
			return short_leave(writer, record, bytes);
	} else {
		memcpy(&first, record, sizeof(first));
		memcpy(&last, record + bytes - sizeof(last), sizeof(last));
		if (words_have_line_end(first, last))
			return short_leave(writer, record, bytes);
		memcpy(cursor, &first, sizeof(first));
		memcpy(cursor + bytes - sizeof(last), &last, sizeof(last));
	}
	cursor[bytes] = '\n';
	k2i_counter_add(&writer->records, 1);
	/* relaxed, as any counter: where the chunk ends, the sealer learns by edge S2. */
	atomic_store_explicit(&writer->bytes, end_bytes, memory_order_relaxed);
	k2i_writer_idle(writer, asymmetric);
	return k2i_writer_seal_asked(writer) ? short_seal(writer) : 0;
}

static __attribute__((noinline)) int blocks_write(struct k2hft_writer *writer, const uint8_t *record, size_t bytes)
{
	return short_write(writer, record, bytes, writer->asymmetric, true);
}

int k2hft_writer_write(struct k2hft_writer *writer, const void *record, size_t bytes)
{
	if (bytes - sizeof(uint64_t) > SHORT_BYTES_MAX - sizeof(uint64_t) || !record || writer->binary ||
	    writer->continued)
		return any_write(writer, record, bytes);
	if (bytes > 2 * sizeof(uint64_t))
		return blocks_write(writer, record, bytes);
	return writer->asymmetric ? short_write(writer, record, bytes, true, false)
				  : short_write(writer, record, bytes, false, false);
}
