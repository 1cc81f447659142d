/* SPDX-License-Identifier: MIT */
#ifndef K2I_CONFIG_SENDER_H
#define K2I_CONFIG_SENDER_H

#include <k2hft/config.h>

#include "config/settings.h"

struct k2i_sender_target {
	struct k2hft_tls_options tls;
	char port[16];
};

/* Options of a sender as a configuration file has them; their strings are in here and in the settings. */
struct k2i_sender_config {
	struct k2hft_sender_options options; /* with the receiver, or with `targets` if there are several */
	struct k2hft_target *targets;        /* all receivers, as the file has them */
	uint32_t target_count;
	struct k2i_sender_target *parts; /* that they point to */
	struct k2i_settings *settings;
	char ring_directory[4096]; /* of K2HTYPE = temp */
};

/* Errors as k2hft_sender_open_config's; `message` is never NULL. k2i_sender_config_free after success only. */
int k2i_sender_config_load(const char *file, struct k2i_sender_config *config, char *message, size_t message_room);
/*
 * Where the receiver of `settings`, a relay, sends: as TRANSCONF, or the environment, and its own keys say. As load; -ENOENT
 * nothing says it.
 */
int k2i_sender_config_relay(const struct k2i_settings *settings, struct k2i_sender_config *config, char *message,
			    size_t message_room);
/* The same of settings that were loaded without an error, which are its own from then on, also after one. */
int k2i_sender_config_make(struct k2i_settings *settings, struct k2i_sender_config *config, char *message,
			   size_t message_room);
/*
 * Why the ring that it asks for can't be opened and what to do, in one line; with the key that says where it is, unless
 * its options were changed after it was loaded, or are of no file.
 */
void k2i_sender_config_ring_failed(const struct k2i_sender_config *config, int error, char *message,
				   size_t message_room);
/* NULL: none. */
bool k2i_sender_tls_same(const struct k2hft_tls_options *one, const struct k2hft_tls_options *other);
void k2i_sender_config_free(struct k2i_sender_config *config);

#endif
