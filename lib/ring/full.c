/* SPDX-License-Identifier: MIT */
#include "ring/handle.h"

/*
 * How much was free when a reserve found too little. Each thread knows its own: with what another one saw later a wait
 * would be for still more, though there may be enough for this thread by then. Who waits for another thread's reserve has
 * seen nothing itself, and takes what the handle was told last.
 */
static _Thread_local struct {
	uint64_t ring; /* its number: another one can come to its address */
	uint64_t free_bytes;
} seen;

void k2i_full_tell(struct k2hft_ring *ring, uint64_t free_bytes)
{
	seen.ring = ring->number;
	seen.free_bytes = free_bytes;
	/* relaxed: a hint, which nothing else goes with. */
	atomic_store_explicit(&ring->free_seen, free_bytes, memory_order_relaxed);
}

uint64_t k2i_full_seen(const struct k2hft_ring *ring)
{
	/* relaxed: as above. */
	return seen.ring == ring->number ? seen.free_bytes
					 : atomic_load_explicit(&ring->free_seen, memory_order_relaxed);
}
