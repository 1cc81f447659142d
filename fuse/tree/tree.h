/* SPDX-License-Identifier: MIT */
#ifndef K2I_FUSE_TREE_TREE_H
#define K2I_FUSE_TREE_TREE_H

#include <stdint.h>
#include <sys/types.h>

struct k2i_mount;
struct k2i_mount_options;

/* A path in the mount may be longer than what can be a stream's name. */
#define K2I_PATH_BYTES_MAX 4095u

/* The tree with what the rules imply: directories above and of their targets, and the files that they name. -errno */
int k2i_tree_make(struct k2i_mount *mount);

/*
 * Other rules: what those of `former` alone imply is as other files are, and there is what those of now imply. -errno with
 * the rule that it failed for.
 */
struct k2i_rule;
struct k2i_settings;
int k2i_tree_change(struct k2i_mount *mount, const struct k2i_settings *former, const struct k2i_rule **failed);

/* The rest of a mode that the option umask leaves: users who may read or write in a directory may also go there. */
mode_t k2i_tree_mode(const struct k2i_mount_options *options, mode_t mode);

/* The file at `path`, made with its directories if it is missing. */
int k2i_tree_file(struct k2i_mount *mount, const char *path, uint32_t *node);

#endif
