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
	const char *at; /* NUL ends the text */
};

static struct json_value *value_parse(struct parser *parser, unsigned depth);

/* Blanks, then this. */
static bool character_take(struct parser *parser, char wanted)
{
	parser->at += strspn(parser->at, " \t\r\n");
	if (*parser->at != wanted)
		return false;
	parser->at++;
	return true;
}

static bool word_take(struct parser *parser, const char *word)
{
	size_t bytes = strlen(word);

	if (strncmp(parser->at, word, bytes) != 0)
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

	(void)strncat(digits, parser->at, 4);
	if (strspn(digits, "0123456789abcdefABCDEF") != 4)
		return NULL;
	parser->at += 4;
	return code_put(out, strtoul(digits, NULL, 16));
}

/* Behind the backslash. NULL: there is no such escape. */
static char *escape_parse(struct parser *parser, char *out)
{
	static const char from[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
	char code = *parser->at;
	const char *place = code ? strchr(from, code) : NULL;

	parser->at += code != '\0';
	if (code == 'u')
		return code_parse(parser, out);
	if (place)
		*out++ = meant[place - from];
	return place ? out : NULL;
}

/* Behind the first quote: how many bytes a string has at most, as an escape gets shorter. */
static size_t string_measure(const char *at)
{
	const char *end = at;

	while (*end && *end != '"')
		end += *end == '\\' && end[1] ? 2 : 1;
	return (size_t)(end - at);
}

static char *string_parse(struct parser *parser)
{
	char *text = malloc(string_measure(parser->at) + 1), *out = text;

	while (out && *parser->at && *parser->at != '"') {
		if (*parser->at == '\\') {
			parser->at++;
			out = escape_parse(parser, out);
		} else {
			*out++ = *parser->at++;
		}
	}
	if (out && *parser->at) {
		*out = '\0';
		parser->at++;
		return text;
	}
	free(text);
	return NULL;
}

static bool number_take(struct parser *parser, struct json_value *value)
{
	size_t bytes = strspn(parser->at, "+-0123456789.eE");
	char *end;

	if (bytes == 0 || bytes > NUMBER_BYTES_MAX)
		return false;
	value->text = strndup(parser->at, bytes);
	value->number = value->text ? strtod(value->text, &end) : (double)INFINITY;
	if (isinf(value->number) || *end)
		return false;
	parser->at += bytes;
	return true;
}

static bool members_parse(struct parser *parser, struct json_value *whole, char close, unsigned depth)
{
	struct json_value **last = &whole->first;
	char *name = NULL;

	if (character_take(parser, close))
		return true;
	do {
		if (close == '}')
			name = character_take(parser, '"') ? string_parse(parser) : NULL;
		*last = close == ']' || (name && character_take(parser, ':')) ? value_parse(parser, depth + 1) : NULL;
		if (!*last) {
			free(name);
			return false;
		}
		(*last)->name = name;
		last = &(*last)->next;
	} while (character_take(parser, ','));
	return character_take(parser, close);
}

static bool value_fill(struct parser *parser, struct json_value *value, unsigned depth)
{
	if (character_take(parser, '{') || character_take(parser, '[')) {
		bool object = parser->at[-1] == '{';

		value->type = object ? JSON_OBJECT : JSON_ARRAY;
		return members_parse(parser, value, object ? '}' : ']', depth);
	}
	if (character_take(parser, '"')) {
		value->type = JSON_STRING;
		value->text = string_parse(parser);
		return value->text != NULL;
	}
	value->type = word_take(parser, "null")    ? JSON_NULL
		      : word_take(parser, "true")  ? JSON_TRUE
		      : word_take(parser, "false") ? JSON_FALSE
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
	struct parser parser = {.at = text};
	struct json_value *value = value_parse(&parser, 0);

	parser.at += strspn(parser.at, " \t\r\n");
	*at = (size_t)(parser.at - text);
	if (value && *at == bytes)
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
