/* SPDX-License-Identifier: MIT */
/* How far an archive has the ring's chunks. */
#include "ring/handle.h"

/*
 * relaxed, all of this file but for one word: the consumer alone reads and writes them, and its successor after its end. A
 * file is written where that word does not point, and one store makes it count: a kill leaves the state before or behind it.
 */
static unsigned file_now(uint64_t archived)
{
	return archived & 1;
}

void k2i_ring_archive(const struct k2hft_ring *ring, struct k2i_ring_archive *archive)
{
	/* A16; relaxed below */
	uint64_t archived = atomic_load_explicit(&ring->header->archived, memory_order_acquire);
	struct k2i_ring_archived *file = &ring->header->archive[file_now(archived)];

	*archive = (struct k2i_ring_archive){
		.position = archived & ~UINT64_C(7),
		.device = atomic_load_explicit(&file->device, memory_order_relaxed),
		.inode = atomic_load_explicit(&file->inode, memory_order_relaxed),
		.bytes = atomic_load_explicit(&file->bytes, memory_order_relaxed),
	};
}

void k2i_ring_archive_set(struct k2hft_ring *ring, const struct k2i_ring_archive *archive)
{
	/* relaxed, like the file's words */
	uint64_t archived = atomic_load_explicit(&ring->header->archived, memory_order_relaxed);
	unsigned next = 1 - file_now(archived);
	struct k2i_ring_archived *file = &ring->header->archive[next];

	atomic_store_explicit(&file->device, archive->device, memory_order_relaxed);
	atomic_store_explicit(&file->inode, archive->inode, memory_order_relaxed);
	atomic_store_explicit(&file->bytes, archive->bytes, memory_order_relaxed);
	/* R16 */
	atomic_store_explicit(&ring->header->archived, archive->position | next, memory_order_release);
}
