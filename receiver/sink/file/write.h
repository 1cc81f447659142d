/* SPDX-License-Identifier: MIT */
#ifndef K2I_RECEIVER_SINK_FILE_WRITE_H
#define K2I_RECEIVER_SINK_FILE_WRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "app/format/format.h"
#include "receiver/commit/group.h"
#include "app/store/store.h"

/* How one thread turns chunks into the bytes of a file. */
struct k2i_output_writer {
	const struct k2i_format *format;
	bool plain; /* records go out as they came */
	bool unify; /* many writers' records in one file: each gets its line end */
	struct k2i_store_writer store;
	struct k2i_format_buffer formatted;
	char *terminated; /* a record that was given its line end */
	size_t terminated_room;
	uint64_t terminated_records; /* how often */
};

/* As k2i_store_writer_start. */
int k2i_output_writer_start(struct k2i_output_writer *writer, const struct k2i_format *format, bool unify,
			    const struct k2i_store_options *store);
void k2i_output_writer_free(struct k2i_output_writer *writer);

/*
 * Appends the entries of a group's file to its output, which is locked and ready; moves the output's length and open
 * writer. On an error, as write(2), an unknown part of them was written.
 */
int k2i_output_write(struct k2i_output_writer *writer, const struct k2i_group *group,
		     const struct k2i_group_file *file);

#endif
