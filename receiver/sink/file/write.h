/* SPDX-License-Identifier: MIT */
#ifndef K2I_RECEIVER_SINK_FILE_WRITE_H
#define K2I_RECEIVER_SINK_FILE_WRITE_H

#include "app/store/store.h"
#include "receiver/sink/file/output.h"
#include "receiver/sink/render.h"

/* How one thread turns chunks into the bytes of a file. */
struct k2i_output_writer {
	struct k2i_store_writer store;
	struct k2i_render render;
	bool stays; /* the memory of what is rendered, until it is flushed */
};

/* As k2i_store_writer_start. */
int k2i_output_writer_start(struct k2i_output_writer *writer, const struct k2i_format *format, bool unify,
			    const struct k2i_store_options *store);
void k2i_output_writer_free(struct k2i_output_writer *writer);

/*
 * Appends the entries of a target to its output, which is locked and ready; moves the output's length and open writer.
 * On an error, as write(2), an unknown part of them was written.
 */
int k2i_output_write(struct k2i_output_writer *writer, struct k2i_outputs *outputs, const struct k2i_group *group,
		     const struct k2i_group_target *target);

/* Appends a carried beginning as a record, as above. */
int k2i_output_write_carried(struct k2i_output_writer *writer, struct k2i_outputs *outputs,
			     struct k2i_output_file *output, struct k2i_carried *record);

#endif
