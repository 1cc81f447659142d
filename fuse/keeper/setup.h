/* SPDX-License-Identifier: MIT */
#ifndef K2I_FUSE_KEEPER_SETUP_H
#define K2I_FUSE_KEEPER_SETUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/sender.h"

struct k2i_mount;
struct k2i_outputfiles;
struct k2i_reload;
struct k2i_rules;

/*
 * All that a configuration makes of a mount. It is a process's own: the keeper has one for the workers that it starts, and a
 * worker that reloads makes another for itself.
 */
struct k2i_setup {
	struct k2i_sender_config config;
	struct k2i_rules *rules;
	struct k2i_outputfiles *outputfiles;
	uint64_t signature; /* of the files that it was read from */
};

/* The setup that the mount goes by. */
struct k2i_setup k2i_setup_of(const struct k2i_mount *mount);
/* The mount goes by it, but for the lanes that it has. */
void k2i_setup_use(struct k2i_mount *mount, const struct k2i_setup *setup);
/* Reads the configuration of a mount that goes by `before`; errors are logged. -errno, with a text in `told`. */
int k2i_setup_load(const struct k2i_mount *mount, const struct k2i_settings *before, struct k2i_setup *setup,
		   struct k2i_reload *told);
/* The absolute path of the configuration, by which it is read again; "": `config` is JSON itself, or has no path. */
void k2i_setup_name(const char *config, char *file, size_t room);
/* Another number when the configuration, at `file`, or what it includes has been written, or another put in its place. */
uint64_t k2i_setup_sign(const struct k2i_settings *settings, const char *file);
/* Whether connections can stay as they are: all of them, and that to `home`, if both have it. */
bool k2i_setup_connects_alike(const struct k2i_setup *one, const struct k2i_setup *other);
bool k2i_setup_secures_alike(const struct k2i_setup *one, const struct k2i_setup *other,
			     const struct k2hft_target *home);
void k2i_setup_free(struct k2i_setup *setup);

#endif
