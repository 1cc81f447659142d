/* SPDX-License-Identifier: MIT */
#include "net/transport.h"

#include <errno.h>
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netdb.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/tls/tls.h"

/* The kernel gives a connection up when bytes stay unconfirmed for so long; the same as the client's own limit. */
#define USER_TIMEOUT_MS 15000

static void number_option_set(int descriptor, int level, int option, int value)
{
	/* Each of them only improves the connection, so a kernel that refuses one is no reason to do without. */
	(void)setsockopt(descriptor, level, option, &value, sizeof(value));
}

static bool address_is_loopback(const struct sockaddr *address)
{
	if (address->sa_family == AF_INET6)
		return IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)(const void *)address)->sin6_addr);
	return address->sa_family == AF_INET &&
	       ntohl(((const struct sockaddr_in *)(const void *)address)->sin_addr.s_addr) >> IN_CLASSA_NSHIFT ==
		       IN_LOOPBACKNET;
}

/*
 * The loopback is no network that is shared, and a congestion control that paces (BBR) sets a timer for each 64 KiB
 * there, which costs 7 % more CPU. Reno does not pace, and each kernel has it. It has to be chosen before the connection
 * begins: one that has begun to pace goes on. Elsewhere the host's choice stands.
 */
static void pacing_avoid(int descriptor, const struct sockaddr *address)
{
	static const char reno[] = "reno";

	if (address_is_loopback(address))
		(void)setsockopt(descriptor, IPPROTO_TCP, TCP_CONGESTION, reno, sizeof(reno) - 1);
}

int k2i_transport_connect(struct k2i_transport *transport, const struct addrinfo *address)
{
	int descriptor =
		socket(address->ai_family, address->ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, address->ai_protocol);

	if (descriptor < 0)
		return -errno;
	pacing_avoid(descriptor, address->ai_addr);
	number_option_set(descriptor, IPPROTO_TCP, TCP_NODELAY, 1);
	number_option_set(descriptor, IPPROTO_TCP, TCP_USER_TIMEOUT, USER_TIMEOUT_MS);
	number_option_set(descriptor, SOL_SOCKET, SO_KEEPALIVE, 1);
	transport->descriptor = descriptor;
	if (connect(descriptor, address->ai_addr, address->ai_addrlen) == 0)
		return 0;
	if (errno == EINPROGRESS)
		return -EINPROGRESS;
	int error = -errno;
	k2i_transport_close(transport);
	return error;
}

/*
 * A connection to a free port of the own host can meet itself, when the kernel chooses that very port for its near end.
 * It would keep the receiver from binding the port.
 */
static bool connected_to_itself(int descriptor)
{
	struct sockaddr_storage near_end, far_end;
	socklen_t near_bytes = sizeof(near_end), far_bytes = sizeof(far_end);

	memset(&near_end, 0, sizeof(near_end));
	memset(&far_end, 0, sizeof(far_end));
	if (getsockname(descriptor, (struct sockaddr *)&near_end, &near_bytes) < 0 ||
	    getpeername(descriptor, (struct sockaddr *)&far_end, &far_bytes) < 0)
		return false;
	return near_bytes == far_bytes && memcmp(&near_end, &far_end, near_bytes) == 0;
}

int k2i_transport_connect_end(struct k2i_transport *transport)
{
	int error = 0;
	socklen_t error_bytes = sizeof(error);

	if (getsockopt(transport->descriptor, SOL_SOCKET, SO_ERROR, &error, &error_bytes) < 0)
		return -errno;
	if (error)
		return -error;
	return connected_to_itself(transport->descriptor) ? -ECONNREFUSED : 0;
}

int k2i_transport_secure(struct k2i_transport *transport, struct k2i_tls_context *context, const char *host)
{
	return k2i_tls_open(context, transport->descriptor, host, &transport->tls);
}

int k2i_transport_handshake(struct k2i_transport *transport)
{
	return transport->tls ? k2i_tls_handshake(transport->tls) : 0;
}

ssize_t k2i_transport_read(struct k2i_transport *transport, void *bytes, size_t room)
{
	ssize_t count;

	if (transport->tls)
		return k2i_tls_read(transport->tls, bytes, room);
	do
		count = recv(transport->descriptor, bytes, room, MSG_DONTWAIT);
	while (count < 0 && errno == EINTR);
	return count < 0 ? -errno : count;
}

bool k2i_transport_more(const struct k2i_transport *transport)
{
	return transport->tls && k2i_tls_more(transport->tls);
}

ssize_t k2i_transport_write(struct k2i_transport *transport, const struct iovec *pieces, int piece_count)
{
	struct msghdr message = {.msg_iov = (struct iovec *)pieces, .msg_iovlen = (size_t)piece_count};
	ssize_t count;

	if (transport->tls)
		return k2i_tls_write(transport->tls, pieces, piece_count);
	do
		count = sendmsg(transport->descriptor, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
	while (count < 0 && errno == EINTR);
	return count < 0 ? -errno : count;
}

bool k2i_transport_waiting(const struct k2i_transport *transport)
{
	return transport->tls && k2i_tls_waiting(transport->tls) > 0;
}

int k2i_transport_flush(struct k2i_transport *transport)
{
	return transport->tls ? k2i_tls_flush(transport->tls) : 1;
}

const char *k2i_transport_reason(const struct k2i_transport *transport, int error)
{
	const char *reason = transport->tls ? k2i_tls_reason(transport->tls) : "";

	return *reason ? reason : strerror(-error);
}

/* Bytes of the socket, and those that wait for it. */
static uint64_t bytes_ahead(const struct k2i_transport *transport, bool unsent)
{
	int bytes = 0;

	if (ioctl(transport->descriptor, unsent ? SIOCOUTQNSD : SIOCOUTQ, &bytes) < 0 || bytes < 0)
		bytes = 0;
	return (uint64_t)bytes + (transport->tls ? k2i_tls_waiting(transport->tls) : 0);
}

uint64_t k2i_transport_unconfirmed_bytes(const struct k2i_transport *transport)
{
	return bytes_ahead(transport, false);
}

uint64_t k2i_transport_unsent_bytes(const struct k2i_transport *transport)
{
	return bytes_ahead(transport, true);
}

uint64_t k2i_transport_peer_limited_ns(const struct k2i_transport *transport)
{
	struct tcp_info information;
	socklen_t information_bytes = sizeof(information);

	memset(&information, 0, sizeof(information));
	if (getsockopt(transport->descriptor, IPPROTO_TCP, TCP_INFO, &information, &information_bytes) < 0)
		return 0;
	return information.tcpi_rwnd_limited * 1000;
}

void k2i_transport_end(struct k2i_transport *transport)
{
	if (transport->tls)
		k2i_tls_end(transport->tls);
	(void)shutdown(transport->descriptor, SHUT_WR);
}

void k2i_transport_close(struct k2i_transport *transport)
{
	if (transport->tls) {
		k2i_tls_end(transport->tls);
		k2i_tls_free(transport->tls);
		transport->tls = NULL;
	}
	if (transport->descriptor >= 0)
		(void)close(transport->descriptor);
	transport->descriptor = -1;
}
