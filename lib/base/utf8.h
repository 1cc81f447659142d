/* SPDX-License-Identifier: MIT */
#ifndef K2I_BASE_UTF8_H
#define K2I_BASE_UTF8_H

#include <stddef.h>

#define K2I_UTF8_BYTES_MAX 4u /* of a character */

enum k2i_utf8_kind {
	K2I_UTF8_ASCII, /* no byte from 0x80 on */
	K2I_UTF8_VALID, /* characters of more bytes, and all of them well formed */
	K2I_UTF8_NOT,
};

/* Length of the well-formed UTF-8 sequence of 2 to 4 bytes at `text` (Unicode 15, table 3-7); 0: there is none. */
size_t k2i_utf8_length(const unsigned char *text, size_t bytes);

enum k2i_utf8_kind k2i_utf8_kind(const char *text, size_t bytes);

/*
 * The place to cut `bytes` bytes of text, at most `at`: in front of a character that `at` is in, also of one whose rest
 * may follow the text. `at` <= `bytes`.
 */
size_t k2i_utf8_cut(const char *text, size_t bytes, size_t at);

#endif
