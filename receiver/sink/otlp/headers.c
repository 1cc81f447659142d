/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <curl/curl.h>

#include "base/log.h"
#include "config/remote.h"
#include "receiver/base/text.h"
#include "receiver/sink/otlp/peer.h"

#define FILE_BYTES_MAX 65536u
#define BLANKS " \t\r"

static int header_fail(const char *where, const char *what)
{
	k2i_log(K2HFT_LOG_ERROR, "otlp: %s: %s", where, what);
	return -EINVAL;
}

/* A value may be a secret, so no message has it. */
static int header_add(char *text, const char *where, struct curl_slist **list)
{
	char *name, *value, *line;
	const char *why = k2i_header_split(text, &name, &value);
	struct curl_slist *longer = NULL;

	if (why)
		return header_fail(where, why);
	if (!*name)
		return 0;
	/* libcurl sends a header without a value if its name ends in a semicolon. */
	if (asprintf(&line, *value ? "%s: %s" : "%s;", name, value) >= 0) {
		longer = curl_slist_append(*list, line);
		free(line);
	}
	if (!longer)
		return -ENOMEM;
	*list = longer;
	return 0;
}

static int headers_split(char *text, const char *separator, const char *where, struct curl_slist **list)
{
	char *rest = text, *part;
	int error = 0;

	while (!error && (part = strsep(&rest, separator)) != NULL)
		if (*separator != '\n' || part[strspn(part, BLANKS)] != '#')
			error = header_add(part, where, list);
	return error;
}

/* The file, terminated, which the caller frees. */
static int file_read(const char *file, char **text)
{
	int descriptor = open(file, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	struct stat about;
	ssize_t count = -1;

	if (descriptor < 0)
		return header_fail(file, k2i_text_error(-errno));
	*text = NULL;
	if (fstat(descriptor, &about) < 0 || !S_ISREG(about.st_mode))
		(void)header_fail(file, "it is not a file");
	else if (about.st_mode & (S_IRWXG | S_IRWXO))
		(void)header_fail(file, "other users have access to it; run chmod 600");
	else if ((*text = calloc(1, FILE_BYTES_MAX + 1)) == NULL)
		(void)header_fail(file, k2i_text_error(-ENOMEM));
	else if ((count = read(descriptor, *text, FILE_BYTES_MAX)) < 0)
		(void)header_fail(file, k2i_text_error(-errno));
	(void)close(descriptor);
	if (count >= 0 && count < (ssize_t)FILE_BYTES_MAX && strlen(*text) == (size_t)count)
		return 0;
	if (count >= 0)
		(void)header_fail(file, "it is too long, or no text; it has a header in each line: NAME=VALUE");
	free(*text);
	return -EINVAL;
}

int k2i_otlp_headers_add(const struct k2i_settings *settings, struct curl_slist **list)
{
	char *text = NULL;
	int error = 0;

	if (settings->otlp_headers) {
		text = strdup(settings->otlp_headers);
		error = text ? headers_split(text, ",", "OTLP_HEADERS", list) : -ENOMEM;
		free(text);
	}
	if (!error && settings->otlp_headers_file) {
		error = file_read(settings->otlp_headers_file, &text);
		if (error)
			return error;
		error = headers_split(text, "\n", settings->otlp_headers_file, list);
		explicit_bzero(text, FILE_BYTES_MAX);
		free(text);
	}
	return error;
}
