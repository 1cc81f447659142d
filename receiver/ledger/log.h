/* SPDX-License-Identifier: MIT */
#ifndef K2I_RECEIVER_LEDGER_LOG_H
#define K2I_RECEIVER_LEDGER_LOG_H

#include "receiver/ledger/ledger.h"

/*
 * The form of the ledger on disk, as pure functions. Numbers are little-endian.
 *
 *	file	header, then records one behind the other, then zeros that were allocated ahead
 *	header	magic u64, version u32, file u32 (file_identity.h: a copy has another), receiver uuid 16, boot id 16, checksum u64
 *	record	bytes u32 (all of it, a multiple of 8), type u16, count u16, checksum u64, body
 *	COMMIT	uuid 16, epoch u64, position u64, flags u32, 0 u32, proven u64, `count` times (birth, inode, length,
 *		open writer, bytes, records) u64
 *	OPENED	birth, inode, length, open writer u64, path bytes u32, marks u32, path, zeros up to a multiple of 8
 *	CLOSED	birth, inode u64
 *	CLEAN	nothing
 *	MARK	nothing
 *	CHECKPOINT	end u64
 *	RING	uuid 16, epoch u64, flags u32, marks u32, now, marked, synced, proven u64
 *	FILE	birth, inode u64, now, marked, synced (length, open writer) u64, path bytes u32, marks u32, path as in OPENED
 *	WHOLE	nothing
 *	FORGOTTEN	uuid 16
 *	DOUBT	nothing
 *	RANGE	uuid 16, from, to, birth, inode, offset, open writer, bytes, records u64, flags, 0 u32
 *	CUT	uuid 16, birth, inode, length, open writer u64, flags u32, 0 u32
 *	SETTLED	as COMMIT, without files
 *
 * In flags and in OPENED's and FILE's marks the upper 24 bits are the number of the sink that the row is of, 0 for
 * files. A range that a COMMIT brought ends at the file's length. A checksum is XXH3-64 over everything before it and, in a record, the body.
 *
 * CHECKPOINT: the data of all commits before the last MARK are on the disk; so was the log up to `end` when it was written.
 * RING, FILE and RANGE stand in a log that was written anew for what was in the old one; WHOLE is behind them, and such a log
 * takes the old one's place when all of it is on the disk. DOUBT: a sync of what came before it failed; a log that is written
 * anew has that in its RINGs.
 */
#define K2I_LEDGER_HEADER_BYTES 56u
/* Records that a sync appends to the log: MARK, CHECKPOINT, DOUBT. */
#define K2I_LEDGER_SYNC_BYTES (16u + 24u + 16u)
#define K2I_LEDGER_RECORD_BYTES_MAX 4096u

enum k2i_ledger_record_type {
	K2I_LEDGER_COMMIT = 1,
	K2I_LEDGER_OPENED = 2,
	K2I_LEDGER_CLOSED = 3,
	K2I_LEDGER_CLEAN = 4,
	K2I_LEDGER_MARK = 5,
	K2I_LEDGER_CHECKPOINT = 6,
	K2I_LEDGER_RING = 7,
	K2I_LEDGER_FILE = 8,
	K2I_LEDGER_WHOLE = 9,
	K2I_LEDGER_FORGOTTEN = 10,
	K2I_LEDGER_DOUBT = 11,
	K2I_LEDGER_RANGE = 12,
	K2I_LEDGER_CUT = 13,
	K2I_LEDGER_SETTLED = 14,
};

/* marks */
#define K2I_LEDGER_MARK_DEFERRED 1u
#define K2I_LEDGER_MARK_OPEN 2u
#define K2I_LEDGER_MARK_CHANGED 4u /* since the last MARK */
#define K2I_LEDGER_MARK_MARKED 8u  /* by it, and not yet by its CHECKPOINT */

struct k2i_ledger_point { /* a ring's position, or a file's length and open writer */
	uint64_t at, open_writer;
};

struct k2i_ledger_stages { /* as of the last commit, of the last MARK, and of the one before the last CHECKPOINT */
	struct k2i_ledger_point now, marked, synced;
	uint32_t marks;
};

/*
 * A RING has its position in the stages, a FILE its length; so is DEFERRED of an OPENED. A record that was read has the
 * position and DEFERRED in `ring` and `files`, too.
 */
struct k2i_ledger_record {
	enum k2i_ledger_record_type type;
	struct k2i_ledger_ring ring;
	size_t file_count;                                  /* COMMIT */
	struct k2i_ledger_file files[K2I_LEDGER_FILES_MAX]; /* OPENED, CLOSED, FILE: the first */
	char path[1024];                                    /* OPENED, FILE: what files[0].path of one read points to */
	struct k2i_ledger_stages stages;                    /* RING, FILE; marks of OPENED */
	uint64_t end;                                       /* CHECKPOINT */
	struct k2i_ledger_range range;                      /* RANGE, without its path */
};

struct k2i_ledger_header {
	uint32_t file;
	uint8_t uuid[16], boot_id[16];
};

void k2i_ledger_header_encode(const struct k2i_ledger_header *header, uint8_t bytes[K2I_LEDGER_HEADER_BYTES]);
/* -EBADMSG damaged; -EPROTO a version that is not known */
int k2i_ledger_header_decode(const uint8_t *bytes, size_t byte_count, struct k2i_ledger_header *header);

/* Bytes written, at most K2I_LEDGER_RECORD_BYTES_MAX; -EINVAL a path or a count that does not fit. */
int k2i_ledger_record_encode(struct k2i_ledger_record *record, uint8_t bytes[K2I_LEDGER_RECORD_BYTES_MAX]);

/* The record at the begin of `bytes`: its length; 0 none (zeros only, to the end); -EBADMSG it is wrong. */
int k2i_ledger_record_decode(const uint8_t *bytes, size_t byte_count, struct k2i_ledger_record *record);

/*
 * Whether the wrong record at `offset` of the whole log can be one whose writer died in the middle of pwrite(2): the
 * kernel copies page by page, so such a record ends at a page boundary, with nothing behind.
 */
bool k2i_ledger_record_torn(const uint8_t *log, size_t log_bytes, size_t offset);

/*
 * Whether the wrong record at `offset` was on the disk once, as records behind it tell. If not, a machine that went down
 * can have left it so.
 */
bool k2i_ledger_record_proven(const uint8_t *log, size_t log_bytes, size_t offset);

#endif
