/* SPDX-License-Identifier: MIT */
/* Room in the ring for a writer's open chunk, and for chunks that are committed at once. */
#include "sender/call.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "client/client.h"
#include "base/clock.h"
#include "ring/ring.h"
#include "sender/sender.h"

/*
 * A chunk of this size is much at once, and so many bytes of such chunks are sent by the thread that wrote them, while
 * they are in its processor's cache.
 */
#define LARGE_CHUNK_BYTES ((size_t)32 * 1024)
#define SEND_BYTES ((size_t)256 * 1024)

/* Why a write fails. */
static const char *status_reason(int status)
{
	return status == -EAGAIN || status == -ENOBUFS ? "the ring is full" : strerror(-status);
}

void k2i_writer_drop(struct k2hft_writer *writer, int status, uint64_t record_count)
{
	struct k2hft_sender *sender = writer->sender;
	k2i_counter_add(&writer->dropped_records, record_count);
	k2i_ring_count(writer->to.lane->ring, dropped_records, record_count);
	k2i_log_limited(&sender->drop_limit, k2i_clock_ns(CLOCK_MONOTONIC), K2HFT_LOG_ERROR,
			"sender: %s: %llu records dropped", status_reason(status), (unsigned long long)record_count);
}

int k2i_writer_answer(struct k2hft_writer *writer, int status)
{
	struct k2hft_sender *sender = writer->sender;

	if (status == 0)
		return 0;
	/* relaxed, this and the next: nothing else is ordered by a counter. */
	(void)atomic_fetch_add_explicit(&sender->refused_writes, 1, memory_order_relaxed);
	k2i_ring_count(writer->to.lane->ring, refused_writes, 1);
	k2i_log_limited(&sender->refused_limit, k2i_clock_ns(CLOCK_MONOTONIC), K2HFT_LOG_WARNING,
			"sender: a write is refused, and its writer told so: %s", status_reason(status));
	return status;
}

/* Such a chunk was committed, and none is open. */
static void large_send(struct k2hft_writer *writer, size_t bytes)
{
	if (bytes < LARGE_CHUNK_BYTES || !writer->to.lane->client)
		return;
	writer->unsent_bytes += bytes;
	if (writer->unsent_bytes < SEND_BYTES)
		return;
	writer->unsent_bytes = 0;
	k2i_client_send_once(writer->to.lane->client);
}

/* The ring is full and its writer does not wait: the thread is to make room. Returns `status`. */
static int full_refuse(const struct k2i_lane *lane, int status)
{
	if (lane->client)
		k2i_client_yield_end(lane->client);
	return status;
}

/* The ring is full. 0: try again; else what the caller gives to its own, -ENOBUFS for K2HFT_FULL_DROP. */
static int full_wait(struct k2hft_writer *writer, struct k2i_turnstile_place *place, size_t needed, bool finish)
{
	const uint32_t full = writer->sender->full;
	struct k2i_lane *lane = writer->to.lane;
	int status;

	if (!finish && full == K2HFT_FULL_FAIL)
		return full_refuse(lane, -EAGAIN);
	if (!finish && full == K2HFT_FULL_DROP)
		return full_refuse(lane, -ENOBUFS);
	/* There is no open chunk now, and this can take long: a flush must not wait for the end of the call. */
	k2i_writer_leave(writer);
	status = k2i_lane_room_wait(lane, place, needed);
	k2i_writer_enter(writer);
	/* Nobody will make any. */
	if (lane->client && k2i_client_failed(lane->client))
		return -EIO;
	if (status == -EPIPE || status == -EIO)
		return status;
	return status == -EINTR && !finish ? -EINTR : 0;
}

/* As many as wanted, or else as needed. -EAGAIN: the ring is full. */
static int claim_reserve(const struct k2hft_writer *writer, size_t needed, size_t wanted, void **memory, size_t *bytes)
{
	int status = k2hft_producer_reserve(writer->to.producer, wanted, memory);

	*bytes = wanted;
	if (status != -EAGAIN || needed == wanted)
		return status;
	*bytes = needed;
	return k2hft_producer_reserve(writer->to.producer, needed, memory);
}

/* Records in a ring whose process is gone for good are sent by nobody: an attached writer looks now and then. */
static int served_check(struct k2hft_writer *writer)
{
	uint64_t second = k2i_clock_ns(CLOCK_MONOTONIC_COARSE) / K2I_SECOND_NS + 1;

	if (second == writer->looked_s)
		return k2i_ring_abandoned_known(writer->to.lane->ring) ? -EPIPE : 0;
	writer->looked_s = second;
	return k2i_ring_abandoned(writer->to.lane->ring) ? -EPIPE : 0;
}

int k2i_writer_claim(struct k2hft_writer *writer, size_t needed, size_t wanted, bool finish, void **memory,
		     size_t *bytes)
{
	struct k2i_turnstile_place place = {0};
	int status = writer->each_call ? served_check(writer) : 0, waited = 0;

	if (status == 0)
		status = claim_reserve(writer, needed, wanted, memory, bytes);
	while (status == -EAGAIN && waited == 0) {
		waited = full_wait(writer, &place, needed, finish);
		if (waited == 0)
			status = claim_reserve(writer, needed, wanted, memory, bytes);
	}
	k2i_turnstile_leave(&writer->to.lane->room, &place);
	return waited ? waited : status;
}

int k2i_writer_open_chunk(struct k2hft_writer *writer, size_t needed)
{
	size_t filled = k2i_writer_filled(writer), wanted, bytes;
	void *memory;
	int status;

	k2i_writer_commit_open(writer, false);
	large_send(writer, filled);
	/* A writer that commits each call needs no more than it has now. */
	wanted = writer->each_call || writer->open_bytes < needed ? needed : writer->open_bytes;
	/* Edge S4: the sealer sees the chunk, or k2i_writer_announce sees that the client sleeps. */
	atomic_store_explicit(&writer->open, 1, memory_order_seq_cst);
	status = k2i_writer_claim(writer, needed, wanted, false, &memory, &bytes);
	if (status) {
		atomic_store_explicit(&writer->open, 0, memory_order_relaxed);
		return status;
	}
	writer->open_time_ns = k2i_clock_ns(CLOCK_REALTIME);
	writer->begin = memory;
	writer->begin_bytes = atomic_load_explicit(&writer->bytes, memory_order_relaxed);
	writer->end_bytes = writer->begin_bytes + bytes;
	writer->announce = !writer->each_call;
	return 0;
}

int k2i_writer_put(struct k2hft_writer *writer, const struct k2i_piece *piece)
{
	size_t needed = piece->first_bytes + piece->second_bytes, bytes;
	void *memory;
	int status;

	k2i_writer_commit_open(writer, true);
	status = k2i_writer_claim(writer, needed, needed, piece->finish, &memory, &bytes);
	if (status)
		return status;
	if (piece->first_bytes)
		memcpy(memory, piece->first, piece->first_bytes);
	if (piece->second_bytes)
		memcpy((uint8_t *)memory + piece->first_bytes, piece->second, piece->second_bytes);
	status = k2i_writer_commit_claim(writer, k2i_clock_ns(CLOCK_REALTIME), piece->record_count, piece->flags,
					 needed);
	if (status == 0)
		large_send(writer, needed);
	return status;
}
