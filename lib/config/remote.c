/* SPDX-License-Identifier: MIT */
#include "config/remote.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"

#define BLANKS " \t\r"

/* Servers --------------------------------------------------------------------------------------------------------- */

static bool port_valid(const char *port)
{
	char *end;
	unsigned long number = strtoul(port, &end, 10);

	return isdigit((unsigned char)*port) && !*end && number > 0 && number <= UINT16_MAX;
}

bool k2i_server_split(char *text, char **host, char **port)
{
	char *bracket = *text == '[' ? strchr(text, ']') : NULL, *behind = bracket ? bracket + 1 : strrchr(text, ':');
	bool said = behind && *behind == ':';

	if (bracket && *behind && !said)
		return false;
	*host = text + (bracket != NULL);
	if (said)
		*behind = '\0';
	if (bracket)
		*bracket = '\0';
	if (said)
		*port = behind + 1;
	/* An address with colons needs its brackets, or a part of it would be the port. */
	return **host && !strpbrk(*host, bracket ? "[]/@" : "[]/@:") && (!said || port_valid(*port));
}

char *k2i_server_next(char **rest)
{
	static const char separators[] = ", \t";
	char *server = *rest + strspn(*rest, separators);

	*rest = server + strcspn(server, separators);
	if (**rest)
		*(*rest)++ = '\0';
	return *server ? server : NULL;
}

/* Headers --------------------------------------------------------------------------------------------------------- */

/* A token of RFC 9110. */
static bool name_right(const char *name)
{
	return *name &&
	       name[strspn(name, "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")] ==
		       '\0';
}

/* The request itself says these. */
static bool name_taken(const char *name)
{
	static const char *const taken[] = {"Content-Type", "Content-Encoding", "Content-Length", "Transfer-Encoding",
					    "Host"};

	for (size_t i = 0; i < sizeof(taken) / sizeof(taken[0]); i++)
		if (strcasecmp(name, taken[i]) == 0)
			return true;
	return false;
}

static char *blanks_strip(char *text)
{
	size_t bytes;

	text += strspn(text, BLANKS);
	bytes = strlen(text);
	while (bytes && strchr(BLANKS, text[bytes - 1]))
		bytes--;
	text[bytes] = '\0';
	return text;
}

const char *k2i_header_split(char *text, char **name, char **value)
{
	char *separator = strchr(text, '=');

	if (separator)
		*separator = '\0';
	*name = blanks_strip(text);
	*value = separator ? blanks_strip(separator + 1) : NULL;
	if (!separator)
		return **name ? "a header without =: write NAME=VALUE" : NULL;
	if (!name_right(*name))
		return "a name that no header can have: write NAME=VALUE";
	if (!k2i_text_plain(*value))
		return "a value with a control character";
	return name_taken(*name) ? "a header that belongs to the request itself, such as Content-Type" : NULL;
}

char *k2i_header_line(char **rest)
{
	char *line;

	do
		line = strsep(rest, "\n");
	while (line && line[strspn(line, BLANKS)] == '#');
	return line;
}

/* Secrets --------------------------------------------------------------------------------------------------------- */

const char *k2i_secret_read(const char *file, char *text, size_t room)
{
	int descriptor = open(file, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	const char *why = NULL;
	struct stat status;
	ssize_t count = -1;

	if (descriptor >= 0 && fstat(descriptor, &status) == 0) {
		if (!S_ISREG(status.st_mode))
			why = "it is not a file";
		else if (status.st_mode & (S_IRWXG | S_IRWXO))
			why = "other users have access to it; run chmod 600";
		else
			count = read(descriptor, text, room);
	}
	if (count < 0 && !why)
		why = strerror(errno);
	if (descriptor >= 0)
		(void)close(descriptor);
	if (!why && ((size_t)count == room || memchr(text, '\0', (size_t)count)))
		why = "it is too long, or no text";
	if (!why)
		text[count] = '\0';
	return why;
}

const char *k2i_secret_line_read(const char *file, char secret[K2I_SECRET_BYTES_MAX])
{
	const char *why = k2i_secret_read(file, secret, K2I_SECRET_BYTES_MAX);
	size_t count = why ? 0 : strlen(secret);

	count -= count > 0 && secret[count - 1] == '\n';
	count -= count > 0 && secret[count - 1] == '\r';
	if (why)
		return why;
	secret[count] = '\0';
	return count && !strchr(secret, '\n') ? NULL : "it wants one line with the secret, and nothing else";
}
