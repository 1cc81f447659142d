/* SPDX-License-Identifier: MIT */
#ifndef K2I_FUSE_KEEPER_LEFT_RINGS_H
#define K2I_FUSE_KEEPER_LEFT_RINGS_H

struct k2i_mount;

/*
 * Rings of receivers that the configuration does not name any more, or names among others: K2HFILE, or that name with a dot
 * and HOST:PORT behind it. Those with records get a lane, which only empties.
 */

/* Adds those lanes, without their rings; the others have theirs already. */
void k2i_left_rings_find(struct k2i_mount *mount);

#endif
