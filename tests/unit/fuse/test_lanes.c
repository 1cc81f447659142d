/* SPDX-License-Identifier: MIT */
/* Several lanes: which of them has a chunk, what waits for which, and what a full one costs the others. */
#include "unit.h"
#include "mounted_help.h"

#include <errno.h>

#include <k2hft/sender.h>

#include "fuse/intake/advance.h"
#include "uncached_help.h"

#define LANES 3u

static const char *const homes[LANES] = {"a:1", "b:1", "c:1"};

/* A file of a mount with three lanes; it has a name of its own for each. */
static struct k2i_handle *file_of(struct mounted *mounted, const char *path)
{
	const struct k2i_node_owner owner = {.mode = S_IFREG | 0644};
	struct k2i_handle *handle;
	struct k2i_route *route;
	uint32_t node;

	assert_int_equal(k2i_node_make(mounted->mount.nodes, K2I_NODE_ROOT, path, &owner, &node), 0);
	assert_int_equal(k2i_route_open(&mounted->mount, path, &route), 0);
	route->passes_all = true;
	assert_int_equal(k2i_handle_open(&mounted->mount, node, path, route, NULL, &handle), 0);
	return handle;
}

static struct k2i_rule all_rule = {.target = (char[]){""}, .directory = true, .transfer = true, .place.file = "f"};

static void lanes_make(struct mounted *mounted, uint32_t spread, uint32_t copies)
{
	struct k2i_mount_lanes *lanes = &mounted->mount.lanes;
	char message[256];

	k2i_rules_free(mounted->mount.rules);
	mounted->settings.rules = &all_rule;
	assert_int_equal(k2i_rules_compile(&mounted->settings, &mounted->mount.rules, message, sizeof(message)), 0);
	lanes->spread = spread;
	lanes->copies = copies;
	lanes->random = 1;
	for (unsigned at = 0; at < LANES; at++) {
		lanes->homes[at] = homes[at];
		lanes->taker[at] = at;
		lanes->lane[at].index = at;
		if (at == 0)
			continue;
		lanes->lane[at].ring = memory_ring();
		lanes->lane[at].producer = producer_of(lanes->lane[at].ring);
	}
	lanes->count = lanes->takers = LANES;
}

static void lanes_end(struct mounted *mounted)
{
	k2i_handles_free(&mounted->mount);
	for (unsigned at = 1; at < LANES; at++) {
		k2hft_producer_close(mounted->mount.lanes.lane[at].producer);
		k2hft_ring_close(mounted->mount.lanes.lane[at].ring);
	}
	mounted->mount.lanes.count = mounted->mount.lanes.takers = 1;
}

static void fill(const struct k2i_route_stream *stream)
{
	while (push(stream->lane->producer, stream->id, "\n") == 0)
		continue;
}

/* The chunks that the lane has had since it was looked into, but for single line ends, which are those of `fill`. */
static void assert_had(const struct k2i_mount_lane *lane, const char *wanted)
{
	struct k2hft_chunk_view view;
	struct k2hft_span span;
	char found[256] = "";
	size_t offset = 0, at = 0;

	if (k2hft_ring_read(lane->ring, SIZE_MAX, 0, &span, NULL) > 0) {
		while (k2hft_chunk_next(span.data, span.bytes, span.position, &offset, &view) == 1) {
			if (view.payload_bytes > 1)
				at += (size_t)snprintf(found + at, sizeof(found) - at, "[%.*s]",
						       (int)view.payload_bytes, (const char *)view.payload);
		}
		assert_int_equal(k2hft_ring_release(lane->ring, span.position + span.bytes), 0);
	}
	assert_string_equal(found, wanted);
}

static void write_to(struct mounted *mounted, struct k2i_handle *handle, uint64_t unique, const char *text)
{
	mounted->handle = handle;
	request(mounted, unique, text);
}

MOUNTED_TEST(a_path_has_its_lanes)
{
	static const struct {
		uint32_t spread, copies;
		unsigned streams, each;
	} cases[] = {
		{K2HFT_SPREAD_HASH, 1, 1, 1},
		{K2HFT_SPREAD_HASH, 2, 2, 2},
		{K2HFT_SPREAD_RANDOM, 1, LANES, 1},
		{K2HFT_SPREAD_ALL, 1, LANES, LANES},
	};

	for (size_t at = 0; at < sizeof(cases) / sizeof(cases[0]); at++) {
		struct k2i_handle *handle;

		lanes_make(mounted, cases[at].spread, cases[at].copies);
		handle = file_of(mounted, "x");
		assert_int_equal(handle->route->stream_count, cases[at].streams);
		assert_int_equal(handle->route->copies, cases[at].each);
		assert_int_equal(handle->queue->lanes, k2i_route_lanes(handle->route));
		lanes_end(mounted);
		mounted_anew(mounted);
	}
}

/* Each copy is a step; while one has no room the writer waits, and the others do not get it twice. */
MOUNTED_TEST(copies_wait_for_the_last)
{
	struct k2i_route_stream *streams;
	struct k2i_handle *handle;

	lanes_make(mounted, K2HFT_SPREAD_ALL, 1);
	handle = file_of(mounted, "x");
	streams = handle->route->streams;
	fill(&streams[1]);
	write_to(mounted, handle, 1, "one\n");
	k2i_queue_run(&mounted->mount);
	assert_int_equal(recv(mounted->device, (char[64]){0}, 64, MSG_DONTWAIT), -1);
	assert_had(streams[0].lane, "[one\n]");
	assert_had(streams[2].lane, "");
	assert_had(streams[1].lane, "");
	k2i_queue_run(&mounted->mount);
	assert_int_equal(answer_of(mounted, 1), 4);
	assert_had(streams[0].lane, "");
	assert_had(streams[1].lane, "[one\n]");
	assert_had(streams[2].lane, "[one\n]");
	lanes_end(mounted);
}

/* More becomes pending while a chunk is out to some of its lanes only. */
MOUNTED_TEST(a_copy_is_as_the_first)
{
	const struct k2i_records one = {.data = "one\n", .bytes = 4}, two = {.data = "two\n", .bytes = 4};
	struct k2i_route *route;

	lanes_make(mounted, K2HFT_SPREAD_ALL, 1);
	route = file_of(mounted, "x")->route;
	fill(&route->streams[1]);
	assert_int_equal(k2i_route_add_pending(route, &one), 0);
	assert_int_equal(k2i_route_push(&mounted->mount, route), -EAGAIN);
	assert_int_equal(k2i_route_add_pending(route, &two), 0);
	assert_had(route->streams[1].lane, "");
	assert_int_equal(k2i_route_push(&mounted->mount, route), 0);
	for (unsigned at = 0; at < LANES; at++)
		assert_had(route->streams[at].lane, "[one\n][two\n]");
	lanes_end(mounted);
}

/* RINGFULL = drop: it is dropped for the full lane, and counted there. */
MOUNTED_TEST(a_full_lane_drops_its_own)
{
	struct k2i_route_stream *streams;
	struct k2i_handle *handle;

	lanes_make(mounted, K2HFT_SPREAD_ALL, 1);
	mounted->settings.full = K2HFT_FULL_DROP;
	handle = file_of(mounted, "x");
	streams = handle->route->streams;
	fill(&streams[1]);
	write_to(mounted, handle, 1, "one\ntwo\n");
	assert_int_equal(answer_of(mounted, 1), 8);
	assert_had(streams[0].lane, "[one\ntwo\n]");
	assert_had(streams[1].lane, "");
	assert_had(streams[2].lane, "[one\ntwo\n]");
	for (unsigned at = 0; at < LANES; at++)
		assert_int_equal(stats_of(streams[at].lane->ring).dropped_records, at == 1 ? 2 : 0);
	lanes_end(mounted);
}

/* A record in pieces whose rest a full lane drops ends there, and is whole elsewhere. */
MOUNTED_TEST(a_dropped_rest_is_one_lanes)
{
	struct k2i_route_stream *streams;
	struct k2i_handle *handle;

	lanes_make(mounted, K2HFT_SPREAD_ALL, 1);
	mounted->settings.full = K2HFT_FULL_DROP;
	mounted->mount.line_limits->piece_bytes_max = 4;
	handle = file_of(mounted, "x");
	streams = handle->route->streams;
	write_to(mounted, handle, 1, "aaaabb");
	assert_int_equal(answer_of(mounted, 1), 6);
	fill(&streams[1]);
	write_to(mounted, handle, 2, "bbcc");
	assert_int_equal(answer_of(mounted, 2), 4);
	assert_had(streams[0].lane, "[aaaa][bbbb]");
	assert_had(streams[1].lane, "[aaaa]");
	write_to(mounted, handle, 3, "c\nnew\n");
	assert_int_equal(answer_of(mounted, 3), 6);
	assert_had(streams[0].lane, "[ccc\n][new\n]");
	assert_had(streams[1].lane, "[new\n]");
	assert_had(streams[2].lane, "[aaaa][bbbb][ccc\n][new\n]");
	assert_int_equal(mounted->mount.routes->listed, 0);
	lanes_end(mounted);
}

/* Any lane would do, but for the rest of a record: that stays where its begin is. */
MOUNTED_TEST(random_goes_where_there_is_room)
{
	struct k2i_mount_lane *lane;
	struct k2i_handle *handle;

	lanes_make(mounted, K2HFT_SPREAD_RANDOM, 1);
	mounted->mount.line_limits->piece_bytes_max = 4;
	handle = file_of(mounted, "x");
	write_to(mounted, handle, 1, "aaaabb");
	assert_int_equal(answer_of(mounted, 1), 6);
	lane = handle->route->streams[handle->route->stream_at].lane;
	assert_had(lane, "[aaaa]");
	fill(&handle->route->streams[lane->index]);
	write_to(mounted, handle, 2, "b\n");
	assert_int_equal(recv(mounted->device, (char[64]){0}, 64, MSG_DONTWAIT), -1);
	assert_had(lane, "");
	k2i_queue_run(&mounted->mount);
	assert_int_equal(answer_of(mounted, 2), 2);
	assert_had(lane, "[bbb\n]");
	fill(&handle->route->streams[lane->index]);
	write_to(mounted, handle, 3, "c\n");
	assert_int_equal(answer_of(mounted, 3), 2);
	assert_had(lane, "");
	assert_had(handle->route->streams[handle->route->stream_at].lane, "[c\n]");
	lanes_end(mounted);
}

/* Only those wait that need the full lane, and so does fsync(2). */
MOUNTED_TEST(a_full_lane_holds_its_own)
{
	struct k2i_handle *full, *other;
	char path[] = "a";

	lanes_make(mounted, K2HFT_SPREAD_HASH, 1);
	full = file_of(mounted, "x");
	do
		other = file_of(mounted, (path[0]++, path));
	while (other->queue == full->queue);
	fill(full->route->streams);
	write_to(mounted, full, 1, "waits\n");
	write_to(mounted, other, 2, "goes on\n");
	assert_int_equal(answer_of(mounted, 2), 8);
	assert_had(other->route->streams->lane, "[goes on\n]");
	k2i_request_sync(&mounted->mount, 3, other->number);
	assert_int_equal(answer_of(mounted, 3), 0);
	k2i_request_sync(&mounted->mount, 4, full->number);
	assert_int_equal(recv(mounted->device, (char[64]){0}, 64, MSG_DONTWAIT), -1);
	assert_had(full->route->streams->lane, "");
	k2i_queue_run(&mounted->mount);
	assert_int_equal(answer_of(mounted, 1), 6);
	assert_had(full->route->streams->lane, "[waits\n]");
	k2i_queue_run(&mounted->mount);
	assert_int_equal(answer_of(mounted, 4), 0);
	assert_true(k2i_queue_is_empty(&mounted->mount));
	lanes_end(mounted);
}
