/* SPDX-License-Identifier: MIT */
#ifndef K2I_FUSE_INTAKE_QUEUE_H
#define K2I_FUSE_INTAKE_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct k2i_mount;
struct k2i_handle;

/*
 * Writes that wait for a ring or for a receiver: first come, first served. While something waits for room, all that
 * comes after it, and needs the same lanes, waits behind it. All of it is in shared memory.
 */
enum k2i_queued_kind {
	K2I_QUEUED_WRITE,  /* data to be taken */
	K2I_QUEUED_END,    /* the handle's last record is ended as it is */
	K2I_QUEUED_SO_FAR, /* what the handle has of its record is sent */
	K2I_QUEUED_REST,   /* what was taken already, by a request that has been answered */
	K2I_QUEUED_SYNC,   /* an answer when all that came before is acknowledged */
};

struct k2i_queued {
	struct k2i_queued *next;
	enum k2i_queued_kind kind;
	uint64_t unique; /* the kernel's number of the request that wants an answer; 0: none */
	struct k2i_handle *handle;
	uint32_t writer_pid;
	uint64_t time_ns;
	uint64_t lanes;   /* SYNC: those in whose rings the file's data can be */
	uint64_t offset;  /* WRITE: of the data in the file */
	bool cached;      /* WRITE: out of the page cache: the node's size counts it already */
	bool synchronous; /* WRITE: what was taken is answered by a SYNC */
	size_t bytes, taken;
	size_t answer_bytes; /* WRITE, 0: those that were taken; SYNC, 0: it is no write's */
	char *data;  /* WRITE; SYNC: the position in each ring that must be acknowledged, see k2i_queue_add_sync */
	bool unseen; /* a successor has not got the request again yet */
};

/* For room in some lanes: those that the files in it need. */
struct k2i_queue {
	struct k2i_queue *next;
	uint64_t lanes;
	struct k2i_queued *first, *last;
	size_t cached_bytes; /* data out of the page cache */
	bool holding;        /* the kernel believes no attributes of a file that is appended to, see k2i_pull_holds */
};

/* With a single lane there is one. */
struct k2i_queues {
	struct k2i_queue *first;
	unsigned count;
	struct k2i_queued *syncs; /* for acknowledgement */
	size_t bytes;             /* of parked data */
	size_t cached_bytes;      /* the same, out of the page cache */
	bool resuming;            /* the worker is new: items go on when the kernel has sent their requests again */
};

/* Parked data beyond this: no more requests are taken from the kernel. */
#define K2I_QUEUE_BYTES_MAX (64u * 1024 * 1024)
/* Appends wait while so much data out of the page cache does, in all queues together, see k2i_pull_holds. */
#define K2I_QUEUE_HOLD_BYTES (UINT64_C(16) << 20)
/*
 * Data out of the page cache is answered when it is queued, up to so much; the kernel keeps the rest, and a process that
 * closes such a file can't be killed while it does. Once appends wait the kernel has no more than it may have dirty of
 * a FUSE mount: by default 1 % of vm.dirty_ratio, 20 %, and this is twice that. But a single write(2) goes on as pages
 * of it are taken.
 */
uint64_t k2i_queue_cached_bytes_max(void);

/* That of files that need these lanes; NULL: no memory for one. */
struct k2i_queue *k2i_queue_of(struct k2i_mount *mount, uint64_t lanes);
/* Nothing waits for these lanes, which have ended. It is no part of a step, as k2i_nodes_leave. */
void k2i_queues_leave(struct k2i_queues *queues, uint64_t lanes);
/* Whether something waits for room in one of these lanes. */
bool k2i_queues_wait(const struct k2i_queues *queues, uint64_t lanes);

/* Takes an item's memory back, and its handle's if that has waited for it. */
void k2i_queued_free(struct k2i_mount *mount, struct k2i_queued *item);
/* Nobody waits for the item's request any more; its place in the queue stays. */
void k2i_queued_forget_request(struct k2i_queued *item);

/*
 * Adds a copy of `item` to the queue of its handle, with a copy of `data` unless that is NULL; -ENOMEM. The handle is
 * kept until it is through.
 */
int k2i_queue_add(struct k2i_mount *mount, const struct k2i_queued *item, const char *data);

/*
 * For a successor: nothing goes on until the kernel has sent again what waits. Those requests are known by
 * k2i_queue_resent; who is not known in the end has been answered or has gone.
 */
void k2i_queue_resume_begin(struct k2i_mount *mount);
bool k2i_queue_resent(struct k2i_mount *mount, uint64_t unique);
void k2i_queue_resume_end(struct k2i_mount *mount);
bool k2i_queue_is_empty(const struct k2i_mount *mount);

#endif
