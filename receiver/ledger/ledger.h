/* SPDX-License-Identifier: MIT */
#ifndef K2I_RECEIVER_LEDGER_LEDGER_H
#define K2I_RECEIVER_LEDGER_LEDGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The commits of the receiver: for each ring its position, for each open output file its length. An append-only
 * log of checksummed records; a commit group is one record, written with one pwrite(2) after the group's data and
 * before its acknowledgement. The log is rewritten to what is current when it has grown, and at every start.
 *
 * A checkpoint says that the data of all commits up to one are on the disk. It is a cut through rings and files that fits:
 * the files' lengths are what the rings' positions made them. A sender that waits for the disk is acknowledged up to
 * the checkpoint and no further, so a machine that went down goes back to it: positions to the checkpoint's, and files
 * that only such senders write to (deferred ones) to the checkpoint's length. Data behind that comes again.
 *
 * A sender that does not wait is acknowledged at once: the tail of its files may be all that there is of it and stays.
 *
 * A lane that went on at another receiver wants back what this one has beyond an acknowledgement that the sender knows.
 * The ledger has the place of that in files: the ranges of the commits that the sender does not prove to know of. A
 * sender proves it with HELLO, with the first frame behind WELCOME, and with the PONG to a PING behind an ACK, for which
 * the session asks every few commits. So a row keeps some dozens of ranges. A window's worth would have no such bound:
 * as many commits as there are chunks of 40 bytes in it. The records that
 * are written anyway tell what a commit wrote.
 *
 * A single process at a time; any thread.
 */
struct k2i_ledger;

#define K2I_LEDGER_FILES_MAX 48u /* in one commit; each is locked, and the thread sanitizer knows 64 locks at most */

/* Flags of a ring. */
#define K2I_LEDGER_UNCERTAIN 1u /* the machine went down since; the position may be ahead of the disk or behind */
#define K2I_LEDGER_DEFERRED 2u  /* its sender waits for the disk: behind the checkpoint nothing was acknowledged */
#define K2I_LEDGER_COPY 4u /* the last commit came from a copy of the ring, which sends what the original has, too */

struct k2i_ledger_ring { /* as one sink has it: a row */
	uint8_t uuid[16];
	uint64_t epoch;
	uint64_t position;
	uint32_t flags;
	uint32_t sink; /* its number, of 24 bits */
	/*
	 * The number of the commit, in the order of all; not in the log: what was loaded has 1, what never was
	 * committed 0.
	 */
	uint64_t number;
	uint64_t synced; /* found: its position in the checkpoint; 0: it is not there */
	uint64_t proven; /* the sender knows that all before this is acknowledged: there are no ranges of it */
};

struct k2i_ledger_file {
	uint64_t birth, inode; /* its identity: file_identity.h */
	uint64_t length;
	uint64_t open_writer;    /* output.h */
	const char *path;        /* below the base directory; not needed for a commit */
	bool deferred;           /* its senders wait for the disk; not needed for a commit */
	uint32_t sink;           /* the number of its sink; not needed for a commit */
	uint64_t bytes, records; /* of a commit: that it brought; the bytes are the last ones before `length` */
};

/* In one row. If a sender proves nothing for longer than so many, the oldest are forgotten. */
#define K2I_LEDGER_RANGES_MAX 16384u

/* Flags of a range. */
#define K2I_LEDGER_RANGE_LOOSE 1u /* somebody else wrote there meanwhile, or has cut the file: its place is not known */
#define K2I_LEDGER_RANGE_CUT 2u   /* k2i_ledger_cut was about it */

struct k2i_ledger_range {      /* what a commit of a row brought to a file */
	uint64_t from, to;     /* the commit's positions */
	uint64_t birth, inode; /* the file's identity */
	uint64_t offset;       /* in the file */
	uint64_t open_writer;  /* the file's before it */
	uint64_t bytes, records;
	uint32_t flags;
	const char *path; /* the file's, as it was opened last */
};

/* The log as it was found at start. */
struct k2i_ledger_report {
	bool found;     /* there was a ledger */
	bool clean;     /* its receiver ended in order */
	bool same_boot; /* the machine has not been restarted since */
	bool copied;    /* somebody has put a copy in its place: files can be longer by what was acknowledged since */
	bool torn;      /* the last record was cut by the death of its writer, or did not get to the disk */
	bool damaged;   /* a record is wrong that was right once: what follows it is lost */
	int keep_error; /* why a damaged one does not stay as ledger.damaged */
	size_t record_count;
	uint64_t lost_bytes; /* from the wrong record to the end of the log */
};

/*
 * Makes or loads the ledger in `directory`, which is made if missing (its parent must exist) and locked. A ledger that
 * is damaged stays in place as ledger.damaged, if it can. -EWOULDBLOCK another process has it; -EPROTO it is of a layout
 * that this version does not know; -ENXIO it is no regular file; others as open(2).
 */
int k2i_ledger_open(const char *directory, const uint8_t boot_id[16], struct k2i_ledger **ledger,
		    struct k2i_ledger_report *report);

/*
 * Each file of the loaded ledger, before k2i_ledger_begin, with the length that it should have. When the machine went
 * down that holds for deferred ones only.
 */
void k2i_ledger_files(struct k2i_ledger *ledger, void (*each)(void *argument, const struct k2i_ledger_file *file),
		      void *argument);

/* Each deferred one of which the checkpoint has less, also if it was closed. */
void k2i_ledger_files_unsynced(struct k2i_ledger *ledger,
			       void (*each)(void *argument, const struct k2i_ledger_file *file), void *argument);

/*
 * Before k2i_ledger_begin: the disk has lost what the process before had written, although the machine went on.
 * Deferred files go back to the checkpoint; k2i_ledger_files has the lengths.
 */
void k2i_ledger_fall_back(struct k2i_ledger *ledger);

/*
 * The caller has dealt with the loaded files, and what it cut off is on the disk: starts a new log. Records of a
 * process that died here stay behind the checkpoint until the next one. Errors as pwrite(2).
 */
int k2i_ledger_begin(struct k2i_ledger *ledger);

/* The number of rings that are known. Waits for nothing. */
size_t k2i_ledger_ring_count(const struct k2i_ledger *ledger);
/* A ring's last commit by a sink; false: not known. */
bool k2i_ledger_find(struct k2i_ledger *ledger, const uint8_t uuid[16], uint32_t sink, struct k2i_ledger_ring *ring);

/*
 * A file is going to be written; `length` is its length now. The call must precede the first byte, and comes again with a
 * sender that waits less than the ledger says. 1: k2i_ledger_sync must precede it, too. Errors as pwrite(2).
 */
int k2i_ledger_file_opened(struct k2i_ledger *ledger, const struct k2i_ledger_file *file);
void k2i_ledger_file_closed(struct k2i_ledger *ledger, uint64_t birth, uint64_t inode);
/* Whether a power cut would take back what a file has beyond the checkpoint, so that the file has to stay as it is. */
bool k2i_ledger_file_deferred(struct k2i_ledger *ledger, uint64_t birth, uint64_t inode);

/*
 * Enters a commit group: `ring` stands at its position, and each of `files` (at most K2I_LEDGER_FILES_MAX, all opened)
 * has its length. The ring gets the commit's number. On an error, as pwrite(2), nothing is committed.
 */
int k2i_ledger_commit(struct k2i_ledger *ledger, struct k2i_ledger_ring *ring, const struct k2i_ledger_file *files,
		      size_t file_count);

/* The ring's sender proves to know that all before the position is acknowledged. */
void k2i_ledger_prove(struct k2i_ledger *ledger, const uint8_t uuid[16], uint64_t position);
/* The ranges of a row that end behind the position, the newest first, for free(3). -ENOMEM */
int k2i_ledger_ranges(struct k2i_ledger *ledger, const uint8_t uuid[16], uint32_t sink, uint64_t position,
		      struct k2i_ledger_range **ranges, size_t *count);
/*
 * A file is about to be cut back to `length`, which ends what the row has in it from there on. Its ranges stay until
 * k2i_ledger_settle. Survives a power cut when it returns; errors as pwrite(2) and fdatasync(2).
 */
int k2i_ledger_cut(struct k2i_ledger *ledger, const struct k2i_ledger_ring *row, const struct k2i_ledger_file *file);
/*
 * A row goes back to its `position`, with `epoch`: what was beyond it is cut off, or named elsewhere. As k2i_ledger_cut;
 * k2i_ledger_sync must follow.
 */
int k2i_ledger_settle(struct k2i_ledger *ledger, const struct k2i_ledger_ring *row);

/* All rows of a ring that never comes again, of which everything that was committed is acknowledged. */
void k2i_ledger_forget(struct k2i_ledger *ledger, const uint8_t uuid[16]);

/* The number of the last commit. */
uint64_t k2i_ledger_number(struct k2i_ledger *ledger);
/*
 * Between them the caller brings to the disk the data of the commits up to `*number`, the last before mark; then they
 * are the checkpoint, which survives a power cut. A single thread. Errors as pwrite(2) and fdatasync(2).
 */
int k2i_ledger_mark(struct k2i_ledger *ledger, uint64_t *number);
int k2i_ledger_checkpoint(struct k2i_ledger *ledger);
/* Commits from before this call survive a power cut when it returns. Errors as fdatasync(2). */
int k2i_ledger_sync(struct k2i_ledger *ledger);
/*
 * The disk has refused data of commits: whether a ring's position can be trusted is for its sender to say, as after a
 * power cut. Until its next commit.
 */
void k2i_ledger_doubt(struct k2i_ledger *ledger);
/* Whether the uncertainty of a row is reported for the first time: its sender can come again before the next commit. */
bool k2i_ledger_doubt_tell(struct k2i_ledger *ledger, const uint8_t uuid[16], uint32_t sink);

/*
 * To be called now and then: a ledger that somebody removed or cut is written again. 0, 1 it was written again, or as open(2)
 * and pwrite(2).
 */
int k2i_ledger_check(struct k2i_ledger *ledger);

/* This receiver's identity, as long as its ledger lives. */
const uint8_t *k2i_ledger_uuid(const struct k2i_ledger *ledger);

/* `clean`: all output is on the disk and nothing is under way. NULL is allowed. */
void k2i_ledger_close(struct k2i_ledger *ledger, bool clean);

#endif
