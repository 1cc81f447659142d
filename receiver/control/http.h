/* SPDX-License-Identifier: MIT */
#ifndef K2I_RECEIVER_CONTROL_HTTP_H
#define K2I_RECEIVER_CONTROL_HTTP_H

#include <stdbool.h>
#include <stddef.h>

/* The least of HTTP/1.1 that monitoring systems and browsers need: one GET or HEAD for each connection, which ends then. */
#define K2I_HTTP_HEADER_BYTES_MAX 8192u

enum k2i_http_page { K2I_HTTP_PAGE, K2I_HTTP_STATUS, K2I_HTTP_METRICS, K2I_HTTP_HEALTH };

/*
 * Looks at the bytes of a request. 0: it is not complete; 200: it is for `*page`, without its body if `*head`; else the
 * status of the answer: 400 not HTTP, 404 no such page, 405 neither GET nor HEAD, 431 a header over
 * K2I_HTTP_HEADER_BYTES_MAX.
 */
int k2i_http_request(const char *bytes, size_t byte_count, enum k2i_http_page *page, bool *head);

/*
 * Whether a complete request has no Host, or one that nobody else can give this host: an address, localhost or one of
 * `names`, which ends with NULL. A browser sends the web page's own name when that was made to lead here.
 */
bool k2i_http_host_own(const char *bytes, size_t byte_count, const char *const *names);

/* The text behind the status. */
const char *k2i_http_reason(int status);

#endif
