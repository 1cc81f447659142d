/* SPDX-License-Identifier: MIT */
#include "fuse/intake/spread.h"

#include "fuse/base/mount.h"

unsigned k2i_spread_lanes(const struct k2i_mount *mount, const char *path, unsigned lanes[K2I_LANE_COUNT_MAX],
			  unsigned *copies)
{
	(void)mount;
	(void)path;
	lanes[0] = 0;
	*copies = 1;
	return 1;
}

struct k2i_mount_lane *k2i_spread_choose(struct k2i_mount_lanes *lanes)
{
	return &lanes->lane[0];
}

struct k2i_mount_lane *k2i_spread_guess(struct k2i_mount_lanes *lanes)
{
	return &lanes->lane[0];
}

void k2i_spread_took(struct k2i_mount_lanes *lanes, struct k2i_mount_lane *lane, size_t bytes)
{
	(void)lanes;
	(void)lane;
	(void)bytes;
}
