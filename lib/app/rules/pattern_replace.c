/* SPDX-License-Identifier: MIT */
#include "app/rules/pattern.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void group_add(struct k2i_replacement *replacement, unsigned group)
{
	replacement->pieces[replacement->count++].group = (int)group;
	if (group > replacement->group_highest)
		replacement->group_highest = group;
}

static void literal_add(struct k2i_replacement *replacement, size_t *used, char byte)
{
	struct k2i_replacement_piece *last = replacement->count ? &replacement->pieces[replacement->count - 1] : NULL;

	if (!last || last->group >= 0) {
		last = &replacement->pieces[replacement->count++];
		last->group = -1;
		last->at = *used;
		last->bytes = 0;
	}
	replacement->literals[(*used)++] = byte;
	last->bytes++;
}

static bool is_digit(const char *text, const char *end)
{
	return text < end && *text >= '0' && *text <= '9';
}

/* The fault of the text at *at, which is moved behind one piece; NULL: none. */
static const char *piece_parse(const char **at, const char *end, struct k2i_replacement *replacement, size_t *used)
{
	const char *text = *at;

	*at += *text == '\\' || *text == '$' ? 2 : 1;
	switch (*text) {
	case '&':
		group_add(replacement, 0);
		return NULL;
	case '$':
		if (!is_digit(text + 1, end))
			return "$ wants a digit behind it; a dollar sign is \\$";
		if (is_digit(text + 2, end))
			return "$ wants one digit: there are $0 to $9";
		group_add(replacement, (unsigned)(text[1] - '0'));
		return NULL;
	case '\\':
		if (text + 1 == end || !memchr("\\\"&$", text[1], 4))
			return "a backslash wants \\ \" & or $ behind it";
		literal_add(replacement, used, text[1]);
		return NULL;
	default:
		literal_add(replacement, used, *text);
		return NULL;
	}
}

int k2i_replacement_parse(const char *text, size_t bytes, struct k2i_replacement *replacement, char *message,
			  size_t message_room)
{
	const char *at = text, *end = text + bytes, *wrong = NULL;
	size_t used = 0;

	memset(replacement, 0, sizeof(*replacement));
	replacement->pieces = calloc(bytes + 1, sizeof(*replacement->pieces));
	replacement->literals = malloc(bytes + 1);
	if (!replacement->pieces || !replacement->literals)
		return -ENOMEM;
	while (at < end && !wrong) {
		size_t offset = (size_t)(at - text);

		wrong = piece_parse(&at, end, replacement, &used);
		if (wrong)
			(void)snprintf(message, message_room, "replacement: %s, at byte %zu of `%.*s'", wrong,
				       offset + 1, (int)(bytes < 200 ? bytes : 200), text);
	}
	return wrong ? -EINVAL : 0;
}

void k2i_replacement_clear(struct k2i_replacement *replacement)
{
	free(replacement->pieces);
	free(replacement->literals);
}
