/* SPDX-License-Identifier: MIT */
#ifndef K2I_FUSE_INTAKE_RECORD_ROUTE_H
#define K2I_FUSE_INTAKE_RECORD_ROUTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "app/rules/rules.h"

struct k2i_mount;
struct k2i_mount_lane;
struct k2i_outputfile;

/* Whole records, one after the other; or one piece of a record. */
struct k2i_records {
	const char *data;
	size_t bytes;
	bool continued, continues; /* of one piece */
	uint32_t writer_pid;
	uint64_t time_ns; /* CLOCK_REALTIME */
};

/* A route's stream in the ring of a lane. */
struct k2i_route_stream {
	struct k2i_route *route;
	struct k2i_mount_lane *lane;
	uint32_t id;
	bool declared;
	bool used;            /* it has had a chunk, or was to have one */
	bool rest_dropped;    /* the full ring dropped the begin of the record whose pieces come now */
	bool missing_newline; /* of a line pieces are out, its rest was dropped: see k2i_routes_terminate */
	bool listed;          /* for that, in its lane's list */
	uint32_t missing_newline_pid;
	struct k2i_route_stream *missing_newline_next;
};

/*
 * Where the records of one open file go: through its rule, to streams of the rings, to OUTPUTFILE, or on to the route of
 * another file of the mount. Bytes that a ring has no room for are pending. It is in shared memory; scratch and
 * output are the process's own.
 */
struct k2i_route {
	const struct k2i_rule_match *match;
	struct k2i_rule_scratch *scratch;
	bool judged;       /* of a plug-in: its records have passed the rule, or are what that wrote */
	bool passes_all;   /* no record needs a look */
	bool transfer;     /* TRUNS */
	bool rest_dropped; /* the rule did not pass the record whose pieces come now, or replaced it as a whole */
	uint32_t node;     /* of a file that gets its records from another one: its size grows too */
	struct k2i_outputfile *output; /* outside of the mount; NULL: none */
	bool output_missing;           /* there is one, but this process could not open it yet */
	struct k2i_route *next;        /* OUTPUTFILE inside of the mount */
	char *path;                    /* when it was opened */

	struct k2i_route_stream *streams; /* in the lanes that it can go to; they are part of the route's memory */
	unsigned stream_count;            /* 0: nothing is transferred */
	unsigned copies;                  /* so many of them get each chunk: all, or 1 */
	unsigned stream_at;               /* which had the last chunk, or, of copies, gets the pending one next */

	/*
	 * The stream went to these lanes, too, until the receivers changed: nothing of it goes out before all that is
	 * acknowledged.
	 */
	uint64_t behind;

	char *pending;
	size_t pending_from, pending_bytes, pending_room;
	bool pending_continued, pending_continues;
	struct k2i_records copied; /* the chunk that some of its streams have already; `bytes` 0: none */
	bool copied_cut;
	bool closed;     /* and is there for missing newlines only */
	unsigned listed; /* of its streams */
	uint32_t writer_pid;
	uint64_t time_ns;
};

/* The state that the routes of a mount share. */
struct k2i_routes {
	uint32_t listed; /* streams in the lists of all lanes, see k2i_routes_terminate */
};

/*
 * Whether records may go into the ring as they stand in a claim: one stream gets them and no other file of the mount, no
 * line of another has to end before, and a rule leaves some out at most, of whole ones.
 */
static inline bool k2i_route_takes_in_place(const struct k2i_routes *routes, const struct k2i_route *route,
					    bool continued)
{
	return route->copies == 1 && !route->next && !route->behind && !route->rest_dropped && !routes->listed &&
	       !route->streams[route->stream_at].rest_dropped &&
	       (route->passes_all || (!continued && !k2i_rule_replaces(route->match)));
}

/*
 * For the file at `path`. -EPERM no rule; -ENFILE no number left for its stream; -EAGAIN one comes; -ENAMETOOLONG;
 * -ELOOP files that are each other's OUTPUTFILE; -ENOMEM; others as open(2) of OUTPUTFILE.
 */
int k2i_route_open(struct k2i_mount *mount, const char *path, struct k2i_route **route);
/* For what the plug-in of a file with PLUGINTRANS writes. The same. */
int k2i_route_open_written(struct k2i_mount *mount, const char *path, struct k2i_route **route);
void k2i_route_close(struct k2i_mount *mount, struct k2i_route *route);
/* All lanes that records of it can go to, on whatever way. */
uint64_t k2i_route_lanes(const struct k2i_route *route);
/*
 * Has each route of the chain wait for what its file has in lanes that it does not go to any more; returns those. `node`: of
 * the first.
 */
uint64_t k2i_route_follow(struct k2i_mount *mount, struct k2i_route *route, uint32_t node);
/* Whether it waits still. */
bool k2i_route_waits(struct k2i_mount *mount, struct k2i_route *route);
/* Whether or not it misses a newline. */
void k2i_route_free(struct k2i_mount *mount, struct k2i_route *route);
/* Its number goes back when the step is done. */
void k2i_route_stream_free(struct k2i_route_stream *stream);
/*
 * Gives the streams of closed routes back to their rings, when the step in which they were closed is done: a ring is not
 * in the journal, and a successor who did that once more would take the stream from others who have the file open. A worker
 * that is killed in between leaves a stream that is free when nobody has the ring open.
 */
void k2i_routes_release_streams(void);
/*
 * In place of a process that died: opens again what was its own; an output that can't be, with a warning, when there is
 * something for it. -ENOMEM
 */
int k2i_route_inherit(struct k2i_mount *mount, struct k2i_route *route);
/* The same for those that miss a newline and whose files are closed. */
int k2i_routes_inherit(struct k2i_mount *mount);

/* ---- judging: route_judge.c */

/*
 * Through the rule, into what is pending and to OUTPUTFILE. -ENOMEM; an error of OUTPUTFILE if there is no stream. Even so
 * the first `*taken` bytes, whole records, are taken, and must not come again.
 */
int k2i_route_take(struct k2i_mount *mount, struct k2i_route *route, const struct k2i_records *records, size_t *taken);
/* Leaves of whole records those that its rule passes, which must be one that replaces none. -ENOMEM: nothing counts. */
int k2i_route_filter_in_place(struct k2i_mount *mount, struct k2i_route *route, char *records, size_t *bytes);
/* Appends to the route's OUTPUTFILE outside of the mount, if it has one. An error is logged and counted. */
int k2i_route_append_output(struct k2i_mount *mount, struct k2i_route *route, const char *data, size_t bytes);

/* ---- into the ring: route_push.c */

/* Records as a chunk counts them. */
uint32_t k2i_records_count(const struct k2i_mount *mount, const char *data, size_t bytes);
/* The stream that the next chunk goes to; `continued`: it goes on with a record, which stays on its lane. */
struct k2i_route_stream *k2i_route_stream_next(struct k2i_mount *mount, struct k2i_route *route, bool continued);
/* Commits records that stand at `offset` in the claim, of the stream's lane, as a chunk; see k2i_lane_commit. */
int k2i_route_commit(struct k2i_mount *mount, struct k2i_route_stream *stream, const struct k2i_records *records,
		     size_t offset, bool answered);

/* -ENOMEM: nothing is added. */
int k2i_route_add_pending(struct k2i_route *route, const struct k2i_records *records);
/* Puts pending records into the rings. -EAGAIN: one is full, some are pending still. */
int k2i_route_push(struct k2i_mount *mount, struct k2i_route *route);
/* The mount ends, and there was no room for the pending records; returns how many there were. */
uint64_t k2i_route_forget_pending(struct k2i_mount *mount, struct k2i_route *route);
/* Counts and logs that a record goes on in another chunk. */
void k2i_route_count_piece(struct k2i_mount *mount, const struct k2i_route *route);
/* Whether what is pending is a piece, which must be alone. */
bool k2i_route_has_piece(const struct k2i_route *route);
size_t k2i_route_pending(const struct k2i_route *route);

/*
 * Ends lines of which pieces are out and the full ring dropped the rest: the next line of their stream, by any writer,
 * would go on with them. It goes before all else of its lane, and a route that misses a newline outlives its file.
 */
void k2i_routes_terminate(struct k2i_mount *mount);
/* The mount ends: frees closed routes that miss a newline still, and gives streams back. */
void k2i_routes_forget(struct k2i_mount *mount);

#endif
