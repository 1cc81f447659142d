/* SPDX-License-Identifier: MIT */
#ifndef K2I_RECEIVER_SINK_REMOTE_SECRET_H
#define K2I_RECEIVER_SINK_REMOTE_SECRET_H

#include <stddef.h>

/*
 * The text that a file has which only its owner has access to, terminated. 0; -EINVAL: `*why` says what is wrong with the
 * file, also if it is no text or has `room` bytes.
 */
int k2i_secret_read(const char *file, char *text, size_t room, const char **why);

#endif
