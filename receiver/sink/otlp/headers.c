/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <curl/curl.h>

#include "base/log.h"
#include "config/remote.h"
#include "receiver/sink/otlp/peer.h"
#include "receiver/sink/remote/secret.h"

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

static int file_take(const char *file, struct curl_slist **list)
{
	char *text = calloc(1, FILE_BYTES_MAX);
	const char *why;
	int error;

	if (!text)
		return -ENOMEM;
	error = k2i_secret_read(file, text, FILE_BYTES_MAX, &why);
	error = error ? header_fail(file, why) : headers_split(text, "\n", file, list);
	explicit_bzero(text, FILE_BYTES_MAX);
	free(text);
	return error;
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
	return !error && settings->otlp_headers_file ? file_take(settings->otlp_headers_file, list) : error;
}
