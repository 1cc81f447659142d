/* SPDX-License-Identifier: MIT */
#ifndef K2I_FUSE_KEEPER_RELOAD_H
#define K2I_FUSE_KEEPER_RELOAD_H

struct k2i_mount;

/*
 * In the worker, between two requests: reads the configuration again, and goes by it, or nothing has changed; either way
 * mount->reload says so. 1: connections have to be made anew, since what they are made with has changed; else 0.
 */
int k2i_reload_run(struct k2i_mount *mount);

#endif
