/* SPDX-License-Identifier: MIT */
#ifndef K2I_FUSE_INTAKE_WRITE_H
#define K2I_FUSE_INTAKE_WRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct k2i_mount;
struct k2i_handle;
struct k2i_queued;

/* Writes to files of the mount, request by request, until they are in the ring or in the queue (queue.h). */
struct k2i_write {
	uint64_t unique; /* 0: nobody waits for an answer */
	uint64_t handle;
	uint32_t writer_pid;
	uint64_t offset;
	const char *data;
	size_t bytes;
	bool synchronous;    /* O_DSYNC: the answer waits until it is acknowledged */
	size_t answer_bytes; /* of the request: what its writer is told */
	char *claim;         /* begin of the ring memory in which the data is; NULL: it is elsewhere */
	size_t claim_bytes;
	char *aside; /* with a claim: memory for `bytes` that outlasts it */
};

/*
 * Commits the data where it stands and answers, if that can be: others' records need no end before, and nothing waits.
 * false, with a status: it failed.
 */
bool k2i_write_in_place(struct k2i_mount *mount, const struct k2i_write *write, struct k2i_handle *handle, int *status);

/*
 * Takes what is written to `handle`: into the ring, or into the queue. Answers it, or an item of the queue will.
 * `cached`: it is data behind the watermark of a file that is written through the page cache, and answered as soon as it
 * is in the ring or queued.
 */
void k2i_write_take(struct k2i_mount *mount, const struct k2i_write *write, struct k2i_handle *handle, bool cached);
/*
 * Queues cached data in any case; does not go on with it, and ends no step behind it unless there is something to answer. -ENOMEM
 */
int k2i_write_queue_cached(struct k2i_mount *mount, struct k2i_handle *stream, const struct k2i_write *write);

/* Its last record ends here. -ENOMEM: it does not. */
int k2i_write_end(struct k2i_mount *mount, struct k2i_handle *handle);
/* The kernel has released the handle: the same, or the record is lost. */
void k2i_write_release(struct k2i_mount *mount, struct k2i_handle *handle);

/* All open files' unterminated records, at the end. */
void k2i_write_end_all(struct k2i_mount *mount);

#endif
