/* SPDX-License-Identifier: MIT */
#ifndef K2I_TOOLS_BASE_ARGUMENTS_H
#define K2I_TOOLS_BASE_ARGUMENTS_H

#include <stddef.h>
#include <stdint.h>

#include "tools/base/numbers.h"

/* The options of a command, as a table: each names the field of the command's structure that it sets. */
enum command_option_type {
	OPTION_FLAG, /* a bool becomes true */
	OPTION_ONE,  /* a uint64_t becomes 1 */
	OPTION_HELP, /* prints the help; a bool becomes true, and nothing behind it is looked at */
	/* The following have an argument. */
	OPTION_NUMBER, /* a uint64_t in the range */
	OPTION_SIZE,   /* the same; K, M and G behind it are powers of 1,024 */
	OPTION_WORD,   /* a uint64_t: the word's place in `words` */
	OPTION_LIST,   /* a number_list, of words or sizes */
	OPTION_TEXT,   /* a const char *; `maximum` limits its bytes, if that is not 0 */
	OPTION_CALL    /* `take` reads it: 0 or -EINVAL */
};

struct command_option {
	const char *name;
	int letter; /* or 0 */
	enum command_option_type type;
	unsigned jobs; /* bits of the command's own: what it has an effect on */
	size_t at;
	uint64_t minimum, maximum, multiple; /* multiple: of what a value is; 0: of 1 */
	const char *const *words;
	const char *needed; /* is said of a wrong argument; NULL: the range, or that a file's name is needed */
	int (*take)(void *options, const char *text);
};

/* A row of the table: a name, a letter or 0, a type without OPTION_, the jobs; then fields, of which these are short. */
#define COMMAND_OPTION(option, key, kind, on, ...)                                                                     \
	{                                                                                                              \
		.name = option, .letter = key, .type = OPTION_##kind, .jobs = on, __VA_ARGS__                          \
	}
#define OPTION_RANGE(from, to) .minimum = from, .maximum = to
#define OPTION_WORDS(all, say) .words = all, .needed = say

struct command_options {
	const char *command, *help;
	const struct command_option *list;
	unsigned count; /* at most 64 */
};

/* Sets the field from an argument, or an answer. -EINVAL with what is wrong with it: "12: a number from 1 to 8 is needed". */
#define OPTION_WRONG_ROOM 512u
int command_option_set(const struct command_option *option, void *options, const char *text,
		       char wrong[OPTION_WRONG_ROOM]);
/*
 * Takes all options of a command line; `*given` gets a bit for each of the table's that is there. Texts and lists can be
 * given once: of a second one, nothing of the first would be seen. STATUS_OK, or STATUS_WRONG with the message.
 */
int command_options_take(const struct command_options *known, void *options, int argc, char **argv, uint64_t *given);

#endif
