/* SPDX-License-Identifier: MIT */
#ifndef K2I_FUSE_KEEPER_LANES_H
#define K2I_FUSE_KEEPER_LANES_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "fuse/base/lane.h"

struct k2hft_ring;
struct k2hft_target;
struct k2i_mount;
struct k2i_sender_config;

/* A lane for each receiver of the mount's configuration, and one for each rule with a PLUGIN; -EINVAL, which is logged. */
int k2i_lanes_make(struct k2i_mount *mount);
/*
 * PLUGIN of a rule: its lane, whose command, output and files are as the rule says, NULL: there is none; what another one
 * keeps of the rule, -ENOMEM; and a name that a file can have, behind those of former lanes of the TARGET that are there.
 */
struct k2i_mount_lane *k2i_lane_plugin_find(struct k2i_mount_lanes *lanes, const struct k2i_settings *settings,
					    const struct k2i_rule *rule);
int k2i_lane_plugin_begin(struct k2i_mount_lanes *lanes, struct k2i_mount_lane *lane,
			  const struct k2i_settings *settings, const struct k2i_rule *rule);
void k2i_lane_plugin_name(const struct k2i_mount_lanes *lanes, const struct k2i_mount_lane *lane,
			  char name[K2I_SPREAD_HOME_BYTES]);
/* Each process: the lanes go to receivers as the mount's configuration has them. */
void k2i_lanes_aim(struct k2i_mount *mount);
/* The name of a receiver, "HOST:PORT", in parts of `room`; false: it is none. */
bool k2i_lane_home_parse(const char *home, char *room, struct k2hft_target *target);

/* The file that the ring of a lane has by the configuration: a single receiver's is K2HFILE. "": none. */
void k2i_lane_ring_name(const struct k2i_mount *mount, const struct k2i_mount_lane *lane, char file[PATH_MAX]);
/*
 * Makes the ring, or finds it; ring_files has its name then. `message` says why not. Workers open it by a descriptor of
 * k2hft_ring_keep.
 */
int k2i_lane_ring_open(struct k2i_mount *mount, const struct k2i_sender_config *config, struct k2i_mount_lane *lane,
		       struct k2hft_ring **ring, char *message, size_t message_room);
/* The same for the keeper, which keeps it by a descriptor; errors are logged, and show before anything is mounted. */
int k2i_lane_ring_keep(struct k2i_mount *mount, struct k2i_mount_lane *lane);

/* Opens and starts the client of a lane to its target. */
int k2i_lane_client_open(struct k2i_mount *mount, const struct k2i_sender_config *config, struct k2i_mount_lane *lane);

#endif
