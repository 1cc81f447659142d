/* SPDX-License-Identifier: MIT */
#include "fuse/intake/handles.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fuse/base/mount.h"
#include "fuse/intake/record_route.h"
#include "fuse/copy/outputfile.h"
#include "fuse/base/journal.h"
#include "fuse/tree/nodes.h"
#include "fuse/intake/line_buffer.h"
#include "fuse/intake/queue.h"

#define HANDLE_COUNT_MAX (1u << 20)

static int room_make(struct k2i_handle_table *table)
{
	uint32_t room = table->room ? table->room * 2 : 64;
	struct k2i_handle **entries;

	if (room > HANDLE_COUNT_MAX)
		return -ENFILE;
	entries = k2i_journal_alloc(room * sizeof(*entries));
	if (!entries)
		return -ENOMEM;
	if (table->room)
		memcpy(entries, table->entries, table->room * sizeof(*entries));
	memset(entries + table->room, 0, (room - table->room) * sizeof(*entries));
	K2I_JOURNAL_KEEP(table);
	k2i_journal_free(table->entries);
	table->entries = entries;
	table->free_first = table->room;
	table->room = room;
	return 0;
}

/* Not that of streams which need not wait for other lanes, where this one's does: they would wait behind it. */
static struct k2i_queue *queue_find(struct k2i_mount *mount, struct k2i_handle *handle)
{
	uint64_t behind = k2i_route_follow(mount, handle->route, handle->node);

	handle->waits = behind != 0;
	return k2i_queue_of(mount, k2i_route_lanes(handle->route) | behind);
}

int k2i_handle_open(struct k2i_mount *mount, uint32_t node, const char *path, struct k2i_route *route,
		    struct k2i_outputfile *output, struct k2i_handle **handle)
{
	struct k2i_handle_table *table = mount->handles;
	struct k2i_handle *opened;
	uint32_t number = table->free_first;
	int status;

	while (number < table->room && table->entries[number])
		number++;
	if (number >= table->room) {
		status = room_make(table);
		if (status)
			return status;
		number = table->free_first;
	}
	opened = k2i_journal_alloc(sizeof(*opened));
	if (!opened)
		return -ENOMEM;
	*opened = (struct k2i_handle){.number = number, .node = node, .route = route, .output = output};
	opened->path = k2i_journal_strdup(path);
	if (route)
		opened->queue = queue_find(mount, opened);
	if (!opened->path || (route && !opened->queue)) {
		k2i_journal_free(opened->path);
		k2i_journal_free(opened);
		return -ENOMEM;
	}
	K2I_JOURNAL_KEEP(table);
	K2I_JOURNAL_KEEP(&table->entries[number]);
	table->entries[number] = opened;
	table->free_first = number + 1;
	table->open_count++;
	k2i_node_opened(mount->nodes, node);
	if (route) {
		k2i_node_writers(mount->nodes, node, 1);
		k2i_node_goes_to(mount->nodes, node, opened->queue->lanes);
	}
	*handle = opened;
	return 0;
}

struct k2i_handle *k2i_handle_at(const struct k2i_mount *mount, uint64_t number)
{
	return number < mount->handles->room ? mount->handles->entries[number] : NULL;
}

void k2i_handle_grow(struct k2i_mount *mount, const struct k2i_handle *handle, uint64_t end)
{
	k2i_node_grow(k2i_node_at(mount->nodes, handle->node), end);
}

bool k2i_handle_holds(const struct k2i_handle *handle)
{
	return handle->line.held_bytes || (handle->queued && handle->unended);
}

bool k2i_handle_in_record(const struct k2i_handle *handle)
{
	return handle->line.continued || handle->line.skipping || k2i_handle_holds(handle);
}

void k2i_handle_count_held(struct k2i_mount *mount, struct k2i_handle *handle)
{
	k2i_line_buffer_trim(&handle->line, K2I_LINE_ROOM_KEPT);
	if (handle->line.held_room == handle->held_counted)
		return;
	K2I_JOURNAL_KEEP(mount->handles);
	K2I_JOURNAL_KEEP(&handle->held_counted);
	mount->handles->held_bytes += handle->line.held_room;
	mount->handles->held_bytes -= handle->held_counted;
	handle->held_counted = handle->line.held_room;
}

int k2i_handle_lost(struct k2i_handle *handle)
{
	int status = handle->lost;

	K2I_JOURNAL_KEEP(&handle->lost);
	handle->lost = 0;
	return status;
}

void k2i_handle_flushed(struct k2i_mount *mount, struct k2i_handle *handle)
{
	if (handle->flushed || !k2i_handle_in_record(handle))
		return;
	K2I_JOURNAL_KEEP(mount->handles);
	K2I_JOURNAL_KEEP(handle);
	handle->flushed = true;
	handle->flushed_next = mount->handles->flushed_first;
	mount->handles->flushed_first = handle;
}

void k2i_handle_not_flushed(struct k2i_mount *mount, struct k2i_handle *handle)
{
	struct k2i_handle **place = &mount->handles->flushed_first;

	if (!handle->flushed)
		return;
	while (*place != handle)
		place = &(*place)->flushed_next;
	K2I_JOURNAL_KEEP(place);
	K2I_JOURNAL_KEEP(handle);
	*place = handle->flushed_next;
	handle->flushed = false;
}

static void handle_free(struct k2i_mount *mount, struct k2i_handle *handle)
{
	struct k2i_handle_table *table = mount->handles;

	k2i_handle_not_flushed(mount, handle);
	K2I_JOURNAL_KEEP(table);
	K2I_JOURNAL_KEEP(&table->entries[handle->number]);
	table->entries[handle->number] = NULL;
	if (handle->number < table->free_first)
		table->free_first = handle->number;
	table->open_count--;
	table->held_bytes -= handle->held_counted;
	if (handle->route && !handle->stream)
		k2i_node_writers(mount->nodes, handle->node, -1);
	k2i_node_closed(mount->nodes, handle->node);
	k2i_route_close(mount, handle->route);
	if (handle->next_route) {
		table->next_route_count--;
		k2i_route_close(mount, handle->next_route);
	}
	k2i_outputfile_put(handle->output);
	k2i_line_buffer_free(&handle->line);
	k2i_journal_free(handle->path);
	k2i_journal_free(handle);
}

void k2i_handle_free_if_done(struct k2i_mount *mount, struct k2i_handle *handle)
{
	if (handle->released && handle->queued == 0)
		handle_free(mount, handle);
}

static bool handle_is_between(const struct k2i_handle *handle)
{
	const struct k2i_route *route = handle->route;

	while (route && k2i_route_pending(route) == 0)
		route = route->next;
	return !route && handle->queued == 0 && !handle->line.continued && !handle->line.skipping;
}

/* Chunks of the former route, in lanes that the stream leaves, are in front of all that comes now. */
static void lanes_leave(struct k2i_mount *mount, const struct k2i_handle *handle)
{
	uint64_t left = k2i_route_lanes(handle->route) & ~k2i_route_lanes(handle->next_route);

	for (unsigned at = 0; left && mount->lanes.spread == K2HFT_SPREAD_HASH && at < mount->lanes.count; at++) {
		if (left & k2i_lane_bit(&mount->lanes.lane[at]) && !mount->lanes.lane[at].plugin)
			k2i_lane_changed(&mount->lanes, &mount->lanes.lane[at]);
	}
}

static bool route_waits(struct k2i_mount *mount, struct k2i_route *route)
{
	while (route && !k2i_route_waits(mount, route))
		route = route->next;
	return route != NULL;
}

static void handle_move(struct k2i_mount *mount, struct k2i_handle *handle)
{
	struct k2i_queue *queue;

	K2I_JOURNAL_KEEP(handle);
	K2I_JOURNAL_KEEP(mount->handles);
	lanes_leave(mount, handle);
	k2i_route_close(mount, handle->route);
	handle->route = handle->next_route;
	handle->next_route = NULL;
	mount->handles->next_route_count--;
	queue = queue_find(mount, handle);
	handle->queue = queue ? queue : handle->next_queue;
	k2i_node_goes_to(mount->nodes, handle->node, handle->queue->lanes);
}

void k2i_handle_go_on(struct k2i_mount *mount, struct k2i_handle *handle)
{
	if (handle->next_route && handle_is_between(handle))
		handle_move(mount, handle);
	if (handle->waits && handle->queued == 0 && !route_waits(mount, handle->route)) {
		struct k2i_queue *queue = k2i_queue_of(mount, k2i_route_lanes(handle->route));

		K2I_JOURNAL_KEEP(handle);
		handle->queue = queue ? queue : handle->queue;
		handle->waits = false;
	}
}

bool k2i_handles_use(const struct k2i_mount *mount, uint64_t lanes)
{
	const struct k2i_handle *handle;

	for (uint32_t number = 0; (handle = k2i_handle_next(mount->handles, &number));) {
		if ((k2i_route_lanes(handle->route) | k2i_route_lanes(handle->next_route)) & lanes)
			return true;
	}
	return false;
}

void k2i_handles_go_on(struct k2i_mount *mount)
{
	struct k2i_handle *handle;

	for (uint32_t number = 0;
	     mount->handles->next_route_count && (handle = k2i_handle_next(mount->handles, &number));)
		k2i_handle_go_on(mount, handle);
}

struct prepared {
	struct k2i_handle *handle;
	struct k2i_route *route;
	struct k2i_queue *queue;
};

static int handle_prepare(struct k2i_mount *mount, struct prepared *prepared)
{
	const struct k2i_handle *handle = prepared->handle;
	int status = handle->written ? k2i_route_open_written(mount, handle->path, &prepared->route)
				     : k2i_route_open(mount, handle->path, &prepared->route);

	if (status)
		return status;
	prepared->queue = k2i_queue_of(mount, k2i_route_lanes(prepared->route));
	return prepared->queue ? 0 : -ENOMEM;
}

static void handle_change(struct k2i_mount *mount, const struct prepared *prepared)
{
	struct k2i_handle *handle = prepared->handle;

	K2I_JOURNAL_KEEP(handle);
	K2I_JOURNAL_KEEP(mount->handles);
	/* The places of OUTPUTFILE are those of other rules now. */
	for (struct k2i_route *route = handle->route; route; route = route->next) {
		K2I_JOURNAL_KEEP(&route->output_missing);
		route->output_missing = false;
	}
	if (handle->next_route)
		k2i_route_close(mount, handle->next_route);
	else
		mount->handles->next_route_count++;
	handle->next_route = prepared->route;
	handle->next_queue = prepared->queue;
	k2i_handle_go_on(mount, handle);
}

int k2i_handles_change_rules(struct k2i_mount *mount, const struct k2i_handle **failed)
{
	struct prepared *all = calloc(mount->handles->room + 1, sizeof(*all));
	struct k2i_handle *handle;
	size_t count = 0;
	int status = all ? 0 : -ENOMEM;

	for (uint32_t number = 0; status == 0 && (handle = k2i_handle_next(mount->handles, &number));) {
		if (!handle->route || handle->released)
			continue;
		*failed = all[count].handle = handle;
		status = handle_prepare(mount, &all[count++]);
	}
	for (size_t at = 0; at < count; at++) {
		if (status == 0)
			handle_change(mount, &all[at]);
		else
			k2i_route_close(mount, all[at].route);
	}
	free(all);
	return status;
}

/* A file of OUTPUTFILE that was open for reading. */
static void output_inherit(struct k2i_mount *mount, struct k2i_handle *handle)
{
	const struct k2i_rule_match *match = k2i_rules_find(mount->rules, handle->path);

	handle->output = NULL;
	if (!match || k2i_outputfile_get(mount, match, handle->path, &handle->output))
		k2i_log(K2HFT_LOG_WARNING, "mount: %s can't be read any more", handle->path);
}

int k2i_handles_inherit(struct k2i_mount *mount)
{
	int status = k2i_routes_inherit(mount);
	struct k2i_handle *handle;

	for (uint32_t number = 0; status == 0 && (handle = k2i_handle_next(mount->handles, &number));) {
		status = k2i_route_inherit(mount, handle->route);
		if (status == 0)
			status = k2i_route_inherit(mount, handle->next_route);
		if (handle->output)
			output_inherit(mount, handle);
	}
	return status;
}

void k2i_handles_free(struct k2i_mount *mount)
{
	struct k2i_handle *handle;

	for (uint32_t number = 0; (handle = k2i_handle_next(mount->handles, &number));)
		handle_free(mount, handle);
	k2i_routes_forget(mount);
	k2i_journal_free(mount->handles->entries);
	mount->handles->entries = NULL;
	mount->handles->room = 0;
}
