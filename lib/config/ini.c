/* SPDX-License-Identifier: MIT */
/*
 * inih keeps sections and entries apart, but it must not see their text: as distributions build it, it takes 199 bytes
 * of a line and then begins a bogus one, cuts a section's name at 49 bytes, a value at " ;", and takes an indented line
 * for more of the key above. So its reader callback is given the shape of each line only ("[3]", "k="), and the text is
 * kept here, whole, until inih has called back for it.
 */
#include <ctype.h>
#include <errno.h>
#include <ini.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "config/ini_read.h"

#define LINE_BYTES_MAX 65536u
#define FILE_BYTES_MAX (1u << 20)
#define ALL_BYTES_MAX (16u << 20) /* of a file and all that it includes, as often as it is included */
#define INCLUDE_DEPTH_MAX 8u

struct source {
	FILE *stream;
	char *path;
	unsigned line;
	size_t bytes; /* that were read of it */
	dev_t device;
	ino_t inode;
};

struct reader {
	struct source sources[INCLUDE_DEPTH_MAX];
	unsigned depth;
	const struct k2i_ini_calls *calls;
	char text[LINE_BYTES_MAX];
	char section[LINE_BYTES_MAX];
	unsigned section_number;
	size_t bytes;     /* that were read of all of them */
	bool header_seen; /* inih has "[N]" and needs an entry to report it with */
	const char *name, *value;
	int status;
};

enum shape { SHAPE_NONE, SHAPE_HEADER, SHAPE_ENTRY };

static struct source *current(struct reader *reader)
{
	return &reader->sources[reader->depth - 1];
}

static void fault(struct reader *reader, const char *text)
{
	reader->calls->fault(reader->calls->argument, current(reader)->path, current(reader)->line, text);
}

static enum shape refuse(struct reader *reader, const char *text)
{
	fault(reader, text);
	return SHAPE_NONE;
}

/* A blank behind a backslash belongs to the value. */
static bool is_escaped(const char *text, const char *blank)
{
	const char *at = blank;

	while (at > text && at[-1] == '\\')
		at--;
	return isblank((unsigned char)*blank) && (blank - at) % 2;
}

static char *trim(char *text)
{
	char *end = text + strlen(text);

	while (end > text && isspace((unsigned char)end[-1]) && !is_escaped(text, end - 1))
		end--;
	*end = '\0';
	while (isspace((unsigned char)*text))
		text++;
	return text;
}

/* Cuts a comment (blank and #, outside quotes) off. False: a quote is not closed. */
static bool comment_cut(char *text)
{
	char quote = '\0';
	char *at;

	for (at = text; *at; at++) {
		if (*at == '\\' && quote != '\'' && at[1])
			at++;
		else if (quote)
			quote = *at == quote ? '\0' : quote;
		else if (*at == '"' || *at == '\'')
			quote = *at;
		else if (*at == '#' && at > text && isblank((unsigned char)at[-1])) {
			*at = '\0';
			return true;
		}
	}
	return !quote;
}

/* Without blanks and comment; as in K2HFTFUSE a # that it begins with is its own. NULL: a quote is not closed. */
static char *value_read(char *text)
{
	text = trim(text);
	return comment_cut(text) ? trim(text) : NULL;
}

void k2i_ini_unquote(char *value)
{
	char *output = value;
	char quote = '\0';
	const char *escaped;

	for (; *value; value++) {
		escaped = quote ? "\"\\" : "\"\\' \t#";
		if (*value == '\\' && quote != '\'' && value[1] && strchr(escaped, value[1]))
			*output++ = *++value;
		else if (*value == quote)
			quote = '\0';
		else if (!quote && (*value == '"' || *value == '\''))
			quote = *value;
		else
			*output++ = *value;
	}
	*output = '\0';
}

/* -EALREADY: it is being read. Depth alone would end that too, but a file with ten such lines is read 10^8 times by then. */
static int source_identify(const struct reader *reader, struct source *source)
{
	const struct source *open_one;
	struct stat status;

	if (fstat(fileno(source->stream), &status) < 0)
		return -errno;
	source->device = status.st_dev;
	source->inode = status.st_ino;
	for (open_one = reader->sources; open_one < source; open_one++)
		if (open_one->device == source->device && open_one->inode == source->inode)
			return -EALREADY;
	return 0;
}

static int source_open(struct reader *reader, const char *path)
{
	struct source *source = &reader->sources[reader->depth];
	struct stat status;
	int error;

	/* A pipe can be the first; it has what it has. */
	if (reader->depth && stat(path, &status) == 0 && !S_ISREG(status.st_mode))
		return -ENOTSUP;
	source->stream = fopen(path, "re");
	if (!source->stream)
		return -errno;
	error = source_identify(reader, source);
	source->path = error ? NULL : strdup(path);
	if (!source->path) {
		(void)fclose(source->stream);
		return error ? error : -ENOMEM;
	}
	source->line = 0;
	source->bytes = 0;
	reader->depth++;
	return 0;
}

static void source_close(struct reader *reader)
{
	struct source *source = current(reader);

	(void)fclose(source->stream);
	free(source->path);
	reader->depth--;
}

/* A read error of the first file is the caller's; of an included one it is a fault where it is included. */
static void source_failed(struct reader *reader, int error)
{
	const struct source *from;
	char text[4352];

	if (reader->depth == 1) {
		reader->status = -error;
		return;
	}
	from = current(reader) - 1;
	(void)snprintf(text, sizeof(text), "can't include %s: %s", current(reader)->path, strerror(error));
	reader->calls->fault(reader->calls->argument, from->path, from->line, text);
}

/* The next line into reader->text. False: end of the file, or an error. */
static bool line_read(struct reader *reader)
{
	struct source *source = current(reader);
	bool overlong = false, nul = false;
	size_t bytes = 0;
	int character;

	errno = 0;
	while ((character = getc(source->stream)) != EOF && character != '\n' && source->bytes < FILE_BYTES_MAX) {
		source->bytes++;
		reader->bytes++;
		nul |= character == '\0';
		if (bytes < sizeof(reader->text) - 1)
			reader->text[bytes++] = (char)character;
		else
			overlong = true;
	}
	if (ferror(source->stream)) {
		source_failed(reader, errno ? errno : EIO);
		return false;
	}
	if (character == EOF && !bytes)
		return false;
	source->line++;
	reader->bytes++;
	if (character != EOF && source->bytes++ >= FILE_BYTES_MAX) {
		fault(reader, "more than 1048576 bytes: this is no configuration");
		return false;
	}
	reader->text[overlong || nul ? 0 : bytes] = '\0';
	if (overlong)
		fault(reader, "line of more than 65535 bytes");
	else if (nul)
		fault(reader, "NUL byte in the line: this is not a text file");
	return true;
}

static enum shape include(struct reader *reader, char *path)
{
	char whole[4096], text[4352];
	const char *from = current(reader)->path, *slash = strrchr(from, '/');
	int directory_bytes, error;

	path = value_read(path);
	if (!path)
		return refuse(reader, "a quote is not closed");
	k2i_ini_unquote(path);
	if (!*path)
		return refuse(reader, "INCLUDE needs the path of a file");
	if (reader->depth == INCLUDE_DEPTH_MAX)
		return refuse(reader, "INCLUDE goes deeper than 8 files");
	if (reader->bytes >= ALL_BYTES_MAX)
		return refuse(reader, "INCLUDE goes beyond 16777216 bytes in all: this is no configuration");
	directory_bytes = slash && *path != '/' ? (int)(slash - from) + 1 : 0;
	if (snprintf(whole, sizeof(whole), "%.*s%s", directory_bytes, from, path) >= (int)sizeof(whole))
		error = -ENAMETOOLONG;
	else
		error = source_open(reader, whole);
	if (!error)
		return SHAPE_NONE;
	(void)snprintf(text, sizeof(text), "can't include %s: %s", whole,
		       error == -EALREADY  ? "the file would include itself"
		       : error == -ENOTSUP ? "it is not a regular file"
					   : strerror(-error));
	return refuse(reader, text);
}

static enum shape header_read(struct reader *reader, char *text)
{
	char *end = strchr(text, ']');
	const char *rest;

	if (!end)
		return refuse(reader, "a section's name is not closed with ]");
	*end = '\0';
	rest = trim(end + 1);
	if (*rest && *rest != '#' && *rest != ';')
		return refuse(reader, "text behind a section's name");
	(void)snprintf(reader->section, sizeof(reader->section), "%s", trim(text + 1));
	reader->section_number++;
	return SHAPE_HEADER;
}

static enum shape entry_read(struct reader *reader, char *text)
{
	char *equals = strchr(text, '=');
	size_t word_bytes = strcspn(text, " \t=");
	bool is_include = word_bytes == 7 && strncasecmp(text, "INCLUDE", 7) == 0;
	char *behind = text + word_bytes + strspn(text + word_bytes, " \t");

	if (is_include)
		return include(reader, *behind == '=' ? behind + 1 : behind);
	if (!equals)
		return refuse(reader, "neither [SECTION], nor KEY = value, nor INCLUDE path");
	*equals = '\0';
	reader->name = trim(text);
	if (!*reader->name)
		return refuse(reader, "no key before =");
	reader->value = value_read(equals + 1);
	return reader->value ? SHAPE_ENTRY : refuse(reader, "a quote is not closed");
}

static enum shape line_parse(struct reader *reader)
{
	char *text = reader->text;

	if (current(reader)->line == 1 && strncmp(text, "\xef\xbb\xbf", 3) == 0)
		text += 3;
	text = trim(text);
	if (!*text || *text == '#' || *text == ';')
		return SHAPE_NONE;
	return *text == '[' ? header_read(reader, text) : entry_read(reader, text);
}

/* The reader callback of inih. */
static char *shape_next(char *shape, int room, void *stream)
{
	struct reader *reader = stream;

	if (reader->header_seen) {
		reader->header_seen = false;
		reader->name = NULL;
		reader->value = NULL;
		(void)snprintf(shape, (size_t)room, "h=\n");
		return shape;
	}
	while (reader->depth) {
		if (!line_read(reader)) {
			source_close(reader);
			continue;
		}
		switch (line_parse(reader)) {
		case SHAPE_NONE:
			continue;
		case SHAPE_HEADER:
			reader->header_seen = true;
			(void)snprintf(shape, (size_t)room, "[%u]\n", reader->section_number);
			return shape;
		case SHAPE_ENTRY:
			(void)snprintf(shape, (size_t)room, "k=\n");
			return shape;
		}
	}
	return NULL;
}

/* The entry callback of inih. A build of inih that calls it for headers too does so without a name. */
static int shape_seen(void *user, const char *section, const char *name, const char *value)
{
	struct reader *reader = user;
	struct k2i_ini_entry entry = {0};

	(void)value;
	if (!name)
		return 1;
	entry.file = current(reader)->path;
	entry.line = current(reader)->line;
	entry.section = reader->section;
	entry.section_number = (unsigned)strtoul(section, NULL, 10);
	entry.name = reader->name;
	entry.value = reader->value;
	reader->calls->entry(reader->calls->argument, &entry);
	return 1;
}

int k2i_ini_read(const char *file, const struct k2i_ini_calls *calls)
{
	struct reader *reader = calloc(1, sizeof(*reader));
	int status;

	if (!reader)
		return -ENOMEM;
	reader->calls = calls;
	status = source_open(reader, file);
	if (!status) {
		/* Its faults can't happen: every shape is well formed. */
		if (ini_parse_stream(shape_next, reader, shape_seen, reader) < 0)
			reader->status = -ENOMEM;
		status = reader->status;
	}
	while (reader->depth)
		source_close(reader);
	free(reader);
	return status;
}
