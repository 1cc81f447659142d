/* SPDX-License-Identifier: MIT */
#ifndef K2I_RECEIVER_DAEMON_IDENTITY_H
#define K2I_RECEIVER_DAEMON_IDENTITY_H

#include <stdbool.h>
#include <sys/types.h>

#include "config/settings.h"

/* The user that the receiver runs as. All errors are logged. */
struct k2i_identity {
	bool changes; /* the receiver runs as root now and shall not */
	uid_t user;
	gid_t group;
	const char *user_name; /* as USER says it */
};

/* Reads USER and GROUP. -EINVAL: nobody has these names, or only root could become that user. */
int k2i_identity_find(const struct k2i_settings *settings, struct k2i_identity *identity);
/*
 * Makes the directory `path` of the setting `key`, and missing ones above it, with `mode`, and gives the new ones to
 * the identity. Before k2i_identity_take. -errno
 */
int k2i_identity_directory_make(const struct k2i_identity *identity, const char *key, const char *path, mode_t mode);
/*
 * Becomes the identity for ever, with its groups only. Before the first thread: no_new_privs holds for one thread and
 * those that it starts. -errno
 */
int k2i_identity_take(const struct k2i_identity *identity);
/* Whether the identity that was taken can make files in `path`. -errno */
int k2i_identity_directory_check(const struct k2i_identity *identity, const char *key, const char *path);

#endif
