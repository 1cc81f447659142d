/* SPDX-License-Identifier: MIT */
#ifndef K2I_WORKER_H
#define K2I_WORKER_H

struct k2i_mount;

/*
 * The process that serves a mount until it has ended: ring, client, requests. It goes on where another that died left
 * off. Returns its exit status.
 */
int k2i_worker_run(struct k2i_mount *mount);

#endif
