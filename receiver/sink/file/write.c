/* SPDX-License-Identifier: MIT */
#include "receiver/sink/file/write.h"

#include <string.h>

#include "receiver/sink/file/internal.h"

static int rendered_put(void *argument, const char *bytes, size_t byte_count)
{
	struct k2i_output_writer *writer = argument;
	int error = k2i_store_put(&writer->store, bytes, byte_count);

	return error || writer->stays ? error : k2i_store_flush(&writer->store);
}

int k2i_output_writer_start(struct k2i_output_writer *writer, const struct k2i_format *format, bool unify,
			    const struct k2i_store_options *store)
{
	memset(writer, 0, sizeof(*writer));
	writer->render = (struct k2i_render){.format = format,
					     .plain = k2i_format_plain(format),
					     .unify = unify,
					     .put = rendered_put,
					     .argument = writer};
	return k2i_store_writer_start(&writer->store, store);
}

void k2i_output_writer_free(struct k2i_output_writer *writer)
{
	k2i_store_writer_free(&writer->store);
	k2i_render_free(&writer->render);
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
	writer->stays = writer->render.plain;
	do {
		entry = &group->entries[index];
		error = k2i_render_chunk(&writer->render, entry, &output->open_writer);
		index = entry->next;
	} while (!error && index);
	/* A file that is sealed must not end in the middle of a record. */
	if (!error && writer->render.plain && !writer->render.unify && outputs->rotation)
		output->open_writer = entry->flags & K2HFT_CHUNK_CONTINUES ? k2i_group_writer(entry) : 0;
	if (!error)
		error = writer->render.plain ? k2i_store_flush(&writer->store) : k2i_render_flush(&writer->render);
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
	writer->stays = false;
	error = k2i_render_carried(&writer->render, record, NULL, 0);
	if (!error)
		error = k2i_render_flush(&writer->render);
	if (!error)
		k2i_output_written(outputs, output, &writer->store);
	return error;
}
