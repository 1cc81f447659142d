/* SPDX-License-Identifier: MIT */
#ifndef K2I_LEDGER_LOG_H
#define K2I_LEDGER_LOG_H

#include "ledger.h"

/*
 * The form of the ledger on disk, as pure functions. Numbers are little-endian.
 *
 *	file	header, then records one behind the other, then zeros that were allocated ahead
 *	header	magic u64, version u32, 0 u32, receiver uuid 16, boot id 16, checksum u64
 *	record	bytes u32 (all of it, a multiple of 8), type u16, count u16, checksum u64, body
 *	COMMIT	uuid 16, epoch u64, position u64, flags u32, 0 u32, `count` times (device, inode, length, open writer) u64
 *	OPENED	device, inode, length, open writer u64, path bytes u32, 0 u32, path, zeros up to a multiple of 8
 *	CLOSED	device, inode u64
 *	CLEAN	nothing
 *
 * A checksum is XXH3-64 over everything before it and, in a record, the body.
 */
#define K2I_LEDGER_HEADER_BYTES 56u
#define K2I_LEDGER_RECORD_BYTES_MAX 4096u

enum k2i_ledger_record_type {
	K2I_LEDGER_COMMIT = 1,
	K2I_LEDGER_OPENED = 2,
	K2I_LEDGER_CLOSED = 3,
	K2I_LEDGER_CLEAN = 4,
};

struct k2i_ledger_record {
	enum k2i_ledger_record_type type;
	struct k2i_ledger_ring ring;
	size_t file_count;
	struct k2i_ledger_file files[K2I_LEDGER_FILES_MAX]; /* OPENED, CLOSED: the first */
	char path[1024];                                    /* OPENED: what files[0].path points to */
};

void k2i_ledger_header_encode(const uint8_t uuid[16], const uint8_t boot_id[16],
			      uint8_t bytes[K2I_LEDGER_HEADER_BYTES]);
/* -EBADMSG damaged; -EPROTO a version that is not known */
int k2i_ledger_header_decode(const uint8_t *bytes, size_t byte_count, uint8_t uuid[16], uint8_t boot_id[16]);

/* Bytes written, at most K2I_LEDGER_RECORD_BYTES_MAX; -EINVAL a path or a count that does not fit. */
int k2i_ledger_commit_encode(const struct k2i_ledger_ring *ring, const struct k2i_ledger_file *files, size_t file_count,
			     uint8_t bytes[K2I_LEDGER_RECORD_BYTES_MAX]);
int k2i_ledger_opened_encode(const struct k2i_ledger_file *file, uint8_t bytes[K2I_LEDGER_RECORD_BYTES_MAX]);
int k2i_ledger_closed_encode(uint64_t device, uint64_t inode, uint8_t bytes[K2I_LEDGER_RECORD_BYTES_MAX]);
int k2i_ledger_clean_encode(uint8_t bytes[K2I_LEDGER_RECORD_BYTES_MAX]);

/* The record at the begin of `bytes`: its length; 0 none (zeros only, to the end); -EBADMSG it is wrong. */
int k2i_ledger_record_decode(const uint8_t *bytes, size_t byte_count, struct k2i_ledger_record *record);

/*
 * Whether the wrong record at `offset` of the whole log can be one whose writer died in the middle of pwrite(2): the
 * kernel copies page by page, so such a record ends at a page boundary, with nothing behind.
 */
bool k2i_ledger_record_torn(const uint8_t *log, size_t log_bytes, size_t offset);

#endif
