/* SPDX-License-Identifier: MIT */
#ifndef K2I_RECEIVER_LEDGER_KNOWN_H
#define K2I_RECEIVER_LEDGER_KNOWN_H

#include "receiver/ledger/log.h"
#include "receiver/base/list.h"
#include "receiver/base/table.h"

/*
 * The content of a ledger, in memory: now, and as of the last checkpoint. Each of these functions is the effect of one
 * record, so that a reader of the log comes to the same. Zero-initialised; not locked.
 *
 * A sync begins with MARK: what is said then becomes the checkpoint when the data are on the disk. Between them commits
 * go on, so there are three stages. Files have them only if they are deferred.
 */
enum k2i_known_list { K2I_KNOWN_CHANGED, K2I_KNOWN_MARKED, K2I_KNOWN_LIST_COUNT };

struct k2i_known_entry {
	struct k2i_ledger_stages stages; /* marks: CHANGED and MARKED tell which lists it is in */
	struct k2i_link links[K2I_KNOWN_LIST_COUNT];
	bool is_file;
};

struct k2i_known_ring {               /* a row: a ring as one sink has it */
	struct k2i_known_entry entry; /* first */
	struct k2i_table_node node;
	struct k2i_ledger_ring ring; /* without position and synced */
	struct k2i_list ranges;      /* by their ends, which only grow */
	size_t range_count;
	bool doubt_told; /* its sender knows that it is UNCERTAIN; not in the log */
};

struct k2i_known_file {
	struct k2i_known_entry entry; /* first; marks: also OPEN and DEFERRED */
	struct k2i_table_node node;
	uint64_t birth, inode;
	char *path;
	uint32_t sink;
	size_t range_count; /* of all rows: it is known as long as it has one */
	uint64_t shrunk;    /* how often somebody else has made it shorter: older ranges are not there any more */
};

struct k2i_known_range {
	struct k2i_link link;
	struct k2i_known_file *file;
	uint64_t shrunk;               /* the file's when it was written */
	struct k2i_ledger_range range; /* without the file's identity and path */
};

struct k2i_known {
	struct k2i_table rings, files;
	size_t ring_count;      /* a ring has a row for each sink */
	struct k2i_list spares; /* ranges to be */
	size_t spare_count;
	struct k2i_list lists[K2I_KNOWN_LIST_COUNT];
};

/* The row of a ring behind `last` (NULL: the first), or NULL. */
struct k2i_known_ring *k2i_known_row_next(const struct k2i_known *known, const uint8_t uuid[16],
					  const struct k2i_known_ring *last);
struct k2i_known_ring *k2i_known_ring_find(const struct k2i_known *known, const uint8_t uuid[16], uint32_t sink);
/* The place for a row, made if it is new; NULL: no memory. */
struct k2i_known_ring *k2i_known_ring_place(struct k2i_known *known, const uint8_t uuid[16], uint32_t sink);
void k2i_known_ring_forget(struct k2i_known *known, struct k2i_known_ring *ring);
/* All rows of a ring; false: there is none. */
bool k2i_known_rows_forget(struct k2i_known *known, const uint8_t uuid[16]);
/* Room for what a commit of so many files brings. -ENOMEM */
int k2i_known_commit_reserve(struct k2i_known *known, size_t file_count);
/* A commit, with new lengths; files that are not known are passed over. There is room for it. */
void k2i_known_commit(struct k2i_known *known, struct k2i_known_ring *place, const struct k2i_ledger_ring *ring,
		      const struct k2i_ledger_file *files, size_t file_count);
/* Ranges that end at the position or before it are not asked for any more. */
void k2i_known_ring_prove(struct k2i_known *known, struct k2i_known_ring *ring, uint64_t position);
/* As the functions of ledger.h. */
void k2i_known_cut(struct k2i_known *known, const struct k2i_ledger_ring *row, const struct k2i_ledger_file *file);
void k2i_known_settle(struct k2i_known *known, const struct k2i_ledger_ring *row);
/* As the ledger's callers see it. */
struct k2i_ledger_range k2i_known_range_shown(const struct k2i_known_range *range);
/* As the ledger's callers see them. */
struct k2i_ledger_ring k2i_known_ring_shown(const struct k2i_known_ring *ring);
struct k2i_ledger_file k2i_known_file_shown(const struct k2i_known_file *file);

struct k2i_known_file *k2i_known_file_find(struct k2i_known *known, uint64_t birth, uint64_t inode);
/* 1: nothing may be written before that is on the disk; 0; -ENOMEM. */
int k2i_known_file_opened(struct k2i_known *known, const struct k2i_ledger_file *file);
/* Closes an open one. It stays known until what was written to it is in a checkpoint. */
void k2i_known_file_closed(struct k2i_known *known, struct k2i_known_file *file);
void k2i_known_files_closed(struct k2i_known *known);
void k2i_known_files_forget(struct k2i_known *known);

void k2i_known_mark(struct k2i_known *known);
void k2i_known_checkpoint(struct k2i_known *known);
/* Commits that are not in the checkpoint now do not get there: each ring is UNCERTAIN until its next commit. */
void k2i_known_doubt(struct k2i_known *known);
/*
 * Only what is deferred has a past that is known, and goes back to the checkpoint. `machine_down`: nothing is known of the
 * other rings; else what they wrote stays, as far as it is there.
 */
void k2i_known_fall_back(struct k2i_known *known, bool machine_down);

/* Takes a record of the log. -ENOMEM */
int k2i_known_apply(struct k2i_known *known, const struct k2i_ledger_record *record);

void k2i_known_free(struct k2i_known *known);

#endif
