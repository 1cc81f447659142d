/* SPDX-License-Identifier: MIT */
/* The lanes that a writer's chunks go to, and how it follows the sender's lanes when they change. */
#include "sender/writer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/caller.h"
#include "base/clock.h"
#include "base/spread.h"
#include "client/client.h"
#include "ring/ring.h"
#include "sender/sender.h"

static int place_open(const struct k2hft_writer *writer, struct k2i_lane *lane, struct k2i_writer_lane *place)
{
	struct k2hft_stream stream = {.path = writer->path,
				      .mode = writer->binary ? K2HFT_STREAM_BINARY : K2HFT_STREAM_TEXT};
	int status = k2hft_stream_declare(lane->ring, &stream, &place->stream_id);

	if (status)
		return status;
	status = k2hft_producer_open(lane->ring, &place->producer);
	if (status) {
		(void)k2hft_stream_release(lane->ring, place->stream_id);
		return status;
	}
	place->lane = lane;
	lane->users++;
	return 0;
}

static void place_close(struct k2i_writer_lane *place)
{
	if (!place->lane)
		return;
	k2hft_producer_close(place->producer);
	(void)k2hft_stream_release(place->lane->ring, place->stream_id);
	k2i_lane_leave(place->lane);
}

static bool behind_add(struct k2hft_writer *writer, struct k2i_lane *lane)
{
	struct k2hft_ring_stats stats = k2i_ring_stats(lane->ring);
	struct k2i_writer_behind *larger;

	if (stats.head >= stats.tail)
		return true;
	larger = reallocarray(writer->behind, writer->behind_count + 1, sizeof(*larger));
	if (!larger)
		return false;
	writer->behind = larger;
	larger[writer->behind_count++] = (struct k2i_writer_behind){.lane = lane, .position = stats.tail};
	lane->users++;
	return true;
}

struct stream_search {
	const char *path;
	bool found;
};

static void stream_compare(void *argument, const struct k2hft_backlog *backlog)
{
	struct stream_search *search = argument;

	search->found |= strcmp(backlog->path, search->path) == 0;
}

/* Whether records of the stream wait in a lane from before the lanes last changed. If nobody can tell, it is so. */
static bool stream_waits(const struct k2hft_writer *writer, const struct k2i_lane *lane)
{
	struct stream_search search = {.path = writer->path};
	char path[64];

	if (k2i_ring_stats(lane->ring).head >= lane->changed_at)
		return false;
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", k2hft_ring_descriptor(lane->ring));
	return k2hft_ring_backlog(path, stream_compare, &search) != 0 || search.found;
}

static struct k2i_writer_lane *place_find(const struct k2hft_writer *writer, const struct k2i_lane *lane)
{
	for (uint32_t at = 0; at < writer->place_count; at++)
		if (writer->places[at].lane == lane)
			return &writer->places[at];
	return NULL;
}

/* The writer's stream goes on in other lanes than before. The order of the stream is kept, so what it left goes first. */
static bool behind_find(struct k2hft_writer *writer)
{
	const struct k2hft_sender *sender = writer->sender;
	bool enough = true;

	for (uint32_t at = 0; at < sender->lane_count; at++) {
		struct k2i_lane *lane = sender->lanes[at];

		if (!place_find(writer, lane) && stream_waits(writer, lane))
			enough &= behind_add(writer, lane);
	}
	return enough;
}

static void behind_drop(struct k2hft_writer *writer)
{
	k2i_lane_leave(writer->behind[--writer->behind_count].lane);
}

/* The last of them must be acknowledged before the one in front of it is looked at. With the mutex. True: there is one. */
static bool behind_look(struct k2hft_writer *writer)
{
	while (writer->behind_count) {
		const struct k2i_writer_behind *behind = &writer->behind[writer->behind_count - 1];
		struct k2hft_ring_stats stats = k2i_ring_stats(behind->lane->ring);

		if (stats.head < behind->position && stats.head < stats.tail)
			break;
		behind_drop(writer);
	}
	return writer->behind_count > 0;
}

static bool behind_left(struct k2hft_writer *writer)
{
	bool left;

	(void)pthread_mutex_lock(&writer->sender->mutex);
	left = behind_look(writer);
	(void)pthread_mutex_unlock(&writer->sender->mutex);
	return left;
}

/* The lanes that get the stream's chunks, in order. */
static uint32_t lanes_wanted(const struct k2hft_writer *writer, struct k2i_lane **wanted)
{
	const struct k2hft_sender *sender = writer->sender;
	struct k2i_lane *lanes[K2HFT_TARGETS_MAX];
	const char *homes[K2HFT_TARGETS_MAX] = {NULL};
	uint32_t order[K2HFT_TARGETS_MAX], count = 0, copies = sender->copies;

	for (uint32_t at = 0; at < sender->lane_count; at++) {
		if (sender->lanes[at]->removed)
			continue;
		homes[count] = sender->lanes[at]->home;
		lanes[count++] = sender->lanes[at];
	}
	if (sender->spread != K2HFT_SPREAD_HASH || count == 1) {
		memcpy(wanted, lanes, count * sizeof(*lanes));
		return count;
	}
	copies = copies < count ? copies : count;
	k2i_spread_order(homes, count, writer->path, copies, order);
	for (uint32_t at = 0; at < copies; at++)
		wanted[at] = lanes[order[at]];
	return copies;
}

/* Places that the writer has stay as they are. */
static int places_make(const struct k2hft_writer *writer, struct k2i_lane **wanted, uint32_t count,
		       struct k2i_writer_lane *places)
{
	int status = 0;

	for (uint32_t at = 0; at < count && status == 0; at++) {
		struct k2i_writer_lane *old = place_find(writer, wanted[at]);

		if (old)
			places[at] = *old;
		else
			status = place_open(writer, wanted[at], &places[at]);
	}
	for (uint32_t at = 0; status && at < count; at++)
		if (places[at].lane && !place_find(writer, places[at].lane))
			place_close(&places[at]);
	return status;
}

/* With the mutex. */
static int places_change(struct k2hft_writer *writer)
{
	struct k2hft_sender *sender = writer->sender;
	struct k2i_lane *wanted[K2HFT_TARGETS_MAX];
	uint32_t count = lanes_wanted(writer, wanted), old_count = writer->place_count;
	struct k2i_writer_lane *places = calloc(count, sizeof(*places)), *old = writer->places;
	int status = places ? places_make(writer, wanted, count, places) : -ENOMEM;

	if (status) {
		free(places);
		return status;
	}
	writer->places = writer->to = places;
	writer->place_count = count;
	for (uint32_t at = 0; at < old_count; at++) {
		if (place_find(writer, old[at].lane))
			continue;
		/* This writer's last chunks are in it, too. */
		old[at].lane->changed_at = k2i_ring_stats(old[at].lane->ring).tail;
		place_close(&old[at]);
	}
	free(old);
	writer->copy_count = sender->spread == K2HFT_SPREAD_RANDOM ? 1 : count;
	writer->draws = sender->spread == K2HFT_SPREAD_RANDOM && count > 1;
	/* relaxed: stored with the mutex held. */
	writer->lanes_version = atomic_load_explicit(&sender->lanes_version, memory_order_relaxed);
	/* A sender that must not wait would drop records for the sake of their order. */
	if (sender->changed && sender->spread == K2HFT_SPREAD_HASH && writer->full != K2HFT_FULL_DROP &&
	    !behind_find(writer))
		return -ENOMEM;
	return 0;
}

int k2i_writer_places_open(struct k2hft_writer *writer)
{
	K2I_ERRNO_KEPT;
	int status;

	(void)pthread_mutex_lock(&writer->sender->mutex);
	status = places_change(writer);
	(void)pthread_mutex_unlock(&writer->sender->mutex);
	return status;
}

void k2i_writer_places_close(struct k2hft_writer *writer)
{
	(void)pthread_mutex_lock(&writer->sender->mutex);
	for (uint32_t at = 0; at < writer->place_count; at++)
		place_close(&writer->places[at]);
	while (writer->behind_count)
		behind_drop(writer);
	(void)pthread_mutex_unlock(&writer->sender->mutex);
	free(writer->places);
	free(writer->behind);
}

/* Without memory, or places in a ring, for the change it stays where it is, and tries again with the next chunk. */
void k2i_writer_places_renew(struct k2hft_writer *writer)
{
	struct k2hft_sender *sender = writer->sender;
	K2I_ERRNO_KEPT;
	int status;

	(void)behind_look(writer);
	/* relaxed: stored with the mutex held. */
	if (writer->lanes_version == atomic_load_explicit(&sender->lanes_version, memory_order_relaxed) ||
	    writer->begin || writer->reserved || writer->record_goes_on || writer->end_missing)
		return;
	if (writer->copy_count > 1 && !k2i_copies_end(writer))
		return;
	status = places_change(writer);
	if (status)
		k2i_log_limited(&sender->refused_limit, k2i_clock_ns(CLOCK_MONOTONIC), K2HFT_LOG_ERROR,
				"sender: %s stays with the receivers that it had: %s", writer->path, strerror(-status));
}

static bool place_connected(void *argument, uint32_t index)
{
	const struct k2hft_writer *writer = argument;

	return k2i_lane_connected(writer->places[index].lane);
}

static uint64_t unacked_bytes(void *argument, uint32_t index)
{
	const struct k2hft_writer *writer = argument;

	return k2i_lane_unacked_bytes(writer->places[index].lane);
}

/*
 * So much in a row goes to one lane, if its writer is fast: frames are as large as with a single one, and its client can be
 * left asleep while the thread that writes sends.
 */
#define DRAW_BYTES ((uint64_t)256 * 1024)
#define DRAW_NS K2I_MILLISECOND_NS

static void lane_draw(struct k2hft_writer *writer)
{
	struct k2i_spread_lanes lanes = {writer->place_count, place_connected, unacked_bytes, writer};
	uint64_t bytes = atomic_load_explicit(&writer->bytes, memory_order_relaxed), now_ns = k2i_clock_now_ns();
	bool fast = now_ns - writer->drawn_ns < DRAW_NS;

	if (fast && bytes - writer->drawn_bytes < DRAW_BYTES && k2i_lane_connected(writer->to->lane))
		return;
	/* relaxed: a hint. */
	if (fast)
		atomic_store_explicit(&writer->sender->busy_ns, now_ns, memory_order_relaxed);
	if (fast && writer->unsent_bytes) {
		writer->unsent_bytes = 0;
		k2i_client_send_once(writer->to->lane->client);
	}
	writer->drawn_bytes = bytes;
	writer->drawn_ns = now_ns;
	writer->to = &writer->places[k2i_spread_random(&lanes, &writer->random)];
}

int k2i_writer_choose(struct k2hft_writer *writer)
{
	struct k2hft_sender *sender = writer->sender;

	if (writer->record_goes_on)
		return 0;
	/* relaxed: what has changed is looked at with the mutex held. */
	if (writer->lanes_version != atomic_load_explicit(&sender->lanes_version, memory_order_relaxed)) {
		(void)pthread_mutex_lock(&sender->mutex);
		k2i_writer_places_renew(writer);
		(void)pthread_mutex_unlock(&sender->mutex);
	}
	if (writer->behind_count && behind_left(writer))
		return -EAGAIN;
	if (writer->draws)
		lane_draw(writer);
	return 0;
}
