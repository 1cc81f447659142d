/* SPDX-License-Identifier: MIT */
#include "receiver/listen/listener.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/event.h>

#include "base/address.h"
#include "base/clock.h"
#include "base/log.h"
#include "receiver/base/text.h"

#define BACKLOG 511
#define ACCEPTS_MAX 64
#define PAUSE_S 1
#define PORT_MAX 65535u
#define SOCKETS_MAX 8u /* for all addresses of a name */

struct k2i_listener {
	const struct k2i_listen_words *words;
	struct k2i_listen_taker taker;
	int sockets[SOCKETS_MAX];
	struct event *events[SOCKETS_MAX];
	size_t socket_count;
	struct event *pause; /* ends a pause that lack of descriptors made */
	struct k2i_log_limit failed_limit;
};

const struct k2i_listen_words k2i_listen_records = {"listener", "LISTEN", "", "listening on"};

/* Choice --------------------------------------------------------------------------------------------------------- */

static int argument_parse(const char *argument, struct k2i_listen_choice *choice)
{
	const char *colon = strrchr(argument, ':');
	size_t host_bytes;

	if (!colon || strlen(colon + 1) == 0 || strlen(colon + 1) >= sizeof(choice->port) ||
	    strspn(colon + 1, "0123456789") != strlen(colon + 1) || strtoul(colon + 1, NULL, 10) > PORT_MAX)
		return -EINVAL;
	host_bytes = (size_t)(colon - argument);
	if (host_bytes >= 2 && argument[0] == '[' && argument[host_bytes - 1] == ']') {
		argument++;
		host_bytes -= 2;
	}
	if (host_bytes >= sizeof(choice->host))
		return -EINVAL;
	(void)snprintf(choice->host, sizeof(choice->host), "%.*s", (int)host_bytes, argument);
	(void)snprintf(choice->port, sizeof(choice->port), "%s", colon + 1);
	return 0;
}

int k2i_listen_choose(const struct k2i_settings *settings, const char *argument, struct k2i_listen_choice *choice)
{
	const char *name = k2i_settings_node(settings, true)->name, *wanted = settings->listen_address;
	enum k2i_ssl ssl = k2i_settings_ssl(settings, true);

	memset(choice, 0, sizeof(*choice));
	choice->words = &k2i_listen_records;
	choice->unencrypted = ssl != K2I_SSL_YES;
	choice->anybody = settings->sender_count == 0;
	if (argument)
		return argument_parse(argument, choice);
	(void)snprintf(choice->port, sizeof(choice->port), "%u", k2i_settings_port(settings, true));
	/* Each family has its socket: :: alone would leave IPv4 out. */
	if (wanted)
		(void)snprintf(choice->host, sizeof(choice->host), "%s", strcmp(wanted, "::") == 0 ? "" : wanted);
	else if (ssl == K2I_SSL_UNSET)
		choice->loopback = true;
	else if (name && (k2i_address_valid(name) || strcasecmp(name, "localhost") == 0))
		(void)snprintf(choice->host, sizeof(choice->host), "%s", name);
	return 0;
}

/* Sockets -------------------------------------------------------------------------------------------------------- */

static int socket_bind(const struct addrinfo *address)
{
	int descriptor = socket(address->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), on = 1, error;

	if (descriptor < 0)
		return -errno;
	(void)setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	/* Each family has its socket, so that one without the other works, too. */
	if (address->ai_family == AF_INET6)
		(void)setsockopt(descriptor, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
	if (bind(descriptor, address->ai_addr, address->ai_addrlen) == 0)
		return descriptor;
	error = -errno;
	(void)close(descriptor);
	return error;
}

static const char *bind_reason(int error)
{
	if (error == -EADDRINUSE)
		return "Address already in use; another program has it, perhaps another receiver";
	if (error == -EACCES)
		return "Permission denied; a port below 1024 is for root, who can hand over to USER";
	return error == -E2BIG ? "it has more than 8 addresses; name one of them" : k2i_text_error(error);
}

/* "ADDRESS:PORT" of a socket; returns its port in network order. */
static in_port_t socket_name(int descriptor, char *text, size_t room)
{
	struct sockaddr_storage address = {0};
	socklen_t address_bytes = sizeof(address);
	char host[64] = "?", port[8] = "0";

	if (getsockname(descriptor, (struct sockaddr *)&address, &address_bytes) == 0)
		(void)getnameinfo((struct sockaddr *)&address, address_bytes, host, sizeof(host), port, sizeof(port),
				  NI_NUMERICHOST | NI_NUMERICSERV);
	(void)snprintf(text, room, strchr(host, ':') ? "[%s]:%s" : "%s:%s", host, port);
	return htons((in_port_t)strtoul(port, NULL, 10));
}

static void port_set(struct sockaddr *address, in_port_t port)
{
	if (address->sa_family == AF_INET)
		((struct sockaddr_in *)(void *)address)->sin_port = port;
	else
		((struct sockaddr_in6 *)(void *)address)->sin6_port = port;
}

/* Whether the address came before, in the list from `first` on: a name that is in /etc/hosts twice has each twice. */
static bool address_repeated(const struct addrinfo *first, const struct addrinfo *address)
{
	for (; first != address; first = first->ai_next) {
		if (first->ai_addrlen == address->ai_addrlen &&
		    memcmp(first->ai_addr, address->ai_addr, address->ai_addrlen) == 0)
			return true;
	}
	return false;
}

/* Binds all addresses of a name. A family that this host lacks is no error; a port in use is. */
static int addresses_bind(struct k2i_listener *listener, const struct addrinfo *address, const char *host,
			  const char *port, bool optional)
{
	const struct addrinfo *first = address;
	in_port_t chosen = 0;
	char name[80];
	int descriptor, error = -EADDRNOTAVAIL;

	for (; address; address = address->ai_next) {
		/* Port 0: all sockets get the port that the first was given. */
		if (chosen)
			port_set(address->ai_addr, chosen);
		if (address_repeated(first, address))
			continue;
		descriptor = listener->socket_count < SOCKETS_MAX ? socket_bind(address) : -E2BIG;
		if (descriptor >= 0) {
			listener->sockets[listener->socket_count++] = descriptor;
			chosen = socket_name(descriptor, name, sizeof(name));
			port_set(address->ai_addr, chosen);
			continue;
		}
		error = descriptor;
		if (error == -E2BIG ||
		    (error != -EADDRNOTAVAIL && error != -EAFNOSUPPORT && !(chosen && strcmp(port, "0") == 0)))
			break;
	}
	if (listener->socket_count > 0 && !address)
		return 0;
	k2i_log(optional ? K2HFT_LOG_DEBUG : K2HFT_LOG_ERROR, "%s: can't listen on %s port %s%s: %s",
		listener->words->area, host, port, listener->words->port_key, bind_reason(error));
	return error;
}

static int name_bind(struct k2i_listener *listener, const char *host, const char *port, bool optional)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV}, *found = NULL;
	const char *shown = host ? host : "every address";
	int error = getaddrinfo(host, port, &hints, &found);

	if (error) {
		k2i_log(K2HFT_LOG_ERROR, "%s: can't find the address of %s = %s: %s", listener->words->area,
			listener->words->address_key, shown, gai_strerror(error));
		return -EADDRNOTAVAIL;
	}
	error = addresses_bind(listener, found, shown, port, optional);
	freeaddrinfo(found);
	return error;
}

/* Sockets that systemd has opened. Nothing else is bound then, whatever the configuration says. */
static int handed_take(struct k2i_listener *listener, const struct k2i_listen_choice *choice)
{
	int descriptor = choice->handed_first, domain, listens;

	if (choice->handed < 0 || choice->handed > (int)SOCKETS_MAX) {
		k2i_log(K2HFT_LOG_ERROR, "listener: LISTEN_FDS of systemd: not 1 to %u sockets", SOCKETS_MAX);
		return -EINVAL;
	}
	for (; descriptor < choice->handed_first + choice->handed; descriptor++) {
		socklen_t bytes = sizeof(domain);

		if (getsockopt(descriptor, SOL_SOCKET, SO_DOMAIN, &domain, &bytes) ||
		    (domain != AF_INET && domain != AF_INET6) ||
		    getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &listens, &bytes) || !listens) {
			k2i_log(K2HFT_LOG_ERROR,
				"listener: descriptor %d of systemd is no TCP socket that listens: ListenStream= of "
				"the "
				"socket unit needs a port, and Accept=no",
				descriptor);
			return -EINVAL;
		}
		(void)fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK);
		listener->sockets[listener->socket_count++] = descriptor;
	}
	return 0;
}

static int loopback_bind(struct k2i_listener *listener, const char *port)
{
	int error = name_bind(listener, "127.0.0.1", port, false);

	/* A host without IPv6 is none the worse for it. */
	if (!error)
		(void)name_bind(listener, "::1", port, true);
	return error;
}

static bool socket_loopback(int descriptor)
{
	struct sockaddr_storage address = {0};
	const struct sockaddr_in *address4 = (void *)&address;
	const struct sockaddr_in6 *address6 = (void *)&address;
	socklen_t address_bytes = sizeof(address);

	(void)getsockname(descriptor, (struct sockaddr *)&address, &address_bytes);
	return address.ss_family == AF_INET ? ntohl(address4->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET
					    : IN6_IS_ADDR_LOOPBACK(&address6->sin6_addr);
}

bool k2i_listener_beyond_host(const struct k2i_listener *listener)
{
	size_t i = 0;

	while (i < listener->socket_count && socket_loopback(listener->sockets[i]))
		i++;
	return i < listener->socket_count;
}

int k2i_listener_open(const struct k2i_listen_choice *choice, struct k2i_listener **listener)
{
	struct k2i_listener *opened = calloc(1, sizeof(*opened));
	int error;

	if (!opened)
		return -ENOMEM;
	opened->words = choice->words;
	if (choice->handed)
		error = handed_take(opened, choice);
	else if (choice->loopback)
		error = loopback_bind(opened, choice->port);
	else
		error = name_bind(opened, choice->host[0] ? choice->host : NULL, choice->port, false);
	if (error) {
		k2i_listener_close(opened);
		return error;
	}
	if (choice->unencrypted && k2i_listener_beyond_host(opened))
		k2i_log(K2HFT_LOG_WARNING, "listener: without SSL = yes records from other hosts come unencrypted%s",
			choice->anybody ? ", and any host may send; NAME of [SLVNODE] or LISTEN limits that" : "");
	*listener = opened;
	return 0;
}

/* Accepting ------------------------------------------------------------------------------------------------------ */

static void listener_pause(struct k2i_listener *listener)
{
	struct timeval pause = {PAUSE_S, 0};
	size_t i;

	for (i = 0; i < listener->socket_count; i++)
		(void)event_del(listener->events[i]);
	(void)event_add(listener->pause, &pause);
}

static void accept_failure_log(struct k2i_listener *listener, const char *why)
{
	atomic_fetch_add_explicit(listener->taker.accept_errors, 1, memory_order_relaxed);
	k2i_log_limited(&listener->failed_limit, k2i_clock_now_ns(), K2HFT_LOG_ERROR, "%s: can't accept%s",
			listener->words->area, why);
}

static void on_pause_end(evutil_socket_t descriptor, short what, void *argument)
{
	struct k2i_listener *listener = argument;
	bool failed = false;
	size_t i;

	(void)descriptor;
	(void)what;
	for (i = 0; i < listener->socket_count; i++)
		failed |= event_add(listener->events[i], NULL) != 0;
	if (!failed)
		return;
	/* The kernel lacks memory, or this user has too many watches: both can change. */
	accept_failure_log(listener, " yet: the kernel does not watch the sockets");
	listener_pause(listener);
}

static void accept_failed(struct k2i_listener *listener, int error)
{
	char why[128];

	if (error == -EAGAIN || error == -ECONNABORTED || error == -EINTR)
		return;
	(void)snprintf(why, sizeof(why), ": %s", k2i_text_error(error));
	accept_failure_log(listener, why);
	/* Waiting connections keep the socket readable; without a pause this would be a busy loop. */
	listener_pause(listener);
}

static void on_acceptable(evutil_socket_t descriptor, short what, void *argument)
{
	struct k2i_listener *listener = argument;
	struct sockaddr_storage address;
	socklen_t address_bytes;
	int accepted, count = 0;

	(void)what;
	while (count++ < ACCEPTS_MAX) {
		address_bytes = sizeof(address);
		accepted =
			accept4(descriptor, (struct sockaddr *)&address, &address_bytes, SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (accepted < 0) {
			accept_failed(listener, -errno);
			return;
		}
		listener->taker.take(listener->taker.argument, accepted, (struct sockaddr *)&address, address_bytes);
	}
}

static int sockets_listen(const struct k2i_listener *listener)
{
	char name[80];
	size_t i;
	int error;

	for (i = 0; i < listener->socket_count; i++) {
		(void)socket_name(listener->sockets[i], name, sizeof(name));
		/* Two sockets can be bound to one port as long as neither listens. */
		if (listen(listener->sockets[i], BACKLOG) < 0) {
			error = -errno;
			k2i_log(K2HFT_LOG_ERROR, "%s: can't listen on %s%s: %s", listener->words->area, name,
				listener->words->port_key, bind_reason(error));
			return error;
		}
		k2i_log(K2HFT_LOG_INFO, "%s: %s %s", listener->words->area, listener->words->ready, name);
	}
	return 0;
}

static int events_add(struct k2i_listener *listener, struct event_base *base)
{
	size_t i;

	listener->pause = event_new(base, -1, 0, on_pause_end, listener);
	if (!listener->pause)
		return -ENOMEM;
	for (i = 0; i < listener->socket_count; i++) {
		listener->events[i] =
			event_new(base, listener->sockets[i], EV_READ | EV_PERSIST, on_acceptable, listener);
		if (!listener->events[i] || event_add(listener->events[i], NULL))
			return -ENOMEM;
	}
	return 0;
}

int k2i_listener_start(struct k2i_listener *listener, struct event_base *base, const struct k2i_listen_taker *taker)
{
	int error = sockets_listen(listener);

	if (error)
		return error;
	listener->taker = *taker;
	error = events_add(listener, base);
	if (error)
		k2i_log(K2HFT_LOG_ERROR, "%s: can't start: %s", listener->words->area, k2i_text_error(error));
	return error;
}

void k2i_listener_close(struct k2i_listener *listener)
{
	size_t i;

	if (!listener)
		return;
	if (listener->pause)
		event_free(listener->pause);
	for (i = 0; i < listener->socket_count; i++) {
		if (listener->events[i])
			event_free(listener->events[i]);
		(void)close(listener->sockets[i]);
	}
	free(listener);
}
