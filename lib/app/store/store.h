/* SPDX-License-Identifier: MIT */
#ifndef K2I_APP_STORE_STORE_H
#define K2I_APP_STORE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "config/settings.h"

/*
 * How files get their bytes: the receiver's output files, and those of `k2hft testio`, which measures just this. Files
 * are written from front to back; who writes one opens and closes it.
 */
#define K2I_STORE_WRITE_BYTES_MIN ((size_t)4096)
#define K2I_STORE_WRITE_BYTES_MAX ((size_t)16 * 1024 * 1024)
#define K2I_STORE_VECTORS 512u

struct k2i_store_options {
	size_t write_bytes; /* WRITEBUF: the most in one call of write or read; with `direct` a multiple of 4096 */
	enum k2i_store_mode mode;
	enum k2i_store_cache cache;
	bool direct; /* O_DIRECT: not for the receiver's files, see k2i_store_put */
};

/* Flags that open(2) needs besides. */
int k2i_store_flags(const struct k2i_store_options *options);

/* A thread's way to write: it gathers bytes, of one file at a time. */
struct k2i_store_writer {
	struct k2i_store_options options;
	int descriptor;
	struct iovec vectors[K2I_STORE_VECTORS];
	size_t vector_count, pending_bytes;
	uint8_t *staging; /* for what is too small to be worth a vector of its own; with `direct` for all */
	size_t staging_room, staging_bytes;
	uint64_t written_bytes; /* since k2i_store_writer_begin */
};

/* -ENOMEM; -EINVAL options out of range. */
int k2i_store_writer_start(struct k2i_store_writer *writer, const struct k2i_store_options *options);
void k2i_store_writer_free(struct k2i_store_writer *writer);

/* Later bytes go to `descriptor`, at its position. Pending bytes for another one are forgotten. */
void k2i_store_writer_begin(struct k2i_store_writer *writer, int descriptor);
/*
 * Adds bytes, which must stay until k2i_store_flush (they are written from where they are, unless they are few, or go
 * with `direct`, which needs aligned memory and whole blocks). Errors as writev(2): then an unknown part was written.
 */
int k2i_store_put(struct k2i_store_writer *writer, const void *bytes, size_t byte_count);
/*
 * Writes what is pending. With `direct` that is the end of the file: a rest that is no whole block is written without
 * O_DIRECT, which stays off.
 */
int k2i_store_flush(struct k2i_store_writer *writer);

/* Memory for k2i_store_read and for what is written with `direct`; to be freed with free(3). NULL: there is none. */
void *k2i_store_buffer(size_t byte_count);
/*
 * Reads up to write_bytes at `offset`; 0 at the end. Errors as pread(2). Pages that were read leave the page cache,
 * unless that is to be kept.
 */
ssize_t k2i_store_read(const struct k2i_store_options *options, int descriptor, void *buffer, uint64_t offset);

/*
 * store_behind.c: write-behind of one file, so that dirty memory is bounded: the kernel is told to write a stretch as soon
 * as that is full, and who writes waits for the one that lies k2i_store_waiting_bytes before it. So the kernel always has
 * some to write, a burst goes at the speed of memory, and a disk that stays slower than the data is felt.
 */
#define K2I_STORE_BEHIND_BYTES (UINT64_C(4) << 20)
struct k2i_store_behind {
	uint64_t done;    /* up to there it is on the disk, as far as this knows */
	uint64_t dropped; /* up to there the page cache was told to give up what the disk had */
	uint64_t started; /* up to there the kernel writes */
	uint32_t counted; /* the second in which it was counted among those that grow */
};

/*
 * This much of each of so many files that grow can wait for the disk: 64 MiB, but of all together 256 MiB and an eighth
 * of the memory at most, as far as two stretches of each allow.
 */
uint64_t k2i_store_waiting_bytes(unsigned file_count);

/* The file is `length` long, or was cut to that. */
void k2i_store_behind_set(struct k2i_store_behind *behind, uint64_t length);
/*
 * After each write: the file is `length` long now. 0, or an error of the disk, as fdatasync(2), which does not tell it
 * again: some of what was written to the file is not on the disk, and does not get there.
 */
int k2i_store_behind_advance(struct k2i_store_behind *behind, const struct k2i_store_options *options, int descriptor,
			     uint64_t length);
/* Before the file is closed: starts what is left, and waits for nothing. */
void k2i_store_behind_end(struct k2i_store_behind *behind, const struct k2i_store_options *options, int descriptor,
			  uint64_t length);

#endif
