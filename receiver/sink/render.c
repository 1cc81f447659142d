/* SPDX-License-Identifier: MIT */
#include "receiver/sink/render.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The room that a longer record needed is given back when it is written. */
#define FORMATTED_ROOM_KEPT (16u * 1024 * 1024)

void k2i_render_free(struct k2i_render *render)
{
	free(render->formatted.data);
	free(render->terminated);
	memset(render, 0, sizeof(*render));
}

bool k2i_render_ends_line(const struct k2i_group_entry *entry)
{
	return entry->payload[entry->payload_bytes - 1] == '\n';
}

bool k2i_render_is_end_alone(const struct k2i_group_entry *entry)
{
	return entry->flags & K2HFT_CHUNK_CONTINUED && entry->payload_bytes == 1 && k2i_render_ends_line(entry);
}

void k2i_render_begin(struct k2i_render *render)
{
	render->formatted.bytes = 0;
}

int k2i_render_flush(struct k2i_render *render)
{
	struct k2i_format_buffer *formatted = &render->formatted;
	int error = formatted->bytes ? render->put(render->argument, formatted->data, formatted->bytes) : 0;

	formatted->bytes = 0;
	if (formatted->room > FORMATTED_ROOM_KEPT) {
		free(formatted->data);
		formatted->data = NULL;
		formatted->room = 0;
	}
	return error;
}

static int terminated_reserve(struct k2i_render *render, size_t room)
{
	char *memory;

	if (room <= render->terminated_room)
		return 0;
	memory = realloc(render->terminated, room);
	if (!memory)
		return -ENOMEM;
	render->terminated = memory;
	render->terminated_room = room;
	return 0;
}

static int records_render(struct k2i_render *render, const struct k2i_format_origin *origin, bool binary,
			  const char *payload, size_t payload_bytes)
{
	size_t taken;
	int error = 0;

	for (; !error && payload_bytes; payload_bytes -= taken, payload += taken) {
		error = k2i_format_records(render->format, origin, binary, payload, payload_bytes, &taken,
					   &render->formatted);
		if (!error && render->formatted.bytes > K2I_FORMAT_ENOUGH_BYTES)
			error = k2i_render_flush(render);
	}
	return error;
}

/* A FORMAT is applied to each record, and to each piece of one, by itself, so each needs its line end. */
int k2i_render_chunk(struct k2i_render *render, const struct k2i_group_entry *entry)
{
	struct k2i_format_origin origin = {entry->stream->path, entry->stream->host, entry->writer_pid, entry->time_ns};
	bool binary = entry->stream->mode == K2HFT_STREAM_BINARY;
	const char *payload = (const char *)entry->payload;
	size_t payload_bytes = entry->payload_bytes;
	int error = 0;

	if (!binary && k2i_render_is_end_alone(entry))
		return 0;
	if (!binary && !k2i_render_ends_line(entry)) {
		error = terminated_reserve(render, payload_bytes + 1);
		if (error)
			return error;
		memcpy(render->terminated, payload, payload_bytes);
		render->terminated[payload_bytes++] = '\n';
		payload = render->terminated;
		render->terminated_records++;
	}
	return records_render(render, &origin, binary, payload, payload_bytes);
}
