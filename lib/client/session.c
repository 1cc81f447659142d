/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <netdb.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>

#include "client/state.h"
#include "base/clock.h"

#define RETRY_FLOOR_NS UINT64_C(10000000)

#define FAILURE_PAUSE_MIN_NS UINT64_C(10000000000)
#define FAILURE_PAUSE_MAX_NS UINT64_C(600000000000)

/* Longer than one dead name server of two takes. */
#define RESOLVE_NS UINT64_C(30000000000)

/* A connection that held for so long was good: the next failure begins with short pauses again. */
#define GOOD_CONNECTION_NS K2I_CLIENT_PING_NS

/* Full jitter: a thousand senders whose receiver starts again must not come at the same moments. */
uint64_t k2i_client_backoff_ns(uint32_t failures, uint64_t random)
{
	uint64_t limit_ns = K2I_CLIENT_RETRY_MIN_NS;

	while (failures-- > 1 && limit_ns < K2I_CLIENT_RETRY_MAX_NS)
		limit_ns *= 2;
	if (limit_ns > K2I_CLIENT_RETRY_MAX_NS)
		limit_ns = K2I_CLIENT_RETRY_MAX_NS;
	return RETRY_FLOOR_NS + random % (limit_ns - RETRY_FLOOR_NS + 1);
}

static uint64_t random_next(struct k2hft_client *client)
{
	/* xorshift64: spreads retries, nothing else. */
	client->random ^= client->random << 13;
	client->random ^= client->random >> 7;
	client->random ^= client->random << 17;
	return client->random;
}

int k2i_client_watch(struct k2hft_client *client, uint32_t events)
{
	struct epoll_event event = {.events = events, .data.fd = client->transport.descriptor};
	int operation = client->socket_events ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;

	if (client->socket_events == events)
		return 0;
	if (epoll_ctl(client->epoll, operation, client->transport.descriptor, &event) < 0)
		return -errno;
	client->socket_events = events;
	return 0;
}

static void socket_close(struct k2hft_client *client)
{
	/* Closing does not take it out of the set while a child of fork(2) has it, too, and then nobody could any more. */
	if (client->socket_events)
		(void)epoll_ctl(client->epoll, EPOLL_CTL_DEL, client->transport.descriptor, NULL);
	k2i_transport_close(&client->transport);
	client->securing = false;
	client->socket_events = 0;
	client->input_bytes = 0;
	client->sent_count = 0;
	k2i_batch_reset(&client->batch, 0);
	client->ping_out = false;
	client->expected_ns = 0;
	client->claim_recover_ns = 0;
	client->pause = K2I_CLIENT_PAUSE_NONE;
	k2i_client_output_reset(client);
}

static void addresses_free(struct k2hft_client *client)
{
	if (client->addresses)
		freeaddrinfo(client->addresses);
	client->addresses = client->address_next = NULL;
}

static void resolve_drop(struct k2hft_client *client)
{
	k2i_resolve_drop(client->resolve);
	client->resolve = NULL;
}

/* The same line every few seconds says nothing new, less and less the longer it goes on; another one does. */
static void failure_log(struct k2hft_client *client, uint64_t now_ns)
{
	bool same = strcmp(client->failure_logged, client->stats.last_error) == 0;

	if (same && now_ns < client->failure_log_ns)
		return;
	client->failure_pause_ns = same ? client->failure_pause_ns * 2 : FAILURE_PAUSE_MIN_NS;
	if (client->failure_pause_ns > FAILURE_PAUSE_MAX_NS)
		client->failure_pause_ns = FAILURE_PAUSE_MAX_NS;
	client->failure_log_ns = now_ns + client->failure_pause_ns;
	memcpy(client->failure_logged, client->stats.last_error, sizeof(client->failure_logged));
	client->failure_told = true;
	k2i_log(K2HFT_LOG_WARNING, "client: %s: %s; trying again", client->peer, client->stats.last_error);
}

static uint64_t retry_pause_ns(struct k2hft_client *client, enum k2i_client_retry retry)
{
	return retry == K2I_CLIENT_RETRY_LATE ? K2I_CLIENT_RETRY_MAX_NS
					      : k2i_client_backoff_ns(client->failures, random_next(client));
}

/*
 * No connection now; the next try is when it is time: at once if the name has an address that was not tried yet, since what
 * answered at this one need not be the receiver.
 */
static void retry_later(struct k2hft_client *client, enum k2i_client_retry retry, uint64_t now_ns)
{
	bool more = client->state != K2HFT_CLIENT_CONNECTED && client->address_next;

	if (client->state == K2HFT_CLIENT_CONNECTED) {
		if (now_ns - client->connected_ns >= GOOD_CONNECTION_NS)
			client->failures = 0;
	} else {
		client->stats.connect_failures++;
	}
	client->failures++;
	socket_close(client);
	if (!more)
		addresses_free(client);
	client->state = K2HFT_CLIENT_WAITING;
	client->retry_at_ns = now_ns + (more ? 0 : retry_pause_ns(client, retry));
	client->answered_wrong = more;
	/* Without a ring there is no other try, which was said. */
	if (!more && !client->broken)
		failure_log(client, now_ns);
}

void k2i_client_disconnect(struct k2hft_client *client, enum k2i_client_retry retry, uint64_t now_ns,
			   const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(client->stats.last_error, sizeof(client->stats.last_error), format, arguments);
	va_end(arguments);
	retry_later(client, retry, now_ns);
}

/* Only between frames; a peer that does not read gets no second try. */
static void error_send(struct k2hft_client *client, uint16_t code, const char *text)
{
	struct k2hft_error_message error = {.code = code};
	uint8_t bytes[K2I_CLIENT_MESSAGE_ROOM];

	if (client->output.frame_sent > 0 || client->output.control_sent > 0)
		return;
	(void)snprintf(error.text, sizeof(error.text), "%s", text);
	int count = k2hft_error_encode(&error, bytes, sizeof(bytes));
	if (count > 0)
		(void)k2i_transport_write(&client->transport, &(struct iovec){bytes, (size_t)count}, 1);
}

void k2i_client_refuse(struct k2hft_client *client, uint16_t code, enum k2i_client_retry retry, uint64_t now_ns,
		       const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(client->stats.last_error, sizeof(client->stats.last_error), format, arguments);
	va_end(arguments);
	error_send(client, code, client->stats.last_error);
	retry_later(client, retry, now_ns);
}

static void greet(struct k2hft_client *client, uint64_t now_ns)
{
	client->state = K2HFT_CLIENT_GREETING;
	client->deadline_ns = now_ns + K2I_CLIENT_HANDSHAKE_NS;
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
	socket_close(client);
	while (client->address_next) {
		const struct addrinfo *address = client->address_next;

		client->address_next = address->ai_next;
		error = k2i_transport_connect(&client->transport, address);
		if (error < 0 && error != -EINPROGRESS)
			continue;
		error = k2i_client_watch(client, EPOLLIN | EPOLLOUT);
		if (error == 0) {
			client->state = K2HFT_CLIENT_CONNECTING;
			client->deadline_ns = now_ns + K2I_CLIENT_HANDSHAKE_NS;
			return;
		}
		socket_close(client);
	}
	/* What another address has answered tells more than that nobody is at this one. */
	if (client->answered_wrong)
		retry_later(client, K2I_CLIENT_RETRY_SOON, now_ns);
	else
		k2i_client_disconnect(client, K2I_CLIENT_RETRY_SOON, now_ns, "%s", strerror(-error));
}

static void resolve_check(struct k2hft_client *client, uint64_t now_ns)
{
	const char *reason;
	int error = k2i_resolve_take(client->resolve, &client->addresses, &reason);

	/* It can't be ended, so it is the next try's, too: each has a thread and a descriptor, and may never come back. */
	if (error == -EINPROGRESS) {
		if (now_ns >= client->deadline_ns)
			k2i_client_disconnect(client, K2I_CLIENT_RETRY_SOON, now_ns,
					      "its name is not resolved in time");
		return;
	}
	resolve_drop(client);
	if (error < 0) {
		k2i_client_disconnect(client, K2I_CLIENT_RETRY_SOON, now_ns, "%s", reason);
		return;
	}
	client->address_next = client->addresses;
	address_try(client, -EADDRNOTAVAIL, now_ns);
}

static void connect_begin(struct k2hft_client *client, uint64_t now_ns)
{
	int error = 0;

	if (!client->resolve)
		error = k2i_resolve_start(client->host, client->port, client->interrupt, &client->resolve);
	if (error < 0) {
		k2i_client_disconnect(client, K2I_CLIENT_RETRY_SOON, now_ns, "%s", strerror(-error));
		return;
	}
	client->state = K2HFT_CLIENT_CONNECTING;
	client->deadline_ns = now_ns + RESOLVE_NS;
	resolve_check(client, now_ns);
}

static void secure_step(struct k2hft_client *client, uint64_t now_ns)
{
	int error = k2i_transport_handshake(&client->transport);

	if (error == -EAGAIN)
		error = k2i_client_watch(client,
					 k2i_transport_waiting(&client->transport) ? EPOLLIN | EPOLLOUT : EPOLLIN);
	else if (error == 0)
		client->securing = false;
	if (error < 0)
		k2i_client_disconnect(client, K2I_CLIENT_RETRY_SOON, now_ns, "%s",
				      k2i_transport_reason(&client->transport, error));
	if (error < 0 || client->securing)
		return;
	greet(client, now_ns);
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
	client->securing = true;
	client->deadline_ns = now_ns + K2I_CLIENT_HANDSHAKE_NS;
	secure_step(client, now_ns);
}

static void connect_end(struct k2hft_client *client, uint64_t now_ns)
{
	int error = k2i_transport_connect_end(&client->transport);

	if (error < 0)
		address_try(client, error, now_ns);
	else if (client->secure)
		secure_begin(client, now_ns);
	else
		greet(client, now_ns);
}

void k2i_client_socket_event(struct k2hft_client *client, uint32_t events, uint64_t now_ns)
{
	if (client->securing) {
		secure_step(client, now_ns);
	} else if (client->state == K2HFT_CLIENT_CONNECTING) {
		if (events & (EPOLLOUT | EPOLLERR | EPOLLHUP))
			connect_end(client, now_ns);
	} else if (client->state != K2HFT_CLIENT_WAITING && events & (EPOLLIN | EPOLLERR | EPOLLHUP)) {
		k2i_client_receive(client, now_ns);
	}
}

bool k2i_client_answer_outstanding(const struct k2hft_client *client)
{
	return client->sent_count > 0 || client->ping_out || client->output.frame;
}

static void ping_send(struct k2hft_client *client, uint64_t now_ns)
{
	struct k2hft_ping ping = {.token = client->ping_token + 1};
	uint8_t *room = k2i_client_control_room(client, K2I_CLIENT_SHORT_ROOM);
	int bytes = room ? k2hft_ping_encode(K2HFT_FRAME_PING, &ping, room, K2I_CLIENT_SHORT_ROOM) : 0;

	if (bytes <= 0) {
		k2i_client_disconnect(client, K2I_CLIENT_RETRY_SOON, now_ns, "the receiver asks and does not read");
		return;
	}
	k2i_client_control_add(client, (size_t)bytes);
	client->ping_token++;
	client->ping_out = true;
}

/* Both: no byte for long, and time enough for an answer, as this process may have been stopped in between. */
static uint64_t dead_at_ns(const struct k2hft_client *client)
{
	uint64_t silent_ns = client->received_ns + K2I_CLIENT_DEAD_NS;
	uint64_t answer_ns = client->expected_ns + (K2I_CLIENT_DEAD_NS - K2I_CLIENT_PING_NS);

	if (client->expected_ns == 0 || !k2i_client_answer_outstanding(client))
		return UINT64_MAX;
	return silent_ns > answer_ns ? silent_ns : answer_ns;
}

static void life_check(struct k2hft_client *client, uint64_t now_ns)
{
	if (!client->ping_out && now_ns >= client->received_ns + K2I_CLIENT_PING_NS)
		ping_send(client, now_ns);
	if (now_ns < dead_at_ns(client))
		return;
	/* On a slow link the answer may wait behind much that is still on its way: if that moves, it is alive. */
	uint64_t unconfirmed_bytes = k2i_transport_unconfirmed_bytes(&client->transport);
	/* TLS makes more bytes of those that it takes, so the difference can sink. */
	uint64_t confirmed_bytes = client->written_bytes - unconfirmed_bytes;
	if (unconfirmed_bytes > 0 && (int64_t)(confirmed_bytes - client->confirmed_bytes) > 0) {
		client->confirmed_bytes = confirmed_bytes;
		client->expected_ns = now_ns;
		return;
	}
	k2i_client_disconnect(client, K2I_CLIENT_RETRY_SOON, now_ns, "no answer for %u s",
			      (unsigned)((now_ns - client->received_ns) / K2I_SECOND_NS));
}

void k2i_client_session_step(struct k2hft_client *client, uint64_t now_ns)
{
	k2i_client_certificate_look(client, now_ns);
	switch (client->state) {
	case K2HFT_CLIENT_WAITING:
		if (now_ns < client->retry_at_ns)
			return;
		if (client->address_next)
			address_try(client, -EADDRNOTAVAIL, now_ns);
		else
			connect_begin(client, now_ns);
		return;
	case K2HFT_CLIENT_CONNECTING:
		if (client->resolve)
			resolve_check(client, now_ns);
		else if (now_ns >= client->deadline_ns && client->securing)
			k2i_client_disconnect(client, K2I_CLIENT_RETRY_SOON, now_ns, "no TLS handshake for 10 s");
		else if (now_ns >= client->deadline_ns)
			address_try(client, -ETIMEDOUT, now_ns);
		return;
	case K2HFT_CLIENT_GREETING:
		if (now_ns >= client->deadline_ns)
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
		return client->retry_at_ns;
	if (client->state != K2HFT_CLIENT_CONNECTED)
		return client->deadline_ns;
	uint64_t deadline_ns = dead_at_ns(client);
	if (!client->ping_out)
		deadline_ns = earlier(deadline_ns, client->received_ns + K2I_CLIENT_PING_NS);
	if (client->pause == K2I_CLIENT_PAUSE_CLAIM || client->pause == K2I_CLIENT_PAUSE_HOLD ||
	    client->pause == K2I_CLIENT_PAUSE_MEMORY)
		deadline_ns = earlier(deadline_ns, client->pause_until_ns);
	return deadline_ns;
}

/* Says good-bye if that is possible at once. Of a ring that is left to nobody the receiver need not know any more. */
void k2i_client_bye(struct k2hft_client *client)
{
	struct k2hft_ping bye = {.token = client->options.flags & K2HFT_CLIENT_RING_ENDS ? client->acked : 0};
	uint8_t bytes[K2I_CLIENT_SHORT_ROOM];
	int count = k2hft_ping_encode(K2HFT_FRAME_BYE, &bye, bytes, sizeof(bytes));

	if (client->state == K2HFT_CLIENT_CONNECTED && client->output.frame_sent == 0 &&
	    client->output.control_sent == 0 && count > 0)
		(void)k2i_transport_write(&client->transport, &(struct iovec){bytes, (size_t)count}, 1);
	socket_close(client);
	addresses_free(client);
	resolve_drop(client);
	client->state = K2HFT_CLIENT_WAITING;
}
