/* SPDX-License-Identifier: MIT */
#include "receiver/sink/relay/relay_sink.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/condition.h"
#include "base/crash.h"
#include "base/log.h"
#include "receiver/base/text.h"
#include "receiver/sink/relay/internal.h"

#define STREAM_IDLE_NS (UINT64_C(60) * K2I_SECOND_NS)
#define STREAMS_FULL_NS (UINT64_C(100) * 1000000)

/* Groups ---------------------------------------------------------------------------------------------------------- */

/* A mark is of all that a ring has, whoever brought it: so groups come one after the other. */
static int group_begin(struct k2i_group *group, bool deferred)
{
	struct k2i_relay *relay = k2i_relay(group->sink);
	int error = 0;

	(void)pthread_mutex_lock(&relay->mutex);
	relay->deferred = deferred;
	for (uint32_t at = 0; at < relay->taker_count && !error; at++) {
		k2i_relay_taker(relay, at)->first = UINT64_MAX;
		error = k2i_relay_lane_tell(relay, k2i_relay_taker(relay, at));
	}
	if (error)
		group->failed = K2I_GROUP_LEDGER;
	return error;
}

static uint64_t entry_bytes(const struct k2i_group_entry *entry)
{
	return (K2HFT_CHUNK_HEADER_BYTES + (uint64_t)entry->payload_bytes + 7) & ~UINT64_C(7);
}

static int lane_push(struct k2i_relay_lane *lane, uint32_t stream_id, const struct k2i_group_entry *entry)
{
	const struct k2hft_chunk chunk = {
		.stream_id = stream_id,
		.record_count = entry->record_count,
		.time_ns = entry->time_ns,
		.writer_pid = entry->writer_pid,
		.flags = entry->flags,
	};
	int error = k2hft_producer_push(lane->producer, &chunk, entry->payload, entry->payload_bytes);
	uint64_t position = k2hft_producer_position(lane->producer);

	if (error)
		return error;
	if (lane->first == UINT64_MAX)
		lane->first = position;
	lane->tail = position + entry_bytes(entry);
	return 0;
}

static int entry_push(struct k2i_relay *relay, const struct k2i_group_entry *entry, uint32_t chosen)
{
	uint32_t lanes[K2I_RELAY_LANES_MAX], count;
	struct k2i_relay_stream *stream;
	int error = k2i_relay_stream_get(relay, entry->stream, &stream);

	if (error)
		return error;
	count = k2i_relay_stream_lanes(relay, stream, entry, chosen, lanes);
	for (uint32_t at = 0; at < count && !error; at++) {
		error = k2i_relay_stream_waits(relay, stream, lanes[at])
				? -EAGAIN
				: k2i_relay_stream_declare(relay, stream, lanes[at]);
		if (!error)
			error = lane_push(&relay->lanes[lanes[at]], stream->ids[lanes[at]], entry);
	}
	return error;
}

static void group_undo(struct k2i_group *group)
{
	struct k2i_relay *relay = k2i_relay(group->sink);

	for (uint32_t at = 0; at < relay->taker_count; at++) {
		struct k2i_relay_lane *lane = k2i_relay_taker(relay, at);

		if (lane->first != UINT64_MAX && k2hft_ring_cut(lane->ring, lane->first) == 0)
			lane->tail = lane->first;
		lane->first = UINT64_MAX;
	}
}

/* Puts into the rings what is not there yet. -EAGAIN: there is no room now. */
static int group_push(struct k2i_group *group, uint64_t taken, uint64_t *wanted)
{
	struct k2i_relay *relay = k2i_relay(group->sink);
	uint32_t chosen = k2i_relay_lane_choose(relay);
	int error = 0;

	*wanted = 0;
	for (uint32_t at = 0; at < group->entry_count; at++)
		*wanted += group->entries[at].position < taken ? 0 : entry_bytes(&group->entries[at]);
	if (*wanted > k2i_relay_lanes_free(relay))
		return -EAGAIN;
	K2I_CRASH(relay_push_before);
	for (uint32_t at = 0; at < group->entry_count && !error; at++) {
		if (group->entries[at].position >= taken)
			error = entry_push(relay, &group->entries[at], chosen);
	}
	if (error)
		group_undo(group);
	K2I_CRASH(relay_pushed);
	return error;
}

/* The owner waits for room; where the ring seemed to have it, numbers of streams are free a while later. */
static int push_failed(struct k2i_group *group, uint64_t wanted, int error)
{
	struct k2i_relay *relay = k2i_relay(group->sink);
	struct k2i_relay_waiter waiter = {.owner = group->owner, .bytes = wanted};

	if (error != -EAGAIN)
		return error;
	if (wanted <= k2i_relay_lanes_free(relay))
		waiter.since_ns = k2i_clock_now_ns() + STREAMS_FULL_NS;
	error = k2i_relay_wait(relay, &waiter);
	return error ? error : K2I_SINK_WAITS;
}

static size_t group_marks(const struct k2i_group *group, struct k2i_ledger_file marks[K2I_LEDGER_FILES_MAX])
{
	struct k2i_relay *relay = k2i_relay(group->sink);
	size_t count = 0;

	for (uint32_t at = 0; at < relay->taker_count; at++) {
		const struct k2i_relay_lane *lane = k2i_relay_taker(relay, at);

		if (lane->first != UINT64_MAX && lane->path)
			marks[count++] = k2i_relay_lane_mark(relay, lane);
	}
	return count;
}

static int group_store(struct k2i_group *group, struct k2i_sink_report *report)
{
	uint64_t wanted;
	int error = group_push(group, 0, &wanted);

	(void)report;
	return error ? push_failed(group, wanted, error) : 0;
}

static void group_end(struct k2i_group *group, bool kept)
{
	struct k2i_relay *relay = k2i_relay(group->sink);

	K2I_CRASH(relay_noted);
	for (uint32_t at = 0; at < relay->taker_count && kept; at++) {
		const struct k2i_relay_lane *lane = k2i_relay_taker(relay, at);

		if (lane->first != UINT64_MAX)
			(void)k2hft_ring_limit(lane->ring, lane->tail);
	}
	K2I_CRASH(relay_let_go);
	(void)pthread_mutex_unlock(&relay->mutex);
}

/* ACKEND ---------------------------------------------------------------------------------------------------------- */

static int ways_make(struct k2i_relay *relay, bool all, struct k2i_relay_way **ways, unsigned *count)
{
	struct k2i_relay_way *way;

	*ways = NULL;
	*count = 0;
	for (uint32_t at = 0; at < relay->taker_count; at++) {
		const struct k2i_relay_lane *lane = k2i_relay_taker(relay, at);

		if (!all && lane->first == UINT64_MAX)
			continue;
		way = calloc(1, sizeof(*way));
		if (!way)
			return -ENOMEM;
		*way = (struct k2i_relay_way){.next = *ways, .lane = relay->takers[at], .position = lane->tail};
		*ways = way;
		++*count;
	}
	return 0;
}

/* The ring's chunks up to the position are in the rings, whenever they will be acknowledged. */
static int taken_enter(struct k2i_group *group, const struct k2i_sink_report *report)
{
	const struct k2i_relay *relay = k2i_relay(group->sink);
	struct k2i_ledger_ring row = {.sink = K2I_RELAY_TAKEN,
				      .position = report->position,
				      .proven = report->position,
				      .flags = relay->deferred ? K2I_LEDGER_DEFERRED : 0};
	struct k2i_ledger_file marks[K2I_LEDGER_FILES_MAX];
	size_t count = group_marks(group, marks);
	int error;

	memcpy(row.uuid, report->ring, sizeof(row.uuid));
	error = k2i_ledger_commit(relay->ledger, &row, count ? marks : NULL, count);
	if (error)
		group->failed = K2I_GROUP_LEDGER;
	return error;
}

static void ways_begin(struct k2i_relay *relay, struct k2i_relay_way *ways, struct k2i_pending_group *pending)
{
	struct k2i_relay_way *way;

	while ((way = ways) != NULL) {
		ways = way->next;
		way->group = pending;
		if (pending)
			k2i_relay_way_add(relay, way);
		else
			free(way);
	}
	if (pending)
		k2i_pending_done(&relay->pending, pending, 0);
}

/* Chunks that came again, since the next stage has not acknowledged them, may be in any ring. */
static int group_store_later(struct k2i_group *group, struct k2i_sink_report *report)
{
	struct k2i_relay *relay = k2i_relay(group->sink);
	uint64_t taken = k2i_pending_taken(&relay->pending, report->ring), wanted;
	struct k2i_pending_group *pending = NULL;
	struct k2i_relay_way *ways = NULL;
	struct k2i_ledger_ring row;
	unsigned parts = 0;
	int error;

	if (relay->marks && k2i_ledger_find(relay->ledger, report->ring, K2I_RELAY_TAKEN, &row) && row.position > taken)
		taken = row.position;
	error = group_push(group, taken, &wanted);
	if (error)
		return push_failed(group, wanted, error);
	error = ways_make(relay, group->entry_count && group->entries[0].position < taken, &ways, &parts);
	if (!error && report->position > taken)
		error = taken_enter(group, report);
	if (!error)
		error = k2i_pending_begin(&relay->pending, report, parts, 0, &pending);
	ways_begin(relay, ways, pending);
	if (error)
		group_undo(group);
	return error;
}

static void relay_settled(struct k2i_sink *sink, const struct k2i_ledger_ring *row)
{
	struct k2i_relay *relay = k2i_relay(sink);
	struct k2i_ledger_ring taken;

	if (!relay->end_acknowledges)
		return;
	k2i_pending_settled(&relay->pending, row);
	if (!k2i_ledger_find(relay->ledger, row->uuid, K2I_RELAY_TAKEN, &taken) || taken.position <= row->position)
		return;
	taken.position = row->position;
	(void)k2i_ledger_settle(relay->ledger, &taken);
}

/* The start ------------------------------------------------------------------------------------------------------- */

static bool mark_behind(struct k2i_sink *sink, const struct k2i_ledger_file *mark)
{
	(void)sink;
	return k2i_relay_lane_behind(mark);
}

static void mark_recover(struct k2i_sink *sink, const struct k2i_ledger_file *mark, bool cut)
{
	if (cut && !k2i_relay(sink)->config.settings->queue_fresh)
		k2i_relay_lane_recover(mark);
}

static bool recover_end(struct k2i_sink *sink)
{
	(void)sink;
	return false;
}

/* Behind mark_recover: clients send from now on. */
static int relay_resume(struct k2i_sink *sink)
{
	struct k2i_relay *relay = k2i_relay(sink);
	int error = k2i_relay_lanes_open(relay);

	return error ? error : k2i_relay_worker_start(relay);
}

/* Other threads --------------------------------------------------------------------------------------------------- */

/* The ring's file, which can leave meanwhile. */
static int lane_sync(struct k2i_relay *relay, uint32_t at)
{
	int fd = -1, error;

	(void)pthread_mutex_lock(&relay->wait_mutex);
	if (at < relay->taker_count)
		fd = fcntl(k2hft_ring_descriptor(k2i_relay_taker(relay, at)->ring), F_DUPFD_CLOEXEC, 0);
	error = at < relay->taker_count && fd < 0 ? -errno : 0;
	(void)pthread_mutex_unlock(&relay->wait_mutex);
	if (fd < 0)
		return error;
	error = fdatasync(fd) ? -errno : 0;
	(void)close(fd);
	return error;
}

static int relay_sync(struct k2i_sink *sink)
{
	struct k2i_relay *relay = k2i_relay(sink);
	int error = 0;

	for (uint32_t at = 0; at < K2I_RELAY_LANES_MAX && relay->marks && !error; at++)
		error = lane_sync(relay, at);
	return error;
}

static void relay_tick(struct k2i_sink *sink, uint64_t now_ns)
{
	struct k2i_relay *relay = k2i_relay(sink);

	(void)pthread_mutex_lock(&relay->mutex);
	if (now_ns > STREAM_IDLE_NS)
		k2i_relay_streams_drop(relay, now_ns - STREAM_IDLE_NS);
	(void)pthread_mutex_lock(&relay->wait_mutex);
	k2i_relay_change_tick(relay);
	(void)pthread_mutex_unlock(&relay->wait_mutex);
	(void)pthread_mutex_unlock(&relay->mutex);
	k2i_pending_tick(&relay->pending, now_ns);
}

static void relay_show(struct k2i_sink *sink, struct k2i_report *report, unsigned listed_max,
		       struct k2i_sink_state *state)
{
	(void)listed_max;
	k2i_relay_lanes_show(k2i_relay(sink), report, state);
}

static int relay_close(struct k2i_sink *sink, bool sync)
{
	struct k2i_relay *relay = k2i_relay(sink);
	int error = sync ? relay_sync(sink) : 0;

	k2i_relay_worker_stop(relay);
	k2i_relay_streams_free(relay);
	k2i_relay_lanes_close(relay);
	k2i_pending_end(&relay->pending, sync);
	k2i_sender_config_free(&relay->config);
	(void)pthread_cond_destroy(&relay->wake);
	(void)pthread_mutex_destroy(&relay->wait_mutex);
	(void)pthread_mutex_destroy(&relay->mutex);
	free(relay);
	return error;
}

#define RELAY_OPS                                                                                                      \
	.begin = group_begin, .end = group_end, .marks = group_marks, .undo = group_undo, .settled = relay_settled,    \
	.is_behind = mark_behind, .recover = mark_recover, .recover_end = recover_end, .resume = relay_resume,         \
	.sync = relay_sync, .prepare = k2i_relay_prepare, .change = k2i_relay_change, .tick = relay_tick,              \
	.show = relay_show, .close = relay_close

static const struct k2i_sink_ops ops_at_once = {.traits = K2I_SINK_UNDO, .store = group_store, RELAY_OPS};
static const struct k2i_sink_ops ops_later = {
	.traits = K2I_SINK_UNDO | K2I_SINK_LATER, .store = group_store_later, RELAY_OPS};

/* Opening --------------------------------------------------------------------------------------------------------- */

static struct k2i_relay *relay_make(const struct k2i_sink_options *options)
{
	struct k2i_relay *relay = calloc(1, sizeof(*relay));

	if (!relay)
		return NULL;
	relay->end_acknowledges = options->settings->relay.end_acknowledges;
	relay->sink.ops = relay->end_acknowledges ? &ops_later : &ops_at_once;
	relay->ledger = options->ledger;
	relay->random = 1;
	relay->last_way = &relay->ways;
	relay->marks = options->settings->relay.queue_type == K2I_QUEUE_FILE;
	(void)pthread_mutex_init(&relay->mutex, NULL);
	(void)pthread_mutex_init(&relay->wait_mutex, NULL);
	k2i_condition_init(&relay->wake);
	k2i_pending_start(&relay->pending, &relay->sink, options->ledger);
	return relay;
}

int k2i_relay_sink_open(const struct k2i_sink_options *options, struct k2i_sink **sink)
{
	struct k2i_relay *relay = relay_make(options);
	char message[1024] = "no memory";
	int error =
		relay ? k2i_sender_config_relay(options->settings, &relay->config, message, sizeof(message)) : -ENOMEM;

	if (!error) {
		*sink = &relay->sink;
		return 0;
	}
	k2i_log(K2HFT_LOG_ERROR, "relay: can't start: %s", message);
	free(relay);
	return error;
}
