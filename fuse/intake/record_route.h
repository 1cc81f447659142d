/* SPDX-License-Identifier: MIT */
#ifndef K2I_FUSE_INTAKE_RECORD_ROUTE_H
#define K2I_FUSE_INTAKE_RECORD_ROUTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct k2i_mount;
struct k2i_outputfile;
struct k2i_rule_match;
struct k2i_rule_scratch;

/*
 * Where the records of one open file go: through its rule, to a stream of the ring, to OUTPUTFILE, or on to the outlet of
 * another file of the mount. Bytes that the ring has no room for are pending. It is in shared memory; scratch and
 * output are the process's own.
 */
struct k2i_route {
	const struct k2i_rule_match *match;
	struct k2i_rule_scratch *scratch;
	bool passes_all; /* no record needs a look */
	bool transfer;   /* TRUNS */
	bool declared;
	bool used;         /* its stream has had a chunk, or was to have one */
	bool rest_dropped; /* the rule did not pass the record whose pieces come now, or replaced it as a whole */
	uint32_t stream_id;
	uint32_t node;                 /* of a file that gets its records from another one: its size grows too */
	struct k2i_outputfile *output; /* outside of the mount; NULL: none */
	bool output_missing;           /* there is one, but this process could not open it yet */
	struct k2i_route *next;        /* OUTPUTFILE inside of the mount */
	char *path;                    /* when it was opened */

	char *pending;
	size_t pending_from, pending_bytes, pending_room;
	bool pending_continued, pending_continues;
	bool missing_newline; /* of a line pieces are out, its rest was dropped: see k2i_routes_terminate */
	bool closed;          /* and is there for that only */
	uint32_t writer_pid, missing_newline_pid;
	struct k2i_route *missing_newline_next;
	uint64_t time_ns;
};

/* The state that the routes of a mount share. */
struct k2i_routes {
	struct k2i_route *missing_newline_first; /* see k2i_routes_terminate */
};

/* Whole records, one after the other; or one piece of a record. */
struct k2i_records {
	const char *data;
	size_t bytes;
	bool continued, continues; /* of one piece */
	uint32_t writer_pid;
	uint64_t time_ns; /* CLOCK_REALTIME */
};

/*
 * For the file at `path`. -EPERM no rule; -ENFILE no number left for its stream; -EAGAIN one comes; -ENAMETOOLONG;
 * -ELOOP files that are each other's OUTPUTFILE; -ENOMEM; others as open(2) of OUTPUTFILE.
 */
int k2i_route_open(struct k2i_mount *mount, const char *path, struct k2i_route **route);
void k2i_route_close(struct k2i_mount *mount, struct k2i_route *route);
/* Whether or not it misses a newline. */
void k2i_route_free(struct k2i_mount *mount, struct k2i_route *route);
/*
 * Gives the ring the streams of closed outlets back, when the step in which they were closed is done: the ring is not in the
 * journal, and a successor who did that once more would take the stream from others who have the file open. A worker
 * that is killed in between leaves a stream that is free when nobody has the ring open.
 */
void k2i_routes_release_streams(struct k2i_mount *mount);
/*
 * In place of a process that died: opens again what was its own; an output that can't be, with a warning, when there is
 * something for it. -ENOMEM
 */
int k2i_route_inherit(struct k2i_mount *mount, struct k2i_route *route);

#endif
