/* SPDX-License-Identifier: MIT */
#include "client/dial.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/clock.h"

#define HANDSHAKE_NS (10 * K2I_SECOND_NS)
/* Longer than one dead name server of two takes. */
#define RESOLVE_NS (30 * K2I_SECOND_NS)

int k2i_dial_watch(struct k2i_dial *dial, uint32_t events)
{
	struct epoll_event event = {.events = events, .data.fd = dial->transport.descriptor};
	int operation = dial->events ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;

	if (dial->events == events)
		return 0;
	if (epoll_ctl(dial->epoll, operation, dial->transport.descriptor, &event) < 0)
		return -errno;
	dial->events = events;
	return 0;
}

void k2i_dial_close(struct k2i_dial *dial)
{
	/* Closing does not take it out of the set while a child of fork(2) has it, too, and then nobody could any more. */
	if (dial->events)
		(void)epoll_ctl(dial->epoll, EPOLL_CTL_DEL, dial->transport.descriptor, NULL);
	k2i_transport_close(&dial->transport);
	dial->securing = false;
	dial->events = 0;
}

void k2i_dial_addresses_free(struct k2i_dial *dial)
{
	if (dial->addresses)
		freeaddrinfo(dial->addresses);
	dial->addresses = dial->address_next = NULL;
}

static int dial_failed(struct k2i_dial *dial, const char *reason)
{
	(void)snprintf(dial->reason, sizeof(dial->reason), "%s", reason);
	return K2I_DIAL_FAILED;
}

/* The next address of the list that can be tried at all; `error` is why the one before failed. */
static int address_try(struct k2i_dial *dial, int error, uint64_t now_ns)
{
	k2i_dial_close(dial);
	while (dial->address_next) {
		const struct addrinfo *address = dial->address_next;

		dial->address_next = address->ai_next;
		error = k2i_transport_connect(&dial->transport, address);
		if (error < 0 && error != -EINPROGRESS)
			continue;
		error = k2i_dial_watch(dial, EPOLLIN | EPOLLOUT);
		if (error == 0) {
			dial->deadline_ns = now_ns + HANDSHAKE_NS;
			return K2I_DIAL_UNDER_WAY;
		}
		k2i_dial_close(dial);
	}
	(void)dial_failed(dial, strerror(-error));
	return K2I_DIAL_NOBODY;
}

static int resolve_check(struct k2i_dial *dial, uint64_t now_ns)
{
	const char *reason;
	int error = k2i_resolve_take(dial->target->resolve, &dial->addresses, &reason);

	if (error == -EINPROGRESS)
		return now_ns < dial->deadline_ns ? K2I_DIAL_UNDER_WAY
						  : dial_failed(dial, "its name is not resolved in time");
	k2i_resolve_drop(dial->target->resolve);
	dial->target->resolve = NULL;
	if (error < 0)
		return dial_failed(dial, reason);
	dial->address_next = dial->addresses;
	return address_try(dial, -EADDRNOTAVAIL, now_ns);
}

int k2i_dial_begin(struct k2i_dial *dial, uint64_t now_ns)
{
	struct k2i_target *target = dial->target;
	int error = 0;

	if (dial->address_next)
		return address_try(dial, -EADDRNOTAVAIL, now_ns);
	if (!target->resolve)
		error = k2i_resolve_start(target->host, target->port, dial->interrupt, &target->resolve);
	if (error < 0)
		return dial_failed(dial, strerror(-error));
	k2i_dial_addresses_free(dial);
	dial->deadline_ns = now_ns + RESOLVE_NS;
	return resolve_check(dial, now_ns);
}

static int secure_step(struct k2i_dial *dial)
{
	int error = k2i_transport_handshake(&dial->transport);

	if (error == 0) {
		dial->securing = false;
		return K2I_DIAL_READY;
	}
	if (error == -EAGAIN)
		error = k2i_dial_watch(dial, k2i_transport_waiting(&dial->transport) ? EPOLLIN | EPOLLOUT : EPOLLIN);
	return error == 0 ? K2I_DIAL_UNDER_WAY : dial_failed(dial, k2i_transport_reason(&dial->transport, error));
}

static int connect_end(struct k2i_dial *dial, uint64_t now_ns)
{
	struct k2i_target *target = dial->target;
	int error = k2i_transport_connect_end(&dial->transport);

	if (error < 0)
		return address_try(dial, error, now_ns);
	if (!target->tls)
		return K2I_DIAL_READY;
	error = k2i_client_tls_begin(target->tls, &dial->transport, target->host, now_ns);
	if (error < 0)
		return dial_failed(dial, strerror(-error));
	dial->securing = true;
	dial->deadline_ns = now_ns + HANDSHAKE_NS;
	return secure_step(dial);
}

int k2i_dial_step(struct k2i_dial *dial, uint32_t events, uint64_t now_ns)
{
	if (dial->transport.descriptor < 0)
		return resolve_check(dial, now_ns);
	if (dial->securing && events)
		return secure_step(dial);
	if (events & (EPOLLOUT | EPOLLERR | EPOLLHUP))
		return connect_end(dial, now_ns);
	if (now_ns < dial->deadline_ns)
		return K2I_DIAL_UNDER_WAY;
	return dial->securing ? dial_failed(dial, "no TLS handshake for 10 s") : address_try(dial, -ETIMEDOUT, now_ns);
}
