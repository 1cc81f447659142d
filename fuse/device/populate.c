/* SPDX-License-Identifier: MIT */
#include "fuse/device/populate.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>

#include <k2hft/ring.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

#define PART_BYTES ((size_t)1 << 20)

struct k2i_populated {
	char *data;
	size_t bytes; /* both views of the ring's data */
	bool parts[];
};

int k2i_populated_create(const struct k2hft_ring *ring, struct k2i_populated **populated)
{
	size_t bytes;
	char *data = k2hft_ring_memory(ring, &bytes);
	struct k2i_populated *created = calloc(1, sizeof(*created) + bytes / PART_BYTES + 1);

	if (!created)
		return -ENOMEM;
	created->data = data;
	created->bytes = bytes;
	*populated = created;
	return 0;
}

void k2i_populated_free(struct k2i_populated *populated)
{
	free(populated);
}

int k2i_populate(struct k2i_populated *populated, const char *memory, size_t bytes)
{
	size_t from = (size_t)(memory - populated->data);

	for (size_t part = from / PART_BYTES; part <= (from + bytes - 1) / PART_BYTES; part++) {
		size_t at = part * PART_BYTES, left = populated->bytes - at;

		if (populated->parts[part])
			continue;
		/* A kernel that can't has no way to go on after a death either. */
		if (madvise(populated->data + at, left < PART_BYTES ? left : PART_BYTES, MADV_POPULATE_WRITE) < 0 &&
		    errno == EFAULT)
			return -EFAULT;
		populated->parts[part] = true;
	}
	return 0;
}
