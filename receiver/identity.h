/* SPDX-License-Identifier: MIT */
#ifndef K2I_RECEIVER_IDENTITY_H
#define K2I_RECEIVER_IDENTITY_H

#include <stdbool.h>
#include <sys/types.h>

#include "config/settings.h"

/* Whom the receiver runs as. The fault is logged. */
struct k2i_identity {
	bool changes; /* it runs as root now and shall not */
	uid_t user;
	gid_t group;
	const char *user_name; /* as USER says it */
};

/* By USER and GROUP. -EINVAL: they name nobody, or somebody else than the one who runs it, who is not root. */
int k2i_identity_find(const struct k2i_settings *settings, struct k2i_identity *identity);
/*
 * Makes the directory `path`, which `key` names, and those above it that are missing, with `mode`, and gives those that it
 * has made to the identity. Before k2i_identity_take. -errno
 */
int k2i_identity_directory_make(const struct k2i_identity *identity, const char *key, const char *path, mode_t mode);
/*
 * Becomes the identity for ever, with its groups only. Before the first thread: what forbids new privileges is of one
 * thread and of those that it starts. -errno
 */
int k2i_identity_take(const struct k2i_identity *identity);
/* Whether the identity that was taken can make files in `path`. -errno */
int k2i_identity_directory_check(const struct k2i_identity *identity, const char *key, const char *path);

#endif
