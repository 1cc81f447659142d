/* SPDX-License-Identifier: MIT */

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/crash.h"
#include "fuse/base/journal.h"
#include "fuse/intake/line_buffer.h"
#include "fuse/intake/record_route.h"
#include "fuse/base/mount.h"
#include "fuse/intake/spread.h"

/* More is given back when nothing is pending. */
#define PENDING_ROOM_KEPT (512u * 1024)

uint32_t k2i_records_count(const struct k2i_mount *mount, const char *data, size_t bytes)
{
	return mount->settings->binary ? 1 : k2i_lines_count(data, bytes);
}

/* Before a chunk of it is committed, or dropped. */
static void stream_use(struct k2i_route_stream *stream)
{
	struct k2i_route *route = stream->route;
	unsigned at = (unsigned)(stream - route->streams);

	if (route->copies == 1 && route->stream_at != at) {
		K2I_JOURNAL_KEEP(&route->stream_at);
		route->stream_at = at;
	}
	if (stream->used)
		return;
	K2I_JOURNAL_KEEP(stream);
	stream->used = true;
}

int k2i_route_commit(struct k2i_mount *mount, struct k2i_route_stream *stream, const struct k2i_records *records,
		     size_t offset, bool answered)
{
	struct k2hft_chunk chunk = {
		.stream_id = stream->id,
		/* Not sooner than with a claim: while the ring is full, every request that is served tries one. */
		.record_count = k2i_records_count(mount, records->data, records->bytes),
		.time_ns = records->time_ns,
		.writer_pid = records->writer_pid,
		.flags = (records->continued ? K2HFT_CHUNK_CONTINUED : 0u) |
			 (records->continues ? K2HFT_CHUNK_CONTINUES : 0u),
	};

	stream_use(stream);
	return k2i_lane_commit(&mount->lanes, &chunk, offset, records->bytes, answered);
}

struct k2i_route_stream *k2i_route_stream_next(struct k2i_mount *mount, struct k2i_route *route, bool continued)
{
	const struct k2i_mount_lane *chosen;

	if (route->stream_count == route->copies || continued)
		return &route->streams[route->stream_at];
	chosen = k2i_spread_choose(&mount->lanes);
	/* Without one for it, the route is of before the receivers changed. */
	for (unsigned at = 0; at < route->stream_count; at++) {
		if (route->streams[at].lane == chosen)
			return &route->streams[at];
	}
	return &route->streams[route->stream_at];
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

static void stream_miss_newline(struct k2i_mount *mount, struct k2i_route_stream *stream, uint32_t writer_pid)
{
	if (!stream->listed) {
		K2I_JOURNAL_KEEP(&stream->lane->missing_newline_first);
		K2I_JOURNAL_KEEP(&stream->route->listed);
		K2I_JOURNAL_KEEP(mount->routes);
		stream->missing_newline_next = stream->lane->missing_newline_first;
		stream->lane->missing_newline_first = stream;
		stream->listed = true;
		stream->route->listed++;
		mount->routes->listed++;
	}
	stream->missing_newline = true;
	stream->missing_newline_pid = writer_pid;
}

/* The full ring drops records that are pending for the stream. */
static void records_drop(struct k2i_mount *mount, struct k2i_route_stream *stream, const struct k2i_records *records)
{
	uint64_t count = k2i_records_count(mount, records->data, records->bytes);

	stream_use(stream);
	K2I_JOURNAL_KEEP(stream);
	stream->rest_dropped = records->continues;
	if (records->continued && !mount->settings->binary)
		stream_miss_newline(mount, stream, records->writer_pid);
	/* Other records take the place of these. */
	k2i_journal_step();
	k2hft_producer_drop(stream->lane->producer, count);
	k2i_log_limited(&mount->log.full, k2i_clock_now_ns(), K2HFT_LOG_ERROR,
			"mount: the ring is full: %llu records were dropped", (unsigned long long)count);
}

void k2i_route_count_piece(struct k2i_mount *mount, const struct k2i_route *route)
{
	k2i_mount_count(&mount->counts.pieces, 1);
	k2i_log_limited(&mount->log.piece, k2i_clock_now_ns(), K2HFT_LOG_INFO,
			"mount: a record of %s goes in pieces: it is over LINEMAX (%zu bytes), or fsync(2) came in the "
			"middle of it, or HELDMAX made room",
			route->path, mount->line_limits->piece_bytes_max);
}

static int missing_newline_push(struct k2i_mount *mount, struct k2i_route_stream *stream)
{
	struct k2i_records records = {
		.bytes = 1,
		.continued = true,
		.writer_pid = stream->missing_newline_pid,
		.time_ns = stream->route->time_ns,
	};
	void *payload;
	int status = k2i_lane_claim(&mount->lanes, stream->lane, 1, &payload);

	if (status)
		return status;
	records.data = memcpy(payload, "\n", 1);
	K2I_JOURNAL_KEEP(stream);
	stream->missing_newline = false;
	status = k2i_route_commit(mount, stream, &records, 0, false);
	stream->missing_newline = status != 0;
	return status;
}

/* The first of the lane's list leaves it. */
static void listed_take(struct k2i_mount *mount, struct k2i_mount_lane *lane)
{
	struct k2i_route_stream *stream = lane->missing_newline_first;
	struct k2i_route *route = stream->route;

	K2I_JOURNAL_KEEP(&lane->missing_newline_first);
	K2I_JOURNAL_KEEP(stream);
	K2I_JOURNAL_KEEP(&route->listed);
	K2I_JOURNAL_KEEP(mount->routes);
	lane->missing_newline_first = stream->missing_newline_next;
	stream->listed = false;
	mount->routes->listed--;
	if (--route->listed == 0 && route->closed)
		k2i_route_free(mount, route);
	else if (route->closed)
		k2i_route_stream_free(stream);
}

/* -EAGAIN: no room. */
static int lane_terminate(struct k2i_mount *mount, struct k2i_mount_lane *lane)
{
	int status = 0;

	while (lane->missing_newline_first && status == 0) {
		/* A worker can have died between the one and the other. */
		if (lane->missing_newline_first->missing_newline)
			status = missing_newline_push(mount, lane->missing_newline_first);
		if (status == 0)
			listed_take(mount, lane);
	}
	return status;
}

void k2i_routes_terminate(struct k2i_mount *mount)
{
	for (unsigned at = 0; mount->routes->listed && at < mount->lanes.count; at++)
		(void)lane_terminate(mount, &mount->lanes.lane[at]);
}

void k2i_routes_forget(struct k2i_mount *mount)
{
	for (unsigned at = 0; mount->routes->listed && at < mount->lanes.count; at++) {
		while (mount->lanes.lane[at].missing_newline_first)
			listed_take(mount, &mount->lanes.lane[at]);
	}
	k2i_routes_release_streams();
}

/* The next chunk of what is pending; `*cut`: in the midst of a record. */
static struct k2i_records pending_chunk(const struct k2i_mount *mount, const struct k2i_route *route, bool *cut)
{
	const char *data = route->pending + route->pending_from;
	size_t bytes = route->pending_bytes - route->pending_from, most = mount->lanes.chunk_bytes_max;
	struct k2i_records records = {
		.data = data,
		.bytes = bytes < most ? bytes : most,
		.continued = route->pending_continued,
		.writer_pid = route->writer_pid,
		.time_ns = route->time_ns,
	};

	*cut = bytes > most;
	if (!mount->settings->binary)
		records.bytes = k2i_lines_chunk(data, bytes, most, mount->line_limits->piece_bytes_max, cut);
	records.continues = *cut || (records.bytes == bytes && route->pending_continues);
	return records;
}

/* -EAGAIN: its lane has no room. */
static int stream_claim(struct k2i_mount *mount, const struct k2i_route_stream *stream, size_t bytes, void **payload)
{
	int status = lane_terminate(mount, stream->lane);

	return status ? status : k2i_lane_claim(&mount->lanes, stream->lane, bytes, payload);
}

/* The same of any lane that would do, where that of `*stream` has no room: a connected one, if any is. */
static int other_claim(struct k2i_mount *mount, struct k2i_route_stream **stream, size_t bytes, void **payload)
{
	uint64_t connected = k2i_spread_connected(&mount->lanes);
	int status = -EAGAIN;

	for (unsigned at = 0; status == -EAGAIN && at < (*stream)->route->stream_count; at++) {
		struct k2i_route_stream *other = &(*stream)->route->streams[at];

		if (other->lane->state != K2I_LANE_TAKES || (connected && !(connected & k2i_lane_bit(other->lane))))
			continue;
		status = stream_claim(mount, other, bytes, payload);
		if (status)
			continue;
		k2i_spread_chose(&mount->lanes, other->lane);
		*stream = other;
	}
	return status;
}

/*
 * A stream has the chunk, or does not get it: it is the next one's turn, and behind the last the next chunk's. The other
 * copies are as the first, whatever becomes pending meanwhile.
 */
static void pending_pass(struct k2i_mount *mount, struct k2i_route *route, const struct k2i_records *records, bool cut)
{
	K2I_JOURNAL_KEEP(route);
	if (route->copies > 1 && ++route->stream_at < route->copies) {
		route->copied = *records;
		route->copied_cut = cut;
		return;
	}
	if (route->copies > 1)
		route->stream_at = 0;
	route->copied.bytes = 0;
	route->copied_cut = false;
	route->pending_from += records->bytes;
	route->pending_continued = cut;
	if (cut)
		k2i_route_count_piece(mount, route);
}

/*
 * A chunk of the pending bytes into the ring of one lane is a step of its own. Each of several copies is one, and the bytes
 * stay pending until the last is committed: so a successor goes on with the copies that are missing, and with no other.
 */
static int pending_push(struct k2i_mount *mount, struct k2i_route *route)
{
	bool cut = route->copied_cut;
	struct k2i_records records = route->copied.bytes ? route->copied : pending_chunk(mount, route, &cut);
	struct k2i_route_stream *stream = k2i_route_stream_next(mount, route, records.continued);
	const struct k2i_route before = *route;
	void *payload;
	int status;

	/* It can have moved since the first copy. */
	records.data = route->pending + route->pending_from;
	if (records.continued && stream->rest_dropped) {
		K2I_JOURNAL_KEEP(stream);
		stream->rest_dropped = records.continues;
		pending_pass(mount, route, &records, cut);
		return 0;
	}
	status = stream_claim(mount, stream, records.bytes, &payload);
	if (status == -EAGAIN && route->stream_count > route->copies && !records.continued)
		status = other_claim(mount, &stream, records.bytes, &payload);
	if (status == -EAGAIN && mount->settings->full == K2HFT_FULL_DROP) {
		pending_pass(mount, route, &records, cut);
		records_drop(mount, stream, &records);
		return 0;
	}
	if (status)
		return status;
	records.data = memcpy(payload, records.data, records.bytes);
	if (stream->rest_dropped) {
		K2I_JOURNAL_KEEP(stream);
		stream->rest_dropped = false;
	}
	pending_pass(mount, route, &records, cut);
	if (route->copies > 1)
		K2I_CRASH(mount_copy_before);
	status = k2i_route_commit(mount, stream, &records, 0, false);
	if (status)
		*route = before;
	else if (mount->lanes.takers > 1)
		k2i_spread_took(&mount->lanes, stream->lane, records.bytes);
	return status;
}

static void pending_forget(struct k2i_route *route)
{
	K2I_JOURNAL_KEEP(route);
	route->pending_bytes = route->pending_from = 0;
	route->pending_continued = route->pending_continues = false;
	route->copied.bytes = 0;
	if (route->copies > 1)
		route->stream_at = 0;
	if (route->pending_room > PENDING_ROOM_KEPT) {
		k2i_journal_free(route->pending);
		route->pending = NULL;
		route->pending_room = 0;
	}
}

int k2i_route_push(struct k2i_mount *mount, struct k2i_route *route)
{
	for (; route; route = route->next) {
		if (route->pending_bytes && k2i_route_waits(mount, route))
			return -EAGAIN;
		while (route->pending_from < route->pending_bytes) {
			int status = pending_push(mount, route);

			if (status)
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
