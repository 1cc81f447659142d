/* SPDX-License-Identifier: MIT */
/* Room in the ring for a writer's open chunk, and for chunks that are committed at once. */
#include "sender/call.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "client/client.h"
#include "base/caller.h"
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
	/* Each copy is one that a receiver does not get. */
	k2i_counter_add(&writer->dropped_records, record_count * writer->copy_count);
	(void)pthread_mutex_lock(&sender->mutex); /* outside of a call the places can be renewed */
	for (uint32_t at = 0; at < writer->copy_count; at++)
		k2i_ring_count(writer->to[at].lane->ring, dropped_records, record_count);
	(void)pthread_mutex_unlock(&sender->mutex);
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
	(void)pthread_mutex_lock(&sender->mutex); /* as above */
	k2i_ring_count(writer->to->lane->ring, refused_writes, 1);
	(void)pthread_mutex_unlock(&sender->mutex);
	k2i_log_limited(&sender->refused_limit, k2i_clock_ns(CLOCK_MONOTONIC), K2HFT_LOG_WARNING,
			"sender: a write is refused, and its writer told so: %s", status_reason(status));
	return status;
}

/* Such a chunk was committed, and none is open. */
static void large_send(struct k2hft_writer *writer, size_t bytes)
{
	if (bytes < LARGE_CHUNK_BYTES || writer->copy_count > 1 || !writer->to->lane->client)
		return;
	writer->unsent_bytes += bytes;
	if (writer->unsent_bytes < SEND_BYTES)
		return;
	writer->unsent_bytes = 0;
	k2i_client_send_once(writer->to->lane->client);
}

/* The ring is full and its writer does not wait: the thread is to make room. Returns `status`. */
static int full_refuse(const struct k2i_lane *lane, int status)
{
	if (lane->client)
		k2i_client_yield_end(lane->client);
	return status;
}

/* A wait for room in one of several lanes, any of which will do, looks around this often. */
#define DRAW_WAIT_MS 2
/* The same for a wait until a receiver has acknowledged what goes first. */
#define BEHIND_WAIT_NS 1000000L

/* A place among those that wait for room in a lane. */
struct queue {
	struct k2i_lane *lane; /* NULL: in none */
	struct k2i_turnstile_place place;
};

static void queue_leave(struct queue *queue)
{
	if (queue->lane)
		k2i_turnstile_leave(&queue->lane->room, &queue->place);
	queue->lane = NULL;
}

/* As k2i_lane_room_wait. A writer that draws its lane does not queue: it will find room in another one. */
static int room_wait(struct queue *queue, struct k2i_lane *lane, size_t needed, bool behind, bool draws)
{
	K2I_ERRNO_KEPT;

	if (behind)
		return nanosleep(&(struct timespec){.tv_nsec = BEHIND_WAIT_NS}, NULL) < 0 ? -EINTR : 0;
	if (draws) {
		if (lane->client)
			k2i_client_yield_end(lane->client);
		return k2hft_ring_space_wait(lane->ring, needed, DRAW_WAIT_MS);
	}
	if (queue->lane != lane) {
		queue_leave(queue);
		*queue = (struct queue){.lane = lane};
	}
	return k2i_lane_room_wait(lane, &queue->place, needed);
}

/* The ring is full. 0: try again; else what the caller gives to its own, -ENOBUFS for K2HFT_FULL_DROP. */
static int full_wait(struct k2hft_writer *writer, struct queue *queue, struct k2i_lane *lane, size_t needed,
		     bool finish)
{
	struct k2hft_sender *sender = writer->sender;
	bool behind = writer->behind_count > 0, draws = writer->draws;
	int status;

	if (!finish && writer->full == K2HFT_FULL_FAIL)
		return full_refuse(lane, -EAGAIN);
	if (!finish && writer->full == K2HFT_FULL_DROP)
		return full_refuse(lane, -ENOBUFS);
	(void)pthread_mutex_lock(&sender->mutex);
	lane->users++;
	(void)pthread_mutex_unlock(&sender->mutex);
	/*
	 * There is no open chunk now, and this can take long: a flush must not wait for the end of the call. Until the
	 * writer is back, a sealer may change its places.
	 */
	k2i_writer_leave(writer);
	status = room_wait(queue, lane, needed, behind, draws);
	k2i_writer_enter(writer);
	/* Nobody will make any. */
	if (lane->client && k2i_client_failed(lane->client))
		status = -EIO;
	(void)pthread_mutex_lock(&sender->mutex);
	/* A removed lane can end as soon as it has no users. */
	if (lane->removed)
		queue_leave(queue);
	k2i_lane_leave(lane);
	(void)pthread_mutex_unlock(&sender->mutex);
	if (status == -EPIPE || status == -EIO)
		return status;
	return status == -EINTR && !finish ? -EINTR : 0;
}

/* As many as wanted, or else as needed. -EAGAIN: the ring is full. */
static int claim_reserve(const struct k2i_writer_lane *place, size_t needed, size_t wanted, void **memory,
			 size_t *bytes)
{
	int status = k2hft_producer_reserve(place->producer, wanted, memory);

	*bytes = wanted;
	if (status != -EAGAIN || needed == wanted)
		return status;
	*bytes = needed;
	return k2hft_producer_reserve(place->producer, needed, memory);
}

/* The lane that was drawn is full: any other that is connected. */
static int other_reserve(struct k2hft_writer *writer, size_t needed, size_t wanted, void **memory, size_t *bytes)
{
	int status = -EAGAIN;

	for (uint32_t at = 0; at < writer->place_count && status == -EAGAIN; at++) {
		struct k2i_writer_lane *place = &writer->places[at];

		if (place == writer->to || !k2i_lane_connected(place->lane))
			continue;
		status = claim_reserve(place, needed, wanted, memory, bytes);
		if (status == 0)
			writer->to = place;
	}
	return status;
}

/* `*full`: the lane that has no room, if the answer is -EAGAIN. */
static int lane_reserve(struct k2hft_writer *writer, size_t needed, size_t wanted, bool finish, void **memory,
			size_t *bytes, struct k2i_lane **full)
{
	int status = k2i_writer_choose(writer);

	*full = status ? writer->behind[writer->behind_count - 1].lane : writer->to->lane;
	if (status)
		return status;
	if (writer->copy_count > 1)
		return k2i_copies_reserve(writer, needed, wanted, finish, memory, bytes, full);
	status = claim_reserve(writer->to, needed, wanted, memory, bytes);
	if (status == -EAGAIN && writer->draws && !writer->record_goes_on)
		status = other_reserve(writer, needed, wanted, memory, bytes);
	return status;
}

/* Records in a ring whose process is gone for good are sent by nobody: an attached writer looks now and then. */
static int served_check(struct k2hft_writer *writer)
{
	uint64_t second = k2i_clock_ns(CLOCK_MONOTONIC_COARSE) / K2I_SECOND_NS + 1;

	if (second == writer->looked_s)
		return k2i_ring_abandoned_known(writer->to->lane->ring) ? -EPIPE : 0;
	writer->looked_s = second;
	return k2i_ring_abandoned(writer->to->lane->ring) ? -EPIPE : 0;
}

int k2i_writer_claim(struct k2hft_writer *writer, size_t needed, size_t wanted, bool finish, void **memory,
		     size_t *bytes)
{
	struct queue queue = {.lane = NULL};
	struct k2i_lane *full = NULL;
	int status = writer->each_call ? served_check(writer) : 0, waited = 0;

	if (status == 0)
		status = lane_reserve(writer, needed, wanted, finish, memory, bytes, &full);
	while (status == -EAGAIN && waited == 0) {
		waited = full_wait(writer, &queue, full, needed, finish);
		if (waited == 0)
			status = lane_reserve(writer, needed, wanted, finish, memory, bytes, &full);
	}
	queue_leave(&queue);
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
	atomic_store_explicit(&writer->open, K2I_OPEN_ANY, memory_order_seq_cst);
	status = k2i_writer_claim(writer, needed, wanted, false, &memory, &bytes);
	if (status) {
		atomic_store_explicit(&writer->open, K2I_OPEN_NONE, memory_order_relaxed);
		return status;
	}
	/* relaxed: a sealer that still sees the other value comes in vain. */
	if (writer->copy_count == 1)
		atomic_store_explicit(&writer->open, writer->to->lane->number, memory_order_relaxed);
	writer->open_time_ns = k2i_clock_ns(CLOCK_REALTIME);
	writer->begin = memory;
	writer->begin_bytes = atomic_load_explicit(&writer->bytes, memory_order_relaxed);
	writer->end_bytes = writer->begin_bytes + bytes;
	atomic_store_explicit(&writer->announce, !writer->each_call, memory_order_relaxed); /* until S2 its own */
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
