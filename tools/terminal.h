/* SPDX-License-Identifier: MIT */
#ifndef TERMINAL_H
#define TERMINAL_H

#include <stdbool.h>
#include <stdio.h>

/* A text from elsewhere, with ? for what a terminal would obey; `lines`: but for line ends. */
void text_show(FILE *output, const char *text, bool lines);

#endif
