/* SPDX-License-Identifier: MIT */
#include "app/plugin/command.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BLANKS " \t\r\n"
#define PATH_DEFAULT "/usr/local/bin:/usr/bin:/bin"

/* The words, and behind them their texts, in a single block of memory. */
struct whole {
	struct k2i_plugin_command command;
	char *path;
	char *words[];
};

void k2i_plugin_command_free(struct k2i_plugin_command *command)
{
	struct whole *whole = (struct whole *)(void *)command;

	if (whole)
		free(whole->path);
	free(whole);
}

/* Takes the quotes off a word in its place. NULL: one is not closed; else what is behind the word. */
static char *word_unquote(char *word)
{
	char *from = word, *to = word, quote = '\0';

	for (; *from && (quote || !strchr(BLANKS, *from)); from++) {
		if (quote ? *from == quote : *from == '"' || *from == '\'') {
			quote = quote ? '\0' : *from;
			continue;
		}
		if (quote == '"' && *from == '\\' && (from[1] == '"' || from[1] == '\\'))
			from++;
		*to++ = *from;
	}
	if (quote)
		return NULL;
	from += *from != '\0';
	*to = '\0';
	return from;
}

/* -EINVAL: a quote is not closed. */
static int words_split(char *text, char **words, size_t *count)
{
	for (*count = 0; text[strspn(text, BLANKS)]; ++*count) {
		text += strspn(text, BLANKS);
		words[*count] = text;
		text = word_unquote(text);
		if (!text)
			return -EINVAL;
	}
	return 0;
}

static int program_check(const char *path)
{
	struct stat status;

	if (stat(path, &status))
		return -errno;
	if (!S_ISREG(status.st_mode))
		return S_ISDIR(status.st_mode) ? -EISDIR : -EACCES;
	return access(path, X_OK) ? -errno : 0;
}

/* As execvp(3) looks for it. */
static int program_find(const char *name, char **path)
{
	const char *search = getenv("PATH"), *part, *end;
	char place[PATH_MAX];
	int error = -ENOENT, found;

	if (strchr(name, '/')) {
		*path = strdup(name);
		return *path ? program_check(name) : -ENOMEM;
	}
	for (part = search ? search : PATH_DEFAULT; part; part = *end ? end + 1 : NULL) {
		end = strchrnul(part, ':');
		(void)snprintf(place, sizeof(place), "%.*s%s%s", (int)(end - part), part, end > part ? "/" : "./",
			       name);
		found = program_check(place);
		if (!found) {
			*path = strdup(place);
			return *path ? 0 : -ENOMEM;
		}
		if (found != -ENOENT && found != -ENOTDIR)
			error = found;
	}
	return error;
}

static int program_failed(const char *name, int error, char *message, size_t room)
{
	if (error == -EACCES)
		(void)snprintf(message, room, "%s can't be run: it is no executable file for the user who asks", name);
	else if (error == -ENOENT && !strchr(name, '/'))
		(void)snprintf(message, room, "there is no program %s in PATH; name it by its path", name);
	else
		(void)snprintf(message, room, "%s can't be run: %s", name, strerror(-error));
	return error;
}

/* The words are split. */
static int command_check(struct whole *whole, size_t count, size_t variables, char *message, size_t room)
{
	char **words = whole->words;
	int error;

	for (size_t i = 0; i < variables; i++) {
		if (words[i][0] == '=') {
			(void)snprintf(message, room, "%s has no name in front of its =", words[i]);
			return -EINVAL;
		}
	}
	if (variables == count) {
		(void)snprintf(message, room, "it names no program: [NAME=value ...] program [arguments]");
		return -EINVAL;
	}
	error = program_find(words[variables], &whole->path);
	return error ? program_failed(words[variables], error, message, room) : 0;
}

int k2i_plugin_command_parse(const char *text, struct k2i_plugin_command **command, char *message, size_t message_room)
{
	/* A word takes two characters at least, but for the last; each of the two lists has an end. */
	size_t bytes = strlen(text) + 1, room = bytes / 2 + 3, count = 0, variables = 0;
	struct whole *whole = calloc(1, sizeof(*whole) + room * sizeof(whole->words[0]) + bytes);
	char **words = whole ? whole->words : NULL;
	int error;

	if (!whole)
		return -ENOMEM;
	error = words_split(memcpy(words + room, text, bytes), words, &count);
	while (variables < count && strchr(words[variables], '='))
		variables++;
	if (error)
		(void)snprintf(message, message_room, "a quote is not closed");
	else
		error = command_check(whole, count, variables, message, message_room);
	if (error) {
		k2i_plugin_command_free(&whole->command);
		return error;
	}
	/* The variables end where the arguments begin. */
	memmove(words + variables + 1, words + variables, (count - variables) * sizeof(*words));
	words[variables] = words[count + 1] = NULL;
	whole->command = (struct k2i_plugin_command){whole->path, words + variables + 1, words};
	*command = &whole->command;
	return 0;
}
