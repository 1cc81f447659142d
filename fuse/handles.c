/* SPDX-License-Identifier: MIT */
#include "handles.h"

#include <errno.h>
#include <stdlib.h>

#include "mount.h"
#include "outlet.h"
#include "output.h"

#define HANDLE_COUNT_MAX (1u << 20)

static int make_room(struct k2i_mount *mount)
{
	uint32_t room = mount->handle_room ? mount->handle_room * 2 : 64;
	struct k2i_handle **handles;

	if (room > HANDLE_COUNT_MAX)
		return -ENFILE;
	handles = realloc(mount->handles, room * sizeof(*handles));
	if (!handles)
		return -ENOMEM;
	for (uint32_t number = mount->handle_room; number < room; number++)
		handles[number] = NULL;
	mount->handles = handles;
	mount->handle_free = mount->handle_room;
	mount->handle_room = room;
	return 0;
}

int k2i_handle_open(struct k2i_mount *mount, uint32_t node, struct k2i_outlet *outlet, struct k2i_output_file *output,
		    struct k2i_handle **handle)
{
	struct k2i_handle *opened;
	uint32_t number = mount->handle_free;
	int status;

	while (number < mount->handle_room && mount->handles[number])
		number++;
	if (number >= mount->handle_room) {
		status = make_room(mount);
		if (status)
			return status;
		number = mount->handle_free;
	}
	opened = calloc(1, sizeof(*opened));
	if (!opened)
		return -ENOMEM;
	opened->number = number;
	opened->node = node;
	opened->outlet = outlet;
	opened->output = output;
	mount->handles[number] = opened;
	mount->handle_free = number + 1;
	mount->handles_open++;
	k2i_node_opened(mount->nodes, node);
	*handle = opened;
	return 0;
}

struct k2i_handle *k2i_handle_at(const struct k2i_mount *mount, uint64_t number)
{
	return number < mount->handle_room ? mount->handles[number] : NULL;
}

void k2i_handle_flushed(struct k2i_mount *mount, struct k2i_handle *handle)
{
	if (handle->flushed || handle->text.held_bytes == 0)
		return;
	handle->flushed = true;
	handle->flushed_previous = NULL;
	handle->flushed_next = mount->flushed_first;
	if (handle->flushed_next)
		handle->flushed_next->flushed_previous = handle;
	mount->flushed_first = handle;
}

void k2i_handle_not_flushed(struct k2i_mount *mount, struct k2i_handle *handle)
{
	if (!handle->flushed)
		return;
	handle->flushed = false;
	if (handle->flushed_previous)
		handle->flushed_previous->flushed_next = handle->flushed_next;
	else
		mount->flushed_first = handle->flushed_next;
	if (handle->flushed_next)
		handle->flushed_next->flushed_previous = handle->flushed_previous;
}

static void free_handle(struct k2i_mount *mount, struct k2i_handle *handle)
{
	k2i_handle_not_flushed(mount, handle);
	mount->handles[handle->number] = NULL;
	if (handle->number < mount->handle_free)
		mount->handle_free = handle->number;
	mount->handles_open--;
	k2i_node_closed(mount->nodes, handle->node);
	k2i_outlet_close(mount, handle->outlet);
	k2i_output_put(handle->output);
	k2i_text_free(&handle->text);
	free(handle);
}

void k2i_handle_free_if_done(struct k2i_mount *mount, struct k2i_handle *handle)
{
	if (handle->released && handle->parked == 0)
		free_handle(mount, handle);
}

void k2i_handles_free(struct k2i_mount *mount)
{
	for (uint32_t number = 0; number < mount->handle_room; number++) {
		if (mount->handles[number])
			free_handle(mount, mount->handles[number]);
	}
	free(mount->handles);
	mount->handles = NULL;
	mount->handle_room = 0;
}
