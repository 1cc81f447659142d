/* SPDX-License-Identifier: MIT */
#ifndef K2I_RECEIVER_BASE_TEXT_H
#define K2I_RECEIVER_BASE_TEXT_H

#include <stddef.h>

/* strerror for -errno values. In glibc since 2.32 and in musl it is thread-safe; an unknown one lasts until the next. */
const char *k2i_text_error(int error);

/*
 * `input` with ? for control characters, as k2i_text_controls_mask, cut to the room, terminated: what a peer sends is
 * shown elsewhere than in the log, too. `output` may be `input`. Returns `output`.
 */
const char *k2i_text_clean(const char *input, char *output, size_t room);

#endif
