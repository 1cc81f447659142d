/* SPDX-License-Identifier: MIT */
#ifndef K2I_BASE_LINE_ENDS_H
#define K2I_BASE_LINE_ENDS_H

#include <stddef.h>
#include <stdint.h>

/* Ends of lines (LF) in a text. */
uint64_t k2i_line_ends_count(const uint8_t *text, size_t bytes);

#endif
