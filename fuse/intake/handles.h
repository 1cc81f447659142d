/* SPDX-License-Identifier: MIT */
#ifndef K2I_FUSE_INTAKE_HANDLES_H
#define K2I_FUSE_INTAKE_HANDLES_H

#include <stdbool.h>
#include <stdint.h>

#include "fuse/intake/line_buffer.h"

struct k2i_cached_file;
struct k2i_mount;
struct k2i_queue;
struct k2i_route;
struct k2i_outputfile;

/* An open file, in shared memory. */
struct k2i_handle {
	uint32_t number; /* what the kernel knows it by */
	uint32_t node;
	uint32_t queued;     /* things that wait and need it */
	bool unended;        /* of those the last that counts is data: it can leave a record without its end */
	uint32_t writer_pid; /* of the last write */
	bool released;       /* by the kernel */
	bool flushed;        /* closed by somebody since the last write, when it could be within a record */
	int lost;            /* why a record was that had been accepted; 0: none, or it was reported */
	struct k2i_handle *flushed_next;
	char *path;              /* when it was opened */
	struct k2i_route *route; /* NULL: not open for writing, or cached */
	struct k2i_queue *queue; /* where what it writes waits for room; NULL: it has no route */
	/* By rules of a reload, see k2i_handle_change_rules; NULL: the present ones are. */
	struct k2i_route *next_route;
	struct k2i_queue *next_queue;
	bool waits;                     /* its route does, see k2i_route_follow, or did when the queue was found */
	struct k2i_cached_file *cached; /* what it writes goes through the page cache */
	bool stream;                    /* the kernel does not know it, see writeback_pull.h */
	bool plugin;                    /* nor this, which has what a plug-in writes: */
	bool written;                   /* and PLUGINTRANS sends, by any rule */
	struct k2i_outputfile *output;  /* what is read; NULL: nothing */
	struct k2i_line_buffer line;
	size_t held_counted; /* of its memory, in the table's held_bytes */
};

/* The open files, in shared memory. */
struct k2i_handle_table {
	struct k2i_handle **entries; /* by number; NULL: free */
	uint32_t room, free_first, open_count;
	struct k2i_handle *flushed_first; /* k2i_handle_in_record, and a close since */
	uint64_t held_bytes;              /* memory of all line buffers */
	uint32_t next_route_count;        /* handles that go by former rules still */
};

/* -ENOMEM, -ENFILE. The handle takes `route` and `output` over. */
int k2i_handle_open(struct k2i_mount *mount, uint32_t node, const char *path, struct k2i_route *route,
		    struct k2i_outputfile *output, struct k2i_handle **handle);
/* In place of a process that died: opens again what was its own. -ENOMEM */
int k2i_handles_inherit(struct k2i_mount *mount);
/*
 * The mount goes by other rules: all handles have a route by them, from their next record on. Data that waits already goes
 * by the former rules, which must stay as long as the table's next_route_count is not 0. Errors as of k2i_route_open, with
 * the handle that has it; then the step is to be given up.
 */
int k2i_handles_change_rules(struct k2i_mount *mount, const struct k2i_handle **failed);
/* To be called before a handle takes data. */
void k2i_handle_go_on(struct k2i_mount *mount, struct k2i_handle *handle);
/* The same of all, also of those that take none. */
void k2i_handles_go_on(struct k2i_mount *mount);
/* Whether records of an open file can go to one of these lanes still. */
bool k2i_handles_use(const struct k2i_mount *mount, uint64_t lanes);
/* Walks over all: the first from `*number` on, behind which that is set; NULL: none. */
static inline struct k2i_handle *k2i_handle_next(const struct k2i_handle_table *table, uint32_t *number)
{
	while (*number < table->room) {
		struct k2i_handle *handle = table->entries[(*number)++];

		if (handle)
			return handle;
	}
	return NULL;
}
/* NULL: no such number. */
struct k2i_handle *k2i_handle_at(const struct k2i_mount *mount, uint64_t number);
/* Its file reaches to `end` now, as the kernel counts it. */
void k2i_handle_grow(struct k2i_mount *mount, const struct k2i_handle *handle, uint64_t end);
/* Whether it has an unterminated record, or can have one when what waits has been taken. */
bool k2i_handle_holds(const struct k2i_handle *handle);
/* The same, or all that it has of the record is sent already, or left out: there is an end to come. */
bool k2i_handle_in_record(const struct k2i_handle *handle);
/* Counts the memory of its line buffer, which has changed, after giving back the part that is not needed. */
void k2i_handle_count_held(struct k2i_mount *mount, struct k2i_handle *handle);
/* A loss is reported once: 0 or -errno. */
int k2i_handle_lost(struct k2i_handle *handle);
/* Somebody closed a descriptor of it. */
void k2i_handle_flushed(struct k2i_mount *mount, struct k2i_handle *handle);
/* It was written to, or its record was ended. */
void k2i_handle_not_flushed(struct k2i_mount *mount, struct k2i_handle *handle);
/* Frees it if nobody needs it any more. */
void k2i_handle_free_if_done(struct k2i_mount *mount, struct k2i_handle *handle);
/* All of them, whatever still needs them. */
void k2i_handles_free(struct k2i_mount *mount);

#endif
