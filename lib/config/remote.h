/* SPDX-License-Identifier: MIT */
#ifndef K2I_CONFIG_REMOTE_H
#define K2I_CONFIG_REMOTE_H

#include <stdbool.h>
#include <stddef.h>

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
/* The next line of a file with headers that is no remark; `*rest` begins as its text. NULL: no more. */
char *k2i_header_line(char **rest);

#define K2I_HEADERS_BYTES_MAX 65536u
#define K2I_SECRET_BYTES_MAX 1024u
/*
 * The text that a file has which only its owner has access to, terminated. NULL, or what is wrong with the file, also if it
 * is no text or has `room` bytes.
 */
const char *k2i_secret_read(const char *file, char *text, size_t room);
/* The same of a secret that is one line, which is left without its end. */
const char *k2i_secret_line_read(const char *file, char secret[K2I_SECRET_BYTES_MAX]);

#endif
