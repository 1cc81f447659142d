/* SPDX-License-Identifier: MIT */
#ifndef K2I_TOOLS_BASE_TERMINAL_H
#define K2I_TOOLS_BASE_TERMINAL_H

#include <stdbool.h>
#include <stdio.h>

enum colour { COLOUR_GOOD, COLOUR_DOUBTFUL, COLOUR_BAD };
/*
 * Before and behind a text of that colour: nothing, unless `output` is a terminal that is not dumb, and NO_COLOR is not
 * set or empty.
 */
void colour_begin(FILE *output, enum colour colour);
void colour_end(FILE *output);

/* A text from elsewhere, with ? for what a terminal would obey; `lines`: but for line ends. */
void text_show(FILE *output, const char *text, bool lines);

#endif
