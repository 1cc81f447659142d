/* SPDX-License-Identifier: MIT */
#include "tools/serve/serve.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/keyvalq_struct.h>

#include "app/program/page.h"
#include "tools/base/arguments.h"
#include "tools/base/commands.h"
#include "tools/base/errors.h"

#define LISTEN_DEFAULT "127.0.0.1:8022"
#define HEADERS_BYTES_MAX 8192
#define BODY_BYTES_MAX 0
#define CLIENT_TIMEOUT_S 10

static const char usage[] =
	"usage: k2hft serve [OPTION...] [TARGET...]\n\n"
	"Shows by HTTP what became of records: of the targets, as k2hft stat names them, or of all mounts,\n"
	"receivers and senders that run on this host. / is a page for browsers, /metrics is for Prometheus,\n"
	"/health for probes (503: records wait and nobody takes them), /status has everything as JSON.\n\n"
	"  -l, --listen ADDRESS:PORT  where to answer (" LISTEN_DEFAULT ")\n"
	"      --interval MS          how often the targets are asked, in milliseconds (1000)\n"
	"      --timeout SECONDS      how long each target may take (2)\n"
	"  -h, --help                 prints this\n\n"
	"Exit status: 0 it was ended by a signal; 1 it can't listen there; 2 wrong arguments.\n";

struct serve {
	const char *listen;
	uint64_t interval_ms, timeout_s;
	bool help;
	bool beyond; /* the host: it answers to any name that leads to it */
	char host_name[256];
	struct serve_collector collector;
	struct stat_targets asked;
};

#define AT(field) .at = offsetof(struct serve, field)
static const struct command_option settings[] = {
	COMMAND_OPTION("listen", 'l', TEXT, 0, AT(listen), .needed = "ADDRESS:PORT is needed"),
	COMMAND_OPTION("interval", 0, NUMBER, 0, AT(interval_ms), OPTION_RANGE(100, 60000)),
	COMMAND_OPTION("timeout", 0, NUMBER, 0, AT(timeout_s), OPTION_RANGE(1, 60)),
	COMMAND_OPTION("help", 'h', HELP, 0, AT(help)),
};
#undef AT

/*
 * A web page in a browser on this host could let its own name lead here, and would read what is kept from other hosts.
 * An address, localhost and this host's name are names that nobody else gives.
 */
static bool host_own(const struct serve *serve, const char *host)
{
	unsigned char address[sizeof(struct in6_addr)];

	return serve->beyond || !host || strcasecmp(host, "localhost") == 0 ||
	       strcasecmp(host, serve->host_name) == 0 || inet_pton(AF_INET, host, address) == 1 ||
	       inet_pton(AF_INET6, host, address) == 1;
}

static void answer(struct evhttp_request *request, int status, const char *type, const char *text, size_t bytes)
{
	struct evkeyvalq *headers = evhttp_request_get_output_headers(request);
	struct evbuffer *body = evbuffer_new();

	(void)evhttp_add_header(headers, "Content-Type", type);
	(void)evhttp_add_header(headers, "Cache-Control", "no-store");
	(void)evhttp_add_header(headers, "X-Content-Type-Options", "nosniff");
	(void)evhttp_add_header(headers, "Content-Security-Policy", K2I_PAGE_POLICY);
	if (!body || evbuffer_add(body, text, bytes) < 0)
		evhttp_send_error(request, HTTP_INTERNAL, NULL);
	else
		evhttp_send_reply(request, status, NULL, body);
	if (body)
		evbuffer_free(body);
}

static void document_answer(struct serve *serve, struct evhttp_request *request, const char *path)
{
	struct serve_collector *collector = &serve->collector;
	const struct serve_documents *documents = &collector->documents;

	(void)pthread_mutex_lock(&collector->mutex);
	if (!documents->status)
		answer(request, HTTP_SERVUNAVAIL, "text/plain; charset=utf-8", "nothing is known yet\n", 21);
	else if (strcmp(path, "/metrics") == 0)
		answer(request, HTTP_OK, "text/plain; version=0.0.4; charset=utf-8", documents->metrics,
		       strlen(documents->metrics));
	else if (strcmp(path, "/health") == 0)
		answer(request, documents->healthy ? HTTP_OK : HTTP_SERVUNAVAIL, "text/plain; charset=utf-8",
		       documents->health, strlen(documents->health));
	else
		answer(request, HTTP_OK, "application/json", documents->status, strlen(documents->status));
	(void)pthread_mutex_unlock(&collector->mutex);
}

static void on_request(struct evhttp_request *request, void *argument)
{
	static const char *const documents[] = {"/metrics", "/health", "/status"};
	const char *path = evhttp_uri_get_path(evhttp_request_get_evhttp_uri(request));
	struct serve *serve = argument;

	if (!host_own(serve, evhttp_request_get_host(request))) {
		answer(request, 421, "text/plain; charset=utf-8", "the Host is no name of this host\n", 33);
		return;
	}
	for (size_t at = 0; path && at < sizeof(documents) / sizeof(documents[0]); at++) {
		if (strcmp(path, documents[at]) == 0) {
			document_answer(serve, request, path);
			return;
		}
	}
	if (!path || !*path || strcmp(path, "/") == 0)
		answer(request, HTTP_OK, "text/html; charset=utf-8", k2i_page, k2i_page_bytes());
	else
		answer(request, HTTP_NOTFOUND, "text/plain; charset=utf-8",
		       "there are /, /metrics, /health and /status\n", 43);
}

static void on_signal(evutil_socket_t number, short what, void *base)
{
	(void)number;
	(void)what;
	(void)event_base_loopbreak(base);
}

static bool address_loops(const char *address)
{
	return strcmp(address, "localhost") == 0 || strcmp(address, "::1") == 0 || strncmp(address, "127.", 4) == 0;
}

static int listen_start(struct serve *serve, struct evhttp *http)
{
	char copy[RECEIVER_ROOM], number[16];
	struct evhttp_bound_socket *bound;
	struct sockaddr_storage address;
	socklen_t address_bytes = sizeof(address);
	const char *host, *port;

	size_t bytes = strlen(serve->listen);
	bool any = bytes > 2 && strcmp(serve->listen + bytes - 2, ":0") == 0;
	char given[RECEIVER_ROOM];

	/* No receiver has port 0. */
	(void)snprintf(given, sizeof(given), "%.*s", (int)(any ? bytes - 2 : bytes), serve->listen);
	if (receiver_parse(given, any ? "8022" : "", copy, &host, &port))
		return command_failed(STATUS_WRONG, "serve", "--listen %s: ADDRESS:PORT is needed", serve->listen);
	port = any ? "0" : port;
	serve->beyond = !address_loops(host);
	bound = evhttp_bind_socket_with_handle(http, host, (ev_uint16_t)strtoul(port, NULL, 10));
	if (!bound || getsockname(evhttp_bound_socket_get_fd(bound), (struct sockaddr *)&address, &address_bytes) < 0 ||
	    getnameinfo((struct sockaddr *)&address, address_bytes, NULL, 0, number, sizeof(number), NI_NUMERICSERV))
		return command_failed(STATUS_FAILED, "serve", "%s: %s", serve->listen, strerror(errno));
	(void)fprintf(stderr, "k2hft serve: answering HTTP on %s port %s\n", host, number);
	return 0;
}

static int serve_run(struct serve *serve, struct event_base *base, struct evhttp *http)
{
	struct event *ends[] = {evsignal_new(base, SIGTERM, on_signal, base),
				evsignal_new(base, SIGINT, on_signal, base)};
	int status = listen_start(serve, http);

	for (size_t at = 0; at < 2; at++)
		if (!status && (!ends[at] || event_add(ends[at], NULL) < 0))
			status = command_failed(STATUS_FAILED, "serve", "%s", strerror(ENOMEM));
	evhttp_set_gencb(http, on_request, serve);
	evhttp_set_allowed_methods(http, EVHTTP_REQ_GET | EVHTTP_REQ_HEAD);
	evhttp_set_max_headers_size(http, HEADERS_BYTES_MAX);
	evhttp_set_max_body_size(http, BODY_BYTES_MAX);
	evhttp_set_timeout(http, CLIENT_TIMEOUT_S);
	if (!status && serve_collector_start(&serve->collector))
		status = command_failed(STATUS_FAILED, "serve", "no thread can be started");
	if (!status)
		(void)event_base_dispatch(base);
	for (size_t at = 0; at < 2; at++)
		if (ends[at])
			event_free(ends[at]);
	return status;
}

int k2i_command_serve(int argc, char **argv)
{
	static const struct command_options known = {"serve", usage, settings, sizeof(settings) / sizeof(settings[0])};
	static struct serve serve = {.listen = LISTEN_DEFAULT, .interval_ms = 1000, .timeout_s = 2};
	struct event_base *base;
	struct evhttp *http;
	uint64_t given;
	int status = command_options_take(&known, &serve, argc, argv, &given);

	if (status || serve.help)
		return status;
	if (optind < argc) {
		serve.asked = (struct stat_targets){.names = argv + optind, .count = (size_t)(argc - optind)};
		serve.collector.asked = &serve.asked;
	}
	serve.collector.interval_ms = serve.interval_ms;
	serve.collector.timeout_ms = (int)serve.timeout_s * 1000;
	(void)gethostname(serve.host_name, sizeof(serve.host_name) - 1);
	(void)signal(SIGPIPE, SIG_IGN);
	base = event_base_new();
	http = base ? evhttp_new(base) : NULL;
	status = http ? serve_run(&serve, base, http) : command_failed(STATUS_FAILED, "serve", "%s", strerror(ENOMEM));
	if (http)
		evhttp_free(http);
	if (base)
		event_base_free(base);
	return status;
}
