/* SPDX-License-Identifier: MIT */
#ifndef K2I_TEXT_H
#define K2I_TEXT_H

#include <stddef.h>
#include <stdint.h>

#define K2I_TEXT_UUID_ROOM 37

/* strerror for -errno values. In glibc since 2.32 and in musl it is thread-safe; an unknown one lasts until the next. */
const char *k2i_text_error(int error);

/* The usual form of a uuid, terminated. */
const char *k2i_text_uuid(const uint8_t uuid[16], char text[K2I_TEXT_UUID_ROOM]);

/*
 * `input` with every control character replaced by '?', cut to the room, terminated: what a peer sends can't forge
 * lines in a log. `output` may be `input`. Returns `output`.
 */
const char *k2i_text_clean(const char *input, char *output, size_t room);

#endif
