/* SPDX-License-Identifier: MIT */
#include "output_write.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hash.h"

/* Below this a copy costs less than one more element of writev(2). */
#define COPY_BYTES_MAX 1024u
#define FORMATTED_BYTES_MAX (1024u * 1024)

_Static_assert(COPY_BYTES_MAX < K2I_WRITE_STAGING_BYTES, "a copy fits the staging buffer");

int k2i_output_writer_start(struct k2i_output_writer *writer, const struct k2i_format *format, bool unify)
{
	memset(writer, 0, sizeof(*writer));
	writer->format = format;
	writer->plain = k2i_format_plain(format);
	writer->unify = unify;
	writer->staging = malloc(K2I_WRITE_STAGING_BYTES);
	return writer->staging ? 0 : -ENOMEM;
}

void k2i_output_writer_free(struct k2i_output_writer *writer)
{
	free(writer->staging);
	free(writer->formatted.data);
	free(writer->terminated);
	memset(writer, 0, sizeof(*writer));
}

static void vectors_advance(struct iovec **vector, size_t *count, size_t bytes)
{
	while (*count > 0 && bytes >= (*vector)->iov_len) {
		bytes -= (*vector)->iov_len;
		(*vector)++;
		(*count)--;
	}
	if (*count > 0) {
		(*vector)->iov_base = (uint8_t *)(*vector)->iov_base + bytes;
		(*vector)->iov_len -= bytes;
	}
}

static int vectors_write(struct k2i_output_writer *writer)
{
	struct iovec *vector = writer->vectors;
	size_t count = writer->vector_count;
	ssize_t put;

	while (count > 0) {
		put = writev(writer->descriptor, vector, (int)count);
		if (put < 0 && errno == EINTR)
			continue;
		if (put <= 0)
			return put ? -errno : -EIO;
		vectors_advance(&vector, &count, (size_t)put);
	}
	writer->written_bytes += writer->vector_bytes;
	writer->vector_count = writer->vector_bytes = writer->staging_bytes = 0;
	return 0;
}

static void vector_add(struct k2i_output_writer *writer, const uint8_t *bytes, size_t byte_count)
{
	struct iovec *last = &writer->vectors[writer->vector_count];

	writer->vector_bytes += byte_count;
	/* Copies lie one behind the other and become one element. */
	if (writer->vector_count > 0 && (const uint8_t *)last[-1].iov_base + last[-1].iov_len == bytes) {
		last[-1].iov_len += byte_count;
		return;
	}
	last->iov_base = (void *)(uintptr_t)bytes;
	last->iov_len = byte_count;
	writer->vector_count++;
}

static int bytes_put(struct k2i_output_writer *writer, const uint8_t *bytes, size_t byte_count)
{
	int error;

	if (writer->vector_count == K2I_WRITE_VECTORS ||
	    (byte_count <= COPY_BYTES_MAX && K2I_WRITE_STAGING_BYTES - writer->staging_bytes < byte_count)) {
		error = vectors_write(writer);
		if (error)
			return error;
	}
	if (byte_count <= COPY_BYTES_MAX) {
		uint8_t *copy = memcpy(writer->staging + writer->staging_bytes, bytes, byte_count);

		writer->staging_bytes += byte_count;
		bytes = copy;
	}
	vector_add(writer, bytes, byte_count);
	return 0;
}

static int line_end_put(struct k2i_output_writer *writer)
{
	return bytes_put(writer, (const uint8_t *)"\n", 1);
}

static bool ends_line(const struct k2i_group_entry *entry)
{
	return entry->payload[entry->payload_bytes - 1] == '\n';
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

	if (output->open_writer && (output->open_writer != self || !(entry->flags & K2HFT_CHUNK_CONTINUED)))
		error = line_end_put(writer);
	if (!error)
		error = bytes_put(writer, entry->payload, entry->payload_bytes);
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
	/* Blocks have no lines: a line end in them would be a changed byte. */
	if (!writer->unify || entry->stream->mode == K2HFT_STREAM_BINARY)
		return bytes_put(writer, entry->payload, entry->payload_bytes);
	return unified_put(writer, output, entry);
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
		vector_add(writer, (const uint8_t *)writer->formatted.data, writer->formatted.bytes);
		error = vectors_write(writer);
	}
	writer->formatted.bytes = 0;
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

	if (!binary && !ends_line(entry)) {
		error = terminated_room(writer, payload_bytes + 1);
		if (error)
			return error;
		memcpy(writer->terminated, payload, payload_bytes);
		writer->terminated[payload_bytes++] = '\n';
		payload = writer->terminated;
		writer->terminated_records++;
	}
	error = k2i_format_records(writer->format, &origin, binary, payload, payload_bytes, &writer->formatted);
	if (!error && writer->formatted.bytes > FORMATTED_BYTES_MAX)
		error = formatted_write(writer);
	return error;
}

int k2i_output_write(struct k2i_output_writer *writer, const struct k2i_group *group, const struct k2i_group_file *file)
{
	const struct k2i_group_entry *entry;
	uint32_t index = file->first;
	int error = 0;

	writer->descriptor = file->output->descriptor;
	writer->vector_count = writer->vector_bytes = writer->staging_bytes = 0;
	writer->formatted.bytes = 0;
	writer->written_bytes = 0;
	do {
		entry = &group->entries[index];
		error = writer->plain ? plain_put(writer, file->output, entry) : formatted_put(writer, entry);
		index = entry->next;
	} while (!error && index);
	if (!error)
		error = writer->plain ? vectors_write(writer) : formatted_write(writer);
	if (!error)
		file->output->length += writer->written_bytes;
	return error;
}
