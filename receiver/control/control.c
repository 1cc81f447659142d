/* SPDX-License-Identifier: MIT */
/*
 * Not evhttp: libevent 2.1 limits there neither the connections nor the time of a whole request, so a client that sends
 * a byte now and then keeps its place for hours. Here a connection has one request and one deadline, and loses its
 * place to the next when there are too many. An honest request is over within a millisecond.
 */
#include "receiver/control/control.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>

#include "app/program/page.h"
#include "receiver/control/http.h"
#include "receiver/listen/listener.h"
#include "base/clock.h"
#include "base/log.h"
#include "receiver/base/list.h"
#include "receiver/base/text.h"
#include "base/thread.h"

#define CLIENT_NS UINT64_C(10000000000) /* for request and answer */
#define DRAIN_BYTES_MAX 65536u          /* the most that may come behind an answered request */
#define TEXT_TYPE "text/plain; charset=utf-8"
#define METRICS_TYPE "text/plain; version=0.0.4; charset=utf-8"
#define HTML_TYPE "text/html; charset=utf-8"
#define JSON_TYPE "application/json"

struct client {
	struct k2i_link link;
	struct k2i_control *control;
	struct bufferevent *stream;
	uint64_t deadline_ns;
	bool answered, head;
	size_t drained_bytes;
};

struct k2i_control {
	const struct k2i_status *status;
	char host_name[256], address[256];
	const char *names[3]; /* this host's and CTLADDRESS; NULL behind them */
	bool beyond;          /* other hosts can connect */
	struct event_base *base;
	struct k2i_listener *listener;
	struct event *tick, *stopped;
	int stop;
	struct k2i_list clients;
	size_t client_count;
	struct k2i_log_limit refused_limit;
	pthread_t thread;
	bool started;
};

/* Clients -------------------------------------------------------------------------------------------------------- */

static void client_free(struct client *client)
{
	struct k2i_control *control = client->control;

	k2i_list_remove(&control->clients, &client->link);
	control->client_count--;
	bufferevent_free(client->stream);
	free(client);
}

static void request_refused(struct k2i_control *control, const char *why)
{
	k2i_count(&control->status->service->counters->status_refused, 1);
	k2i_log_limited(&control->refused_limit, k2i_clock_now_ns(), K2HFT_LOG_WARNING,
			"status: a request is refused: %s", why);
}

static struct client *client_oldest(const struct k2i_control *control)
{
	return K2I_LIST_ENTRY(control->clients.oldest, struct client, link);
}

/* Ends a client that has to make room, or whose time is up. */
static void client_end(struct client *client, const char *why)
{
	if (!client->answered)
		request_refused(client->control, why);
	client_free(client);
}

static void answer_send(struct client *client, int status, const char *type, const char *text, size_t bytes)
{
	struct evbuffer *output = bufferevent_get_output(client->stream);

	client->answered = true;
	(void)evbuffer_add_printf(output,
				  "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n"
				  "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n"
				  "Content-Security-Policy: " K2I_PAGE_POLICY "\r\n%sConnection: close\r\n\r\n",
				  status, k2i_http_reason(status), type, bytes,
				  status == 405 ? "Allow: GET, HEAD\r\n" : "");
	if (!client->head)
		(void)evbuffer_add(output, text, bytes);
}

/* 503 with a line that says so, while records of a sender can't be written, or a destination does not take them. */
static void health_send(struct client *client, const struct k2i_status *status)
{
	bool healthy = k2i_status_healthy(status);
	const char *text =
		healthy ? "fine\n"
			: "records can't be written, or a destination does not take them; /status and the log "
			  "say why\n";

	answer_send(client, healthy ? 200 : 503, TEXT_TYPE, text, strlen(text));
}

static void report_send(struct client *client, const char *type,
			void (*fill)(const struct k2i_status *status, struct k2i_report *report))
{
	struct k2i_report report = {0};

	fill(client->control->status, &report);
	if (report.failed || !report.text)
		answer_send(client, 503, TEXT_TYPE, "no memory\n", 10);
	else
		answer_send(client, 200, type, report.text, report.bytes);
	free(report.text);
}

static void page_send(struct client *client, enum k2i_http_page page)
{
	const struct k2i_status *status = client->control->status;

	k2i_count(&status->service->counters->status_requests, 1);
	switch (page) {
	case K2I_HTTP_PAGE:
		answer_send(client, 200, HTML_TYPE, k2i_page, k2i_page_bytes());
		break;
	case K2I_HTTP_STATUS:
		report_send(client, JSON_TYPE, k2i_status_json);
		break;
	case K2I_HTTP_METRICS:
		report_send(client, METRICS_TYPE, k2i_status_metrics);
		break;
	case K2I_HTTP_HEALTH:
		health_send(client, status);
		break;
	}
}

/*
 * A web page in a browser on this host could let its own name lead here, and would read a status kept from other hosts.
 */
static bool host_accepted(const struct k2i_control *control, const char *text, size_t bytes)
{
	return control->beyond || k2i_http_host_own(text, bytes, control->names);
}

static const char *refusal_text(int status, const char *text, size_t bytes)
{
	static const char sender[] = {'K', '2', 'H', 'F'}; /* k2hft-protocol(7) */

	if (status == 421)
		return "its Host is no name of this host; CTLADDRESS can say another";
	if (bytes >= sizeof(sender) && memcmp(text, sender, sizeof(sender)) == 0)
		return "it comes from a sender, whose PORT is CTLPORT of this receiver";
	return k2i_http_reason(status);
}

static void request_take(struct client *client, struct evbuffer *input)
{
	size_t bytes = evbuffer_get_length(input);
	const char *text = (const char *)evbuffer_pullup(input, -1);
	enum k2i_http_page page = K2I_HTTP_PAGE;
	int status = text ? k2i_http_request(text, bytes, &page, &client->head) : 0;
	const char *reason;

	if (status == 0)
		return;
	if (status == 200 && !host_accepted(client->control, text, bytes))
		status = 421;
	if (status != 200)
		request_refused(client->control, refusal_text(status, text, bytes));
	(void)evbuffer_drain(input, bytes);
	if (status == 200) {
		page_send(client, page);
		return;
	}
	reason = status == 400 ? "this port speaks HTTP; k2hft stat HOST:PORT asks it\n" : k2i_http_reason(status);
	answer_send(client, status, TEXT_TYPE, reason, strlen(reason));
}

static void on_input(struct bufferevent *stream, void *argument)
{
	struct evbuffer *input = bufferevent_get_input(stream);
	struct client *client = argument;

	if (!client->answered) {
		request_take(client, input);
		return;
	}
	/* A socket closed with unread input is reset, and the reset can overtake the answer. */
	client->drained_bytes += evbuffer_get_length(input);
	(void)evbuffer_drain(input, evbuffer_get_length(input));
	if (client->drained_bytes > DRAIN_BYTES_MAX)
		client_free(client);
}

static void on_output_empty(struct bufferevent *stream, void *argument)
{
	const struct client *client = argument;

	if (client->answered)
		(void)shutdown(bufferevent_getfd(stream), SHUT_WR);
}

static void on_end(struct bufferevent *stream, short what, void *argument)
{
	struct client *client = argument;

	/* A client that has asked and closes only its side still gets the answer. */
	if ((what & BEV_EVENT_EOF) && client->answered && evbuffer_get_length(bufferevent_get_output(stream)) > 0)
		return;
	client_end(client, "it ended in the middle");
}

/* The `take` of the listener. */
static void client_take(void *argument, int descriptor, const struct sockaddr *address, socklen_t address_bytes)
{
	struct k2i_control *control = argument;
	struct client *client = calloc(1, sizeof(*client));

	(void)address;
	(void)address_bytes;
	if (client)
		client->stream = bufferevent_socket_new(control->base, descriptor, BEV_OPT_CLOSE_ON_FREE);
	if (!client || !client->stream) {
		(void)close(descriptor);
		free(client);
		return;
	}
	if (control->client_count >= K2I_CONTROL_CLIENTS_MAX)
		client_end(client_oldest(control), "too many at once");
	client->control = control;
	client->deadline_ns = k2i_clock_now_ns() + CLIENT_NS;
	k2i_list_add(&control->clients, &client->link);
	control->client_count++;
	bufferevent_setcb(client->stream, on_input, on_output_empty, on_end, client);
	bufferevent_setwatermark(client->stream, EV_READ, 0, K2I_HTTP_HEADER_BYTES_MAX);
	(void)bufferevent_enable(client->stream, EV_READ | EV_WRITE);
}

static void on_tick(evutil_socket_t descriptor, short what, void *argument)
{
	struct k2i_control *control = argument;
	uint64_t now_ns = k2i_clock_now_ns();

	(void)descriptor;
	(void)what;
	while (control->clients.oldest && now_ns >= client_oldest(control)->deadline_ns)
		client_end(client_oldest(control), "it took longer than 10 s");
}

static void on_stop(evutil_socket_t descriptor, short what, void *argument)
{
	struct k2i_control *control = argument;

	(void)descriptor;
	(void)what;
	(void)event_base_loopbreak(control->base);
}

/* Contract ------------------------------------------------------------------------------------------------------- */

int k2i_control_open(const struct k2i_settings *settings, struct k2i_control **control)
{
	static const struct k2i_listen_words words = {"status", "CTLADDRESS", " (CTLPORT)", "answering HTTP on"};
	struct k2i_listen_choice choice = {.words = &words, .loopback = !settings->control_address};
	unsigned port = k2i_settings_control_port(settings);
	struct k2i_control *opened;
	int error;

	*control = NULL;
	if (port == 0)
		return 0;
	opened = calloc(1, sizeof(*opened));
	if (!opened)
		return -ENOMEM;
	opened->stop = -1;
	(void)gethostname(opened->host_name, sizeof(opened->host_name) - 1);
	opened->names[0] = opened->host_name;
	(void)snprintf(choice.host, sizeof(choice.host), "%s", choice.loopback ? "" : settings->control_address);
	(void)snprintf(opened->address, sizeof(opened->address), "%s", choice.host);
	opened->names[1] = choice.loopback ? NULL : opened->address;
	(void)snprintf(choice.port, sizeof(choice.port), "%u", port);
	error = k2i_listener_open(&choice, &opened->listener);
	if (error)
		k2i_control_close(opened);
	else
		*control = opened;
	return error;
}

static void *control_run(void *argument)
{
	struct k2i_control *control = argument;

	(void)event_base_dispatch(control->base);
	return NULL;
}

static int events_open(struct k2i_control *control)
{
	struct timeval second = {1, 0};

	control->base = event_base_new();
	if (!control->base)
		return -ENOMEM;
	control->stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (control->stop < 0)
		return -errno;
	control->tick = event_new(control->base, -1, EV_PERSIST, on_tick, control);
	control->stopped = event_new(control->base, control->stop, EV_READ, on_stop, control);
	if (!control->tick || !control->stopped || event_add(control->tick, &second) ||
	    event_add(control->stopped, NULL))
		return -ENOMEM;
	return 0;
}

int k2i_control_start(struct k2i_control *control, const struct k2i_status *status)
{
	const struct k2i_listen_taker taker = {client_take, control, &status->service->counters->accept_errors};
	int error = events_open(control);

	control->status = status;
	control->beyond = k2i_listener_beyond_host(control->listener);
	if (!error && k2i_listener_start(control->listener, control->base, &taker))
		return -EIO;
	if (!error)
		error = k2i_thread_start(&control->thread, control_run, control);
	control->started = !error;
	if (error)
		k2i_log(K2HFT_LOG_ERROR, "status: can't start: %s", k2i_text_error(error));
	return error;
}

void k2i_control_close(struct k2i_control *control)
{
	uint64_t one = 1;

	if (!control)
		return;
	if (control->started && write(control->stop, &one, sizeof(one)) == (ssize_t)sizeof(one))
		(void)pthread_join(control->thread, NULL);
	while (control->clients.oldest)
		client_free(client_oldest(control));
	k2i_listener_close(control->listener);
	if (control->tick)
		event_free(control->tick);
	if (control->stopped)
		event_free(control->stopped);
	if (control->base)
		event_base_free(control->base);
	if (control->stop >= 0)
		(void)close(control->stop);
	free(control);
}
