/* SPDX-License-Identifier: MIT */
/* A GET, with a limit of time and of bytes. */
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "tools/stat/stat.h"

static int64_t now_ms(void)
{
	return (int64_t)(k2i_clock_ns(CLOCK_MONOTONIC) / 1000000);
}

/* 0, or -ETIMEDOUT. */
static int socket_wait(int descriptor, short events, int64_t deadline_ms)
{
	struct pollfd wait = {.fd = descriptor, .events = events};
	int64_t left_ms = deadline_ms - now_ms();
	int ready = poll(&wait, 1, left_ms > 0 ? (int)left_ms : 0);

	return ready > 0 ? 0 : ready < 0 && errno != EINTR ? -errno : -ETIMEDOUT;
}

static int address_connect(const struct addrinfo *address, int64_t deadline_ms)
{
	int descriptor = socket(address->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), error = 0;
	socklen_t error_bytes = sizeof(error);

	if (descriptor < 0)
		return -errno;
	if (connect(descriptor, address->ai_addr, address->ai_addrlen) < 0 && errno != EINPROGRESS)
		error = -errno;
	if (!error)
		error = socket_wait(descriptor, POLLOUT, deadline_ms);
	if (!error && getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &error, &error_bytes) == 0)
		error = -error;
	if (!error)
		return descriptor;
	(void)close(descriptor);
	return error;
}

static int host_connect(const char *host, const char *port, int64_t deadline_ms, const char **reason)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV}, *found, *address;
	int error = getaddrinfo(host, port, &hints, &found), descriptor = -EADDRNOTAVAIL;

	if (error) {
		*reason = gai_strerror(error);
		return -EADDRNOTAVAIL;
	}
	for (address = found; address && descriptor < 0; address = address->ai_next)
		descriptor = address_connect(address, deadline_ms);
	freeaddrinfo(found);
	if (descriptor < 0)
		*reason = descriptor == -ECONNREFUSED
				  ? "Connection refused: the receiver answers where CTLPORT and CTLADDRESS of its "
				    "configuration say, once it has started"
				  : strerror(-descriptor);
	return descriptor;
}

static int request_send(int descriptor, const char *host, int64_t deadline_ms)
{
	char request[1024];
	bool address6 = strchr(host, ':') != NULL;
	int bytes =
		snprintf(request, sizeof(request), "GET /status HTTP/1.1\r\nHost: %s%s%s\r\nConnection: close\r\n\r\n",
			 address6 ? "[" : "", host, address6 ? "]" : "");
	int error = socket_wait(descriptor, POLLOUT, deadline_ms);

	if (error || bytes < 0 || (size_t)bytes >= sizeof(request))
		return error ? error : -EINVAL;
	/* The first bytes of a connection find room. */
	return send(descriptor, request, (size_t)bytes, MSG_NOSIGNAL) == bytes ? 0 : -EIO;
}

/* The body of an answer with status 200; it takes the answer's place. -EREMOTE: the server has other names than this. */
static int body_take(char *answer)
{
	const char *body = strstr(answer, "\r\n\r\n");

	if (!body || strncmp(answer, "HTTP/1.", 7) != 0)
		return -EPROTO;
	if (strncmp(answer + 8, " 200", 4) != 0)
		return strncmp(answer + 8, " 421", 4) == 0 ? -EREMOTE : -EPROTO;
	memmove(answer, body + 4, strlen(body + 4) + 1);
	return 0;
}

char *stat_http_get(const char *host, const char *port, int timeout_ms, char *reason, size_t room)
{
	int64_t deadline_ms = now_ms() + timeout_ms;
	const char *why = NULL;
	char *answer = NULL;
	int descriptor = host_connect(host, port, deadline_ms, &why), error = descriptor < 0 ? descriptor : 0;

	if (!error)
		error = request_send(descriptor, host, deadline_ms);
	if (!error) {
		int64_t left_ms = deadline_ms - now_ms();

		answer = stat_answer_read(descriptor, left_ms > 0 ? left_ms : 0);
		error = answer ? body_take(answer) : -errno;
	}
	if (descriptor >= 0)
		(void)close(descriptor);
	if (!error)
		return answer;
	free(answer);
	(void)snprintf(reason, room, "%s",
		       error == -EPROTO    ? "what is there is not the CTLPORT of a receiver"
		       : error == -EREMOTE ? "the receiver refuses this name: ask for localhost or an address"
		       : error == -EFBIG   ? "the answer is too long"
		       : why               ? why
					   : strerror(-error));
	return NULL;
}
