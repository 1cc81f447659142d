/* SPDX-License-Identifier: MIT */
#ifndef K2I_FUSE_CACHED_WRITEBACK_PULL_H
#define K2I_FUSE_CACHED_WRITEBACK_PULL_H

#include <stdbool.h>
#include <stdint.h>

#include "fuse/cached/cached.h"

struct k2i_mount;
struct k2i_handle;
struct k2i_node_entry;
struct k2i_pull_wait;
struct k2i_queue;
struct k2i_truncate_probe;
struct k2i_rule_match;
struct k2i_write;

/*
 * Files that are written through the kernel's page cache. A write(2) to them ends there, and nobody hears of it: so the
 * kernel is asked every FLUSHMS what it has behind the file's watermark, which is its size (FUSE_NOTIFY_RETRIEVE). That
 * waits for nothing and needs no descriptor below the mount: one would keep it busy, and a server that waits for its own
 * mount can't be killed. The same bytes come once more when the kernel writes its pages back, as it does when a writer
 * closes; they are below the watermark then.
 *
 * A file that nobody appends to is left alone: the kernel is told that its attributes no longer hold, and believes none
 * until the next write(2) through the cache, which must know the size and asks for it with its handle (GETATTR), before
 * anything else. So an append after a pause announces itself.
 *
 * In shared memory, from the first such open until the last writer has closed.
 */
struct k2i_cached_file {
	struct k2i_cached_file *next;
	uint32_t node;
	uint32_t writers;          /* open handles */
	uint32_t writer_pid;       /* who opened it; 0: there were several */
	struct k2i_handle *stream; /* what all of them write, in one; the kernel doesn't know it */
	struct k2i_cached pieces;
	bool refused; /* the kernel has been told that something that it gave can't be taken */

	/* The process's own. */
	uint64_t asked; /* number of the question that has no answer yet; 0: none */
	uint64_t due_ns;
	unsigned idle;      /* answers with nothing new, in a row */
	bool left;          /* alone: the next append announces itself */
	bool asked_in_time; /* the question is younger than `waits` */
	bool probe;         /* it only asks whether a cut is done */
	struct k2i_pull_wait *waits;
};

struct k2i_pull {
	struct k2i_cached_file *first;
	uint32_t count;
	uint64_t due_ns; /* when the first file is to be asked about */
	uint64_t questions;
};

/* Another writer of the file. As k2i_route_open. */
int k2i_pull_open(struct k2i_mount *mount, uint32_t node, const char *path, uint32_t pid,
		  struct k2i_cached_file **file);
/* A writer's descriptor was closed; all that it wrote has come. */
void k2i_pull_flushed(struct k2i_mount *mount, struct k2i_cached_file *file);
/*
 * The kernel has nothing that belongs in front of what it has given: what is missing there is a hole, as who takes O_APPEND
 * away and seeks leaves one, or was refused. A hole is passed over.
 */
void k2i_pull_pass_hole(struct k2i_mount *mount, struct k2i_cached_file *file);
void k2i_pull_close(struct k2i_mount *mount, struct k2i_cached_file *file);
/* In place of a process that died. */
void k2i_pull_inherit(struct k2i_mount *mount);

/*
 * Whether appends to the files of a queue wait: enough of them waits for room in its rings already. The kernel would keep a process that waits with dirty
 * pages from ending: close(2), and so exec(3) and exit, write them back and wait for that, which no signal ends. So
 * appends wait where the kernel asks for attributes before it has their data, which a signal does end, and data that
 * it has is taken into the queue.
 */
bool k2i_pull_holds(const struct k2i_mount *mount, const struct k2i_queue *queue);
/*
 * The same for appends to one file: an fsync(2) of it waits, and until it is answered the kernel keeps the file locked for
 * others, whom no signal reaches then.
 */
bool k2i_pull_holds_file(const struct k2i_mount *mount, uint64_t node);
/* The kernel asks for attributes with a writer's handle: something may be appended as soon as it has them. */
void k2i_pull_announced(struct k2i_mount *mount, struct k2i_cached_file *file);
/* Its attributes are not to be believed any longer, so the next append announces itself; its pages stay. false: not told. */
bool k2i_pull_leave(const struct k2i_mount *mount, const struct k2i_cached_file *file);
/* Whether an append to it is to announce itself: attributes that the kernel believes for a while would be in its way. */
bool k2i_pull_left(const struct k2i_node_entry *entry);

/* The kernel writes pages back: a WRITE with FUSE_WRITE_CACHE. */
void k2i_pull_write(struct k2i_mount *mount, uint64_t node, const struct k2i_write *write);
/* The kernel's answer to question `number`. */
void k2i_pull_answer(struct k2i_mount *mount, uint64_t node, uint64_t number, const struct k2i_write *write);

/* Asks what is to be asked now. */
void k2i_pull_run(struct k2i_mount *mount, uint64_t now_ns);
/* When to do that again; -1: that does not depend on time. */
int k2i_pull_timeout_ms(const struct k2i_mount *mount, uint64_t now_ns);

/*
 * Calls `then` when all that was written to `node` before has been taken: at once, if nothing goes through the cache.
 * Requests are served meanwhile. A successor does not know of it: the request that wants it comes again.
 */
typedef void k2i_pull_then(struct k2i_mount *mount, void *argument);
void k2i_pull_before(struct k2i_mount *mount, uint32_t node, k2i_pull_then *then, void *argument);

/*
 * The file gets another size when the kernel has the answer to the request that is being served. Until the kernel has
 * acted on it, the pages and the size that it gives are the old ones, and the watermark is the new one.
 */
void k2i_pull_cut(struct k2i_mount *mount, uint32_t node, const struct k2i_truncate_probe *probe);
/* A request came that the kernel makes when cuts before it are done: under the file's lock, or one of write-back. */
void k2i_pull_cut_done(struct k2i_mount *mount, uint32_t node);
/* The kernel answers no more. */
void k2i_pull_abandon(struct k2i_mount *mount);

#endif
