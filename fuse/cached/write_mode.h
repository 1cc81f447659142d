/* SPDX-License-Identifier: MIT */
#ifndef K2I_FUSE_CACHED_WRITE_MODE_H
#define K2I_FUSE_CACHED_WRITE_MODE_H

#include <stdbool.h>
#include <stdint.h>

struct k2i_mount;
struct k2i_rule_match;

/* Whether the mount has a use for the kernel's cache at all. */
bool k2i_write_mode_any_cached(const struct k2i_mount *mount);
/* Whether a file under `match` that is opened with `flags` is to be written through the cache. */
bool k2i_write_mode_is_cached(const struct k2i_mount *mount, uint32_t node, const struct k2i_rule_match *match,
			      int flags);

#endif
