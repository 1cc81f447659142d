/* SPDX-License-Identifier: MIT */
#ifndef K2I_RECEIVER_SINK_RENDER_H
#define K2I_RECEIVER_SINK_RENDER_H

#include "app/format/format.h"
#include "receiver/sink/carry.h"
#include "receiver/sink/group.h"

/* How one thread turns chunks into the bytes of a destination: as FORMAT makes them of records, piece by piece. */
struct k2i_render {
	const struct k2i_format *format;
	bool plain;              /* records go out as they came */
	bool unify;              /* and each gets its line end, since many writers' records go to one destination */
	struct k2i_carry *carry; /* NULL: each piece of a record is one by itself */
	struct k2i_carry_changes changes;
	/* Takes bytes. Formatted ones change when it has returned. */
	int (*put)(void *argument, const char *bytes, size_t byte_count);
	/* Takes whole records in FORMAT's place, of text each with its line end; NULL: FORMAT makes bytes of them. */
	int (*take)(void *argument, const struct k2i_format_origin *origin, bool binary, const char *records,
		    size_t bytes);
	void *argument;
	struct k2i_format_buffer formatted;
	char *terminated; /* a record that was given its line end */
	size_t terminated_room;
	uint64_t terminated_records; /* how often */
	uint64_t split_records;      /* records of which a part was formatted by itself */
};

void k2i_render_free(struct k2i_render *render);

/* Nothing is pending. */
void k2i_render_begin(struct k2i_render *render);
/*
 * A chunk; the begin of a record that goes on is carried, or, of plain ones, `*open_writer` is its writer, else 0.
 * -ENOMEM; others as `put` and k2i_carry_add.
 */
int k2i_render_chunk(struct k2i_render *render, const struct k2i_group_entry *entry, uint64_t *open_writer);
/* Formats a beginning with `bytes` behind it as a record. The same. */
int k2i_render_carried(struct k2i_render *render, struct k2i_carried *record, const char *data, size_t bytes);
/* Puts what is pending. */
int k2i_render_flush(struct k2i_render *render);

#endif
