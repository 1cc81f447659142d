/* SPDX-License-Identifier: MIT */
#ifndef K2I_CONFIG_REMOTE_H
#define K2I_CONFIG_REMOTE_H

#include <stdbool.h>

/* Values that say where records go, and with what. All these end the parts in `text`, which the results point into. */

/* HOST, HOST:PORT or [ADDRESS]:PORT. `*port` stays as it is if none is said. False: it is none of these. */
bool k2i_server_split(char *text, char **host, char **port);
/* The next server of a list with commas or blanks between them, which begins with `*rest` = `text`. NULL: no more. */
char *k2i_server_next(char **rest);

/*
 * NAME=VALUE, a header of HTTP. `*name` is "" if there is only blank space. The reason why it is none, without the value,
 * which may be a secret; NULL: it is one.
 */
const char *k2i_header_split(char *text, char **name, char **value);

#endif
