/* SPDX-License-Identifier: MIT */
#include "fuse/intake/write.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "fuse/cached/writeback_pull.h"
#include "fuse/intake/handles.h"
#include "fuse/mount.h"
#include "fuse/ops/stat.h"
#include "fuse/intake/record_route.h"
#include "fuse/intake/queue.h"
#include "fuse/base/reply.h"
#include "fuse/base/journal.h"

/* Pending records are put into the ring from this amount on; less waits for the request's other records. */
#define PENDING_BYTES (256u * 1024)

static void count_too_long(struct k2i_mount *mount, const struct k2i_handle *handle)
{
	k2i_mount_count(&mount->counts.long_records, 1);
	k2i_log_limited(&mount->long_limit, k2i_mount_clock_ns(), K2HFT_LOG_WARNING,
			"mount: %s: a record over BYTELIMIT (%llu bytes) was not sent", handle->path,
			(unsigned long long)mount->limits.record_bytes_max);
}

/* What is parked out of the page cache was counted then: the file can have been cut since. */
static void account_taken(struct k2i_mount *mount, const struct k2i_queued *item)
{
	if (!item->cached && item->taken)
		k2i_handle_grow(mount, item->handle, item->offset + item->taken);
}

/* ---- by way of the outlet's pending memory */

/* Many short records at once: no line in sight is over the limits. 0: they must be taken one by one. */
static size_t run_of_lines(const struct k2i_mount *mount, const struct k2i_line_buffer *line, const char *data,
			   size_t bytes)
{
	size_t most = mount->limits.piece_bytes_max < PENDING_BYTES ? mount->limits.piece_bytes_max : PENDING_BYTES;

	if (line->held_bytes || line->continued || mount->limits.record_bytes_max)
		return 0;
	return k2i_lines_whole(data, bytes < most ? bytes : most);
}

/* `*given`: how much of the part is taken, as k2i_route_take. */
static int give(struct k2i_mount *mount, const struct k2i_queued *item, const struct k2i_line_part *part,
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

/* Whether what comes next can be a piece of a record, which stands alone in its chunk. */
static bool piece_ahead(const struct k2i_mount *mount, const struct k2i_line_buffer *line, size_t bytes)
{
	return line->continued ||
	       (!mount->limits.record_bytes_max && line->held_bytes + bytes > mount->limits.piece_bytes_max);
}

static void taken_more(struct k2i_mount *mount, struct k2i_queued *item, size_t bytes)
{
	K2I_JOURNAL_KEEP(item);
	item->taken += bytes;
	account_taken(mount, item);
}

/* Takes some of a text, even if it fails in the midst of a run. -EAGAIN: a piece of a long record needs the ring first. */
static int take_text(struct k2i_mount *mount, struct k2i_queued *item)
{
	struct k2i_line_buffer *line = &item->handle->line, before = *line;
	const char *data = item->data + item->taken;
	size_t bytes = item->bytes - item->taken, taken = run_of_lines(mount, line, data, bytes);
	struct k2i_line_part part = {.data = data, .bytes = taken};
	int event = K2I_LINE_RECORD, status = 0;
	size_t given;

	/* Before anything is taken: a step that ends with what is pushed must not end in the midst of this one. */
	if (taken == 0 && piece_ahead(mount, line, bytes))
		status = k2i_route_push(mount, item->handle->route);
	if (status)
		return status;
	if (taken == 0)
		event = k2i_line_buffer_take(line, &mount->limits, data, bytes, &taken, &part);
	if (event < 0)
		return event;
	if (event == K2I_LINE_TOO_LONG)
		count_too_long(mount, item->handle);
	if (event == K2I_LINE_RECORD || event == K2I_LINE_PIECE)
		status = give(mount, item, &part, event == K2I_LINE_PIECE, &given);
	if (status) {
		/* Of one record nothing is given then. */
		line->held_bytes = before.held_bytes;
		line->continued = before.continued;
		taken = given;
	}
	taken_more(mount, item, taken);
	return status;
}

static int take_block(struct k2i_mount *mount, struct k2i_queued *item)
{
	struct k2i_line_part part = {.data = item->data, .bytes = item->bytes};
	uint64_t most = mount->limits.record_bytes_max;
	size_t given;
	int status = 0;

	if (most && item->bytes > most)
		count_too_long(mount, item->handle);
	else
		status = give(mount, item, &part, false, &given);
	if (status == 0)
		taken_more(mount, item, item->bytes);
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
			status = mount->settings->binary ? take_block(mount, item) : take_text(mount, item);
	}
	return status;
}

/* Ends the record that is held, or sends what there is of it. */
static int advance_held(struct k2i_mount *mount, struct k2i_queued *item)
{
	struct k2i_handle *handle = item->handle;
	int status = k2i_route_push(mount, handle->route);
	struct k2i_line_part part;
	enum k2i_line_event event;
	size_t given;

	if (status)
		return status;
	event = item->kind == K2I_QUEUED_END ? k2i_line_buffer_end(&handle->line, &part)
					     : k2i_line_buffer_so_far(&handle->line, &part);
	k2i_handle_not_flushed(mount, handle);
	K2I_JOURNAL_KEEP(item);
	/* From here on only what is pending is left to do. */
	item->kind = K2I_QUEUED_REST;
	if (event == K2I_LINE_RECORD)
		k2i_mount_count(&mount->counts.unended_records, 1);
	if (event != K2I_LINE_NOTHING)
		status = give(mount, item, &part, event == K2I_LINE_PIECE, &given);
	return status ? status : k2i_route_push(mount, handle->route);
}

int k2i_write_advance(struct k2i_mount *mount, struct k2i_queued *item)
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
static int add_held(struct k2i_mount *mount, struct k2i_handle *handle, enum k2i_queued_kind kind)
{
	struct k2i_queued item = {
		.kind = kind,
		.handle = handle,
		.writer_pid = handle->writer_pid,
		.time_ns = k2i_clock_ns(CLOCK_REALTIME),
	};

	return k2i_queue_add(mount, &item, NULL);
}

/* Ends it at once if nothing waits. The same. */
static int end_held(struct k2i_mount *mount, struct k2i_handle *handle)
{
	int status = add_held(mount, handle, K2I_QUEUED_END);

	if (status == 0)
		k2i_queue_run(mount);
	return status;
}

/* Nobody will end it any more. */
static void lose_held(struct k2i_mount *mount)
{
	k2i_mount_count(&mount->counts.lost_records, 1);
	k2i_log_limited(&mount->lost_limit, k2i_mount_clock_ns(), K2HFT_LOG_ERROR,
			"mount: no memory: the last record of a file is lost");
}

static bool same_stream(const struct k2i_handle *one, const struct k2i_handle *other)
{
	if (one->route->transfer && other->route->transfer)
		return one->route->stream_id == other->route->stream_id;
	return one->node == other->node;
}

static bool is_closed_before(const struct k2i_handle *handle, const struct k2i_handle *writer)
{
	return handle != writer && same_stream(handle, writer);
}

static bool anybody_closed_before(const struct k2i_mount *mount, const struct k2i_handle *writer)
{
	const struct k2i_handle *handle = mount->flushed_first;

	while (handle && !is_closed_before(handle, writer))
		handle = handle->flushed_next;
	return handle != NULL;
}

/*
 * RELEASE comes some time after close(2): a record that a closed handle left without its end would come behind what
 * the next one wrote. So it is ended before anybody else writes to the same stream.
 */
static int end_closed(struct k2i_mount *mount, const struct k2i_handle *writer)
{
	struct k2i_handle *next;
	int status = 0;

	for (struct k2i_handle *handle = mount->flushed_first; handle && status == 0; handle = next) {
		next = handle->flushed_next;
		if (is_closed_before(handle, writer))
			status = k2i_write_end(mount, handle);
	}
	return status;
}

static void refuse(struct k2i_mount *mount, const struct k2i_write *write, int status)
{
	k2i_mount_count_refused(mount, status);
	k2i_reply_status(mount, write->unique, status);
}

static struct k2i_queued item_of(const struct k2i_write *write, struct k2i_handle *handle)
{
	return (struct k2i_queued){
		.kind = K2I_QUEUED_WRITE,
		.unique = write->unique,
		.handle = handle,
		.writer_pid = write->writer_pid,
		.time_ns = k2i_clock_ns(CLOCK_REALTIME),
		.offset = write->offset,
		.synchronous = write->synchronous,
		.bytes = write->bytes,
	};
}

/*
 * Parks the data, even if it can go on at once: a successor finds there how far it came. `item` is what is parked; the
 * claim is given back.
 */
static int queue_data(struct k2i_mount *mount, const struct k2i_write *write, const struct k2i_queued *item)
{
	const char *data = write->data;
	bool claimed = write->claim != NULL;
	int status;

	/* Ending others' records needs the producer. */
	if (claimed && mount->flushed_first) {
		data = memcpy(mount->body, write->data, write->bytes);
		(void)k2hft_producer_discard(mount->producer);
		claimed = false;
	}
	status = end_closed(mount, item->handle);
	if (status == 0)
		status = k2i_queue_add(mount, item, data);
	if (claimed)
		(void)k2hft_producer_discard(mount->producer);
	return status;
}

void k2i_write_give_back(struct k2i_mount *mount, const struct k2i_write *write)
{
	if (write->claim)
		(void)k2hft_producer_discard(mount->producer);
}

/* Whether it was committed without being parked, and answered. */
static bool commit_at_once(struct k2i_mount *mount, const struct k2i_write *write, struct k2i_handle *handle,
			   int *status)
{
	handle->writer_pid = write->writer_pid;
	k2i_handle_not_flushed(mount, handle);
	return !anybody_closed_before(mount, handle) && k2i_write_in_place(mount, write, handle, status);
}

/* -EBADF not open for writing, -ECONNABORTED the mount is ending. */
static int find_writer(struct k2i_mount *mount, const struct k2i_write *write, struct k2i_handle **handle)
{
	*handle = k2i_handle_at(mount, write->handle);
	/* A cached file is written past the cache when its program has set O_DIRECT since it was opened. */
	if (*handle && (*handle)->cached)
		*handle = (*handle)->cached->stream;
	else if (!*handle || !(*handle)->route || (*handle)->stream)
		return -EBADF;
	return mount->ending ? -ECONNABORTED : 0;
}

static void take_request(struct k2i_mount *mount, const struct k2i_write *write)
{
	struct k2i_handle *handle;
	int status = find_writer(mount, write, &handle);
	struct k2i_queued item;

	if (status == 0 && commit_at_once(mount, write, handle, &status))
		return;
	if (status == 0) {
		item = item_of(write, handle);
		status = queue_data(mount, write, &item);
	} else {
		k2i_write_give_back(mount, write);
	}
	if (status)
		refuse(mount, write, status);
	else
		k2i_queue_run(mount);
}

/* By which others, perhaps, write to the same file through the cache; NULL: nobody does. */
static struct k2i_cached_file *cached_of(const struct k2i_mount *mount, const struct k2i_handle *handle)
{
	return handle ? k2i_node_at(mount->nodes, handle->node)->cached : NULL;
}

/* A request that waits for what was written before through the cache; a WRITE's data is behind it. */
struct k2i_deferred_write {
	struct k2i_deferred_write *next;
	struct k2i_write write;
	bool sync; /* it is an FSYNC */
	bool interrupted;
};

static void sync_now(struct k2i_mount *mount, uint64_t unique, uint64_t number)
{
	struct k2i_handle *handle = k2i_handle_at(mount, number);
	struct k2i_cached_file *cached = cached_of(mount, handle);
	/* Of .k2hft-stat nothing is sent. */
	int status = number >= K2I_STAT_NUMBER_FIRST ? 0 : -EBADF;

	if (cached) {
		k2i_pull_pass_hole(mount, cached);
		handle = cached->stream;
	}
	if (handle)
		status = k2i_write_add_sync(mount, handle, unique, 0);
	if (status || !handle)
		k2i_reply_status(mount, unique, status);
	k2i_queue_run(mount);
}

static void take_later(struct k2i_mount *mount, void *argument)
{
	struct k2i_deferred_write *later = argument, **place = &mount->deferred_writes;

	while (*place != later)
		place = &(*place)->next;
	*place = later->next;
	if (later->interrupted && later->sync)
		k2i_reply_status(mount, later->write.unique, -EINTR);
	else if (later->interrupted)
		refuse(mount, &later->write, -EINTR);
	else if (later->sync)
		sync_now(mount, later->write.unique, later->write.handle);
	else
		take_request(mount, &later->write);
	free(later);
}

/* false: no memory. A claim is given back in any case. */
static bool do_later(struct k2i_mount *mount, uint32_t node, const struct k2i_write *write, bool sync)
{
	struct k2i_deferred_write *later = malloc(sizeof(*later) + write->bytes);

	if (later) {
		*later = (struct k2i_deferred_write){.next = mount->deferred_writes, .write = *write, .sync = sync};
		later->write.claim = NULL;
		if (write->bytes)
			later->write.data = memcpy(later + 1, write->data, write->bytes);
		mount->deferred_writes = later;
	}
	k2i_write_give_back(mount, write);
	k2i_pull_cut_done(mount, node);
	if (later)
		k2i_pull_before(mount, node, take_later, later);
	return later != NULL;
}

void k2i_write_interrupt(struct k2i_mount *mount, uint64_t unique)
{
	struct k2i_deferred_write *later = mount->deferred_writes;

	while (later && later->write.unique != unique)
		later = later->next;
	if (later)
		later->interrupted = true;
}

void k2i_write_request(struct k2i_mount *mount, const struct k2i_write *write)
{
	const struct k2i_handle *handle = k2i_handle_at(mount, write->handle);

	if (k2i_queue_resent(mount, write->unique)) {
		k2i_write_give_back(mount, write);
		return;
	}
	if (!cached_of(mount, handle))
		take_request(mount, write);
	else if (!do_later(mount, handle->node, write, false))
		refuse(mount, write, -ENOMEM);
}

int k2i_write_queue_cached(struct k2i_mount *mount, struct k2i_handle *stream, const struct k2i_write *write)
{
	bool answered = mount->queue.cached_bytes < K2I_QUEUE_CACHED_BYTES_MAX;
	struct k2i_queued item = item_of(write, stream);
	int status;

	item.cached = true;
	item.answer_bytes = write->answer_bytes;
	if (answered)
		item.unique = 0;
	status = queue_data(mount, write, &item);
	if (status)
		return status;
	k2i_handle_grow(mount, stream, write->offset + write->bytes);
	if (answered)
		k2i_reply_written(mount, write->unique, write->answer_bytes);
	return 0;
}

void k2i_write_cached(struct k2i_mount *mount, struct k2i_handle *stream, const struct k2i_write *write)
{
	int status = 0;

	if (commit_at_once(mount, write, stream, &status))
		return;
	if (status == 0)
		status = k2i_write_queue_cached(mount, stream, write);
	else
		k2i_write_give_back(mount, write);
	if (status && write->unique)
		refuse(mount, write, status);
	else if (status == 0)
		k2i_queue_run(mount);
}

int k2i_write_add_sync(struct k2i_mount *mount, struct k2i_handle *handle, uint64_t unique, size_t answer_bytes)
{
	struct k2i_queued item = {
		.kind = K2I_QUEUED_SYNC,
		.unique = unique,
		.handle = handle,
		.answer_bytes = answer_bytes,
	};
	int status = 0;

	for (uint32_t at = 0; at < mount->handle_room && status == 0; at++) {
		struct k2i_handle *other = mount->handles[at];

		/* What looks at records, BYTELIMIT too, can't judge one that has not ended: it stays held. */
		if (other && other->route && other->node == handle->node && k2i_handle_holds(other) &&
		    other->route->passes_all && !mount->limits.record_bytes_max)
			status = add_held(mount, other, K2I_QUEUED_SO_FAR);
	}
	return status ? status : k2i_queue_add(mount, &item, NULL);
}

void k2i_write_sync(struct k2i_mount *mount, uint64_t unique, uint64_t number)
{
	const struct k2i_write request = {.unique = unique, .handle = number};
	const struct k2i_handle *handle = k2i_handle_at(mount, number);

	if (k2i_queue_resent(mount, unique))
		return;
	/* For a write with O_DSYNC the kernel has not written back what was appended before it. */
	if (!cached_of(mount, handle))
		sync_now(mount, unique, number);
	else if (!do_later(mount, handle->node, &request, true))
		k2i_reply_status(mount, unique, -ENOMEM);
}

int k2i_write_end(struct k2i_mount *mount, struct k2i_handle *handle)
{
	int status = k2i_handle_in_record(handle) ? end_held(mount, handle) : 0;

	if (status == 0)
		k2i_handle_not_flushed(mount, handle);
	return status;
}

void k2i_write_release(struct k2i_mount *mount, struct k2i_handle *handle)
{
	if (k2i_write_end(mount, handle) && k2i_handle_holds(handle))
		lose_held(mount);
	K2I_JOURNAL_KEEP(handle);
	handle->released = true;
	k2i_handle_free_if_done(mount, handle);
}

void k2i_write_end_all(struct k2i_mount *mount)
{
	for (uint32_t at = 0; at < mount->handle_room; at++) {
		struct k2i_handle *handle = mount->handles[at];

		if (handle && k2i_handle_holds(handle) && end_held(mount, handle))
			lose_held(mount);
	}
}
