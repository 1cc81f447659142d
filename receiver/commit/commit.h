/* SPDX-License-Identifier: MIT */
#ifndef K2I_RECEIVER_COMMIT_COMMIT_H
#define K2I_RECEIVER_COMMIT_COMMIT_H

#include <stdint.h>

#include "receiver/base/counters.h"
#include "receiver/commit/group.h"
#include "receiver/ledger/ledger.h"
#include "receiver/sink/file/output.h"
#include "receiver/sink/file/write.h"
#include "receiver/commit/quarantine.h"

/* Where commit groups go: shared by all threads. */
struct k2i_destination {
	struct k2i_outputs *outputs;
	struct k2i_ledger *ledger;
	struct k2i_quarantine *quarantine;
	struct k2i_counters *counters;
	const struct k2i_format *format;
	const char *unify_file; /* FILE_UNIFY with its strftime directives; NULL: a file for each stream */
};

/* One thread's way there. */
struct k2i_committer {
	const struct k2i_destination *destination;
	struct k2i_group group;
	struct k2i_output_writer writer;
	struct k2i_log_limit uncut_limit; /* while a destination is held it is tried again and again */
	int64_t unify_second;             /* that unify_path is for */
	char unify_path[K2HFT_STREAM_PATH_BYTES_MAX + 1];
	char failed[K2HFT_STREAM_PATH_BYTES_MAX + 1]; /* what the last commit could not write; "": it could */
};

/* As k2i_output_writer_start. */
int k2i_committer_start(struct k2i_committer *committer, const struct k2i_destination *destination);
void k2i_committer_free(struct k2i_committer *committer);

/* Adds a chunk to the group. As k2i_group_add; -EINVAL FILE_UNIFY names no file now. */
int k2i_committer_add(struct k2i_committer *committer, struct k2i_stream *stream, const struct k2hft_chunk_view *view);

/*
 * Writes the group (which can be empty) and enters it in the ledger with the ring's new position. On an error, which is the
 * destination's, nothing of it has happened. The group is empty afterwards in either case.
 */
int k2i_committer_commit(struct k2i_committer *committer, struct k2i_ledger_ring *ring);

/* Forgets the group. */
void k2i_committer_abort(struct k2i_committer *committer);

#endif
