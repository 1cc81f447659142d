/* SPDX-License-Identifier: MIT */

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "fuse/base/journal.h"
#include "fuse/intake/line_buffer.h"
#include "fuse/intake/record_route.h"
#include "fuse/base/mount.h"

/* More is given back when nothing is pending. */
#define PENDING_ROOM_KEPT (512u * 1024)

uint32_t k2i_records_count(const struct k2i_mount *mount, const char *data, size_t bytes)
{
	return mount->settings->binary ? 1 : k2i_lines_count(data, bytes);
}

/* Before a chunk of its stream is committed. */
static void route_use(struct k2i_route *route)
{
	if (route->used)
		return;
	K2I_JOURNAL_KEEP(route);
	route->used = true;
}

int k2i_route_commit(struct k2i_mount *mount, struct k2i_route *route, const struct k2i_records *records, size_t offset,
		     bool answered)
{
	struct k2hft_chunk chunk = {
		.stream_id = route->stream_id,
		/* Not sooner than with a claim: while the ring is full, every request that is served tries one. */
		.record_count = k2i_records_count(mount, records->data, records->bytes),
		.time_ns = records->time_ns,
		.writer_pid = records->writer_pid,
		.flags = (records->continued ? K2HFT_CHUNK_CONTINUED : 0u) |
			 (records->continues ? K2HFT_CHUNK_CONTINUES : 0u),
	};

	route_use(route);
	return k2i_lane_commit(&mount->lane, &chunk, offset, records->bytes, answered);
}

int k2i_route_add_pending(struct k2i_route *route, const struct k2i_records *records)
{
	size_t needed = route->pending_bytes + records->bytes;
	size_t room = route->pending_room ? route->pending_room : 4096;
	char *pending;

	if (needed > route->pending_room) {
		while (room < needed)
			room *= 2;
		pending = k2i_journal_alloc(room);
		if (!pending)
			return -ENOMEM;
		if (route->pending_bytes)
			memcpy(pending, route->pending, route->pending_bytes);
		K2I_JOURNAL_KEEP(route);
		k2i_journal_free(route->pending);
		route->pending = pending;
		route->pending_room = room;
	}
	K2I_JOURNAL_KEEP(route);
	memcpy(route->pending + route->pending_bytes, records->data, records->bytes);
	route->pending_bytes = needed;
	route->pending_continued = records->continued;
	route->pending_continues = records->continues;
	route->writer_pid = records->writer_pid;
	route->time_ns = records->time_ns;
	return 0;
}

static void route_miss_newline(struct k2i_mount *mount, struct k2i_route *route)
{
	if (!route->missing_newline) {
		K2I_JOURNAL_KEEP(&mount->routes->missing_newline_first);
		route->missing_newline_next = mount->routes->missing_newline_first;
		mount->routes->missing_newline_first = route;
	}
	route->missing_newline = true;
	route->missing_newline_pid = route->writer_pid;
}

static void pending_drop(struct k2i_mount *mount, struct k2i_route *route)
{
	const char *data = route->pending + route->pending_from;
	size_t bytes = route->pending_bytes - route->pending_from;
	uint64_t records = k2i_records_count(mount, data, bytes);

	K2I_JOURNAL_KEEP(route);
	route->rest_dropped = route->pending_continues;
	if (route->pending_continued && !mount->settings->binary)
		route_miss_newline(mount, route);
	route->pending_bytes = route->pending_from = 0;
	/* Other records take the place of these. */
	k2i_journal_step();
	k2hft_producer_drop(mount->lane.producer, records);
	k2i_log_limited(&mount->log.full, k2i_clock_now_ns(), K2HFT_LOG_ERROR,
			"mount: the ring is full: %llu records were dropped", (unsigned long long)records);
}

void k2i_route_count_piece(struct k2i_mount *mount, const struct k2i_route *route)
{
	k2i_mount_count(&mount->counts.pieces, 1);
	k2i_log_limited(&mount->log.piece, k2i_clock_now_ns(), K2HFT_LOG_INFO,
			"mount: a record of %s goes in pieces: it is over LINEMAX (%zu bytes), or fsync(2) came in the "
			"middle of it, or HELDMAX made room",
			route->path, mount->line_limits->piece_bytes_max);
}

/* A chunk of the pending bytes. */
static int pending_push(struct k2i_mount *mount, struct k2i_route *route)
{
	const char *data = route->pending + route->pending_from;
	size_t bytes = route->pending_bytes - route->pending_from, most = mount->lane.chunk_bytes_max;
	struct k2i_records records = {
		.bytes = bytes < most ? bytes : most,
		.continued = route->pending_continued,
		.writer_pid = route->writer_pid,
		.time_ns = route->time_ns,
	};
	bool cut = bytes > most;
	void *payload;
	int status;

	if (!mount->settings->binary)
		records.bytes = k2i_lines_chunk(data, bytes, most, mount->line_limits->piece_bytes_max, &cut);
	records.continues = cut || (records.bytes == bytes && route->pending_continues);
	status = k2i_lane_claim(&mount->lane, records.bytes, &payload);
	if (status)
		return status;
	records.data = memcpy(payload, data, records.bytes);
	K2I_JOURNAL_KEEP(route);
	route->pending_from += records.bytes;
	route->pending_continued = cut;
	if (cut)
		k2i_route_count_piece(mount, route);
	status = k2i_route_commit(mount, route, &records, 0, false);
	if (status)
		route->pending_from -= records.bytes;
	return status;
}

static int missing_newline_push(struct k2i_mount *mount, struct k2i_route *route)
{
	struct k2i_records records = {
		.bytes = 1,
		.continued = true,
		.writer_pid = route->missing_newline_pid,
		.time_ns = route->time_ns,
	};
	void *payload;
	int status = k2i_lane_claim(&mount->lane, 1, &payload);

	if (status)
		return status;
	records.data = memcpy(payload, "\n", 1);
	K2I_JOURNAL_KEEP(route);
	route->missing_newline = false;
	status = k2i_route_commit(mount, route, &records, 0, false);
	route->missing_newline = status != 0;
	return status;
}

/* The first of those that miss a newline does so no more. */
static void missing_newline_take(struct k2i_mount *mount)
{
	struct k2i_route *route = mount->routes->missing_newline_first;

	K2I_JOURNAL_KEEP(&mount->routes->missing_newline_first);
	mount->routes->missing_newline_first = route->missing_newline_next;
	if (route->closed)
		k2i_route_free(mount, route);
}

int k2i_routes_terminate(struct k2i_mount *mount)
{
	int status = 0;

	while (mount->routes->missing_newline_first && status == 0) {
		/* A worker can have died between the one and the other. */
		if (mount->routes->missing_newline_first->missing_newline)
			status = missing_newline_push(mount, mount->routes->missing_newline_first);
		if (status == 0)
			missing_newline_take(mount);
	}
	return status;
}

void k2i_routes_forget(struct k2i_mount *mount)
{
	while (mount->routes->missing_newline_first)
		missing_newline_take(mount);
	k2i_routes_release_streams(mount);
}

static void pending_forget(struct k2i_route *route)
{
	K2I_JOURNAL_KEEP(route);
	route->pending_bytes = route->pending_from = 0;
	route->pending_continued = route->pending_continues = false;
	if (route->pending_room > PENDING_ROOM_KEPT) {
		k2i_journal_free(route->pending);
		route->pending = NULL;
		route->pending_room = 0;
	}
}

int k2i_route_push(struct k2i_mount *mount, struct k2i_route *route)
{
	for (; route; route = route->next) {
		while (route->pending_from < route->pending_bytes) {
			int status = k2i_routes_terminate(mount);

			if (status == 0)
				status = pending_push(mount, route);
			if (status == -EAGAIN && mount->settings->full == K2HFT_FULL_DROP)
				pending_drop(mount, route);
			else if (status)
				return status;
		}
		if (route->pending_bytes)
			pending_forget(route);
	}
	return 0;
}

uint64_t k2i_route_forget_pending(struct k2i_mount *mount, struct k2i_route *route)
{
	uint64_t records = 0;

	for (; route; route = route->next) {
		if (route->pending_from < route->pending_bytes)
			records += k2i_records_count(mount, route->pending + route->pending_from,
						     route->pending_bytes - route->pending_from);
		pending_forget(route);
	}
	return records;
}

bool k2i_route_has_piece(const struct k2i_route *route)
{
	for (; route; route = route->next) {
		if (route->pending_bytes && (route->pending_continued || route->pending_continues))
			return true;
	}
	return false;
}

size_t k2i_route_pending(const struct k2i_route *route)
{
	size_t bytes = 0;

	for (; route; route = route->next)
		bytes += route->pending_bytes - route->pending_from;
	return bytes;
}
