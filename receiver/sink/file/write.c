/* SPDX-License-Identifier: MIT */
#include "receiver/sink/file/write.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

/* What a longer record needed is given back when it is written. */
#define FORMATTED_ROOM_KEPT (16u * 1024 * 1024)

int k2i_output_writer_start(struct k2i_output_writer *writer, const struct k2i_format *format, bool unify,
			    const struct k2i_store_options *store)
{
	memset(writer, 0, sizeof(*writer));
	writer->format = format;
	writer->plain = k2i_format_plain(format);
	writer->unify = unify;
	return k2i_store_writer_start(&writer->store, store);
}

void k2i_output_writer_free(struct k2i_output_writer *writer)
{
	k2i_store_writer_free(&writer->store);
	free(writer->formatted.data);
	free(writer->terminated);
	memset(writer, 0, sizeof(*writer));
}

static int line_end_put(struct k2i_output_writer *writer)
{
	return k2i_store_put(&writer->store, "\n", 1);
}

static bool ends_line(const struct k2i_group_entry *entry)
{
	return entry->payload[entry->payload_bytes - 1] == '\n';
}

/* The end alone of a record in pieces says nothing where they are lines of their own. */
static bool is_end_alone(const struct k2i_group_entry *entry)
{
	return entry->flags & K2HFT_CHUNK_CONTINUED && entry->payload_bytes == 1 && ends_line(entry);
}

static uint64_t entry_writer(const struct k2i_group_entry *entry)
{
	uint64_t hash = k2i_hash_pair(&entry->stream->writer_seed, sizeof(entry->stream->writer_seed),
				      &entry->writer_pid, sizeof(entry->writer_pid));

	return hash ? hash : 1;
}

/*
 * Records of many writers in one file. A piece of a long record leaves the file within a record of its writer: whoever
 * else comes then begins a line of his own, and so does the rest of that record.
 */
static int unified_put(struct k2i_output_writer *writer, struct k2i_output_file *output,
		       const struct k2i_group_entry *entry)
{
	uint64_t self = output->open_writer || (entry->flags & K2HFT_CHUNK_CONTINUES) ? entry_writer(entry) : 0;
	int error = 0;

	if (is_end_alone(entry) && (output->open_writer == 0 || output->open_writer != self))
		return 0;
	if (output->open_writer && (output->open_writer != self || !(entry->flags & K2HFT_CHUNK_CONTINUED)))
		error = line_end_put(writer);
	if (!error)
		error = k2i_store_put(&writer->store, entry->payload, entry->payload_bytes);
	output->open_writer = 0;
	if (error || ends_line(entry))
		return error;
	if (!(entry->flags & K2HFT_CHUNK_CONTINUES)) {
		writer->terminated_records++;
		return line_end_put(writer);
	}
	output->open_writer = self;
	return 0;
}

static int plain_put(struct k2i_output_writer *writer, struct k2i_output_file *output,
		     const struct k2i_group_entry *entry)
{
	int error = 0;

	if (writer->unify && entry->stream->mode != K2HFT_STREAM_BINARY)
		return unified_put(writer, output, entry);
	/* Blocks have no lines: a line end in them would be a changed byte. They end the line that they come into. */
	if (writer->unify && output->open_writer) {
		error = line_end_put(writer);
		output->open_writer = 0;
	}
	return error ? error : k2i_store_put(&writer->store, entry->payload, entry->payload_bytes);
}

static int terminated_room(struct k2i_output_writer *writer, size_t room)
{
	char *memory;

	if (room <= writer->terminated_room)
		return 0;
	memory = realloc(writer->terminated, room);
	if (!memory)
		return -ENOMEM;
	writer->terminated = memory;
	writer->terminated_room = room;
	return 0;
}

static int formatted_write(struct k2i_output_writer *writer)
{
	int error = 0;

	if (writer->formatted.bytes > 0) {
		error = k2i_store_put(&writer->store, writer->formatted.data, writer->formatted.bytes);
		if (!error)
			error = k2i_store_flush(&writer->store);
	}
	writer->formatted.bytes = 0;
	if (writer->formatted.room > FORMATTED_ROOM_KEPT) {
		free(writer->formatted.data);
		writer->formatted.data = NULL;
		writer->formatted.room = 0;
	}
	return error;
}

static int records_put(struct k2i_output_writer *writer, const struct k2i_format_origin *origin, bool binary,
		       const char *payload, size_t payload_bytes)
{
	size_t taken;
	int error = 0;

	for (; !error && payload_bytes; payload_bytes -= taken, payload += taken) {
		error = k2i_format_records(writer->format, origin, binary, payload, payload_bytes, &taken,
					   &writer->formatted);
		if (!error && writer->formatted.bytes > K2I_FORMAT_ENOUGH_BYTES)
			error = formatted_write(writer);
	}
	return error;
}

/* With a FORMAT every record and every piece of one is formatted by itself, so each has its line end. */
static int formatted_put(struct k2i_output_writer *writer, const struct k2i_group_entry *entry)
{
	struct k2i_format_origin origin = {entry->stream->path, entry->stream->host, entry->writer_pid, entry->time_ns};
	bool binary = entry->stream->mode == K2HFT_STREAM_BINARY;
	const char *payload = (const char *)entry->payload;
	size_t payload_bytes = entry->payload_bytes;
	int error = 0;

	if (!binary && is_end_alone(entry))
		return 0;
	if (!binary && !ends_line(entry)) {
		error = terminated_room(writer, payload_bytes + 1);
		if (error)
			return error;
		memcpy(writer->terminated, payload, payload_bytes);
		writer->terminated[payload_bytes++] = '\n';
		payload = writer->terminated;
		writer->terminated_records++;
	}
	return records_put(writer, &origin, binary, payload, payload_bytes);
}

int k2i_output_write(struct k2i_output_writer *writer, const struct k2i_group *group, const struct k2i_group_file *file)
{
	const struct k2i_group_entry *entry;
	uint32_t index = file->first;
	int error = 0;

	k2i_store_writer_begin(&writer->store, file->output->descriptor);
	writer->formatted.bytes = 0;
	do {
		entry = &group->entries[index];
		error = writer->plain ? plain_put(writer, file->output, entry) : formatted_put(writer, entry);
		index = entry->next;
	} while (!error && index);
	if (!error)
		error = writer->plain ? k2i_store_flush(&writer->store) : formatted_write(writer);
	if (!error)
		k2i_output_written(group->outputs, file->output, &writer->store);
	return error;
}
