/* SPDX-License-Identifier: MIT */
#ifndef K2I_RECEIVER_SINK_GROUP_H
#define K2I_RECEIVER_SINK_GROUP_H

#include <stdint.h>

#include <k2hft/frame.h>

#include "config/settings.h"
#include "receiver/base/flow.h"
#include "receiver/base/owner.h"
#include "receiver/ledger/ledger.h"

/* All of a group can belong there, and it goes in one piece: the smallest quarantine has room for it, and its index. */
#define K2I_GROUP_COST_MAX (K2I_QUARANTINE_BYTES_MIN / 2)
#define K2I_GROUP_LEDGER "the ledger" /* in `failed` */
#define K2I_SINKS_MAX 5u

struct k2i_sink;
struct k2i_target; /* a file, say: the sink knows */

struct k2i_stream { /* as a connection declared it */
	uint32_t id, mode;
	const char *path, *host;
	const uint8_t *ring;   /* its uuid */
	uint64_t writer_seed;  /* from ring, path and host */
	struct k2i_flow *flow; /* for the status; NULL: it has no place there */
	/* The target of its chunks in a group of each sink, so that the sink looks the path up once in a group. */
	struct {
		uint64_t group_number;
		uint32_t target;
	} places[K2I_SINKS_MAX];
};

struct k2i_group_entry {
	const struct k2i_stream *stream;
	const uint8_t *payload;
	uint64_t position, time_ns;
	uint32_t payload_bytes, record_count, writer_pid;
	uint16_t flags;
	uint32_t next, previous; /* of the same target; next 0: none, since the first entry is nobody's next */
};

struct k2i_group_target {
	struct k2i_target *target;
	uint32_t first, last; /* entries */
	uint64_t record_count;
	int error;          /* it can't take them for a reason of its own: its chunks go to quarantine */
	const char *reason; /* of the error, in other words; NULL: none */
	int stall_error;    /* why they are nowhere now, to be shown; 0: they are stored */
};

/*
 * A commit group: the chunks of one connection that a sink stores, and the ledger enters, together or not at all.
 * Chunks stay where they were received; the group knows where they are, sorted by target. A thread has one group for
 * each sink.
 */
struct k2i_group {
	struct k2i_sink *sink;
	void *thread;           /* the sink's own, of this thread */
	struct k2i_owner owner; /* of the chunks, from begin to end */
	uint64_t number;
	struct k2i_group_entry *entries;
	uint32_t entry_count, entry_room;
	struct k2i_group_target targets[K2I_LEDGER_FILES_MAX];
	uint32_t target_count;
	uint64_t cost; /* the room that all entries take in the quarantine */
	/* The counts that a commit adds. */
	uint64_t record_count, payload_bytes;
	const char *failed; /* the place that could not be written, for the log; NULL: the sink does not say */
};

/* The room that a file of `bytes`, as each chunk becomes one, takes in the quarantine: its inode is worth something. */
uint64_t k2i_group_cost(uint64_t bytes);

/* Errors as the sink's thread_open. */
int k2i_group_start(struct k2i_group *group, struct k2i_sink *sink);
void k2i_group_free(struct k2i_group *group);

/*
 * Adds a chunk. Its memory and the stream must stay until the group is cleared. -ENOBUFS the group is full, commit it
 * first; -ENOMEM; others as the sink's place.
 */
int k2i_group_add(struct k2i_group *group, struct k2i_stream *stream, const struct k2hft_chunk_view *view);
/* Takes back the chunk that was added last, which was this stream's. */
void k2i_group_remove_last(struct k2i_group *group, struct k2i_stream *stream);

/* The writer of an entry, also over connections and restarts; never 0. */
uint64_t k2i_group_writer(const struct k2i_group_entry *entry);

/* Forgets the chunks and gives the targets back. */
void k2i_group_clear(struct k2i_group *group);

#endif
