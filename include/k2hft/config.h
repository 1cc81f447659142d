/* SPDX-License-Identifier: MIT */
#ifndef K2HFT_CONFIG_H
#define K2HFT_CONFIG_H

/*
 * libk2hft-config reads the configuration files of k2hftfuse for programs. It is a library of its own, because it needs
 * inih and libyaml, and most programs need no file: link with -lk2hft-config -lk2hft, or by pkg-config k2hft-config.
 */

#include <stddef.h>

#include <k2hft/sender.h>
#include <k2hft/visibility.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Opens a sender with the options of a configuration file, which is read as k2hftfuse reads it, see k2hft.conf(5). On
 * failure a line that says why is stored in `message` (unless NULL), cut to `message_room` bytes with its terminator;
 * "" on success. Warnings about the file go to the log callback, as at the start of k2hftfuse. Otherwise as
 * k2hft_sender_open.
 *
 * -EINVAL the file has an error; others as open(2) for it, and as k2hft_sender_open. Since 0.1.0.
 */
K2HFT_API int k2hft_sender_open_config(const char *file, struct k2hft_sender **sender, char *message,
				       size_t message_room);

#ifdef __cplusplus
}
#endif

#endif
