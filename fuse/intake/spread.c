/* SPDX-License-Identifier: MIT */
#include "fuse/intake/spread.h"

#include <k2hft/sender.h>

#include "app/program/ring_stats.h"
#include "fuse/base/mount.h"

/* To look at all lanes for each chunk would cost more than it gains; and a frame is the larger the more one lane gets. */
#define CHOSEN_BYTES (128u * 1024)

unsigned k2i_spread_lanes(const struct k2i_mount *mount, const char *path, uint32_t lanes[K2I_LANE_COUNT_MAX],
			  unsigned *copies)
{
	const struct k2i_mount_lanes *all = &mount->lanes;

	uint32_t order[K2I_LANE_COUNT_MAX];

	*copies = all->takers == 1 ? 1 : all->spread == K2HFT_SPREAD_ALL ? all->takers : all->copies;
	if (all->spread == K2HFT_SPREAD_HASH && all->takers > 1) {
		k2i_spread_order(all->homes, all->takers, path, *copies, order);
		for (unsigned at = 0; at < *copies; at++)
			lanes[at] = all->taker[order[at]];
		return *copies;
	}
	for (unsigned at = 0; at < all->takers; at++)
		lanes[at] = all->taker[at];
	return all->takers;
}

uint64_t k2i_spread_former(const struct k2i_mount_lanes *lanes, const char *path)
{
	const char *homes[K2I_LANE_COUNT_MAX];
	uint32_t order[K2I_LANE_COUNT_MAX];
	unsigned copies = lanes->copies < lanes->formers ? lanes->copies : lanes->formers;
	uint64_t former = 0;

	for (unsigned at = 0; at < lanes->formers; at++)
		homes[at] = lanes->names[lanes->former[at]];
	if (copies)
		k2i_spread_order(homes, lanes->formers, path, copies, order);
	for (unsigned at = 0; at < copies; at++)
		former |= k2i_lane_bit(&lanes->lane[lanes->former[order[at]]]);
	return former;
}

/* As of one moment: to ask a client takes its lock. */
struct looked {
	const struct k2i_mount_lanes *lanes;
	uint64_t connected;
};

static bool lane_connected(void *argument, uint32_t index)
{
	const struct looked *looked = argument;

	return looked->connected >> looked->lanes->taker[index] & 1;
}

static uint64_t lane_unacked_bytes(void *argument, uint32_t index)
{
	const struct looked *looked = argument;
	struct k2hft_ring_stats stats = k2i_ring_stats_get(looked->lanes->lane[looked->lanes->taker[index]].ring);

	return stats.tail - stats.head;
}

uint64_t k2i_spread_connected(const struct k2i_mount_lanes *lanes)
{
	uint64_t connected = 0;

	for (unsigned at = 0; at < lanes->takers; at++) {
		const struct k2i_mount_lane *lane = &lanes->lane[lanes->taker[at]];
		struct k2hft_client_stats stats = K2HFT_CLIENT_STATS_INIT;

		if (k2hft_client_stats(lane->client, &stats) == 0 && stats.state == K2HFT_CLIENT_CONNECTED)
			connected |= k2i_lane_bit(lane);
	}
	return connected;
}

struct k2i_mount_lane *k2i_spread_choose(struct k2i_mount_lanes *lanes)
{
	struct looked looked = {.lanes = lanes};
	struct k2i_spread_lanes spread = {
		.count = lanes->takers,
		.connected = lane_connected,
		.unacked_bytes = lane_unacked_bytes,
		.argument = &looked,
	};

	if (lanes->chosen_bytes == 0) {
		looked.connected = k2i_spread_connected(lanes);
		k2i_spread_chose(lanes, &lanes->lane[lanes->taker[k2i_spread_random(&spread, &lanes->random)]]);
	}
	return lanes->chosen;
}

void k2i_spread_chose(struct k2i_mount_lanes *lanes, struct k2i_mount_lane *lane)
{
	lanes->chosen = lane;
	lanes->chosen_bytes = CHOSEN_BYTES;
}

struct k2i_mount_lane *k2i_spread_guess(struct k2i_mount_lanes *lanes)
{
	if (lanes->takers == 1)
		return &lanes->lane[lanes->taker[0]];
	if (lanes->spread == K2HFT_SPREAD_RANDOM)
		return k2i_spread_choose(lanes);
	return lanes->likely;
}

void k2i_spread_took(struct k2i_mount_lanes *lanes, struct k2i_mount_lane *lane, size_t bytes)
{
	if (lane->plugin)
		return;
	/* Where a request went elsewhere than the one before, the next may, too. */
	lanes->likely = lanes->last == lane ? lane : NULL;
	lanes->last = lane;
	if (lanes->chosen == lane)
		lanes->chosen_bytes -= bytes < lanes->chosen_bytes ? bytes : lanes->chosen_bytes;
}
