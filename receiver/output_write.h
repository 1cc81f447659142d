/* SPDX-License-Identifier: MIT */
#ifndef K2I_OUTPUT_WRITE_H
#define K2I_OUTPUT_WRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "format.h"
#include "group.h"

#define K2I_WRITE_VECTORS 512u
#define K2I_WRITE_STAGING_BYTES (64u * 1024)

/* How one thread turns chunks into the bytes of a file. */
struct k2i_output_writer {
	const struct k2i_format *format;
	bool plain; /* records go out as they came */
	bool unify; /* many writers' records in one file: each gets its line end */
	int descriptor;
	struct iovec vectors[K2I_WRITE_VECTORS];
	size_t vector_count, vector_bytes;
	uint8_t *staging; /* for what is too small to be worth a vector of its own */
	size_t staging_bytes;
	uint64_t written_bytes;
	struct k2i_format_buffer formatted;
	char *terminated; /* a record that was given its line end */
	size_t terminated_room;
	uint64_t terminated_records; /* how often */
};

/* -ENOMEM */
int k2i_output_writer_start(struct k2i_output_writer *writer, const struct k2i_format *format, bool unify);
void k2i_output_writer_free(struct k2i_output_writer *writer);

/*
 * Appends the entries of a group's file to its output, which is locked and ready; moves the output's length and open
 * writer. On an error, as write(2), an unknown part of them was written.
 */
int k2i_output_write(struct k2i_output_writer *writer, const struct k2i_group *group,
		     const struct k2i_group_file *file);

#endif
