/* SPDX-License-Identifier: MIT */
#ifndef K2I_FUSE_KEEPER_LEFT_RINGS_H
#define K2I_FUSE_KEEPER_LEFT_RINGS_H

struct k2i_mount;
struct k2i_mount_lane;

/*
 * Rings of receivers that the configuration does not name any more, or names among others: K2HFILE, or that name with a dot
 * and HOST:PORT behind it. Those with records get a lane, which only empties.
 */

/* Adds those lanes, with `ring_file` set; the others have theirs already. -ENOMEM */
int k2i_left_rings_find(struct k2i_mount *mount);
/* Another configuration, with the same receivers. */
void k2i_left_ring_aim(const struct k2i_mount *mount, struct k2i_mount_lane *lane);
void k2i_left_ring_free(struct k2i_mount_lane *lane);

#endif
