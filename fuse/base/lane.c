/* SPDX-License-Identifier: MIT */
#include "fuse/base/lane.h"

#include <string.h>

#include "app/program/ring_stats.h"
#include "fuse/base/journal.h"

void k2i_lane_drop_claim(const struct k2i_mount_lanes *lanes)
{
	if (lanes->claimed)
		(void)k2hft_producer_discard(lanes->claimed->producer);
}

int k2i_lane_claim(struct k2i_mount_lanes *lanes, struct k2i_mount_lane *lane, size_t bytes, void **payload)
{
	k2i_lane_drop_claim(lanes);
	lanes->claimed = lane;
	return k2hft_producer_reserve(lane->producer, bytes, payload);
}

int k2i_lane_claim_with(struct k2i_mount_lanes *lanes, struct k2i_mount_lane *lane, size_t at, const char *data,
			size_t bytes, char **payload)
{
	struct k2i_mount_lane *former = lanes->claimed;
	void *claim;
	int status;

	if (former == lane)
		k2i_lane_drop_claim(lanes);
	status = k2hft_producer_reserve(lane->producer, at + bytes, &claim);
	if (status)
		return status;
	*payload = claim;
	memcpy(*payload + at, data, bytes);
	if (former != lane)
		k2i_lane_drop_claim(lanes);
	lanes->claimed = lane;
	return 0;
}

int k2i_lane_commit(struct k2i_mount_lanes *lanes, const struct k2hft_chunk *chunk, size_t offset, size_t bytes,
		    bool answered)
{
	const struct k2i_mount_lane *lane = lanes->claimed;
	int status = k2i_journal_commit(lane->producer, lane->index, chunk, offset, bytes, answered);

	if (status)
		k2i_lane_drop_claim(lanes);
	return status;
}

struct k2i_lanes_room k2i_lanes_room(const struct k2i_mount_lanes *lanes)
{
	struct k2i_lanes_room room = {0};

	for (unsigned at = 0; at < lanes->count; at++) {
		struct k2hft_ring_stats stats;

		if (!k2i_lane_used(&lanes->lane[at]))
			continue;
		stats = k2i_ring_stats_get(lanes->lane[at].ring);
		room.used_bytes += stats.tail - stats.head;
		room.ring_bytes += stats.ring_bytes;
		room.head += stats.head;
	}
	return room;
}

unsigned k2i_lanes_used(const struct k2i_mount_lanes *lanes)
{
	unsigned used = 0;

	for (unsigned at = 0; at < lanes->count; at++)
		used += k2i_lane_used(&lanes->lane[at]) && !lanes->lane[at].plugin;
	return used;
}

uint64_t k2i_lanes_behind(struct k2i_mount_lanes *lanes, uint64_t asked)
{
	uint64_t behind = 0;

	for (unsigned at = 0; at < lanes->count && lanes->changed & asked; at++) {
		const struct k2i_mount_lane *lane = &lanes->lane[at];
		struct k2hft_ring_stats stats;

		if (!(lanes->changed & asked & k2i_lane_bit(lane)) || !k2i_lane_used(lane))
			continue;
		stats = k2i_ring_stats_get(lane->ring);
		/* A tail that was seen goes back with a claim that is given back. */
		if (stats.head < lane->changed_at && stats.head < stats.tail) {
			behind |= k2i_lane_bit(lane);
			continue;
		}
		K2I_JOURNAL_KEEP(&lanes->changed);
		lanes->changed &= ~k2i_lane_bit(lane);
	}
	return behind;
}

void k2i_lane_changed(struct k2i_mount_lanes *lanes, struct k2i_mount_lane *lane)
{
	K2I_JOURNAL_KEEP(&lanes->changed);
	K2I_JOURNAL_KEEP(&lane->changed_at);
	lanes->changed |= k2i_lane_bit(lane);
	lane->changed_at = k2i_ring_stats_get(lane->ring).tail;
}
