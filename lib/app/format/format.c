/* SPDX-License-Identifier: MIT */
#include "app/format/format.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/format/parts.h"

/* Each id once; no other memory depends on its order. */
static _Atomic uint64_t next_id = 1;

static const struct {
	char letter;
	enum k2i_format_kind kind;
} directives[] = {
	{'L', K2I_FORMAT_RECORD}, {'l', K2I_FORMAT_TRIMMED}, {'J', K2I_FORMAT_JSON}, {'T', K2I_FORMAT_TIME},
	{'t', K2I_FORMAT_TIME},   {'H', K2I_FORMAT_HOST},    {'h', K2I_FORMAT_HOST}, {'P', K2I_FORMAT_PID},
	{'p', K2I_FORMAT_PID},    {'F', K2I_FORMAT_PATH},    {'f', K2I_FORMAT_NAME},
};

static const char escape_letters[] = "abfnrt\\\"'?";
static const char escape_bytes[] = "\a\b\f\n\r\t\\\"'?";

static int digit_value(char digit)
{
	static const char digits[] = "0123456789abcdef";
	const char *found = digit ? strchr(digits, digit >= 'A' && digit <= 'F' ? digit - 'A' + 'a' : digit) : NULL;

	return found ? (int)(found - digits) : -1;
}

/* The escape at `text` (behind its backslash): how many characters it has, 0 if it is none. */
static size_t escape_read(const char *text, char *byte)
{
	const char *letter = *text ? strchr(escape_letters, *text) : NULL;

	if (letter) {
		*byte = escape_bytes[letter - escape_letters];
		return 1;
	}
	if (*text >= '0' && *text <= '8') {
		*byte = (char)(*text - '0');
		return 1;
	}
	if (*text == 'x' && digit_value(text[1]) >= 0) {
		if (digit_value(text[2]) < 0) {
			*byte = (char)digit_value(text[1]);
			return 2;
		}
		*byte = (char)(digit_value(text[1]) * 16 + digit_value(text[2]));
		return 3;
	}
	return 0;
}

static void literal_add(struct k2i_format *format, size_t *used, char byte)
{
	struct k2i_format_part *last = format->part_count ? &format->parts[format->part_count - 1] : NULL;

	if (!last || last->kind != K2I_FORMAT_LITERAL) {
		last = &format->parts[format->part_count++];
		last->kind = K2I_FORMAT_LITERAL;
		last->at = *used;
		last->bytes = 0;
	}
	format->literals[(*used)++] = byte;
	last->bytes++;
}

static bool directive_add(struct k2i_format *format, char letter)
{
	for (size_t i = 0; i < sizeof(directives) / sizeof(directives[0]); i++) {
		if (directives[i].letter != letter)
			continue;
		format->parts[format->part_count++].kind = directives[i].kind;
		format->uses[directives[i].kind] = true;
		return true;
	}
	return false;
}

/* Fills in the parts; there is room for one for each character. Returns where it is wrong, or NULL. */
static const char *parse(const char *text, struct k2i_format *format)
{
	size_t used = 0;

	while (*text) {
		char byte = *text;
		size_t length = 1;

		if (*text == '%' && text[1] != '%') {
			if (!directive_add(format, text[1]))
				return text;
			text += 2;
			continue;
		}
		if (*text == '%')
			length = 2;
		if (*text == '\\') {
			length = escape_read(text + 1, &byte);
			if (length == 0)
				return text;
			length++;
		}
		literal_add(format, &used, byte);
		text += length;
	}
	return NULL;
}

static int parse_report(const char *text, const char *wrong, char *message, size_t message_room)
{
	size_t at = (size_t)(wrong - text) + 1;

	if (wrong[1] == '\0')
		(void)snprintf(message, message_room, "format: it ends behind `%c' at byte %zu; write %s for that sign",
			       *wrong, at, *wrong == '%' ? "%%" : "\\\\");
	else if (*wrong == '%')
		(void)snprintf(
			message, message_room,
			"format: unknown directive `%%%c' at byte %zu; known: %%L %%l %%J %%T %%H %%P %%F %%f %%%%",
			wrong[1], at);
	else
		(void)snprintf(message, message_room,
			       "format: unknown escape `\\%c' at byte %zu; known: \\a \\b \\f \\n \\r \\t \\\\ \\\" "
			       "\\' \\? \\xHH \\0..\\8",
			       wrong[1], at);
	return -EINVAL;
}

/* Whether it fits is known beforehand: the longest names of all are a Wednesday in September. */
static int time_format_set(struct k2i_format *format, const char *time_format, char *message, size_t message_room)
{
	const time_t wednesday = 1695811199;
	char text[K2I_TIME_TEXT_BYTES_MAX];

	if (!time_format || !*time_format)
		return 0;
	format->time_format = malloc(strlen(time_format) + K2I_TIME_FORMAT_MORE);
	if (!format->time_format) {
		(void)snprintf(message, message_room, "format: no memory");
		return -ENOMEM;
	}
	if (k2i_time_format_compile(time_format, format->time_format, message, message_room))
		return -EINVAL;
	if (k2i_time_second(format->time_format, wednesday, text, sizeof(text)) != 0)
		return 0;
	(void)snprintf(message, message_room, "time format: gives more than %zu bytes", sizeof(text) - 2);
	return -EINVAL;
}

int k2i_format_compile(const char *format, const char *time_format, struct k2i_format **compiled, char *message,
		       size_t message_room)
{
	const char *text = format && *format ? format : "%L", *wrong;
	struct k2i_format *made = calloc(1, sizeof(*made));
	int error = -ENOMEM;

	if (made) {
		made->parts = calloc(strlen(text), sizeof(*made->parts));
		made->literals = malloc(strlen(text));
	}
	if (!made || !made->parts || !made->literals) {
		(void)snprintf(message, message_room, "format: no memory");
		goto fail;
	}
	made->id = atomic_fetch_add_explicit(&next_id, 1, memory_order_relaxed);
	wrong = parse(text, made);
	error = wrong ? parse_report(text, wrong, message, message_room)
		      : time_format_set(made, time_format, message, message_room);
	if (error)
		goto fail;
	made->plain = made->part_count == 1 && made->parts[0].kind == K2I_FORMAT_RECORD;
	*compiled = made;
	return 0;
fail:
	k2i_format_free(made);
	return error;
}

void k2i_format_free(struct k2i_format *format)
{
	if (!format)
		return;
	free(format->time_format);
	free(format->parts);
	free(format->literals);
	free(format);
}

int k2i_format_compile_name(const char *format, const char *time_format, struct k2i_format **compiled, char *message,
			    size_t message_room)
{
	int error = k2i_format_compile(format, time_format, compiled, message, message_room);
	const bool *uses = error ? NULL : (*compiled)->uses;

	if (error || (!uses[K2I_FORMAT_RECORD] && !uses[K2I_FORMAT_TRIMMED] && !uses[K2I_FORMAT_JSON]))
		return error;
	(void)snprintf(message, message_room,
		       "\"%s\" is made of where a record comes from: it has none of %%L, %%l and %%J", format);
	k2i_format_free(*compiled);
	*compiled = NULL;
	return -EINVAL;
}

bool k2i_format_plain(const struct k2i_format *format)
{
	return format->plain;
}

bool k2i_format_has_time(const struct k2i_format *format)
{
	return format->uses[K2I_FORMAT_TIME];
}
