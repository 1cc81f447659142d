/* SPDX-License-Identifier: MIT */
#include "fuse/intake/handles.h"

#include <errno.h>
#include <string.h>

#include "fuse/base/mount.h"
#include "fuse/intake/record_route.h"
#include "fuse/intake/route_push.h"
#include "fuse/copy/outputfile.h"
#include "fuse/base/journal.h"
#include "fuse/tree/nodes.h"
#include "fuse/intake/line_buffer.h"

#define HANDLE_COUNT_MAX (1u << 20)

/* Numbers and lists of the handles. */
static void keep_lists(struct k2i_mount *mount)
{
	K2I_JOURNAL_KEEP(&mount->handles->entries);
	K2I_JOURNAL_KEEP(&mount->handles->room);
	K2I_JOURNAL_KEEP(&mount->handles->free_first);
	K2I_JOURNAL_KEEP(&mount->handles->open_count);
	K2I_JOURNAL_KEEP(&mount->handles->flushed_first);
}

static int make_room(struct k2i_mount *mount)
{
	uint32_t room = mount->handles->room ? mount->handles->room * 2 : 64;
	struct k2i_handle **handles;

	if (room > HANDLE_COUNT_MAX)
		return -ENFILE;
	handles = k2i_journal_alloc(room * sizeof(*handles));
	if (!handles)
		return -ENOMEM;
	if (mount->handles->room)
		memcpy(handles, mount->handles->entries, mount->handles->room * sizeof(*handles));
	keep_lists(mount);
	k2i_journal_free(mount->handles->entries);
	for (uint32_t number = mount->handles->room; number < room; number++)
		handles[number] = NULL;
	mount->handles->entries = handles;
	mount->handles->free_first = mount->handles->room;
	mount->handles->room = room;
	return 0;
}

int k2i_handle_open(struct k2i_mount *mount, uint32_t node, const char *path, struct k2i_route *route,
		    struct k2i_outputfile *output, struct k2i_handle **handle)
{
	struct k2i_handle *opened;
	uint32_t number = mount->handles->free_first;
	int status;

	while (number < mount->handles->room && mount->handles->entries[number])
		number++;
	if (number >= mount->handles->room) {
		status = make_room(mount);
		if (status)
			return status;
		number = mount->handles->free_first;
	}
	opened = k2i_journal_alloc(sizeof(*opened));
	if (!opened)
		return -ENOMEM;
	memset(opened, 0, sizeof(*opened));
	opened->path = k2i_journal_strdup(path);
	if (!opened->path) {
		k2i_journal_free(opened);
		return -ENOMEM;
	}
	keep_lists(mount);
	K2I_JOURNAL_KEEP(&mount->handles->entries[number]);
	opened->number = number;
	opened->node = node;
	opened->route = route;
	opened->output = output;
	mount->handles->entries[number] = opened;
	mount->handles->free_first = number + 1;
	mount->handles->open_count++;
	k2i_node_opened(mount->nodes, node);
	if (route)
		k2i_node_writers(mount->nodes, node, 1);
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
	keep_lists(mount);
	K2I_JOURNAL_KEEP(handle);
	handle->flushed = true;
	handle->flushed_previous = NULL;
	handle->flushed_next = mount->handles->flushed_first;
	if (handle->flushed_next) {
		K2I_JOURNAL_KEEP(handle->flushed_next);
		handle->flushed_next->flushed_previous = handle;
	}
	mount->handles->flushed_first = handle;
}

void k2i_handle_not_flushed(struct k2i_mount *mount, struct k2i_handle *handle)
{
	if (!handle->flushed)
		return;
	keep_lists(mount);
	K2I_JOURNAL_KEEP(handle);
	if (handle->flushed_previous)
		K2I_JOURNAL_KEEP(handle->flushed_previous);
	if (handle->flushed_next)
		K2I_JOURNAL_KEEP(handle->flushed_next);
	handle->flushed = false;
	if (handle->flushed_previous)
		handle->flushed_previous->flushed_next = handle->flushed_next;
	else
		mount->handles->flushed_first = handle->flushed_next;
	if (handle->flushed_next)
		handle->flushed_next->flushed_previous = handle->flushed_previous;
}

static void free_handle(struct k2i_mount *mount, struct k2i_handle *handle)
{
	k2i_handle_not_flushed(mount, handle);
	keep_lists(mount);
	K2I_JOURNAL_KEEP(&mount->handles->entries[handle->number]);
	mount->handles->entries[handle->number] = NULL;
	if (handle->number < mount->handles->free_first)
		mount->handles->free_first = handle->number;
	mount->handles->open_count--;
	if (handle->route && !handle->stream)
		k2i_node_writers(mount->nodes, handle->node, -1);
	k2i_node_closed(mount->nodes, handle->node);
	k2i_route_close(mount, handle->route);
	k2i_outputfile_put(handle->output);
	k2i_line_buffer_free(&handle->line);
	k2i_journal_free(handle->path);
	k2i_journal_free(handle);
}

void k2i_handle_free_if_done(struct k2i_mount *mount, struct k2i_handle *handle)
{
	if (handle->released && handle->queued == 0)
		free_handle(mount, handle);
}

int k2i_handles_inherit(struct k2i_mount *mount)
{
	int status = 0;

	for (struct k2i_route *route = mount->routes->missing_newline_first; status == 0 && route;
	     route = route->missing_newline_next) {
		if (route->closed)
			status = k2i_route_inherit(mount, route);
	}
	for (uint32_t number = 0; status == 0 && number < mount->handles->room; number++) {
		struct k2i_handle *handle = mount->handles->entries[number];
		const struct k2i_rule_match *match;

		if (!handle)
			continue;
		status = k2i_route_inherit(mount, handle->route);
		if (!handle->output)
			continue;
		match = k2i_rules_find(mount->rules, handle->path);
		handle->output = NULL;
		if (!match || k2i_outputfile_get(mount, match, handle->path, &handle->output))
			k2i_log(K2HFT_LOG_WARNING, "mount: %s can't be read any more", handle->path);
	}
	return status;
}

void k2i_handles_free(struct k2i_mount *mount)
{
	for (uint32_t number = 0; number < mount->handles->room; number++) {
		if (mount->handles->entries[number])
			free_handle(mount, mount->handles->entries[number]);
	}
	k2i_routes_forget(mount);
	k2i_journal_free(mount->handles->entries);
	mount->handles->entries = NULL;
	mount->handles->room = 0;
}
