/* SPDX-License-Identifier: MIT */
#ifndef K2I_BASE_TEXT_H
#define K2I_BASE_TEXT_H

#include <stdbool.h>

/*
 * Control characters in a terminated text. A path or a peer's text can hold a line end, and the text behind it would
 * look like a message of its own; a terminal obeys others.
 */

/* The length of the control character at the begin of `text`: of ASCII, or of U+0080 to U+009F; 0: there is none. */
unsigned k2i_text_control_bytes(const char *text);

/* Puts '?' in place of each byte of a control character. */
void k2i_text_controls_mask(char *text);

/* Whether a message may carry the text: it has no control character of ASCII. */
bool k2i_text_plain(const char *text);

#endif
