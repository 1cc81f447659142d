/* SPDX-License-Identifier: MIT */
#include "fuse/intake/advance.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "fuse/base/journal.h"
#include "fuse/base/reply.h"
#include "fuse/tree/nodes.h"
#include "fuse/intake/handles.h"
#include "fuse/intake/record_route.h"
#include "fuse/base/mount.h"
#include "app/program/ring_stats.h"
#include "fuse/intake/queue.h"
#include "fuse/intake/line_buffer.h"

/* Pending records are put into the ring from this amount on; less waits for the request's other records. */
#define PENDING_BYTES (256u * 1024)

static void too_long_count(struct k2i_mount *mount, const struct k2i_handle *handle)
{
	k2i_mount_count(&mount->counts.long_records, 1);
	k2i_log_limited(&mount->log.long_record, k2i_clock_now_ns(), K2HFT_LOG_WARNING,
			"mount: %s: a record over BYTELIMIT (%llu bytes) was not sent", handle->path,
			(unsigned long long)mount->line_limits->record_bytes_max);
}

/* Many short records at once; 0: they must be taken one by one. */
static size_t lines_run(const struct k2i_mount *mount, const struct k2i_line_buffer *line, const char *data,
			size_t bytes)
{
	size_t most = mount->line_limits->piece_bytes_max;

	if (line->held_bytes || line->continued)
		return 0;
	most = most < PENDING_BYTES ? most : PENDING_BYTES;
	return k2i_line_buffer_run(line, mount->line_limits, data, bytes < most ? bytes : most);
}

/* `*given`: how much of the part is taken, as k2i_route_take. */
static int part_give(struct k2i_mount *mount, const struct k2i_queued *item, const struct k2i_line_part *part,
		     bool continues, size_t *given)
{
	struct k2i_records records = {
		.data = part->data,
		.bytes = part->bytes,
		.continued = part->continued,
		.continues = continues,
		.writer_pid = item->writer_pid,
		.time_ns = item->time_ns,
	};
	int status = 0;

	*given = 0;
	if (continues)
		k2i_route_count_piece(mount, item->handle->route);
	/* A piece stands alone in its chunk. */
	if (records.continued || records.continues)
		status = k2i_route_push(mount, item->handle->route);
	return status ? status : k2i_route_take(mount, item->handle->route, &records, given);
}

/* Data that is queued out of the page cache was counted then: the file can have been cut since. */
static void taken_add(struct k2i_mount *mount, struct k2i_queued *item, size_t bytes)
{
	K2I_JOURNAL_KEEP(item);
	item->taken += bytes;
	k2i_handle_count_held(mount, item->handle);
	if (!item->cached && item->taken)
		k2i_handle_grow(mount, item->handle, item->offset + item->taken);
}

/* Takes some of a text, even if it fails in the midst of a run. -EAGAIN: a piece of a long record needs the ring first. */
static int text_take(struct k2i_mount *mount, struct k2i_queued *item)
{
	struct k2i_line_buffer *line = &item->handle->line, before = *line;
	const char *data = item->data + item->taken;
	size_t bytes = item->bytes - item->taken, taken = lines_run(mount, line, data, bytes);
	struct k2i_line_part part = {.data = data, .bytes = taken};
	int event = K2I_LINE_RECORD, status = 0;
	size_t given;

	/* Before anything is taken: a step that ends with what is pushed must not end in the midst of this one. */
	if (taken == 0 && k2i_line_buffer_piece_ahead(line, mount->line_limits, bytes))
		status = k2i_route_push(mount, item->handle->route);
	if (status)
		return status;
	if (taken == 0)
		event = k2i_line_buffer_take(line, mount->line_limits, data, bytes, &taken, &part);
	if (event < 0)
		return event;
	if (event == K2I_LINE_TOO_LONG)
		too_long_count(mount, item->handle);
	if (event == K2I_LINE_RECORD || event == K2I_LINE_PIECE)
		status = part_give(mount, item, &part, event == K2I_LINE_PIECE, &given);
	if (status) {
		/* A single record is not given in parts then. */
		line->held_bytes = before.held_bytes;
		line->continued = before.continued;
		taken = given;
	}
	taken_add(mount, item, taken);
	return status;
}

static int block_take(struct k2i_mount *mount, struct k2i_queued *item)
{
	struct k2i_line_part part = {.data = item->data, .bytes = item->bytes};
	uint64_t most = mount->line_limits->record_bytes_max;
	size_t given;
	int status = 0;

	if (most && item->bytes > most)
		too_long_count(mount, item->handle);
	else
		status = part_give(mount, item, &part, false, &given);
	if (status == 0)
		taken_add(mount, item, item->bytes);
	return status;
}

static int advance_write(struct k2i_mount *mount, struct k2i_queued *item)
{
	struct k2i_route *route = item->handle->route;
	int status = 0;

	while (status == 0) {
		bool all = item->taken == item->bytes;

		/* Text, what is pending and what was taken agree here. */
		k2i_journal_step();
		if (all || k2i_route_pending(route) >= PENDING_BYTES || k2i_route_has_piece(route))
			status = k2i_route_push(mount, route);
		if (all)
			break;
		if (status == 0)
			status = mount->settings->binary ? block_take(mount, item) : text_take(mount, item);
	}
	return status;
}

/*
 * Ends the record that is held, or sends what there is of it: fsync(2) promises each byte, so a piece ends inside a
 * character if the writer stopped there. Pieces of one record are joined where they arrive.
 */
static int advance_held(struct k2i_mount *mount, struct k2i_queued *item)
{
	struct k2i_handle *handle = item->handle;
	int status = k2i_route_push(mount, handle->route);
	struct k2i_line_part part;
	enum k2i_line_event event;
	size_t given;

	if (status)
		return status;
	event = k2i_line_buffer_flush(&handle->line, item->kind == K2I_QUEUED_END, &part);
	k2i_handle_not_flushed(mount, handle);
	K2I_JOURNAL_KEEP(item);
	/* From here on only what is pending is left to do. */
	item->kind = K2I_QUEUED_REST;
	if (event == K2I_LINE_RECORD)
		k2i_mount_count(&mount->counts.unended_records, 1);
	if (event != K2I_LINE_NOTHING)
		status = part_give(mount, item, &part, event == K2I_LINE_PIECE, &given);
	k2i_handle_count_held(mount, handle);
	return status ? status : k2i_route_push(mount, handle->route);
}

static int queued_advance(struct k2i_mount *mount, struct k2i_queued *item)
{
	switch (item->kind) {
	case K2I_QUEUED_WRITE:
		return advance_write(mount, item);
	case K2I_QUEUED_END:
	case K2I_QUEUED_SO_FAR:
		return advance_held(mount, item);
	case K2I_QUEUED_REST:
	case K2I_QUEUED_SYNC:
		break;
	}
	return item->handle->route ? k2i_route_push(mount, item->handle->route) : 0;
}

/* -ENOMEM: the record is held as before. */
int k2i_queue_add_held(struct k2i_mount *mount, struct k2i_handle *handle, enum k2i_queued_kind kind)
{
	struct k2i_queued item = {
		.kind = kind,
		.handle = handle,
		.writer_pid = handle->writer_pid,
		.time_ns = k2i_clock_ns(CLOCK_REALTIME),
	};

	return k2i_queue_add(mount, &item, NULL);
}

int k2i_queue_add_sync(struct k2i_mount *mount, struct k2i_handle *handle, uint64_t unique, size_t answer_bytes)
{
	uint64_t positions[K2I_LANE_COUNT_MAX] = {0};
	struct k2i_queued item = {
		.kind = K2I_QUEUED_SYNC,
		.unique = unique,
		.handle = handle,
		.lanes = k2i_node_at(mount->nodes, handle->node)->lanes,
		.bytes = sizeof(positions),
		.answer_bytes = answer_bytes,
	};
	struct k2i_queue *queue = handle->route ? handle->queue : NULL;
	struct k2i_handle *other;
	int status = 0;

	for (uint32_t at = 0; status == 0 && (other = k2i_handle_next(mount->handles, &at));) {
		if (!other->route || other->node != handle->node)
			continue;
		queue = queue ? queue : other->queue;
		/* Rules that look at records, BYTELIMIT too, can't judge one that has not ended: it stays held. */
		if (k2i_handle_holds(other) && other->route->passes_all && !mount->line_limits->record_bytes_max)
			status = k2i_queue_add_held(mount, other, K2I_QUEUED_SO_FAR);
	}
	/* Nobody writes to the file: nothing of it waits for room. */
	if (status == 0 && !queue)
		queue = k2i_queue_of(mount, item.lanes);
	if (status == 0 && !queue)
		status = -ENOMEM;
	if (status)
		return status;
	K2I_JOURNAL_KEEP(&handle->queue);
	handle->queue = queue;
	return k2i_queue_add(mount, &item, (const char *)positions);
}

static void queued_answer(struct k2i_mount *mount, const struct k2i_queued *item, int status)
{
	bool data = item->kind == K2I_QUEUED_WRITE;
	/* The part of a synchronous write that was taken is not acknowledged: its writer must not take it for that. */
	bool some = data && item->taken && !item->synchronous;

	if (some || (status == 0 && (data || item->answer_bytes)))
		k2i_reply_written(mount, item->unique, item->answer_bytes ? item->answer_bytes : item->taken);
	else
		k2i_reply_status(mount, item->unique, status);
}

/* A writer who is told that some was taken comes again with the rest. Data of the page cache is lost instead. */
static bool queued_is_refusal(const struct k2i_queued *item)
{
	return item->kind == K2I_QUEUED_WRITE && item->unique && item->taken == 0 && !item->cached;
}

/* The item goes with its answer, in one step. */
static void queued_finish(struct k2i_mount *mount, struct k2i_queued *item, int status)
{
	struct k2i_queued answered = *item;

	if (status && queued_is_refusal(item))
		k2i_reply_count_refused(mount, status);
	k2i_queued_free(mount, item);
	queued_answer(mount, &answered, status);
}

/* The part that was taken counts from here on; its writer hears of it when that is acknowledged. */
static void queued_finish_synchronous(struct k2i_mount *mount, struct k2i_queued *item)
{
	uint64_t unique = item->unique;
	int status = k2i_queue_add_sync(mount, item->handle, unique, item->taken);

	K2I_JOURNAL_KEEP(item);
	item->unique = 0;
	queued_finish(mount, item, 0);
	if (status)
		k2i_reply_status(mount, unique, status);
}

/* The positions that end all that is in the rings now. */
static void sync_begin(struct k2i_mount *mount, struct k2i_queued *item)
{
	uint64_t *positions = (uint64_t *)(void *)item->data;

	K2I_JOURNAL_KEEP(mount->queues);
	K2I_JOURNAL_KEEP(item);
	k2i_journal_keep(positions, item->bytes);
	for (unsigned at = 0; at < mount->lanes.count; at++)
		positions[at] = item->lanes & k2i_lane_bit(&mount->lanes.lane[at])
					? k2i_ring_stats_get(mount->lanes.lane[at].ring).tail
					: 0;
	item->next = mount->queues->syncs;
	mount->queues->syncs = item;
}

/* The ends of a ring; `set`: they have been looked at. */
struct ring_ends {
	uint64_t head, tail;
	bool set;
};

static bool sync_is_done(const struct k2i_mount *mount, const struct k2i_queued *item, struct ring_ends *rings)
{
	const uint64_t *positions = (const uint64_t *)(const void *)item->data;

	for (unsigned at = 0; at < mount->lanes.count; at++) {
		if (!(item->lanes & k2i_lane_bit(&mount->lanes.lane[at])) || !k2i_lane_used(&mount->lanes.lane[at]))
			continue;
		if (!rings[at].set) {
			struct k2hft_ring_stats stats = k2i_ring_stats_get(mount->lanes.lane[at].ring);

			rings[at] = (struct ring_ends){.head = stats.head, .tail = stats.tail, .set = true};
		}
		/* The tail that was seen goes back with a claim that is given back: all is there when the ring is empty. */
		if (rings[at].head < positions[at] && rings[at].head < rings[at].tail)
			return false;
	}
	return true;
}

static void syncs_run(struct k2i_mount *mount)
{
	struct k2i_queued **place = &mount->queues->syncs;
	struct ring_ends rings[K2I_LANE_COUNT_MAX];

	if (!*place)
		return;
	memset(rings, 0, mount->lanes.count * sizeof(rings[0]));
	while (*place) {
		struct k2i_queued *item = *place;

		if (!sync_is_done(mount, item, rings)) {
			place = &item->next;
			continue;
		}
		K2I_JOURNAL_KEEP(place);
		*place = item->next;
		queued_finish(mount, item, k2i_handle_lost(item->handle));
	}
}

static struct k2i_queued *queue_take_first(struct k2i_queue *queue)
{
	struct k2i_queued *item = queue->first;

	K2I_JOURNAL_KEEP(queue);
	queue->first = item->next;
	if (!queue->first)
		queue->last = NULL;
	return item;
}

/* Records that were accepted: nobody waits to hear of them, but who asks later does. */
static void queued_lose(struct k2i_mount *mount, struct k2i_handle *handle, uint64_t records, int status)
{
	K2I_JOURNAL_KEEP(&handle->lost);
	handle->lost = status;
	k2i_mount_count(&mount->counts.lost_records, records);
	k2i_log_limited(&mount->log.lost, k2i_clock_now_ns(), K2HFT_LOG_ERROR, "mount: records of %s are lost: %s",
			handle->path, strerror(-status));
}

static uint64_t queued_untaken_records(const struct k2i_queued *item)
{
	if (item->kind != K2I_QUEUED_WRITE || !item->data)
		return 1;
	return k2i_lines_count(item->data + item->taken, item->bytes - item->taken);
}

/* Some of it has been taken, which is to be sent before what came later: its place stays. */
static void queued_fail_rest(struct k2i_mount *mount, struct k2i_queued *item, int status)
{
	struct k2i_queued answered = *item;

	if (item->unique == 0 || item->cached)
		queued_lose(mount, item->handle, queued_untaken_records(item), status);
	K2I_JOURNAL_KEEP(item);
	item->unique = 0;
	item->kind = K2I_QUEUED_REST;
	queued_answer(mount, &answered, status);
}

static void queue_advance(struct k2i_mount *mount, struct k2i_queue *queue)
{
	while (queue->first) {
		struct k2i_queued *item = queue->first;
		int status = item->kind == K2I_QUEUED_SYNC ? 0 : queued_advance(mount, item);

		if (status == -EAGAIN)
			return;
		if (status && item->kind == K2I_QUEUED_WRITE && item->taken) {
			queued_fail_rest(mount, item, status);
			continue;
		}
		(void)queue_take_first(queue);
		if (item->kind == K2I_QUEUED_SYNC) {
			sync_begin(mount, item);
		} else if (status == 0 && item->synchronous && item->unique) {
			queued_finish_synchronous(mount, item);
		} else {
			if (status && (item->unique == 0 || item->cached))
				queued_lose(mount, item->handle, queued_untaken_records(item), status);
			queued_finish(mount, item, status);
		}
	}
}

/* Its room may go on as a piece: not behind what waits. */
static bool held_may_go(const struct k2i_handle *handle)
{
	return !handle->queue || !handle->queue->first;
}

/*
 * When what is held takes more memory than HELDMAX, those with the most go on as pieces, so many at once that the next
 * does not have all looked at again. Whether any does.
 */
static bool held_reduce(struct k2i_mount *mount)
{
	uint64_t most = mount->line_limits->held_bytes_max, left = mount->handles->held_bytes, pieces = 0;
	struct k2i_handle *handle;
	size_t largest = 0;

	if (!k2i_held_too_much(mount))
		return false;
	for (uint32_t at = 0; (handle = k2i_handle_next(mount->handles, &at));)
		largest = handle->line.held_room > largest && held_may_go(handle) ? handle->line.held_room : largest;
	for (uint32_t at = 0; left > most - most / 8 && (handle = k2i_handle_next(mount->handles, &at));) {
		if (handle->line.held_room <= largest / 2 || !held_may_go(handle))
			continue;
		left -= handle->line.held_room;
		if (handle->line.held_bytes) {
			pieces += k2i_queue_add_held(mount, handle, K2I_QUEUED_SO_FAR) == 0;
		} else {
			k2i_line_buffer_trim(&handle->line, 0);
			k2i_handle_count_held(mount, handle);
		}
	}
	k2i_mount_count(&mount->counts.held_pieces, pieces);
	if (pieces)
		k2i_log_limited(&mount->log.held, k2i_clock_now_ns(), K2HFT_LOG_WARNING,
				"mount: beginnings of records take more than HELDMAX (%llu bytes): the longest go as "
				"pieces",
				(unsigned long long)most);
	return pieces != 0;
}

void k2i_queue_run(struct k2i_mount *mount)
{
	if (mount->queues->resuming)
		return;
	k2i_lane_drop_claim(&mount->lanes);
	/* Without room for a line end there is none for anything else of its lane. */
	k2i_routes_terminate(mount);
	do {
		for (struct k2i_queue *queue = mount->queues->first; queue; queue = queue->next)
			queue_advance(mount, queue);
	} while (held_reduce(mount));
	syncs_run(mount);
}

/* `unique` 0: the first. */
static struct k2i_queued *sync_take(struct k2i_queues *queues, uint64_t unique)
{
	for (struct k2i_queued **place = &queues->syncs; *place; place = &(*place)->next) {
		struct k2i_queued *item = *place;

		if (unique && (item->unique != unique || item->unseen))
			continue;
		K2I_JOURNAL_KEEP(place);
		*place = item->next;
		return item;
	}
	return NULL;
}

static struct k2i_queued *queues_find(const struct k2i_queues *queues, uint64_t unique)
{
	struct k2i_queued *item = NULL;

	for (const struct k2i_queue *queue = queues->first; queue && !item; queue = queue->next) {
		for (item = queue->first; item && (item->unique != unique || item->unseen);)
			item = item->next;
	}
	return item;
}

bool k2i_queue_interrupt(struct k2i_mount *mount, uint64_t unique)
{
	struct k2i_queued *item = unique ? sync_take(mount->queues, unique) : NULL, answered;

	if (item) {
		queued_finish(mount, item, -EINTR);
		return true;
	}
	/* No answer reaches a request that has not come again yet; the kernel repeats this behind it. */
	item = unique ? queues_find(mount->queues, unique) : NULL;
	if (!item)
		return false;
	if (queued_is_refusal(item))
		k2i_reply_count_refused(mount, -EINTR);
	answered = *item;
	answered.answer_bytes = 0;
	k2i_queued_forget_request(item);
	queued_answer(mount, &answered, -EINTR);
	return true;
}

/*
 * Bytes that were accepted, however their writers were answered: pending and held ones, and all out of the page cache.
 * Bytes that are held behind a write of which all was taken have an end of their own in the queue.
 */
static uint64_t queued_accepted_records(struct k2i_mount *mount, const struct k2i_queued *item)
{
	struct k2i_handle *handle = item->handle;
	uint64_t records = k2i_route_forget_pending(mount, handle->route);

	if (item->kind == K2I_QUEUED_WRITE && item->cached && item->taken < item->bytes)
		records += queued_untaken_records(item);
	else if (item->kind == K2I_QUEUED_END && handle->line.held_bytes)
		records++;
	else
		return records;
	/* It was the begin of the first of them, or all of it. */
	k2i_line_buffer_let_go(&handle->line);
	return records;
}

static void queued_abandon(struct k2i_mount *mount, struct k2i_queued *item, int error)
{
	uint64_t records = queued_accepted_records(mount, item);

	if (records)
		queued_lose(mount, item->handle, records, error);
	queued_finish(mount, item, error);
}

/* Each is off its list and answered in one step: a successor finds the others where they were. */
void k2i_queue_abandon(struct k2i_mount *mount, int error)
{
	for (struct k2i_queue *queue = mount->queues->first; queue; queue = queue->next) {
		while (queue->first)
			queued_abandon(mount, queue_take_first(queue), error);
	}
	while (mount->queues->syncs)
		queued_abandon(mount, sync_take(mount->queues, 0), error);
}
