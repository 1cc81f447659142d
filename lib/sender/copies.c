/* SPDX-License-Identifier: MIT */
/*
 * The chunks of a writer that go to several lanes. They are filled in the first lane's ring and copied into the others'
 * when they are committed. A claim in each is there before a byte is taken, so that each lane gets a record, or none does;
 * but a sender that drops goes on without the lanes that have no room, each of which counts what it misses.
 */
#include "sender/writer.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "ring/ring.h"
#include "sender/sender.h"

/* A place that takes no more of a record whose begin it has: its end goes before what follows. True: it is out. */
static bool end_put(struct k2hft_writer *writer, struct k2i_writer_lane *place)
{
	struct k2hft_chunk chunk = {
		.stream_id = place->stream_id,
		.record_count = 1,
		.time_ns = k2i_clock_ns(CLOCK_REALTIME),
		.writer_pid = writer->writer_pid,
		.flags = K2HFT_CHUNK_CONTINUED,
	};

	if (place->end_due && k2hft_producer_push(place->producer, &chunk, "\n", 1) == 0)
		place->end_due = false;
	return !place->end_due;
}

bool k2i_copies_end(struct k2hft_writer *writer)
{
	bool all = true;

	for (uint32_t at = 0; at < writer->copy_count; at++)
		all &= end_put(writer, &writer->to[at]);
	return all;
}

void k2i_copies_discard(struct k2hft_writer *writer)
{
	for (uint32_t at = 0; at < writer->copy_count; at++) {
		if (writer->to[at].claim)
			(void)k2hft_producer_discard(writer->to[at].producer);
		writer->to[at].claim = NULL;
	}
}

/* A lane without room is left out, `leave_out`, or makes it -EAGAIN. */
static int all_reserve(struct k2hft_writer *writer, size_t bytes, bool leave_out, struct k2i_lane **full)
{
	uint32_t taken = 0;

	for (uint32_t at = 0; at < writer->copy_count; at++) {
		struct k2i_writer_lane *place = &writer->to[at];
		int status = 0;

		place->claim = NULL;
		if (writer->record_goes_on && place->skips)
			continue;
		if (!writer->record_goes_on && (place->unfit || !end_put(writer, place)))
			status = -EAGAIN;
		if (status == 0)
			status = k2hft_producer_reserve(place->producer, bytes, &place->claim);
		if (status == 0) {
			taken++;
			continue;
		}
		place->claim = NULL;
		*full = place->lane;
		if (status == -EAGAIN && leave_out)
			continue;
		k2i_copies_discard(writer);
		return status;
	}
	return taken ? 0 : -EAGAIN;
}

int k2i_copies_reserve(struct k2hft_writer *writer, size_t needed, size_t wanted, bool finish, void **memory,
		       size_t *bytes, struct k2i_lane **full)
{
	bool drops = writer->full == K2HFT_FULL_DROP && !finish;
	int status = all_reserve(writer, wanted, false, full);

	*bytes = wanted;
	if (status == -EAGAIN && (needed < wanted || drops)) {
		*bytes = needed;
		status = all_reserve(writer, needed, drops, full);
	}
	for (uint32_t at = 0; status == 0; at++) {
		*memory = writer->to[at].claim;
		if (*memory)
			break;
	}
	return status;
}

/* The lane has no claim: what the receiver does not get. */
static void copy_missed(struct k2hft_writer *writer, struct k2i_writer_lane *place, const struct k2hft_chunk *chunk)
{
	if (chunk->flags & K2HFT_CHUNK_CONTINUED && place->skips)
		return; /* counted when its begin, or a piece, was not taken */
	k2i_counter_add(&writer->dropped_records, chunk->record_count);
	k2i_ring_count(place->lane->ring, dropped_records, chunk->record_count);
	k2i_log_limited(&writer->sender->drop_limit, k2i_clock_ns(CLOCK_MONOTONIC), K2HFT_LOG_ERROR,
			"sender: the ring for %s is full: %u records dropped for it", place->lane->home,
			chunk->record_count);
	place->end_due |= (chunk->flags & K2HFT_CHUNK_CONTINUED) != 0;
}

static int copy_commit(struct k2i_writer_lane *place, struct k2hft_chunk *chunk, const void *from, size_t bytes)
{
	int status;

	if (place->claim != from)
		memcpy(place->claim, from, bytes);
	place->claim = NULL;
	chunk->stream_id = place->stream_id;
	status = k2hft_producer_commit(place->producer, chunk, 0, bytes);
	if (status)
		(void)k2hft_producer_discard(place->producer);
	return status;
}

/* The last first: what the others are copied from stays claimed until they have it. */
int k2i_copies_commit(struct k2hft_writer *writer, const struct k2hft_chunk *chunk, size_t bytes)
{
	struct k2hft_chunk own = *chunk;
	uint32_t first = 0;
	const void *from;
	int status = 0;

	while (!writer->to[first].claim)
		first++;
	from = writer->to[first].claim;
	for (uint32_t at = writer->copy_count; at-- > 0;) {
		struct k2i_writer_lane *place = &writer->to[at];
		bool taken = place->claim != NULL;
		int error = taken ? copy_commit(place, &own, from, bytes) : 0;

		if (!taken)
			copy_missed(writer, place, chunk);
		place->skips = !taken && chunk->flags & K2HFT_CHUNK_CONTINUES;
		status = error ? error : status;
	}
	return status;
}

int k2i_copies_admit(struct k2hft_writer *writer, uint64_t needed)
{
	uint32_t fit = 0;

	for (uint32_t at = 0; at < writer->copy_count; at++) {
		writer->to[at].unfit = needed > k2i_ring_free_bytes(writer->to[at].lane->ring);
		fit += !writer->to[at].unfit;
	}
	if (writer->full == K2HFT_FULL_FAIL)
		return fit == writer->copy_count ? 0 : -EAGAIN;
	return fit ? 0 : -ENOBUFS;
}

void k2i_copies_admitted(struct k2hft_writer *writer)
{
	for (uint32_t at = 0; at < writer->copy_count; at++)
		writer->to[at].unfit = false;
}
