/* SPDX-License-Identifier: MIT */
#ifndef K2I_APP_PROGRAM_RING_STATS_H
#define K2I_APP_PROGRAM_RING_STATS_H

#include <k2hft/ring.h>

/* The programs come with their library: the structure has the right size, so k2hft_ring_stats can't fail. */
static inline struct k2hft_ring_stats k2i_ring_stats_get(const struct k2hft_ring *ring)
{
	struct k2hft_ring_stats stats = K2HFT_RING_STATS_INIT;

	(void)k2hft_ring_stats(ring, &stats);
	return stats;
}

#endif
