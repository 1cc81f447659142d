/* SPDX-License-Identifier: MIT */

#include "unit.h"
#include "receiver/control/http.h"

static int ask(const char *text)
{
	enum k2i_http_page page = K2I_HTTP_PAGE;
	bool head;

	return k2i_http_request(text, strlen(text), &page, &head);
}

TEST(test_pages)
{
	enum k2i_http_page page = K2I_HTTP_PAGE;
	const char *request = "GET /metrics?a=/b HTTP/1.0\nHost: x\n\n";
	const char *head_request = "HEAD /health HTTP/1.1\r\n\r\n";
	bool head = true;

	assert_int_equal(k2i_http_request(request, strlen(request), &page, &head), 200);
	assert_int_equal(page, K2I_HTTP_METRICS);
	assert_false(head);
	assert_int_equal(k2i_http_request(head_request, strlen(head_request), &page, &head), 200);
	assert_int_equal(page, K2I_HTTP_HEALTH);
	assert_true(head);
	assert_int_equal(ask("HEADX/ HTTP/1.1\r\n\r\n"), 400);
	assert_int_equal(ask("GET /status HTTP/1.1\r\nA: b\r\n\r\n"), 200);
	assert_int_equal(ask("GET / HTTP/1.1\r\n\r\nbehind"), 200);
	assert_int_equal(ask("GET /status/ HTTP/1.1\r\n\r\n"), 404);
	assert_int_equal(ask("GET /../status HTTP/1.1\r\n\r\n"), 404);
	assert_int_equal(ask("GET http://x/status HTTP/1.1\r\n\r\n"), 404);
	assert_int_equal(ask("POST /status HTTP/1.1\r\n\r\n"), 405);
	assert_int_equal(ask("GETT /status HTTP/1.1\r\n\r\n"), 405);
	assert_int_equal(ask("GET /status HTTP/1.2\r\n\r\n"), 400);
	assert_int_equal(ask("GET /status HTTP/1.1 \r\n\r\n"), 400);
	assert_int_equal(ask("GET\t/status HTTP/1.1\r\n\r\n"), 400);
	assert_int_equal(ask("\r\n\r\n"), 400);
	assert_int_equal(ask("\n\n"), 400);
	assert_int_equal(ask(" \n\n"), 400);
	assert_int_equal(ask("GET\n\n"), 400);
	assert_int_equal(ask("GET \n\n"), 400);
	assert_int_equal(ask("GET /status\n\n"), 400);
	assert_int_equal(ask(" /status HTTP/1.1\r\n\r\n"), 400);
	assert_int_equal(ask("GET  HTTP/1.1\r\n\r\n"), 400);
	assert_int_equal(ask("GET /status\x7f HTTP/1.1\r\n\r\n"), 400);
	assert_int_equal(ask("GET /status HTTP/1.1\r\nHost: localhost\r\nA: b\r\nhost: page.example\r\n\r\n"), 400);
}

TEST(test_reasons)
{
	static const struct {
		int status;
		const char *reason;
	} cases[] = {{200, "OK"},
		     {400, "Bad Request"},
		     {404, "Not Found"},
		     {405, "Method Not Allowed"},
		     {421, "Misdirected Request"},
		     {431, "Request Header Fields Too Large"},
		     {503, "Service Unavailable"}};

	for (size_t at = 0; at < sizeof(cases) / sizeof(cases[0]); at++)
		assert_string_equal(k2i_http_reason(cases[at].status), cases[at].reason);
}

/* However a request comes, it is the same; nothing is read beyond what came. */
TEST(test_pieces)
{
	const char *request = "GET /status HTTP/1.1\r\nHost: x\r\n\r\n";
	char exact[64];
	enum k2i_http_page page;
	bool head;
	size_t bytes;

	for (bytes = 1; bytes < strlen(request); bytes++) {
		char *end = memcpy(exact + sizeof(exact) - bytes, request, bytes);

		assert_int_equal(k2i_http_request(end, bytes, &page, &head), 0);
	}
}

TEST(test_long)
{
	char text[K2I_HTTP_HEADER_BYTES_MAX];
	enum k2i_http_page page;
	bool head;

	memset(text, 'G', sizeof(text));
	assert_int_equal(k2i_http_request(text, sizeof(text) - 1, &page, &head), 0);
	assert_int_equal(k2i_http_request(text, sizeof(text), &page, &head), 431);
	memset(text, '\0', sizeof(text));
	assert_int_equal(k2i_http_request(text, sizeof(text), &page, &head), 431);
}

/* A client that speaks another protocol is told so at once, and does not wait for an answer that never comes. */
TEST(test_other_protocols)
{
	static const char sender[] = "K2HF\x01\x01\0\0", tls[] = "\x16\x03\x01\x02\0\x01\0\x01\xfc";
	enum k2i_http_page page;
	bool head;

	assert_int_equal(k2i_http_request(sender, sizeof(sender) - 1, &page, &head), 400);
	assert_int_equal(k2i_http_request(tls, sizeof(tls) - 1, &page, &head), 400);
	/* Commands of CHMPX, which are a line; a request goes on behind its first. */
	assert_int_equal(k2i_http_request("DUMP\n", 5, &page, &head), 400);
	assert_int_equal(k2i_http_request("SERVICEOUT host:8021\r\n", 22, &page, &head), 400);
	assert_int_equal(k2i_http_request("GET / HTTP/1.0\r\n", 16, &page, &head), 0);
}

static bool own(const char *header)
{
	static const char *const names[] = {"here", "here.example", NULL};
	char request[512];

	assert_true((size_t)snprintf(request, sizeof(request), "GET / HTTP/1.1\r\n%s\r\n\r\n", header) <
		    sizeof(request));
	return k2i_http_host_own(request, strlen(request), names);
}

/* Nobody else's name leads to an address, to localhost or to what this host is called here. */
TEST(test_hosts)
{
	char longest[400] = "Host: here.example";

	assert_true(own("A: b"));
	assert_true(own("Host:"));
	assert_true(own("Host: localhost"));
	assert_true(own("A: b\r\nhOST:\tLocalHost:8021 "));
	assert_true(own("Host: 127.0.0.1:8021"));
	assert_true(own("Host: 192.0.2.1"));
	assert_true(own("Host: [::1]:8021"));
	assert_true(own("Host: [2001:db8::1]"));
	assert_true(own("Host: HERE:8021"));
	assert_true(own("Host: here.example"));
	assert_false(own("Host: page.example"));
	assert_false(own("Host: page.example:8021"));
	assert_false(own("Host: localhost.page.example"));
	assert_false(own("Host: 127.0.0.1.page.example"));
	assert_false(own("Host: [page.example]"));
	assert_false(own("Host: localhostpage"));
	assert_false(own("Host: h"));
	memset(longest + strlen("Host: here.example"), 'e', 300);
	assert_false(own(longest));
}

/* Nothing is read beyond what came, also where the last line has no end. */
TEST(test_hosts_behind)
{
	const char *request = "GET / HTTP/1.1\n\nHost: page.example";
	static const char *const none[] = {NULL};
	size_t bytes;

	for (bytes = 0; bytes <= strlen(request); bytes++) {
		char *exact = malloc(bytes + 1);

		assert_non_null(exact);
		memcpy(exact + 1, request, bytes);
		assert_true(k2i_http_host_own(exact + 1, bytes, none));
		free(exact);
	}
}
