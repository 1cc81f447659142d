/* SPDX-License-Identifier: MIT */
#ifndef K2I_BASE_UUID_H
#define K2I_BASE_UUID_H

#include <stdbool.h>
#include <stdint.h>

#define K2I_UUID_TEXT_BYTES 37

/* The usual form of a uuid, terminated. Returns `text`. */
const char *k2i_uuid_text(const uint8_t uuid[16], char text[K2I_UUID_TEXT_BYTES]);

/* Reads the form that k2i_uuid_text writes; the text may go on. false: it has another, and `uuid` anything. */
bool k2i_uuid_parse(const char *text, uint8_t uuid[16]);
bool k2i_uuid_zero(const uint8_t uuid[16]);

/* That of this machine run; zeros where there is none, or none that may be read. 0 or -errno. */
int k2i_boot_id(uint8_t boot_id[16]);

#endif
