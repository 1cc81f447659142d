/* SPDX-License-Identifier: MIT */
#include "app/rules/pattern.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/ini_read.h"
#include "app/rules/pattern_literal.h"
#include "app/rules/rules.h"

/* An expression in quotes: its parts without the quotes, their backslashes as they are. */
struct quoted {
	const char *regex, *replacement; /* replacement NULL: none */
	size_t regex_bytes, replacement_bytes;
};

static const char *blanks_skip(const char *text)
{
	return text + strspn(text, " \t");
}

/* The string in double quotes at `text`; returns what is behind it, or NULL if it is none. A \" does not end it. */
static const char *string_read(const char *text, const char **inside, size_t *bytes)
{
	const char *at = text + 1;

	if (*text != '"')
		return NULL;
	while (*at && *at != '"')
		at += *at == '\\' && at[1] ? 2 : 1;
	if (!*at)
		return NULL;
	*inside = text + 1;
	*bytes = (size_t)(at - text) - 1;
	return blanks_skip(at + 1);
}

/* "regex" or "regex", "replacement". */
static bool quoted_read(const char *text, struct quoted *quoted)
{
	memset(quoted, 0, sizeof(*quoted));
	text = string_read(text, &quoted->regex, &quoted->regex_bytes);
	if (text && *text == ',')
		text = string_read(blanks_skip(text + 1), &quoted->replacement, &quoted->replacement_bytes);
	return text && !*text;
}

static int needle_add(struct k2i_matcher *matcher, const char *text, size_t bytes)
{
	struct k2i_needle *needle = &matcher->needles[matcher->needle_count];

	needle->text = malloc(bytes);
	if (!needle->text)
		return -ENOMEM;
	needle->bytes = bytes;
	memcpy(needle->text, text, bytes);
	matcher->needle_count++;
	return 0;
}

static int text_set(const char *text, struct k2i_matcher *matcher)
{
	matcher->matches_all = *text == '\0';
	matcher->needles_suffice = true;
	return matcher->matches_all ? 0 : needle_add(matcher, text, strlen(text));
}

/* Groups, which a replacement can ask for, are known only by a match. */
static int literals_set(const struct quoted *quoted, struct k2i_matcher *matcher)
{
	struct k2i_literals literals;
	bool suffice = k2i_literals_find(quoted->regex, quoted->regex_bytes, &literals);
	int error = 0;

	for (size_t i = 0; i < literals.count && !error; i++)
		error = needle_add(matcher, literals.texts[i].text, literals.texts[i].bytes);
	matcher->needles_suffice = suffice && !quoted->replacement;
	matcher->matches_all = !quoted->replacement && k2i_regex_takes_all(quoted->regex, quoted->regex_bytes);
	return error;
}

static int regex_set(const struct quoted *quoted, struct k2i_matcher *matcher, char *message, size_t message_room)
{
	int error =
		k2i_regex_compile(quoted->regex, quoted->regex_bytes, false, &matcher->regex, message, message_room);

	if (!error)
		error = literals_set(quoted, matcher);
	if (error || !quoted->replacement)
		return error;
	error = k2i_replacement_parse(quoted->replacement, quoted->replacement_bytes, &matcher->replacement, message,
				      message_room);
	if (error)
		return error;
	matcher->replaces = true;
	if (matcher->replacement.group_highest <= k2i_regex_groups(matcher->regex))
		return 0;
	(void)snprintf(message, message_room, "replacement: there is no $%u, the regular expression has %u groups",
		       matcher->replacement.group_highest, k2i_regex_groups(matcher->regex));
	return -EINVAL;
}

/*
 * Double quotes make a regular expression, as K2HFTFUSE's documentation has it. Its program wanted them inside other
 * quotes or behind backslashes, because it took the outer ones off first: files written for that mean the same here.
 */
int k2i_matcher_compile(const struct k2i_pattern *pattern, struct k2i_matcher *matcher, char *message,
			size_t message_room)
{
	char *text = strdup(blanks_skip(pattern->text));
	struct quoted quoted;
	size_t bytes;
	int error;

	memset(matcher, 0, sizeof(*matcher));
	matcher->place = pattern->place;
	matcher->needles = calloc(K2I_LITERALS_MAX, sizeof(*matcher->needles));
	if (!text || !matcher->needles) {
		free(text);
		return -ENOMEM;
	}
	if (*text == '"' && !quoted_read(text, &quoted)) {
		(void)snprintf(
			message, message_room,
			"a pattern is text, or \"regular expression\", or \"regular expression\", \"replacement\"");
		error = -EINVAL;
	} else if (*text == '"') {
		error = regex_set(&quoted, matcher, message, message_room);
	} else {
		k2i_ini_unquote(text);
		bytes = strlen(text);
		if (bytes >= 2 && text[0] == '"' && text[bytes - 1] == '"' && quoted_read(text, &quoted))
			error = regex_set(&quoted, matcher, message, message_room);
		else
			error = text_set(text, matcher);
	}
	free(text);
	return error;
}

int k2i_pattern_check(const struct k2i_pattern *pattern, char *message, size_t message_room)
{
	struct k2i_matcher matcher;
	int error = k2i_matcher_compile(pattern, &matcher, message, message_room);

	if (error == -ENOMEM)
		(void)snprintf(message, message_room, "no memory");
	k2i_matcher_clear(&matcher);
	return error;
}

void k2i_matcher_clear(struct k2i_matcher *matcher)
{
	for (size_t i = 0; i < matcher->needle_count; i++)
		free(matcher->needles[i].text);
	free(matcher->needles);
	k2i_regex_free(matcher->regex);
	k2i_replacement_clear(&matcher->replacement);
}
