/* SPDX-License-Identifier: MIT */
#ifndef K2I_FUSE_CACHED_CACHED_H
#define K2I_FUSE_CACHED_CACHED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The order of what the kernel's page cache gives of one file. It gives pages: they begin before what is new, repeat
 * what was given, and come in any order. The file's watermark says up to which offset its bytes were taken; what is
 * beyond it with a gap between is kept here, in shared memory (shared.h), which the struct is in too, until the gap has
 * come, or is known for a hole. What was given first counts: a page that was dropped and made again has zeros where it
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
 * `bytes` of data for `offset`: `*part` is what is to be taken now, what is new beyond is kept. -ENOMEM: what could not
 * be kept is not; -EFBIG: no file has such an offset.
 */
int k2i_cached_give(struct k2i_cached *cached, uint64_t watermark, uint64_t offset, const char *data, size_t bytes,
		    struct k2i_cached_part *part);
/* What was kept and is to be taken now that the watermark is there: false, nothing. */
bool k2i_cached_next(const struct k2i_cached *cached, uint64_t watermark, struct k2i_cached_part *part);
/* Where the first that is kept begins; 0: nothing is. */
uint64_t k2i_cached_begin(const struct k2i_cached *cached);
/* The watermark has come here: frees what is below. */
void k2i_cached_advance(struct k2i_cached *cached, uint64_t watermark);
/* Frees all: the file is cut. Returns how many records that was. */
uint64_t k2i_cached_forget(struct k2i_cached *cached);

#endif
