/* SPDX-License-Identifier: MIT */
#include "fuse/intake/record_route.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "app/program/ring_stats.h"
#include "base/prefix.h"
#include "fuse/intake/handles.h"
#include "fuse/base/mount.h"
#include "fuse/intake/spread.h"
#include "fuse/copy/outputfile.h"
#include "fuse/base/journal.h"
#include "fuse/tree/tree.h"
#include "fuse/tree/nodes.h"

/* Files that hand their records on; more is taken for a circle. */
#define CHAIN_LENGTH_MAX 16
/* More in one step are released before it is done. */
#define RELEASES_MAX 64u

/* Streams to be released when the step is done. */
static struct {
	const struct k2i_mount_lane *lane;
	uint32_t id;
	bool used;
} releases[RELEASES_MAX];
static unsigned release_count;

/* Whether one comes free by itself: of a file that is closed, when its records have been taken and are acknowledged. */
static bool stream_number_comes(const struct k2i_mount *mount, const struct k2i_mount_lane *lane)
{
	bool comes = release_count || k2i_ring_stats_get(lane->ring).streams < K2HFT_STREAM_COUNT_MAX;
	const struct k2i_handle *handle;

	for (uint32_t number = 0; !comes && (handle = k2i_handle_next(mount->handles, &number));)
		comes = handle->released;
	return comes && mount->settings->full != K2HFT_FULL_DROP && !mount->ending;
}

static int stream_declare(struct k2i_mount *mount, struct k2i_route_stream *stream)
{
	const struct k2hft_stream declared = {
		.path = stream->route->path,
		.mode = mount->settings->binary ? K2HFT_STREAM_BINARY : K2HFT_STREAM_TEXT,
	};
	int status = k2hft_stream_declare(stream->lane->ring, &declared, &stream->id);

	if (status == -ENOSPC) /* no number is free */
		return stream_number_comes(mount, stream->lane) ? -EAGAIN : -ENFILE;
	if (status == -EBUSY) /* an attached process is stopped while it declares */
		return -EAGAIN;
	stream->declared = status == 0;
	return status;
}

static int route_declare(struct k2i_mount *mount, struct k2i_route *route)
{
	int status = 0;

	if (route->stream_count && strlen(route->path) > K2HFT_STREAM_PATH_BYTES_MAX)
		return -ENAMETOOLONG;
	for (unsigned at = 0; status == 0 && at < route->stream_count; at++)
		status = stream_declare(mount, &route->streams[at]);
	return status;
}

/* The records of a file; behind it, those for a plug-in; and what a plug-in with PLUGINTRANS writes. */
enum route_kind { ROUTE_FILE, ROUTE_PLUGIN, ROUTE_WRITTEN };

/* Whether it is that of the PLUGIN of a rule, of which there is one. */
static bool lane_reads(const struct k2i_mount_lane *lane, const struct k2i_rule *rule)
{
	return lane->plugin && lane->state == K2I_LANE_TAKES && lane->plugin->rule.directory == rule->directory &&
	       strcmp(lane->plugin->rule.target, rule->target) == 0;
}

/* The lanes of its streams; how many. */
static unsigned route_lanes(const struct k2i_mount *mount, const struct k2i_rule *rule, enum route_kind kind,
			    const char *path, uint32_t lanes[K2I_LANE_COUNT_MAX], unsigned *copies)
{
	const struct k2i_settings *settings = mount->settings;

	if (kind == ROUTE_PLUGIN) {
		lanes[0] = 0;
		while (!lane_reads(&mount->lanes.lane[lanes[0]], rule))
			lanes[0]++;
		return *copies = 1;
	}
	if (k2i_prefix_any((const char *const *)settings->except, settings->except_count, path))
		return 0;
	return kind == ROUTE_WRITTEN || (rule->transfer && !rule->plugin_transfers)
		       ? k2i_spread_lanes(mount, path, lanes, copies)
		       : 0;
}

/* Without a rule for it: -EPERM. Its streams are behind it. */
static int route_make(struct k2i_mount *mount, const char *path, enum route_kind kind, struct k2i_route **route)
{
	const struct k2i_rule_match *match = k2i_rules_find(mount->rules, path);
	uint32_t lanes[K2I_LANE_COUNT_MAX];
	unsigned copies = 0, count;
	struct k2i_route *made;

	if (!match && kind != ROUTE_WRITTEN)
		return -EPERM;
	count = route_lanes(mount, match ? k2i_rule_settings(match) : NULL, kind, path, lanes, &copies);
	made = k2i_journal_alloc(sizeof(*made) + count * sizeof(made->streams[0]));
	if (!made)
		return -ENOMEM;
	*made = (struct k2i_route){
		.match = match,
		.judged = kind != ROUTE_FILE,
		.passes_all = kind != ROUTE_FILE || mount->settings->binary || k2i_rule_passes_all(match),
		.transfer = count > 0,
		.streams = (struct k2i_route_stream *)(void *)(made + 1),
		.stream_count = count,
		.copies = copies,
	};
	for (unsigned at = 0; at < count; at++)
		made->streams[at] = (struct k2i_route_stream){.route = made, .lane = &mount->lanes.lane[lanes[at]]};
	*route = made;
	return 0;
}

static int route_open_output(struct k2i_mount *mount, struct k2i_route *route)
{
	/* A plug-in writes it. */
	if (k2i_rule_settings(route->match)->plugin)
		return 0;
	return k2i_outputfile_get(mount, route->match, route->path, &route->output);
}

static int route_open_one(struct k2i_mount *mount, const char *path, enum route_kind kind, struct k2i_route **route)
{
	struct k2i_route *opened;
	int status = route_make(mount, path, kind, &opened);

	if (status)
		return status;
	opened->path = k2i_journal_strdup(path);
	status = opened->path ? 0 : -ENOMEM;
	if (status == 0 && !opened->passes_all)
		status = k2i_rule_scratch_create(opened->match, &opened->scratch);
	if (status == 0 && kind == ROUTE_FILE)
		status = route_open_output(mount, opened);
	if (status == 0)
		status = route_declare(mount, opened);
	if (status) {
		k2i_route_close(mount, opened);
		return status;
	}
	*route = opened;
	return 0;
}

static int route_open_next(struct k2i_mount *mount, struct k2i_route *route, const char *path)
{
	uint32_t node;
	int status = route_open_one(mount, path, ROUTE_FILE, &route->next);

	if (status == 0)
		status = k2i_tree_file(mount, path, &node);
	if (status == 0) {
		route->next->node = node;
		k2i_node_opened(mount->nodes, node);
		k2i_node_goes_to(mount->nodes, node, k2i_route_lanes(route->next));
		k2i_node_keep(k2i_node_at(mount->nodes, node));
		k2i_node_at(mount->nodes, node)->is_copy_target = true;
	}
	return status;
}

int k2i_route_open(struct k2i_mount *mount, const char *path, struct k2i_route **route)
{
	char paths[2][K2I_PATH_BYTES_MAX + 1];
	int status = route_open_one(mount, path, ROUTE_FILE, route), length = 0;

	if (status)
		return status;
	for (struct k2i_route *last = *route; status == 0; last = last->next) {
		char *inside = paths[length % 2];

		if (k2i_rule_settings(last->match)->plugin) {
			status = route_open_one(mount, path, ROUTE_PLUGIN, &last->next);
			break;
		}
		status = k2i_outputfile_inside(mount, last->match, path, inside, sizeof(paths[0]));
		if (status <= 0)
			break;
		status = ++length > CHAIN_LENGTH_MAX ? -ELOOP : route_open_next(mount, last, inside);
		path = inside;
	}
	if (status) {
		k2i_route_close(mount, *route);
		*route = NULL;
	}
	return status;
}

int k2i_route_open_written(struct k2i_mount *mount, const char *path, struct k2i_route **route)
{
	return route_open_one(mount, path, ROUTE_WRITTEN, route);
}

uint64_t k2i_route_lanes(const struct k2i_route *route)
{
	uint64_t lanes = 0;

	for (; route; route = route->next) {
		for (unsigned at = 0; at < route->stream_count; at++)
			lanes |= k2i_lane_bit(route->streams[at].lane);
	}
	return lanes;
}

/* Where lines of a stream can be at any receiver, and where they are at all, no change moves it; RINGFULL = drop waits never. */
static bool streams_move(const struct k2i_mount *mount)
{
	return mount->lanes.changed && mount->lanes.spread == K2HFT_SPREAD_HASH &&
	       mount->settings->full != K2HFT_FULL_DROP;
}

uint64_t k2i_route_follow(struct k2i_mount *mount, struct k2i_route *route, uint32_t node)
{
	uint64_t all = 0;

	for (; route && streams_move(mount); route = route->next) {
		const struct k2i_route alone = {.streams = route->streams, .stream_count = route->stream_count};

		node = route->node == K2I_NODE_NONE ? node : route->node;
		K2I_JOURNAL_KEEP(&route->behind);
		route->behind = 0;
		if (route->stream_count && !route->judged)
			route->behind =
				k2i_lanes_behind(&mount->lanes, (k2i_node_at(mount->nodes, node)->lanes |
								 k2i_spread_former(&mount->lanes, route->path)) &
									~k2i_route_lanes(&alone));
		all |= route->behind;
	}
	return all;
}

bool k2i_route_waits(struct k2i_mount *mount, struct k2i_route *route)
{
	if (!route->behind || mount->settings->full == K2HFT_FULL_DROP)
		return false;
	K2I_JOURNAL_KEEP(&route->behind);
	route->behind = k2i_lanes_behind(&mount->lanes, route->behind);
	return route->behind != 0;
}

void k2i_routes_release_streams(void)
{
	while (release_count) {
		struct k2hft_ring *ring = releases[--release_count].lane->ring;

		/*
		 * A stream that nobody has written to, as of files that are only made or touched, waits for no
		 * acknowledgement.
		 */
		if (releases[release_count].used)
			(void)k2hft_stream_release(ring, releases[release_count].id);
		else
			(void)k2hft_stream_withdraw(ring, releases[release_count].id);
	}
}

void k2i_route_stream_free(struct k2i_route_stream *stream)
{
	if (!stream->declared)
		return;
	if (release_count == RELEASES_MAX)
		k2i_routes_release_streams();
	releases[release_count].lane = stream->lane;
	releases[release_count].id = stream->id;
	releases[release_count++].used = stream->used;
	K2I_JOURNAL_KEEP(stream);
	stream->declared = false;
}

void k2i_route_free(struct k2i_mount *mount, struct k2i_route *route)
{
	for (unsigned at = 0; at < route->stream_count; at++)
		k2i_route_stream_free(&route->streams[at]);
	if (route->node != K2I_NODE_NONE)
		k2i_node_closed(mount->nodes, route->node);
	k2i_outputfile_put(route->output);
	k2i_rule_scratch_free(route->scratch);
	k2i_journal_free(route->pending);
	k2i_journal_free(route->path);
	k2i_journal_free(route);
}

static void route_close_but_listed(struct k2i_route *route)
{
	K2I_JOURNAL_KEEP(route);
	route->closed = true;
	route->next = NULL;
	for (unsigned at = 0; at < route->stream_count; at++) {
		if (!route->streams[at].listed)
			k2i_route_stream_free(&route->streams[at]);
	}
}

void k2i_route_close(struct k2i_mount *mount, struct k2i_route *route)
{
	while (route) {
		struct k2i_route *next = route->next;

		if (route->listed)
			route_close_but_listed(route);
		else
			k2i_route_free(mount, route);
		route = next;
	}
}

/* A ring has forgotten who declared streams, but not their numbers. */
static int stream_inherit(struct k2i_mount *mount, struct k2i_route_stream *stream)
{
	return stream->declared && stream->lane->streams_forgotten ? stream_declare(mount, stream) : 0;
}

int k2i_route_inherit(struct k2i_mount *mount, struct k2i_route *route)
{
	int status = 0;

	for (; route && status == 0; route = route->next) {
		route->scratch = NULL;
		route->output = NULL;
		/* Its rules are not those of the process that died. */
		route->match = k2i_rules_find(mount->rules, route->path);
		route->passes_all =
			route->judged || mount->settings->binary || !route->match || k2i_rule_passes_all(route->match);
		if (!route->passes_all)
			status = k2i_rule_scratch_create(route->match, &route->scratch);
		route->output_missing =
			status == 0 && !route->judged && route->match && route_open_output(mount, route);
		if (route->output_missing)
			k2i_log(K2HFT_LOG_WARNING, "mount: %s: its OUTPUTFILE can't be opened again", route->path);
		for (unsigned at = 0; status == 0 && at < route->stream_count; at++)
			status = stream_inherit(mount, &route->streams[at]);
	}
	return status;
}

int k2i_routes_inherit(struct k2i_mount *mount)
{
	struct k2i_route_stream *stream;
	int status = 0;

	for (unsigned at = 0; at < mount->lanes.count; at++) {
		stream = k2i_lane_used(&mount->lanes.lane[at]) ? mount->lanes.lane[at].missing_newline_first : NULL;
		for (; status == 0 && stream; stream = stream->missing_newline_next) {
			if (!stream->route->closed)
				continue;
			stream->route->scratch = NULL;
			stream->route->output = NULL;
			status = stream_inherit(mount, stream);
		}
	}
	return status;
}
