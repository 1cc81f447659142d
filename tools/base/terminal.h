/* SPDX-License-Identifier: MIT */
#ifndef K2I_TOOLS_BASE_TERMINAL_H
#define K2I_TOOLS_BASE_TERMINAL_H

#include <stdbool.h>
#include <stdio.h>

/* A text from elsewhere, with ? for what a terminal would obey; `lines`: but for line ends. */
void text_show(FILE *output, const char *text, bool lines);

#endif
