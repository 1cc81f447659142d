/* SPDX-License-Identifier: MIT */
#ifndef K2I_FUSE_DEVICE_POPULATE_H
#define K2I_FUSE_DEVICE_POPULATE_H

#include <stddef.h>

struct k2hft_ring;

/*
 * Memory of the ring that a request is read to. If a page of it were missing, the kernel would fetch it in the midst of
 * the request, and give that request up with an error if the process were killed just then. So they are all there
 * before.
 */
struct k2i_populated;

int k2i_populated_create(const struct k2hft_ring *ring, struct k2i_populated **populated); /* -ENOMEM */
void k2i_populated_free(struct k2i_populated *populated);
/* -EFAULT: its file has no room for it, or its disk does not answer; touching it would be the end of this process. */
int k2i_populate(struct k2i_populated *populated, const char *memory, size_t bytes);

#endif
