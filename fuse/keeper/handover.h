/* SPDX-License-Identifier: MIT */
#ifndef K2I_FUSE_KEEPER_HANDOVER_H
#define K2I_FUSE_KEEPER_HANDOVER_H

#include "fuse/keeper/worker.h"

struct k2i_mount;

/*
 * A ring that a worker makes must outlive it: it hands a descriptor over to the keeper, which keeps it under a number of its
 * own, that the next workers have, too.
 */

/* The keeper, before it starts a worker. -errno */
int k2i_handover_open(void);
/* The keeper: what a worker that died has handed over without an answer is closed, and no answer is left. */
void k2i_handover_reset(void);
/* The keeper, when the worker says so: takes what there is, has systemd keep it, too, and answers. */
void k2i_handover_take(struct k2i_mount *mount);
/* In the worker. -errno: no signal can be queued. */
int k2i_worker_say(const struct k2i_mount *mount, enum k2i_worker_word word);
/* The worker: 0, the lane has the keeper's number, or -errno. The descriptor stays the worker's, too. */
int k2i_handover_give(const struct k2i_mount *mount, unsigned lane, int descriptor);

#endif
