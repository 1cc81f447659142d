/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <curl/curl.h>

#include "base/log.h"
#include "config/remote.h"
#include "receiver/sink/otlp/peer.h"

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

static int file_take(const char *file, struct curl_slist **list)
{
	char *text = calloc(1, K2I_HEADERS_BYTES_MAX), *rest = text, *line;
	const char *why = text ? k2i_secret_read(file, text, K2I_HEADERS_BYTES_MAX) : NULL;
	int error = text ? 0 : -ENOMEM;

	if (why)
		error = header_fail(file, why);
	while (!error && (line = k2i_header_line(&rest)) != NULL)
		error = header_add(line, file, list);
	if (text)
		explicit_bzero(text, K2I_HEADERS_BYTES_MAX);
	free(text);
	return error;
}

static int list_take(const char *headers, struct curl_slist **list)
{
	char *text = strdup(headers), *rest = text, *part;
	int error = text ? 0 : -ENOMEM;

	while (!error && (part = strsep(&rest, ",")) != NULL)
		error = header_add(part, "OTLP_HEADERS", list);
	free(text);
	return error;
}

int k2i_otlp_headers_add(const struct k2i_settings *settings, struct curl_slist **list)
{
	int error = settings->otlp_headers ? list_take(settings->otlp_headers, list) : 0;

	return !error && settings->otlp_headers_file ? file_take(settings->otlp_headers_file, list) : error;
}
