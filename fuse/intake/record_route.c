/* SPDX-License-Identifier: MIT */
#include "fuse/intake/record_route.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "app/program/ring_stats.h"
#include "fuse/intake/handles.h"
#include "fuse/base/mount.h"
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
	uint32_t stream_id;
	bool used;
} releases[RELEASES_MAX];
static unsigned release_count;

/* Whether one comes free by itself: of a file that is closed, when its records have been taken and are acknowledged. */
static bool stream_number_comes(const struct k2i_mount *mount)
{
	bool comes = release_count || k2i_ring_stats_get(mount->lane.ring).streams < K2HFT_STREAM_COUNT_MAX;
	const struct k2i_handle *handle;

	for (uint32_t number = 0; !comes && (handle = k2i_handle_next(mount->handles, &number));)
		comes = handle->released;
	return comes && mount->settings->full != K2HFT_FULL_DROP && !mount->ending;
}

static int route_declare(struct k2i_mount *mount, struct k2i_route *route, const char *path)
{
	struct k2hft_stream stream = {
		.path = path,
		.mode = mount->settings->binary ? K2HFT_STREAM_BINARY : K2HFT_STREAM_TEXT,
	};
	int status;

	if (!route->transfer)
		return 0;
	if (strlen(path) > K2HFT_STREAM_PATH_BYTES_MAX)
		return -ENAMETOOLONG;
	status = k2hft_stream_declare(mount->lane.ring, &stream, &route->stream_id);
	if (status == -ENOSPC) /* no number is free */
		return stream_number_comes(mount) ? -EAGAIN : -ENFILE;
	if (status == -EBUSY) /* an attached process is stopped while it declares */
		return -EAGAIN;
	route->declared = status == 0;
	return status;
}

static int route_open_one(struct k2i_mount *mount, const char *path, struct k2i_route **route)
{
	const struct k2i_rule_match *match = k2i_rules_find(mount->rules, path);
	struct k2i_route *opened;
	int status;

	if (!match)
		return -EPERM;
	opened = k2i_journal_alloc(sizeof(*opened));
	if (!opened)
		return -ENOMEM;
	memset(opened, 0, sizeof(*opened));
	opened->match = match;
	opened->passes_all = mount->settings->binary || k2i_rule_passes_all(match);
	opened->transfer = k2i_rule_settings(match)->transfer;
	opened->path = k2i_journal_strdup(path);
	status = opened->path ? 0 : -ENOMEM;
	if (status == 0 && !opened->passes_all)
		status = k2i_rule_scratch_create(match, &opened->scratch);
	if (status == 0)
		status = k2i_outputfile_get(mount, match, path, &opened->output);
	if (status == 0)
		status = route_declare(mount, opened, path);
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
	int status = route_open_one(mount, path, &route->next);

	if (status == 0)
		status = k2i_tree_file(mount, path, &node);
	if (status == 0) {
		route->next->node = node;
		k2i_node_opened(mount->nodes, node);
		k2i_node_keep(k2i_node_at(mount->nodes, node));
		k2i_node_at(mount->nodes, node)->is_copy_target = true;
	}
	return status;
}

int k2i_route_open(struct k2i_mount *mount, const char *path, struct k2i_route **route)
{
	char paths[2][K2I_PATH_BYTES_MAX + 1];
	int status = route_open_one(mount, path, route), length = 0;

	if (status)
		return status;
	for (struct k2i_route *last = *route; status == 0; last = last->next) {
		char *inside = paths[length % 2];

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

void k2i_routes_release_streams(struct k2i_mount *mount)
{
	while (release_count) {
		uint32_t stream_id = releases[--release_count].stream_id;

		/*
		 * A stream that nobody has written to, as of files that are only made or touched, waits for no
		 * acknowledgement.
		 */
		if (releases[release_count].used)
			(void)k2hft_stream_release(mount->lane.ring, stream_id);
		else
			(void)k2hft_stream_withdraw(mount->lane.ring, stream_id);
	}
}

void k2i_route_free(struct k2i_mount *mount, struct k2i_route *route)
{
	if (route->declared) {
		if (release_count == RELEASES_MAX)
			k2i_routes_release_streams(mount);
		releases[release_count].stream_id = route->stream_id;
		releases[release_count++].used = route->used;
	}
	if (route->node != K2I_NODE_NONE)
		k2i_node_closed(mount->nodes, route->node);
	k2i_outputfile_put(route->output);
	k2i_rule_scratch_free(route->scratch);
	k2i_journal_free(route->pending);
	k2i_journal_free(route->path);
	k2i_journal_free(route);
}

void k2i_route_close(struct k2i_mount *mount, struct k2i_route *route)
{
	while (route) {
		struct k2i_route *next = route->next;

		if (route->missing_newline) {
			K2I_JOURNAL_KEEP(route);
			route->closed = true;
			route->next = NULL;
		} else {
			k2i_route_free(mount, route);
		}
		route = next;
	}
}

int k2i_route_inherit(struct k2i_mount *mount, struct k2i_route *route)
{
	int status = 0;

	for (; route && status == 0; route = route->next) {
		route->scratch = NULL;
		route->output = NULL;
		if (!route->passes_all)
			status = k2i_rule_scratch_create(route->match, &route->scratch);
		route->output_missing =
			status == 0 && k2i_outputfile_get(mount, route->match, route->path, &route->output);
		if (route->output_missing)
			k2i_log(K2HFT_LOG_WARNING, "mount: %s: its OUTPUTFILE can't be opened again", route->path);
		/* The ring has forgotten who declared streams, but not their numbers. */
		if (status == 0 && route->declared && mount->lane.streams_forgotten)
			status = route_declare(mount, route, route->path);
	}
	return status;
}

int k2i_routes_inherit(struct k2i_mount *mount)
{
	struct k2i_route *route = mount->routes->missing_newline_first;
	int status = 0;

	for (; status == 0 && route; route = route->missing_newline_next) {
		if (route->closed)
			status = k2i_route_inherit(mount, route);
	}
	return status;
}
