/* SPDX-License-Identifier: MIT */
#ifndef K2I_TOOLS_BASE_JSON_H
#define K2I_TOOLS_BASE_JSON_H

#include <stddef.h>
#include <stdio.h>

/* A JSON text as a tree, of results that were saved and of a status. The text is hostile until it is looked at. */
enum json_type { JSON_NULL, JSON_FALSE, JSON_TRUE, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT };

struct json_value {
	enum json_type type;
	double number;
	char *text, *name;               /* a string, or a number as it stood there; name in the object that it is in */
	struct json_value *first, *next; /* members */
};

/* A NUL stands behind `bytes`. NULL: it is no JSON, deeper than 32 levels, or there is no memory; `*at` is where. */
struct json_value *json_parse(const char *text, size_t bytes, size_t *at);
void json_free(struct json_value *value);
/* NULL: `object` is none (or NULL), or has no such member. */
const struct json_value *json_get(const struct json_value *object, const char *name);
/* A member's string, "" if there is none; its number, `missing` if there is none. */
const char *json_text(const struct json_value *object, const char *name);
double json_number(const struct json_value *object, const char *name, double missing);
/* Any bytes, as a string; null if there is no memory for it. */
void json_string_write(FILE *output, const char *text);

#endif
