/* SPDX-License-Identifier: MIT */
#ifndef K2I_RECEIVER_COMMIT_RETRACTED_H
#define K2I_RECEIVER_COMMIT_RETRACTED_H

#include "receiver/sink/sink.h"

/*
 * The list of retracted ranges, STATEDIR/retracted: what this receiver has of a ring that went on elsewhere, and could
 * not take back. A line for each, its fields separated by tabs, - for what is not known:
 *
 *	base directory, path below it, offset, bytes, ring uuid, from, to (positions), records, checksum (16 digits)
 *
 * Lines are gathered in memory first. A line that is in the list already, because a settlement is done again, is not
 * repeated.
 */
struct k2i_retracted {
	char *lines;
	size_t bytes, room;
	uint64_t ranges, records;
};

/* -ENOMEM */
int k2i_retracted_add(struct k2i_retracted *retracted, const uint8_t ring[16], const struct k2i_retraction *retraction);
/* Appends all lines to the list at `path`, for good. Errors as open(2), read(2), write(2) and fdatasync(2). */
int k2i_retracted_write(const struct k2i_retracted *retracted, const char *path);
void k2i_retracted_free(struct k2i_retracted *retracted);

#endif
