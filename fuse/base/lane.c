/* SPDX-License-Identifier: MIT */
#include "fuse/base/lane.h"

#include "fuse/base/journal.h"

void k2i_lane_drop_claim(const struct k2i_mount_lane *lane)
{
	(void)k2hft_producer_discard(lane->producer);
}

int k2i_lane_claim(const struct k2i_mount_lane *lane, size_t bytes, void **payload)
{
	k2i_lane_drop_claim(lane);
	return k2hft_producer_reserve(lane->producer, bytes, payload);
}

int k2i_lane_commit(const struct k2i_mount_lane *lane, const struct k2hft_chunk *chunk, size_t offset, size_t bytes,
		    bool answered)
{
	int status = k2i_journal_commit(lane->producer, lane->index, chunk, offset, bytes, answered);

	if (status)
		k2i_lane_drop_claim(lane);
	return status;
}
