/* SPDX-License-Identifier: MIT */
#ifndef K2I_FUSE_CACHED_CACHED_H
#define K2I_FUSE_CACHED_CACHED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Puts the bytes that the kernel's page cache gives of one file in order. It gives pages: they begin before the new
 * bytes, repeat old ones, and come in any order. The file's watermark says up to which offset its bytes were taken.
 * Bytes beyond a gap are kept here, in shared memory (journal.h), which the struct is in too, until the gap has come,
 * or is known for a hole. Bytes that were given first count: a page that was dropped and made again has zeros where it
 * was written before. Zero-initialised; k2i_cached_forget.
 */
struct k2i_cached {
	struct k2i_cached_piece *first; /* by offset, none overlaps another */
};

struct k2i_cached_part {
	const char *data; /* in what was given, or in a piece */
	size_t bytes;     /* from the watermark on; 0: there is nothing to take */
};

/*
 * `bytes` of data for `offset`: `*part` is to be taken now, new bytes beyond it are kept. -ENOMEM: some could not be
 * kept;
 * -EFBIG: no file has such an offset.
 */
int k2i_cached_give(struct k2i_cached *cached, uint64_t watermark, uint64_t offset, const char *data, size_t bytes,
		    struct k2i_cached_part *part);
/* Kept bytes that are to be taken now that the watermark is there; false: there are none. */
bool k2i_cached_next(const struct k2i_cached *cached, uint64_t watermark, struct k2i_cached_part *part);
/* Where the first that is kept begins; 0: nothing is. */
uint64_t k2i_cached_begin(const struct k2i_cached *cached);
/* The watermark has come here: frees what is below. */
void k2i_cached_advance(struct k2i_cached *cached, uint64_t watermark);
/* Frees all: the file is cut. Returns how many records that was. */
uint64_t k2i_cached_forget(struct k2i_cached *cached);

#endif
