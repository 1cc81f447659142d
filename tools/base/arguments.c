/* SPDX-License-Identifier: MIT */
#include "tools/base/arguments.h"

#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/nearest.h"
#include "tools/base/errors.h"

#define OPTIONS_MAX 64u
#define FIRST_LONG 256
#define MEBIBYTE (UINT64_C(1) << 20)

static int wrong_tell(char wrong[OPTION_WRONG_ROOM], const char *text, const char *needed)
{
	(void)snprintf(wrong, OPTION_WRONG_ROOM, "%s: %s", text, needed);
	return -EINVAL;
}

static int value_set(const struct command_option *option, uint64_t *value, const char *text,
		     char wrong[OPTION_WRONG_ROOM])
{
	int (*parse)(const char *, uint64_t, uint64_t, uint64_t *) =
		option->type == OPTION_NUMBER ? number_parse : size_parse;
	uint64_t unit = option->minimum >= MEBIBYTE ? MEBIBYTE : 1, got;
	const char *suffix = unit > 1 ? "M" : "";
	char needed[96];
	int error = option->words ? word_parse(text, option->words, &got)
				  : parse(text, option->minimum, option->maximum, &got);

	if (!error && (!option->multiple || got % option->multiple == 0)) {
		*value = got;
		return 0;
	}
	(void)snprintf(needed, sizeof(needed), "a number from %llu%s to %llu%s is needed",
		       (unsigned long long)(option->minimum / unit), suffix,
		       (unsigned long long)(option->maximum / unit), suffix);
	return wrong_tell(wrong, text, option->needed ? option->needed : needed);
}

/* Blanks may stand around each value. */
static int list_set(const struct command_option *option, struct number_list *list, const char *text,
		    char wrong[OPTION_WRONG_ROOM])
{
	struct number_list got = {.count = 0};
	char item[64];

	for (;; text++) {
		size_t bytes;

		text += strspn(text, " ");
		bytes = strcspn(text, ", ");
		(void)snprintf(item, sizeof(item), "%.*s", (int)bytes, text);
		if (got.count == NUMBER_LIST_MAX)
			return wrong_tell(wrong, item, "a list has 16 values at most");
		if (value_set(option, &got.values[got.count++], item, wrong))
			return -EINVAL;
		text += bytes;
		text += strspn(text, " ");
		if (*text && *text != ',')
			return wrong_tell(wrong, text, "a list has commas");
		if (!*text)
			break;
	}
	*list = got;
	return 0;
}

int command_option_set(const struct command_option *option, void *options, const char *text,
		       char wrong[OPTION_WRONG_ROOM])
{
	void *field = (char *)options + option->at;

	switch (option->type) {
	case OPTION_FLAG:
	case OPTION_HELP:
		*(bool *)field = true;
		return 0;
	case OPTION_ONE:
		*(uint64_t *)field = 1;
		return 0;
	case OPTION_LIST:
		return list_set(option, field, text, wrong);
	case OPTION_TEXT:
		/* An unset variable leaves an empty text. */
		if (!*text || (option->maximum && strlen(text) > option->maximum))
			return wrong_tell(wrong, "", option->needed ? option->needed : "the name of a file is needed");
		*(const char **)field = text;
		return 0;
	case OPTION_CALL:
		return option->take(options, text) ? wrong_tell(wrong, text, option->needed) : 0;
	default:
		return value_set(option, field, text, wrong);
	}
}

static int option_take(const struct command_options *known, const struct command_option *option, void *options,
		       bool given)
{
	char wrong[OPTION_WRONG_ROOM];

	if (given && (option->type == OPTION_TEXT || option->type == OPTION_LIST))
		(void)wrong_tell(wrong, optarg, "it was given before");
	else if (command_option_set(option, options, optarg, wrong) == 0)
		return STATUS_OK;
	return command_failed(STATUS_WRONG, known->command, "--%s%s%s", option->name, *wrong == ':' ? "" : " ", wrong);
}

/* The line behind getopt's message. */
static void unknown_tell(const struct command_options *known, const char *argument)
{
	unsigned best_distance = K2I_NEAREST_NONE;
	const char *best = NULL;
	char name[64];

	(void)snprintf(name, sizeof(name), "%.*s", (int)strcspn(argument, "="), argument);
	for (unsigned at = 0; strncmp(name, "--", 2) == 0 && at < known->count; at++)
		k2i_nearest_consider(name + 2, known->list[at].name, &best, &best_distance);
	/* An option that is known lacks its argument, or has one too many. */
	if (best && best_distance > 0)
		(void)fprintf(stderr, "Did you mean --%s?\n", best);
	command_help_hint(known->command);
}

int command_options_take(const struct command_options *known, void *options, int argc, char **argv, uint64_t *given)
{
	struct option names[OPTIONS_MAX + 1] = {{0}};
	char letters[2 * OPTIONS_MAX + 1] = "", *end = letters;
	int status = STATUS_OK, found;
	unsigned at;

	for (at = 0; at < known->count; at++) {
		const struct command_option *option = &known->list[at];
		bool has_argument = option->type >= OPTION_NUMBER;

		names[at] = (struct option){.name = option->name, .has_arg = has_argument, .val = FIRST_LONG + (int)at};
		if (option->letter)
			*end++ = (char)option->letter;
		if (option->letter && has_argument)
			*end++ = ':';
	}
	*given = 0;
	while (status == STATUS_OK && (found = getopt_long(argc, argv, letters, names, NULL)) != -1) {
		for (at = 0; at < known->count && found != FIRST_LONG + (int)at && found != known->list[at].letter;
		     at++)
			continue;
		if (at == known->count) { /* getopt has said what is wrong */
			unknown_tell(known, argv[optind - 1]);
			return STATUS_WRONG;
		}
		status = option_take(known, &known->list[at], options, *given >> at & 1);
		*given |= UINT64_C(1) << at;
		if (known->list[at].type == OPTION_HELP) {
			(void)fputs(known->help, stdout);
			return STATUS_OK;
		}
	}
	return status;
}
