/* SPDX-License-Identifier: MIT */
#ifndef K2I_TOOLS_VERIFY_RETRACTED_H
#define K2I_TOOLS_VERIFY_RETRACTED_H

#include <stddef.h>
#include <stdint.h>

/* The lists of retracted ranges of receivers, STATEDIR/retracted: see k2hft-delivery(7). */
struct verify_retracted {
	struct verify_retraction *list;
	size_t count;
};

/* A part of a file that is to be read as if it were not there. */
struct verify_skip {
	uint64_t offset, bytes;
};

/* Reads lists; NULL is behind the last path. A status with its message. */
int verify_retracted_read(struct verify_retracted *retracted, char **paths);
void verify_retracted_free(struct verify_retracted *retracted);
/*
 * The parts of an open file that the lists name, ascending and apart, for free(3): it is the named file or one that a
 * rotation has made of it, and has the bytes that the list has a checksum of. How many, or -ENOMEM.
 */
int64_t verify_retracted_find(const struct verify_retracted *retracted, const char *path, int descriptor,
			      struct verify_skip **skips);

#endif
