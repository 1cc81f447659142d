/* SPDX-License-Identifier: MIT */
#ifndef K2I_RECEIVER_COMMIT_COMMIT_H
#define K2I_RECEIVER_COMMIT_COMMIT_H

#include <stdint.h>

#include "receiver/commit/quarantine.h"
#include "receiver/base/counters.h"
#include "receiver/ledger/ledger.h"
#include "receiver/sink/sink.h"

/* The destination of all commit groups: shared by all threads. */
struct k2i_destination {
	struct k2i_sinks sinks;
	struct k2i_ledger *ledger;
	struct k2i_quarantine *quarantine;
	struct k2i_counters *counters;
	const char *retracted_path; /* of the list: retracted.h */
};

/* A thread's way there. */
struct k2i_committer {
	const struct k2i_destination *destination;
	struct k2i_group groups[K2I_SINKS_MAX];       /* by the sinks' numbers */
	char failed[K2HFT_STREAM_PATH_BYTES_MAX + 1]; /* the place that the last commit could not write; "": it could */
};

struct k2i_commit_counts {
	uint64_t position; /* behind the chunks; not of a sum */
	uint64_t chunks, records, bytes;
	uint64_t written_ns; /* of the chunk that was written first */
};

#define K2I_COMMIT_WAITING_MAX 16u /* more groups are counted together */

/* How far the sinks are with what one connection brings. */
struct k2i_commit {
	struct k2i_owner owner;
	struct k2i_ledger_ring *rows; /* the ring's, by the sinks' numbers; only under the ring's lock */
	uint64_t position;            /* behind the groups */
	uint32_t flags;               /* as the ledger's ring has them */
	uint64_t proven;              /* likewise */
	/*
	 * For each sink, behind the last chunk that it has, or has a copy of, and that it has said to have stored
	 * LATER.
	 */
	uint64_t taken[K2I_SINKS_MAX], stored[K2I_SINKS_MAX];
	struct k2i_histogram *latency;                            /* the connection's, or NULL */
	struct k2i_commit_counts counts;                          /* all that every sink has stored */
	struct k2i_commit_counts waiting[K2I_COMMIT_WAITING_MAX]; /* a sink has a copy, and has not stored it */
	unsigned waiting_count;
};

/* Errors as the sinks' thread_open. It wants k2i_committer_free in any case. */
int k2i_committer_start(struct k2i_committer *committer, const struct k2i_destination *destination);
void k2i_committer_free(struct k2i_committer *committer);

/* Adds a chunk to the group of each sink that does not have it. As k2i_group_add; on an error it is in none. */
int k2i_committer_add(struct k2i_committer *committer, const struct k2i_commit *commit, struct k2i_stream *stream,
		      const struct k2hft_chunk_view *view);
/* The least position of a ring's rows: every sink has committed all before it. */
uint64_t k2i_commit_position(const struct k2i_ledger_ring *rows, const struct k2i_sinks *sinks);

/*
 * Has each sink store its group (which can be empty), and enters it in the ledger with the ring's new position. A sink
 * that can't does not keep the others from it: K2I_SINK_WAITS, or an error, which is the destination's, and of that
 * sink nothing has happened. The groups are empty afterwards in any case.
 */
int k2i_committer_commit(struct k2i_committer *committer, struct k2i_commit *commit);
/* Enters in the ledger what sinks have stored LATER. Errors as k2i_ledger_commit. */
int k2i_committer_enter(struct k2i_committer *committer, struct k2i_commit *commit);

/* Forgets the groups. */
void k2i_committer_abort(struct k2i_committer *committer);

#endif
