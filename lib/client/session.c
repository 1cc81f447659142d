/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <netdb.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/clock.h"
#include "client/state.h"

/* Longer than one dead name server of two takes. */
#define RESOLVE_NS UINT64_C(30000000000)

int k2i_client_watch(struct k2hft_client *client, uint32_t events)
{
	struct epoll_event event = {.events = events, .data.fd = client->transport.descriptor};
	int operation = client->connection.events ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;

	if (client->connection.events == events)
		return 0;
	if (epoll_ctl(client->wake.epoll, operation, client->transport.descriptor, &event) < 0)
		return -errno;
	client->connection.events = events;
	return 0;
}

static void greeting_begin(struct k2hft_client *client, uint64_t now_ns)
{
	client->state = K2HFT_CLIENT_GREETING;
	client->connection.deadline_ns = now_ns + K2I_CLIENT_HANDSHAKE_NS;
	client->link = (struct k2i_link){0};
	k2i_client_streams_reset(&client->streams);
	int error = k2i_client_hello_send(client);
	if (error == 0)
		error = k2i_client_watch(client, EPOLLIN);
	if (error < 0)
		k2i_client_disconnect(client, K2I_CLIENT_RETRY_LATE, now_ns, "no greeting: %s", strerror(-error));
}

/* The next address of the list that can be tried at all; `error` is why the one before failed. */
static void address_try(struct k2hft_client *client, int error, uint64_t now_ns)
{
	k2i_client_socket_close(client);
	while (client->connection.address_next) {
		const struct addrinfo *address = client->connection.address_next;

		client->connection.address_next = address->ai_next;
		error = k2i_transport_connect(&client->transport, address);
		if (error < 0 && error != -EINPROGRESS)
			continue;
		error = k2i_client_watch(client, EPOLLIN | EPOLLOUT);
		if (error == 0) {
			client->state = K2HFT_CLIENT_CONNECTING;
			client->connection.deadline_ns = now_ns + K2I_CLIENT_HANDSHAKE_NS;
			return;
		}
		k2i_client_socket_close(client);
	}
	/* An error of another address tells more than that nobody is at this one. */
	if (client->connection.answered_wrong)
		k2i_client_retry_schedule(client, K2I_CLIENT_RETRY_SOON, now_ns);
	else
		k2i_client_disconnect(client, K2I_CLIENT_RETRY_SOON, now_ns, "%s", strerror(-error));
}

static void resolve_check(struct k2hft_client *client, uint64_t now_ns)
{
	const char *reason;
	int error = k2i_resolve_take(client->connection.resolve, &client->connection.addresses, &reason);

	/* It can't be ended, so it is the next try's, too: each has a thread and a descriptor, and may never come back. */
	if (error == -EINPROGRESS) {
		if (now_ns >= client->connection.deadline_ns)
			k2i_client_disconnect(client, K2I_CLIENT_RETRY_SOON, now_ns,
					      "its name is not resolved in time");
		return;
	}
	k2i_client_resolve_drop(client);
	if (error < 0) {
		k2i_client_disconnect(client, K2I_CLIENT_RETRY_SOON, now_ns, "%s", reason);
		return;
	}
	client->connection.address_next = client->connection.addresses;
	address_try(client, -EADDRNOTAVAIL, now_ns);
}

static void connect_begin(struct k2hft_client *client, uint64_t now_ns)
{
	int error = 0;

	if (!client->connection.resolve)
		error = k2i_resolve_start(client->host, client->port, client->wake.interrupt,
					  &client->connection.resolve);
	if (error < 0) {
		k2i_client_disconnect(client, K2I_CLIENT_RETRY_SOON, now_ns, "%s", strerror(-error));
		return;
	}
	client->state = K2HFT_CLIENT_CONNECTING;
	client->connection.deadline_ns = now_ns + RESOLVE_NS;
	resolve_check(client, now_ns);
}

static void secure_step(struct k2hft_client *client, uint64_t now_ns)
{
	int error = k2i_transport_handshake(&client->transport);

	if (error == -EAGAIN)
		error = k2i_client_watch(client,
					 k2i_transport_waiting(&client->transport) ? EPOLLIN | EPOLLOUT : EPOLLIN);
	else if (error == 0)
		client->connection.securing = false;
	if (error < 0)
		k2i_client_disconnect(client, K2I_CLIENT_RETRY_SOON, now_ns, "%s",
				      k2i_transport_reason(&client->transport, error));
	if (error < 0 || client->connection.securing)
		return;
	greeting_begin(client, now_ns);
	if (client->state == K2HFT_CLIENT_GREETING)
		k2i_client_receive(client, now_ns);
}

static void secure_begin(struct k2hft_client *client, uint64_t now_ns)
{
	int error = k2i_client_tls_begin(client, now_ns);

	if (error < 0) {
		k2i_client_disconnect(client, K2I_CLIENT_RETRY_SOON, now_ns, "%s", strerror(-error));
		return;
	}
	client->connection.securing = true;
	client->connection.deadline_ns = now_ns + K2I_CLIENT_HANDSHAKE_NS;
	secure_step(client, now_ns);
}

static void connect_end(struct k2hft_client *client, uint64_t now_ns)
{
	int error = k2i_transport_connect_end(&client->transport);

	if (error < 0)
		address_try(client, error, now_ns);
	else if (client->tls.secure)
		secure_begin(client, now_ns);
	else
		greeting_begin(client, now_ns);
}

void k2i_client_socket_event(struct k2hft_client *client, uint32_t events, uint64_t now_ns)
{
	if (client->connection.securing) {
		secure_step(client, now_ns);
	} else if (client->state == K2HFT_CLIENT_CONNECTING) {
		if (events & (EPOLLOUT | EPOLLERR | EPOLLHUP))
			connect_end(client, now_ns);
	} else if (client->state != K2HFT_CLIENT_WAITING && events & (EPOLLIN | EPOLLERR | EPOLLHUP)) {
		k2i_client_receive(client, now_ns);
	}
}

static void ping_send(struct k2hft_client *client, uint64_t now_ns)
{
	struct k2hft_ping ping = {.token = client->life.ping_token + 1};
	uint8_t *room = k2i_client_control_room(client, K2I_CLIENT_SHORT_ROOM);
	int bytes = room ? k2hft_ping_encode(K2HFT_FRAME_PING, &ping, room, K2I_CLIENT_SHORT_ROOM) : 0;

	if (bytes <= 0) {
		k2i_client_disconnect(client, K2I_CLIENT_RETRY_SOON, now_ns, "the receiver asks and does not read");
		return;
	}
	k2i_client_control_add(client, (size_t)bytes);
	client->life.ping_token++;
	client->life.ping_out = true;
}

/* Both: no byte for long, and time enough for an answer, as this process may have been stopped in between. */
static uint64_t dead_at_ns(const struct k2hft_client *client)
{
	uint64_t silent_ns = client->life.received_ns + K2I_CLIENT_DEAD_NS;
	uint64_t answer_ns = client->life.expected_ns + (K2I_CLIENT_DEAD_NS - K2I_CLIENT_PING_NS);

	if (client->life.expected_ns == 0 || !k2i_client_answer_outstanding(client))
		return UINT64_MAX;
	return silent_ns > answer_ns ? silent_ns : answer_ns;
}

static void life_check(struct k2hft_client *client, uint64_t now_ns)
{
	if (!client->life.ping_out && now_ns >= client->life.received_ns + K2I_CLIENT_PING_NS)
		ping_send(client, now_ns);
	if (now_ns < dead_at_ns(client))
		return;
	/* On a slow link the answer may wait behind much that is still on its way: if that moves, it is alive. */
	uint64_t unconfirmed_bytes = k2i_transport_unconfirmed_bytes(&client->transport);
	/* TLS makes more bytes of those that it takes, so the difference can sink. */
	uint64_t confirmed_bytes = client->life.written_bytes - unconfirmed_bytes;
	if (unconfirmed_bytes > 0 && (int64_t)(confirmed_bytes - client->life.confirmed_bytes) > 0) {
		client->life.confirmed_bytes = confirmed_bytes;
		client->life.expected_ns = now_ns;
		return;
	}
	k2i_client_disconnect(client, K2I_CLIENT_RETRY_SOON, now_ns, "no answer for %u s",
			      (unsigned)((now_ns - client->life.received_ns) / K2I_SECOND_NS));
}

void k2i_client_session_step(struct k2hft_client *client, uint64_t now_ns)
{
	k2i_client_certificate_look(client, now_ns);
	switch (client->state) {
	case K2HFT_CLIENT_WAITING:
		if (now_ns < client->failure.retry_at_ns)
			return;
		if (client->connection.address_next)
			address_try(client, -EADDRNOTAVAIL, now_ns);
		else
			connect_begin(client, now_ns);
		return;
	case K2HFT_CLIENT_CONNECTING:
		if (client->connection.resolve)
			resolve_check(client, now_ns);
		else if (now_ns >= client->connection.deadline_ns && client->connection.securing)
			k2i_client_disconnect(client, K2I_CLIENT_RETRY_SOON, now_ns, "no TLS handshake for 10 s");
		else if (now_ns >= client->connection.deadline_ns)
			address_try(client, -ETIMEDOUT, now_ns);
		return;
	case K2HFT_CLIENT_GREETING:
		if (now_ns >= client->connection.deadline_ns)
			k2i_client_disconnect(client, K2I_CLIENT_RETRY_SOON, now_ns, "no WELCOME for 10 s");
		return;
	case K2HFT_CLIENT_CONNECTED:
		life_check(client, now_ns);
		return;
	}
}

static uint64_t earlier(uint64_t first, uint64_t second)
{
	return first < second ? first : second;
}

uint64_t k2i_client_deadline(const struct k2hft_client *client)
{
	if (client->state == K2HFT_CLIENT_WAITING)
		return client->failure.retry_at_ns;
	if (client->state != K2HFT_CLIENT_CONNECTED)
		return client->connection.deadline_ns;
	uint64_t deadline_ns = dead_at_ns(client);
	if (!client->life.ping_out)
		deadline_ns = earlier(deadline_ns, client->life.received_ns + K2I_CLIENT_PING_NS);
	if (client->data.pause == K2I_CLIENT_PAUSE_CLAIM || client->data.pause == K2I_CLIENT_PAUSE_GATHER ||
	    client->data.pause == K2I_CLIENT_PAUSE_MEMORY)
		deadline_ns = earlier(deadline_ns, client->data.pause_until_ns);
	return deadline_ns;
}
