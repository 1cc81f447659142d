/* SPDX-License-Identifier: MIT */
#ifndef K2I_FUSE_KEEPER_KEEPER_H
#define K2I_FUSE_KEEPER_KEEPER_H

#include <signal.h>

struct k2i_mount;

/*
 * Keeps a mount that has been made: starts a worker, and another one whenever a worker dies, until one has ended by
 * itself. Returns its exit status.
 */
int k2i_keeper_run(struct k2i_mount *mount);
/* From here on signals for the mount wait for k2i_keeper_run, which calls this itself. `*signals`: these. */
void k2i_keeper_signals_block(sigset_t *signals);

#endif
