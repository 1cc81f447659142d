/* SPDX-License-Identifier: MIT */
#ifndef K2I_FUSE_KEEPER_RELOAD_H
#define K2I_FUSE_KEEPER_RELOAD_H

#include <stdint.h>

struct k2i_mount;

/*
 * In the worker, between two requests: reads the configuration again, and goes by it, or nothing has changed; either way
 * mount->reload says so. Returns the lanes whose connections have to be made anew.
 */
uint64_t k2i_reload_run(struct k2i_mount *mount);

#endif
