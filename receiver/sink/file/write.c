/* SPDX-License-Identifier: MIT */
#include "receiver/sink/file/write.h"

#include <string.h>

static int formatted_put(void *argument, const char *bytes, size_t byte_count)
{
	struct k2i_output_writer *writer = argument;
	int error = k2i_store_put(&writer->store, bytes, byte_count);

	return error ? error : k2i_store_flush(&writer->store);
}

int k2i_output_writer_start(struct k2i_output_writer *writer, const struct k2i_format *format, bool unify,
			    const struct k2i_store_options *store)
{
	memset(writer, 0, sizeof(*writer));
	writer->render.format = format;
	writer->render.put = formatted_put;
	writer->render.argument = writer;
	writer->plain = k2i_format_plain(format);
	writer->unify = unify;
	return k2i_store_writer_start(&writer->store, store);
}

void k2i_output_writer_free(struct k2i_output_writer *writer)
{
	k2i_store_writer_free(&writer->store);
	k2i_render_free(&writer->render);
}

static int line_end_put(struct k2i_output_writer *writer)
{
	return k2i_store_put(&writer->store, "\n", 1);
}

/*
 * Records of many writers in one file. A piece of a long record leaves the file within a record of its writer. Another
 * writer that comes then begins a line of its own, and so does the rest of that record.
 */
static int unified_put(struct k2i_output_writer *writer, struct k2i_output_file *output,
		       const struct k2i_group_entry *entry)
{
	uint64_t self = output->open_writer || (entry->flags & K2HFT_CHUNK_CONTINUES) ? k2i_group_writer(entry) : 0;
	int error = 0;

	if (k2i_render_is_end_alone(entry) && (output->open_writer == 0 || output->open_writer != self))
		return 0;
	if (output->open_writer && (output->open_writer != self || !(entry->flags & K2HFT_CHUNK_CONTINUED)))
		error = line_end_put(writer);
	if (!error)
		error = k2i_store_put(&writer->store, entry->payload, entry->payload_bytes);
	output->open_writer = 0;
	if (error || k2i_render_ends_line(entry))
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

int k2i_output_write(struct k2i_output_writer *writer, struct k2i_outputs *outputs, const struct k2i_group *group,
		     const struct k2i_group_target *target)
{
	struct k2i_output_file *output = k2i_output_of(target->target);
	const struct k2i_group_entry *entry;
	uint32_t index = target->first;
	int error = 0;

	k2i_store_writer_begin(&writer->store, output->descriptor);
	k2i_render_begin(&writer->render);
	do {
		entry = &group->entries[index];
		error = writer->plain ? plain_put(writer, output, entry) : k2i_render_chunk(&writer->render, entry);
		index = entry->next;
	} while (!error && index);
	if (!error)
		error = writer->plain ? k2i_store_flush(&writer->store) : k2i_render_flush(&writer->render);
	if (!error)
		k2i_output_written(outputs, output, &writer->store);
	return error;
}

int k2i_output_write_carried(struct k2i_output_writer *writer, struct k2i_outputs *outputs,
			     struct k2i_output_file *output, struct k2i_carried *record)
{
	int error;

	k2i_store_writer_begin(&writer->store, output->descriptor);
	k2i_render_begin(&writer->render);
	error = k2i_render_carried(&writer->render, record, NULL, 0);
	if (!error)
		error = k2i_render_flush(&writer->render);
	if (!error)
		k2i_output_written(outputs, output, &writer->store);
	return error;
}
