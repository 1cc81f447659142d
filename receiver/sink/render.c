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
	free(render->changes.list);
	memset(render, 0, sizeof(*render));
}

/* Whether a chunk ends a line. */
static bool entry_ends_line(const struct k2i_group_entry *entry)
{
	return entry->payload[entry->payload_bytes - 1] == '\n';
}

/* Whether it is the end alone of a record in pieces, which says nothing where they are lines of their own. */
static bool entry_is_end_alone(const struct k2i_group_entry *entry)
{
	return entry->flags & K2HFT_CHUNK_CONTINUED && entry->payload_bytes == 1 && entry_ends_line(entry);
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

	if (render->take)
		return render->take(render->argument, origin, binary, payload, payload_bytes);
	for (; !error && payload_bytes; payload_bytes -= taken, payload += taken) {
		error = k2i_format_records(render->format, origin, binary, payload, payload_bytes, &taken,
					   &render->formatted);
		if (!error && render->formatted.bytes > K2I_FORMAT_ENOUGH_BYTES)
			error = k2i_render_flush(render);
	}
	return error;
}

/* A FORMAT is applied to each record by itself, so each needs its line end. */
static int text_render(struct k2i_render *render, const struct k2i_format_origin *origin, const char *text,
		       size_t bytes)
{
	if (text[bytes - 1] != '\n') {
		int error = terminated_reserve(render, bytes + 1);

		if (error)
			return error;
		memcpy(render->terminated, text, bytes);
		render->terminated[bytes++] = '\n';
		text = render->terminated;
		render->terminated_records++;
	}
	return records_render(render, origin, false, text, bytes);
}

int k2i_render_carried(struct k2i_render *render, struct k2i_carried *record, const char *data, size_t bytes)
{
	bool terminated;
	int error = k2i_carried_join(record, data, bytes, &bytes, &terminated);

	if (error)
		return error;
	render->terminated_records += terminated;
	return records_render(render, &record->origin, record->binary, record->data, bytes);
}

/* The record that began in `record` ends with this chunk, in its first `bytes`. */
static int carried_end(struct k2i_render *render, struct k2i_carried *record, const struct k2i_group_entry *entry,
		       size_t bytes)
{
	int error = k2i_carry_finish(render->carry, record, entry->stream->ring, entry->position);

	return error ? error : k2i_render_carried(render, record, (const char *)entry->payload, bytes);
}

/* Bytes of a chunk that belong to a record that began before; `*ends`: it ends there. */
static size_t begun_bytes(const struct k2i_group_entry *entry, bool binary, bool *ends)
{
	const uint8_t *end = binary ? NULL : memchr(entry->payload, '\n', entry->payload_bytes);

	*ends = end || !(entry->flags & K2HFT_CHUNK_CONTINUES);
	if (!(entry->flags & K2HFT_CHUNK_CONTINUED))
		return 0;
	return end ? (size_t)(end - entry->payload) + 1 : entry->payload_bytes;
}

/* Bytes at the end of a chunk, behind `from`, that belong to a record that goes on. */
static size_t open_bytes(const struct k2i_group_entry *entry, bool binary, size_t from)
{
	size_t bytes = entry->payload_bytes - from;
	const uint8_t *text = entry->payload + from, *end = binary || !bytes ? NULL : memrchr(text, '\n', bytes);

	if (!(entry->flags & K2HFT_CHUNK_CONTINUES))
		return 0;
	return end ? (size_t)(text + bytes - end) - 1 : bytes;
}

/* Carries what goes on, and ends what was carried; the bytes of a chunk from `*from` up to `*to` are left. */
static int pieces_render(struct k2i_render *render, const struct k2i_group_entry *entry, bool binary, size_t *from,
			 size_t *to)
{
	const char *payload = (const char *)entry->payload;
	struct k2i_carried *record;
	bool ends = false;
	int error = k2i_carry_find(render->carry, &render->changes, entry, &record);
	/* A chunk that comes again has its place in the record already. */
	struct k2i_carried *same = record && entry->position <= record->last ? record : NULL;
	size_t begun, open;

	record = same ? NULL : record;
	begun = record ? begun_bytes(entry, binary, &ends) : 0;
	if (record && begun && !ends) {
		*from = *to;
		error = k2i_carry_add(render->carry, &render->changes, record, entry, payload, begun);
		if (error <= 0)
			return error;
		error = 0;
	}
	if (record && !error) {
		render->split_records += begun == 0 || !ends;
		error = carried_end(render, record, entry, begun);
		*from = begun;
	}
	open = open_bytes(entry, binary, *from);
	if (open && !error)
		error = k2i_carry_add(render->carry, &render->changes, same, entry, payload + *to - open, open);
	if (error <= 0)
		*to -= open;
	else
		render->split_records++;
	return error < 0 ? error : 0;
}

static int line_end_put(struct k2i_render *render)
{
	return render->put(render->argument, "\n", 1);
}

static int payload_put(struct k2i_render *render, const struct k2i_group_entry *entry)
{
	return render->put(render->argument, (const char *)entry->payload, entry->payload_bytes);
}

/*
 * Records of many writers in one file. A piece of a long record leaves the file within a record of its writer. Another
 * writer that comes then begins a line of its own, and so does the rest of that record.
 */
static int unified_put(struct k2i_render *render, uint64_t *open_writer, const struct k2i_group_entry *entry)
{
	uint64_t self = *open_writer || (entry->flags & K2HFT_CHUNK_CONTINUES) ? k2i_group_writer(entry) : 0;
	int error = 0;

	if (entry_is_end_alone(entry) && (*open_writer == 0 || *open_writer != self))
		return 0;
	if (*open_writer && (*open_writer != self || !(entry->flags & K2HFT_CHUNK_CONTINUED)))
		error = line_end_put(render);
	if (!error)
		error = payload_put(render, entry);
	*open_writer = 0;
	if (error || entry_ends_line(entry))
		return error;
	if (!(entry->flags & K2HFT_CHUNK_CONTINUES)) {
		render->terminated_records++;
		return line_end_put(render);
	}
	*open_writer = self;
	return 0;
}

/* A beginning from when there was another FORMAT: as it came, before the rest. */
static int begun_put(struct k2i_render *render, uint64_t *open_writer, const struct k2i_group_entry *entry)
{
	struct k2i_carried *record = NULL;
	int error = render->carry ? k2i_carry_find(render->carry, &render->changes, entry, &record) : 0;

	if (error || !record || entry->position <= record->last)
		return error;
	if (render->unify && *open_writer)
		error = line_end_put(render);
	if (!error)
		error = k2i_carry_finish(render->carry, record, entry->stream->ring, entry->position);
	if (!error)
		error = render->put(render->argument, record->data, record->bytes);
	if (render->unify && !record->binary)
		*open_writer = record->writer;
	return error;
}

static int plain_put(struct k2i_render *render, uint64_t *open_writer, const struct k2i_group_entry *entry)
{
	int error = begun_put(render, open_writer, entry);

	if (error)
		return error;
	if (render->unify && entry->stream->mode != K2HFT_STREAM_BINARY)
		return unified_put(render, open_writer, entry);
	/* Blocks have no lines: a line end in them would be a changed byte. They end the line that they come into. */
	if (render->unify && *open_writer) {
		error = line_end_put(render);
		*open_writer = 0;
	}
	return error ? error : payload_put(render, entry);
}

int k2i_render_chunk(struct k2i_render *render, const struct k2i_group_entry *entry, uint64_t *open_writer)
{
	struct k2i_format_origin origin = {entry->stream->path, entry->stream->host, entry->writer_pid, entry->time_ns};
	bool binary = entry->stream->mode == K2HFT_STREAM_BINARY;
	const char *payload = (const char *)entry->payload;
	size_t from = 0, to = entry->payload_bytes;
	int error;

	if (render->plain)
		return plain_put(render, open_writer, entry);
	/* A beginning from when there was no FORMAT. */
	error = *open_writer ? line_end_put(render) : 0;
	*open_writer = 0;
	if (!error && render->carry)
		error = pieces_render(render, entry, binary, &from, &to);
	if (error || from == to || (!binary && from == 0 && entry_is_end_alone(entry)))
		return error;
	return binary ? records_render(render, &origin, true, payload + from, to - from)
		      : text_render(render, &origin, payload + from, to - from);
}
