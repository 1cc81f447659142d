/* SPDX-License-Identifier: MIT */
/* Data that stays in the ring where the request was read to. */
#include "fuse/intake/write.h"

#include <string.h>

#include "base/clock.h"
#include "fuse/intake/handles.h"
#include "fuse/base/mount.h"
#include "fuse/intake/spread.h"
#include "fuse/intake/record_route.h"
#include "fuse/base/reply.h"
#include "fuse/base/journal.h"
#include "fuse/intake/queue.h"
#include "fuse/intake/line_buffer.h"

/* Data of fewer bytes is moved within its claim. */
#define MOVED_BYTES_MAX (128u * 1024)

/*
 * Where the data of a request stands in its claim with room for `before` bytes in front. Few bytes are moved to the
 * claim's begin: the gap in front of them would take more of the ring than they do.
 */
static size_t claim_settle(const struct k2i_write *write, size_t before)
{
	size_t offset = (size_t)(write->data - write->claim);

	if (offset == before || (write->bytes >= MOVED_BYTES_MAX && before <= offset))
		return offset;
	memmove(write->claim + before, write->data, write->bytes);
	return before;
}

/* The end of the step: with nothing to publish, of the answer alone. `records` stand in the claim. */
static int records_publish(struct k2i_mount *mount, const struct k2i_write *write, struct k2i_route_stream *stream,
			   const struct k2i_records *records)
{
	bool answered;

	(void)k2i_route_append_output(mount, stream->route, records->data, records->bytes);
	answered = k2i_reply_prepare_written(write->unique, write->answer_bytes);
	if (records->bytes)
		return k2i_route_commit(mount, stream, records, (size_t)(records->data - write->claim), answered);
	k2i_lane_drop_claim(&mount->lanes);
	if (answered)
		k2i_journal_step_answered();
	else
		k2i_journal_step();
	return 0;
}

/* Publishes what passes of the first `whole` bytes of the data with what is held in front, and holds the rest. */
static int text_commit(struct k2i_mount *mount, const struct k2i_write *write, struct k2i_handle *handle,
		       struct k2i_route_stream *stream, size_t whole)
{
	struct k2i_line_buffer *line = &handle->line;
	size_t before = line->held_bytes, data_at = claim_settle(write, before), passing = before + whole;
	char *begin = write->claim + data_at - before;
	struct k2i_records records = {
		.continued = line->continued,
		.writer_pid = write->writer_pid,
		.time_ns = k2i_clock_ns(CLOCK_REALTIME),
	};
	int status = k2i_line_buffer_room(line, write->bytes - whole);

	if (before)
		memcpy(begin, line->held, before);
	if (status == 0)
		status = k2i_route_filter_in_place(mount, handle->route, begin, &passing);
	if (status)
		return status;
	k2i_journal_keep(line->held, before);
	k2i_line_buffer_let_go(line);
	/* Before the commit, which gives the rear of the claim back. There is room: what was judged must not fail. */
	(void)k2i_line_buffer_hold(line, write->claim + data_at + whole, write->bytes - whole);
	line->continued = false;
	k2i_handle_count_held(mount, handle);
	k2i_handle_grow(mount, handle, write->offset + write->bytes);
	if (passing < MOVED_BYTES_MAX && begin != write->claim)
		begin = memmove(write->claim, begin, passing);
	records.data = begin;
	records.bytes = passing;
	return records_publish(mount, write, stream, &records);
}

static int block_commit(struct k2i_mount *mount, const struct k2i_write *write, struct k2i_handle *handle,
			struct k2i_route_stream *stream)
{
	struct k2i_records records = {
		.data = write->claim + claim_settle(write, 0),
		.bytes = write->bytes,
		.writer_pid = write->writer_pid,
		.time_ns = k2i_clock_ns(CLOCK_REALTIME),
	};

	k2i_handle_grow(mount, handle, write->offset + write->bytes);
	return records_publish(mount, write, stream, &records);
}

/* Whether the data may go into the ring as it is, with what is held in front; `*whole` of it is published. */
static bool write_fits(const struct k2i_mount *mount, const struct k2i_write *write, const struct k2i_handle *handle,
		       size_t *whole)
{
	const struct k2i_line_buffer *line = &handle->line;
	size_t most = write->claim ? write->claim_bytes : K2I_HEADROOM_BYTES + K2I_WRITE_BYTES_MAX;

	if (handle->queue->first || write->bytes == 0 || write->synchronous || mount->line_limits->record_bytes_max ||
	    !k2i_route_takes_in_place(mount->routes, handle->route, line->continued))
		return false;
	*whole = write->bytes;
	if (mount->settings->binary)
		return true;
	if (line->held_bytes + write->bytes > most)
		return false;
	*whole = k2i_line_buffer_run(line, mount->line_limits, write->data, write->bytes);
	return *whole != 0;
}

/* Where the claim for a request of unknown length had no room, or is of another lane, this one may have. */
static bool write_claim(struct k2i_mount *mount, const struct k2i_handle *handle, struct k2i_mount_lane *lane,
			struct k2i_write *write)
{
	size_t before = handle->line.held_bytes;

	if (k2i_lane_claim_with(&mount->lanes, lane, before, write->data, write->bytes, &write->claim))
		return false;
	write->data = write->claim + before;
	return true;
}

bool k2i_write_in_place(struct k2i_mount *mount, const struct k2i_write *write, struct k2i_handle *handle, int *status)
{
	struct k2i_write placed = *write;
	struct k2i_route_stream *stream;
	size_t whole;

	if (!write_fits(mount, write, handle, &whole))
		return false;
	stream = k2i_route_stream_next(mount, handle->route, handle->line.continued);
	if ((!placed.claim || mount->lanes.claimed != stream->lane) &&
	    !write_claim(mount, handle, stream->lane, &placed))
		return false;
	*status = mount->settings->binary ? block_commit(mount, &placed, handle, stream)
					  : text_commit(mount, &placed, handle, stream, whole);
	if (*status)
		return false;
	if (mount->lanes.takers > 1)
		k2i_spread_took(&mount->lanes, stream->lane, write->bytes);
	if (write->unique)
		k2i_reply_prepared(mount);
	return true;
}
