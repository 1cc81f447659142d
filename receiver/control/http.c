/* SPDX-License-Identifier: MIT */
#include "receiver/control/http.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/address.h"

static const struct {
	const char *path;
	enum k2i_http_page page;
} pages[] = {{"/", K2I_HTTP_PAGE},
	     {"/status", K2I_HTTP_STATUS},
	     {"/metrics", K2I_HTTP_METRICS},
	     {"/health", K2I_HTTP_HEALTH}};

const char *k2i_http_reason(int status)
{
	switch (status) {
	case 200:
		return "OK";
	case 404:
		return "Not Found";
	case 405:
		return "Method Not Allowed";
	case 421:
		return "Misdirected Request";
	case 431:
		return "Request Header Fields Too Large";
	case 503:
		return "Service Unavailable";
	default:
		return "Bad Request";
	}
}

/* An empty line ends the header. */
static bool header_complete(const char *bytes, size_t byte_count)
{
	return memmem(bytes, byte_count, "\r\n\r\n", 4) || memmem(bytes, byte_count, "\n\n", 2);
}

/* The end of a word of the request line, which a blank or its end ends. */
static const char *word_end(const char *word, const char *end)
{
	while (word != end && *word > ' ' && *word < 0x7f)
		word++;
	return word;
}

static bool version_known(const char *at, const char *end)
{
	return end - at == 8 && memcmp(at, "HTTP/1.", 7) == 0 && (at[7] == '0' || at[7] == '1');
}

static int page_find(const char *path, size_t bytes, enum k2i_http_page *page)
{
	const char *query = memchr(path, '?', bytes);
	size_t at;

	if (query)
		bytes = (size_t)(query - path);
	for (at = 0; at < sizeof(pages) / sizeof(pages[0]); at++) {
		if (strlen(pages[at].path) == bytes && memcmp(pages[at].path, path, bytes) == 0) {
			*page = pages[at].page;
			return 200;
		}
	}
	return 404;
}

/* The line behind one, if it has an end. */
static const char *line_next(const char *line, const char *end)
{
	line = memchr(line, '\n', (size_t)(end - line));
	return line && memchr(line + 1, '\n', (size_t)(end - line - 1)) ? line + 1 : NULL;
}

static const char host_name[] = "Host:";

/* A line of a Host behind `line`, or NULL. */
static const char *host_next(const char *line, const char *end)
{
	do
		line = line_next(line, end);
	while (line &&
	       ((size_t)(end - line) < strlen(host_name) || strncasecmp(line, host_name, strlen(host_name)) != 0));
	return line;
}

int k2i_http_request(const char *bytes, size_t byte_count, enum k2i_http_page *page, bool *head)
{
	const char *end = memchr(bytes, '\n', byte_count), *path, *path_end, *host;
	bool complete = header_complete(bytes, byte_count);

	if (!complete && byte_count >= K2I_HTTP_HEADER_BYTES_MAX)
		return 431;
	/* Senders and TLS begin with such bytes, and would wait for an answer. */
	if (!complete && memchr(bytes, '\0', byte_count))
		return 400;
	if (!end)
		return 0;
	if (end > bytes && end[-1] == '\r')
		end--;
	/* So do commands of CHMPX, which are a line. */
	path = word_end(bytes, end);
	if (path == bytes || path == end || *path++ != ' ')
		return 400;
	path_end = word_end(path, end);
	if (path_end == path || path_end == end || *path_end != ' ' || !version_known(path_end + 1, end))
		return 400;
	if (!complete)
		return 0;
	host = host_next(bytes, bytes + byte_count);
	/* A server on the way could have heeded the other one. */
	if (host && host_next(host, bytes + byte_count))
		return 400;
	*head = path - bytes == 5 && memcmp(bytes, "HEAD", 4) == 0;
	if (!*head && (path - bytes != 4 || memcmp(bytes, "GET", 3) != 0))
		return 405;
	return page_find(path, (size_t)(path_end - path), page);
}

/*
 * Copies the Host of the header without its port; "?", which is nobody's name, stands for one that is too long.
 */
static void host_find(const char *bytes, size_t byte_count, char *host, size_t room)
{
	const char *line = host_next(bytes, bytes + byte_count);
	size_t host_bytes;

	host[0] = '\0';
	if (!line)
		return;
	line += strlen(host_name);
	line += strspn(line, " \t");
	host_bytes = line[0] == '[' ? strcspn(++line, "]\r\n") : strcspn(line, ": \t\r\n");
	(void)snprintf(host, room, "%.*s", host_bytes < room ? (int)host_bytes : 1, host_bytes < room ? line : "?");
}

bool k2i_http_host_own(const char *bytes, size_t byte_count, const char *const *names)
{
	char host[256];

	host_find(bytes, byte_count, host, sizeof(host));
	if (!host[0] || strcasecmp(host, "localhost") == 0 || k2i_address_valid(host))
		return true;
	while (*names && strcasecmp(host, *names) != 0)
		names++;
	return *names != NULL;
}
