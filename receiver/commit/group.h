/* SPDX-License-Identifier: MIT */
#ifndef K2I_RECEIVER_COMMIT_GROUP_H
#define K2I_RECEIVER_COMMIT_GROUP_H

#include <stdint.h>

#include <k2hft/frame.h>

#include "receiver/ledger/ledger.h"
#include "receiver/sink/file/output.h"
#include "config/settings.h"

/*
 * A commit group: the chunks of one connection that are written, entered in the ledger and acknowledged together, or
 * not at all. Chunks stay where they were received; the group knows where they are, sorted by the file that they go to.
 */
/* All of a group can belong there, and it goes in one piece: the smallest quarantine has room for it, and its index. */
#define K2I_GROUP_COST_MAX (K2I_QUARANTINE_BYTES_MIN / 2)

struct k2i_stream { /* as a connection declared it */
	uint32_t id, mode;
	const char *path, *host;
	uint64_t writer_seed; /* of ring, path and host */
	/* Which file of which group its chunks go to, so that the path is looked up once in a group. */
	uint64_t group_number;
	uint32_t group_file;
};

struct k2i_group_entry {
	const struct k2i_stream *stream;
	const uint8_t *payload;
	uint64_t position, time_ns;
	uint32_t payload_bytes, record_count, writer_pid;
	uint16_t flags;
	uint32_t next; /* of the same file; 0: none, since the first entry is nobody's next */
};

struct k2i_group_file {
	struct k2i_output_file *output;
	uint32_t first, last; /* entries */
	uint64_t length_before, writer_before;
	int error; /* it can't be stored for a reason of its own: its chunks go to quarantine */
};

struct k2i_group {
	uint64_t number;
	struct k2i_outputs *outputs;
	struct k2i_group_entry *entries;
	uint32_t entry_count, entry_room;
	struct k2i_group_file files[K2I_LEDGER_FILES_MAX];
	uint32_t file_count;
	uint64_t cost; /* what all entries take in the quarantine */
	/* What a commit adds to the counters. */
	uint64_t record_count, payload_bytes;
};

/* What a file of `bytes`, as each chunk becomes one, takes in the quarantine: its inode is worth something. */
uint64_t k2i_group_cost(uint64_t bytes);

void k2i_group_start(struct k2i_group *group, struct k2i_outputs *outputs);
void k2i_group_free(struct k2i_group *group);

/*
 * Adds a chunk that goes to `path`. The chunk's memory and the stream must stay until the group is cleared.
 * -ENOBUFS the group is full, commit it first; -ENOMEM.
 */
int k2i_group_add(struct k2i_group *group, struct k2i_stream *stream, const char *path,
		  const struct k2hft_chunk_view *view);

/* Forgets what it has and gives the outputs back. */
void k2i_group_clear(struct k2i_group *group);

/* Takes the locks of all outputs, or gives them back. */
void k2i_group_lock(struct k2i_group *group);
void k2i_group_unlock(struct k2i_group *group);

#endif
