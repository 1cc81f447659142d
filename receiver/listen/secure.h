/* SPDX-License-Identifier: MIT */
#ifndef K2I_RECEIVER_LISTEN_SECURE_H
#define K2I_RECEIVER_LISTEN_SECURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/settings.h"

/*
 * The receiver's certificates, or its shared key. They can be renewed while connections are served; a connection keeps
 * those that it began with.
 */
struct k2i_secure;
struct k2i_tls_context;

/* `*secure` is NULL if the settings have no TLS; they must outlive it. -EINVAL, which was logged; -ENOMEM. */
int k2i_secure_open(const struct k2i_settings *settings, struct k2i_secure **secure);
/* NULL is allowed, also below. */
void k2i_secure_free(struct k2i_secure *secure);
/* Reads the files of other settings, which must outlive it. -EINVAL with what is wrong; -ENOMEM. Without TLS: nothing. */
int k2i_secure_prepare(struct k2i_secure *secure, const struct k2i_settings *settings, char *message,
		       size_t message_room);
/* New connections use what was prepared; or it is forgotten. */
void k2i_secure_change(struct k2i_secure *secure, bool take);
/* The time when the present certificate expires, in seconds since 1970; 0: there is none. Any thread. */
uint64_t k2i_secure_expires_s(struct k2i_secure *secure);
/* The present context, for k2i_tls_context_release. Any thread. */
struct k2i_tls_context *k2i_secure_context(struct k2i_secure *secure);

#endif
