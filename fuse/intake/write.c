/* SPDX-License-Identifier: MIT */
#include "fuse/intake/write.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "fuse/intake/handles.h"
#include "fuse/base/mount.h"
#include "fuse/intake/record_route.h"
#include "fuse/intake/advance.h"
#include "fuse/intake/queue.h"
#include "fuse/base/reply.h"
#include "fuse/base/journal.h"

/* Ends it at once if nothing waits. The same. */
static int held_end(struct k2i_mount *mount, struct k2i_handle *handle)
{
	int status = k2i_queue_add_held(mount, handle, K2I_QUEUED_END);

	if (status == 0)
		k2i_queue_run(mount);
	return status;
}

/* Nobody will end it any more. */
static void held_lose(struct k2i_mount *mount)
{
	k2i_mount_count(&mount->counts.lost_records, 1);
	k2i_log_limited(&mount->log.lost, k2i_clock_now_ns(), K2HFT_LOG_ERROR,
			"mount: no memory: the last record of a file is lost");
}

static bool handles_share_stream(const struct k2i_handle *one, const struct k2i_handle *other)
{
	if (one->route->transfer && other->route->transfer)
		return one->route->streams->id == other->route->streams->id &&
		       one->route->streams->lane == other->route->streams->lane;
	return one->node == other->node;
}

/* The next from `handle` on that somebody has closed within a record of the stream that `writer` writes to; NULL. */
static struct k2i_handle *closed_in_record(struct k2i_handle *handle, const struct k2i_handle *writer)
{
	while (handle && (handle == writer || !handles_share_stream(handle, writer)))
		handle = handle->flushed_next;
	return handle;
}

/*
 * RELEASE comes some time after close(2): a record that a closed handle left without its end would come behind what
 * the next one wrote. So it is ended before anybody else writes to the same stream.
 */
static int closed_end(struct k2i_mount *mount, const struct k2i_handle *writer)
{
	struct k2i_handle *handle = closed_in_record(mount->handles->flushed_first, writer);
	int status = 0;

	while (handle && status == 0) {
		struct k2i_handle *next = handle->flushed_next;

		status = k2i_write_end(mount, handle);
		handle = closed_in_record(next, writer);
	}
	return status;
}

static struct k2i_queued write_item(const struct k2i_write *write, struct k2i_handle *handle)
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

/* Queues the data as `item`, even if it can go on at once: a successor finds there how far it came. */
static int write_queue(struct k2i_mount *mount, const struct k2i_write *write, const struct k2i_queued *item)
{
	const char *data = write->data;
	int status;

	/* Ending others' records drops the claim. */
	if (write->claim && mount->handles->flushed_first)
		data = memcpy(write->aside, write->data, write->bytes);
	status = closed_end(mount, item->handle);
	return status ? status : k2i_queue_add(mount, item, data);
}

/* Whether it was committed without being queued, and answered. */
static bool write_commit_at_once(struct k2i_mount *mount, const struct k2i_write *write, struct k2i_handle *handle,
				 int *status)
{
	handle->writer_pid = write->writer_pid;
	k2i_handle_not_flushed(mount, handle);
	return !closed_in_record(mount->handles->flushed_first, handle) &&
	       k2i_write_in_place(mount, write, handle, status);
}

int k2i_write_queue_cached(struct k2i_mount *mount, struct k2i_handle *stream, const struct k2i_write *write)
{
	bool answered = mount->queues->cached_bytes < k2i_queue_cached_bytes_max();
	struct k2i_queued item = write_item(write, stream);
	int status;

	k2i_handle_go_on(mount, stream);
	item.cached = true;
	item.answer_bytes = write->answer_bytes;
	if (answered)
		item.unique = 0;
	status = write_queue(mount, write, &item);
	if (status)
		return status;
	k2i_handle_grow(mount, stream, write->offset + write->bytes);
	if (answered)
		k2i_reply_written(mount, write->unique, write->answer_bytes);
	return 0;
}

void k2i_write_take(struct k2i_mount *mount, const struct k2i_write *write, struct k2i_handle *handle, bool cached)
{
	struct k2i_queued item;
	int status = 0;

	k2i_handle_go_on(mount, handle);
	if (write_commit_at_once(mount, write, handle, &status)) {
		if (k2i_held_too_much(mount))
			k2i_queue_run(mount);
		return;
	}
	if (status == 0 && cached) {
		status = k2i_write_queue_cached(mount, handle, write);
	} else if (status == 0) {
		item = write_item(write, handle);
		status = write_queue(mount, write, &item);
	}
	if (status == 0)
		k2i_queue_run(mount);
	else
		k2i_reply_refused(mount, write->unique, status);
}

int k2i_write_end(struct k2i_mount *mount, struct k2i_handle *handle)
{
	int status = k2i_handle_in_record(handle) ? held_end(mount, handle) : 0;

	if (status == 0)
		k2i_handle_not_flushed(mount, handle);
	return status;
}

void k2i_write_release(struct k2i_mount *mount, struct k2i_handle *handle)
{
	if (k2i_write_end(mount, handle) && k2i_handle_holds(handle))
		held_lose(mount);
	K2I_JOURNAL_KEEP(handle);
	handle->released = true;
	k2i_handle_free_if_done(mount, handle);
}

void k2i_write_end_all(struct k2i_mount *mount)
{
	struct k2i_handle *handle;

	for (uint32_t at = 0; (handle = k2i_handle_next(mount->handles, &at));) {
		if (k2i_handle_holds(handle) && held_end(mount, handle))
			held_lose(mount);
	}
}
