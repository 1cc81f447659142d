/* SPDX-License-Identifier: MIT */
#include "tools/base/json.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "app/format/parts.h"

#define DEPTH_MAX 32u
#define NUMBER_BYTES_MAX 40u

struct parser {
	const char *text;
	size_t bytes, at;
};

static struct json_value *value_parse(struct parser *parser, unsigned depth);

/* NUL at the end, and nothing is looked for that is one. */
static char peek(const struct parser *parser)
{
	return parser->at < parser->bytes ? parser->text[parser->at] : '\0';
}

static void blanks_skip(struct parser *parser)
{
	while (peek(parser) && strchr(" \t\r\n", peek(parser)))
		parser->at++;
}

/* Blanks, then this. */
static bool taken(struct parser *parser, char wanted)
{
	blanks_skip(parser);
	if (peek(parser) != wanted)
		return false;
	parser->at++;
	return true;
}

static bool word_taken(struct parser *parser, const char *word)
{
	size_t bytes = strlen(word);

	if (parser->bytes - parser->at < bytes || memcmp(parser->text + parser->at, word, bytes) != 0)
		return false;
	parser->at += bytes;
	return true;
}

/* As UTF-8: three bytes at most, halves of surrogates included, and less than what stood there. */
static char *code_put(char *out, unsigned long code)
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

/* NULL: these are no four digits. */
static char *code_parse(struct parser *parser, char *out)
{
	char digits[5] = {0};

	if (parser->bytes - parser->at < 4)
		return NULL;
	memcpy(digits, parser->text + parser->at, 4);
	if (strspn(digits, "0123456789abcdefABCDEF") != 4)
		return NULL;
	parser->at += 4;
	return code_put(out, strtoul(digits, NULL, 16));
}

/* Behind the backslash. NULL: there is no such escape. */
static char *escape_parse(struct parser *parser, char *out)
{
	static const char from[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
	char code = peek(parser);
	const char *place = code ? strchr(from, code) : NULL;

	parser->at++;
	if (code == 'u')
		return code_parse(parser, out);
	if (place)
		*out++ = meant[place - from];
	return place ? out : NULL;
}

/* Behind its first quote: how many bytes there are up to its last one. */
static bool string_measure(const struct parser *parser, size_t *bytes)
{
	size_t at = parser->at;

	while (at < parser->bytes && parser->text[at] != '"')
		at += parser->text[at] == '\\' ? 2 : 1;
	*bytes = at - parser->at;
	return at < parser->bytes;
}

static char *string_parse(struct parser *parser)
{
	char *text, *out;
	size_t bytes, end;

	if (!string_measure(parser, &bytes))
		return NULL;
	end = parser->at + bytes;
	text = out = malloc(bytes + 1); /* an escape gets shorter */
	while (out && parser->at < end) {
		if (parser->text[parser->at] != '\\') {
			*out++ = parser->text[parser->at++];
			continue;
		}
		parser->at++;
		out = escape_parse(parser, out);
	}
	if (out && parser->at == end) {
		*out = '\0';
		parser->at++;
		return text;
	}
	free(text);
	return NULL;
}

static bool number_take(struct parser *parser, struct json_value *value)
{
	char copy[NUMBER_BYTES_MAX + 1], *end;
	size_t bytes = 0;

	while (bytes < NUMBER_BYTES_MAX && parser->at + bytes < parser->bytes && parser->text[parser->at + bytes] &&
	       strchr("+-0123456789.eE", parser->text[parser->at + bytes])) {
		copy[bytes] = parser->text[parser->at + bytes];
		bytes++;
	}
	copy[bytes] = '\0';
	value->number = strtod(copy, &end);
	if (bytes == 0 || *end || isinf(value->number))
		return false;
	parser->at += bytes;
	value->text = strdup(copy);
	return value->text != NULL;
}

static bool members_parse(struct parser *parser, struct json_value *whole, char close, unsigned depth)
{
	struct json_value **last = &whole->first;
	char *name = NULL;

	if (taken(parser, close))
		return true;
	do {
		if (close == '}')
			name = taken(parser, '"') ? string_parse(parser) : NULL;
		*last = close == ']' || (name && taken(parser, ':')) ? value_parse(parser, depth + 1) : NULL;
		if (!*last) {
			free(name);
			return false;
		}
		(*last)->name = name;
		last = &(*last)->next;
	} while (taken(parser, ','));
	return taken(parser, close);
}

static bool value_fill(struct parser *parser, struct json_value *value, unsigned depth)
{
	if (taken(parser, '{') || taken(parser, '[')) {
		bool object = parser->text[parser->at - 1] == '{';

		value->type = object ? JSON_OBJECT : JSON_ARRAY;
		return members_parse(parser, value, object ? '}' : ']', depth);
	}
	if (taken(parser, '"')) {
		value->type = JSON_STRING;
		value->text = string_parse(parser);
		return value->text != NULL;
	}
	value->type = word_taken(parser, "null")    ? JSON_NULL
		      : word_taken(parser, "true")  ? JSON_TRUE
		      : word_taken(parser, "false") ? JSON_FALSE
						    : JSON_NUMBER;
	return value->type != JSON_NUMBER || number_take(parser, value);
}

static struct json_value *value_parse(struct parser *parser, unsigned depth)
{
	struct json_value *value = depth < DEPTH_MAX ? calloc(1, sizeof(*value)) : NULL;

	if (value && value_fill(parser, value, depth))
		return value;
	json_free(value);
	return NULL;
}

struct json_value *json_parse(const char *text, size_t bytes, size_t *at)
{
	struct parser parser = {.text = text, .bytes = bytes};
	struct json_value *value = value_parse(&parser, 0);

	blanks_skip(&parser);
	*at = parser.at;
	if (value && parser.at == bytes)
		return value;
	json_free(value);
	return NULL;
}

void json_free(struct json_value *value)
{
	struct json_value *next;

	for (; value; value = next) {
		next = value->next;
		json_free(value->first);
		free(value->text);
		free(value->name);
		free(value);
	}
}

const struct json_value *json_get(const struct json_value *object, const char *name)
{
	const struct json_value *member = object && object->type == JSON_OBJECT ? object->first : NULL;

	while (member && strcmp(member->name, name) != 0)
		member = member->next;
	return member;
}

void json_string_write(FILE *output, const char *text)
{
	size_t bytes = strlen(text);
	char *escaped = malloc(bytes * K2I_JSON_GROWTH + 1);

	if (escaped)
		(void)fprintf(output, "\"%.*s\"", (int)k2i_json_escape(text, bytes, escaped), escaped);
	else
		(void)fputs("null", output);
	free(escaped);
}

const char *json_text(const struct json_value *object, const char *name)
{
	const struct json_value *member = json_get(object, name);

	return member && member->type == JSON_STRING ? member->text : "";
}

double json_number(const struct json_value *object, const char *name, double missing)
{
	const struct json_value *member = json_get(object, name);

	return member && member->type == JSON_NUMBER ? member->number : missing;
}
