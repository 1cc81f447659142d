/* SPDX-License-Identifier: MIT */
/* JSON, as much of it as a status has, into a flat list. Whoever sent it can have sent anything. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "stat.h"

#define DEPTH_MAX 8u
#define PATH_BYTES_MAX 256u

struct reader {
	const char *at;
	struct stat_values *values;
	char path[PATH_BYTES_MAX];
	size_t path_bytes;
	unsigned depth;
};

static int value_read(struct reader *reader);

static void blanks_skip(struct reader *reader)
{
	reader->at += strspn(reader->at, " \t\r\n");
}

static bool taken(struct reader *reader, char wanted)
{
	blanks_skip(reader);
	if (*reader->at != wanted)
		return false;
	reader->at++;
	return true;
}

static int hex_read(struct reader *reader, unsigned *code)
{
	unsigned at;

	*code = 0;
	for (at = 0; at < 4; at++) {
		static const char digits[] = "0123456789abcdef";
		const char lower = (char)(*reader->at | 0x20), *digit = lower ? strchr(digits, lower) : NULL;

		if (*reader->at == '\0' || !digit)
			return -EBADMSG;
		*code = *code * 16 + (unsigned)(digit - digits);
		reader->at++;
	}
	return 0;
}

/* As UTF-8: three bytes at most, halves of surrogates included, and less than what stood there. */
static char *code_put(char *out, unsigned code)
{
	if (code >= 0x800) {
		*out++ = (char)(0xe0 | code >> 12);
		*out++ = (char)(0x80 | (code >> 6 & 0x3f));
	} else if (code >= 0x80) {
		*out++ = (char)(0xc0 | code >> 6);
	} else {
		*out++ = (char)(code ? code : '?');
		return out;
	}
	*out++ = (char)(0x80 | (code & 0x3f));
	return out;
}

static int escape_read(struct reader *reader, char **out)
{
	static const char names[] = "bfnrt\"\\/", letters[] = "\b\f\n\r\t\"\\/";
	char name = *reader->at++;
	const char *known = name ? strchr(names, name) : NULL;
	unsigned code;

	if (known) {
		*(*out)++ = letters[known - names];
		return 0;
	}
	if (name != 'u' || hex_read(reader, &code))
		return -EBADMSG;
	*out = code_put(*out, code);
	return 0;
}

/* Behind the first quote. `out` has room for all that is left. */
static int string_read(struct reader *reader, char *out)
{
	while (*reader->at && *reader->at != '"') {
		if (*reader->at != '\\') {
			*out++ = *reader->at++;
			continue;
		}
		reader->at++;
		if (*reader->at == '\0' || escape_read(reader, &out))
			return -EBADMSG;
	}
	*out = '\0';
	return *reader->at++ == '"' ? 0 : -EBADMSG;
}

static size_t string_room(const char *at)
{
	size_t bytes = 0;

	while (at[bytes] && at[bytes] != '"')
		bytes += at[bytes] == '\\' && at[bytes + 1] ? 2 : 1;
	return bytes + 1;
}

static int value_add(struct reader *reader, char *text)
{
	struct stat_values *values = reader->values;
	struct stat_value *grown;
	char *path;

	if (values->count == values->room) {
		grown = reallocarray(values->values, values->room * 2 + 64, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		values->values = grown;
		values->room = values->room * 2 + 64;
	}
	path = strdup(reader->path);
	if (!path)
		return -ENOMEM;
	values->values[values->count++] = (struct stat_value){path, text};
	return 0;
}

static int text_add(struct reader *reader)
{
	char *text = malloc(string_room(reader->at));
	int error = text ? string_read(reader, text) : -ENOMEM;

	if (!error)
		error = value_add(reader, text);
	if (error)
		free(text);
	return error;
}

static int word_add(struct reader *reader)
{
	size_t bytes = strspn(reader->at, "+-.0123456789abcdefghijklmnopqrstuvwxyzE");
	char *text = bytes ? strndup(reader->at, bytes) : NULL;
	int error;

	if (!text)
		return bytes ? -ENOMEM : -EBADMSG;
	reader->at += bytes;
	error = value_add(reader, text);
	if (error)
		free(text);
	return error;
}

static int path_push(struct reader *reader, const char *part)
{
	size_t bytes = strlen(part), dot = reader->path_bytes ? 1 : 0;

	if (reader->path_bytes + dot + bytes >= sizeof(reader->path))
		return -EBADMSG;
	if (dot)
		reader->path[reader->path_bytes] = '.';
	memcpy(reader->path + reader->path_bytes + dot, part, bytes + 1);
	reader->path_bytes += dot + bytes;
	return 0;
}

static int key_push(struct reader *reader)
{
	char key[PATH_BYTES_MAX];

	if (!taken(reader, '"') || string_room(reader->at) > sizeof(key) || string_read(reader, key) ||
	    !taken(reader, ':'))
		return -EBADMSG;
	return path_push(reader, key);
}

static int members_read(struct reader *reader, char end)
{
	const size_t path_bytes = reader->path_bytes;
	unsigned number = 0;
	char index[16];
	int error;

	if (taken(reader, end))
		return 0;
	do {
		(void)snprintf(index, sizeof(index), "%u", number++);
		error = end == '}' ? key_push(reader) : path_push(reader, index);
		if (!error)
			error = value_read(reader);
		reader->path_bytes = path_bytes;
		reader->path[path_bytes] = '\0';
	} while (!error && taken(reader, ','));
	return error ? error : taken(reader, end) ? 0 : -EBADMSG;
}

static int value_read(struct reader *reader)
{
	int error;

	if (taken(reader, '"'))
		return text_add(reader);
	if (*reader->at != '{' && *reader->at != '[')
		return word_add(reader);
	if (reader->depth++ == DEPTH_MAX)
		return -EBADMSG;
	error = members_read(reader, *reader->at++ == '{' ? '}' : ']');
	reader->depth--;
	return error;
}

int stat_json_read(const char *text, struct stat_values *values)
{
	struct reader reader = {.at = text, .values = values};
	int error = value_read(&reader);

	blanks_skip(&reader);
	return !error && *reader.at ? -EBADMSG : error;
}

void stat_values_free(struct stat_values *values)
{
	size_t at;

	for (at = 0; at < values->count; at++) {
		free(values->values[at].path);
		free(values->values[at].text);
	}
	free(values->values);
	*values = (struct stat_values){NULL, 0, 0};
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

uint64_t stat_number_find(const struct stat_values *values, const char *path)
{
	const char *text = stat_value_find(values, path);

	return text ? strtoull(text, NULL, 10) : 0;
}
