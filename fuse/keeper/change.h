/* SPDX-License-Identifier: MIT */
#ifndef K2I_FUSE_KEEPER_CHANGE_H
#define K2I_FUSE_KEEPER_CHANGE_H

#include <stdbool.h>
#include <stdint.h>

#include "fuse/base/lane.h"

struct k2i_mount;
struct k2i_reload;
struct k2i_setup;

/* Another list of receivers, and of rules with PLUGIN: in the worker, between two requests. */
struct k2i_change {
	unsigned takers;
	unsigned taker[K2I_LANE_COUNT_MAX]; /* lanes, in the order of the new list */
	uint64_t added, returning, removed; /* returning: it was removed before, and its lane is there still */
	uint64_t plugins;                   /* of those, lanes of rules with PLUGIN */
};

/*
 * Finds the lanes of a setup's receivers and PLUGINs, and makes those that are missing, with rings, which the keeper has then, and
 * clients. -errno, with a text in `told`, and then nothing is left of it.
 */
int k2i_change_prepare(struct k2i_mount *mount, const struct k2i_setup *setup, struct k2i_change *change,
		       struct k2i_reload *told);
/* They are the mount's lanes, as part of the step. The mount goes by the setup already. */
void k2i_change_take(struct k2i_mount *mount, const struct k2i_change *change);
/* The step was given up: what was prepared goes. */
void k2i_change_undo(struct k2i_mount *mount, const struct k2i_change *change);
/* The step is done: clients know who takes over. */
void k2i_change_follow(struct k2i_mount *mount, const struct k2i_change *change);

/* The files of rings have the names that the number of receivers asks for. The same again changes nothing. */
void k2i_lanes_name_files(struct k2i_mount *mount);
/* Ends lanes that only empty, and are empty. To be called time and again while lanes_empty says so. */
void k2i_lanes_end(struct k2i_mount *mount);

#endif
