/* SPDX-License-Identifier: MIT */
#ifndef K2I_FUSE_INTAKE_SPREAD_H
#define K2I_FUSE_INTAKE_SPREAD_H

#include <stddef.h>

#include "fuse/base/lane.h"

struct k2i_mount;

/*
 * The lanes that a stream's chunks can go to, in its own order; returns how many. `*copies`: so many of them get each
 * chunk, all or 1.
 */
unsigned k2i_spread_lanes(const struct k2i_mount *mount, const char *path, uint32_t lanes[K2I_LANE_COUNT_MAX],
			  unsigned *copies);
/* The lanes that a stream's chunks went to before the receivers last changed, with K2HFT_SPREAD_HASH. */
uint64_t k2i_spread_former(const struct k2i_mount_lanes *lanes, const char *path);
/* The lane that the next chunk goes to where any would do: the same for a while. */
struct k2i_mount_lane *k2i_spread_choose(struct k2i_mount_lanes *lanes);
/* That lane has no room, or its time is over: from now on it is this one. */
void k2i_spread_chose(struct k2i_mount_lanes *lanes, struct k2i_mount_lane *lane);
/* The lanes that have a connection. */
uint64_t k2i_spread_connected(const struct k2i_mount_lanes *lanes);
/* The lane to which the next request's data goes, as far as can be known before it is read; NULL: it can't. */
struct k2i_mount_lane *k2i_spread_guess(struct k2i_mount_lanes *lanes);
/* A request's data has gone there. */
void k2i_spread_took(struct k2i_mount_lanes *lanes, struct k2i_mount_lane *lane, size_t bytes);

#endif
