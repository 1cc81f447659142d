/* SPDX-License-Identifier: MIT */
/* A status into a flat list. Whoever sent it can have sent anything. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "stat.h"

#define DEPTH_MAX 8u
#define PATH_BYTES_MAX 256u

struct place {
	struct stat_values *values;
	char path[PATH_BYTES_MAX];
	size_t path_bytes;
	unsigned depth;
};

static int value_add(struct place *place, const char *text)
{
	struct stat_values *values = place->values;
	struct stat_value *grown, added;

	if (values->count == values->room) {
		grown = reallocarray(values->values, values->room * 2 + 64, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		values->values = grown;
		values->room = values->room * 2 + 64;
	}
	added = (struct stat_value){strdup(place->path), strdup(text)};
	if (added.path && added.text) {
		values->values[values->count++] = added;
		return 0;
	}
	free(added.path);
	free(added.text);
	return -ENOMEM;
}

static int path_push(struct place *place, const char *part)
{
	size_t bytes = strlen(part), dot = place->path_bytes ? 1 : 0;

	if (place->path_bytes + dot + bytes >= sizeof(place->path))
		return -EBADMSG;
	if (dot)
		place->path[place->path_bytes] = '.';
	memcpy(place->path + place->path_bytes + dot, part, bytes + 1);
	place->path_bytes += dot + bytes;
	return 0;
}

static int members_add(struct place *place, const struct json_value *whole);

static int any_add(struct place *place, const struct json_value *value)
{
	switch (value->type) {
	case JSON_NULL:
		return value_add(place, "null");
	case JSON_FALSE:
		return value_add(place, "false");
	case JSON_TRUE:
		return value_add(place, "true");
	case JSON_NUMBER:
	case JSON_STRING:
		return value_add(place, value->text);
	default:
		return members_add(place, value);
	}
}

static int members_add(struct place *place, const struct json_value *whole)
{
	const size_t path_bytes = place->path_bytes;
	const struct json_value *member;
	unsigned number = 0;
	char index[16];
	int error = place->depth++ == DEPTH_MAX ? -EBADMSG : 0;

	for (member = whole->first; !error && member; member = member->next) {
		(void)snprintf(index, sizeof(index), "%u", number++);
		error = path_push(place, member->name ? member->name : index);
		if (!error)
			error = any_add(place, member);
		place->path_bytes = path_bytes;
		place->path[path_bytes] = '\0';
	}
	place->depth--;
	return error;
}

int stat_json_read(const char *text, struct stat_values *values)
{
	struct place place = {.values = values};
	size_t at;
	struct json_value *value = json_parse(text, strlen(text), &at);
	int error = value ? any_add(&place, value) : -EBADMSG;

	json_free(value);
	return error;
}

void stat_values_free(struct stat_values *values)
{
	size_t at;

	for (at = 0; at < values->count; at++) {
		free(values->values[at].path);
		free(values->values[at].text);
	}
	free(values->values);
	*values = (struct stat_values){0};
}

const char *stat_value_find(const struct stat_values *values, const char *path)
{
	size_t at;

	for (at = 0; at < values->count; at++) {
		if (strcmp(values->values[at].path, path) == 0)
			return values->values[at].text;
	}
	return NULL;
}
