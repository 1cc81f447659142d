/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/bits.h"
#include "base/clock.h"
#include "client/state.h"

static void greeting_begin(struct k2hft_client *client, uint64_t now_ns)
{
	client->state = K2HFT_CLIENT_GREETING;
	client->dial.deadline_ns = now_ns + K2I_CLIENT_HANDSHAKE_NS;
	client->link = (struct k2i_link){0};
	k2i_client_streams_reset(&client->streams);
	int error = k2i_client_hello_send(client);
	if (error == 0)
		error = k2i_dial_watch(&client->dial, EPOLLIN);
	if (error < 0)
		k2i_client_disconnect(client, K2I_CLIENT_RETRY_LATE, now_ns, "no greeting: %s", strerror(-error));
}

/* With what `done`, of the dial, leads to. */
static void dial_go_on(struct k2hft_client *client, int done, uint64_t now_ns)
{
	if (done == K2I_DIAL_READY) {
		greeting_begin(client, now_ns);
		/* Bytes that came with the end of a handshake make no event. */
		if (client->state == K2HFT_CLIENT_GREETING && client->dial.transport.tls)
			k2i_client_receive(client, now_ns);
	} else if (done == K2I_DIAL_NOBODY && client->failure.answered_wrong) {
		/* An error of another address tells more than that nobody is at this one. */
		k2i_client_retry_schedule(client, K2I_CLIENT_RETRY_SOON, now_ns);
	} else if (done < 0) {
		k2i_client_disconnect(client, K2I_CLIENT_RETRY_SOON, now_ns, "%s", client->dial.reason);
	}
}

static void connect_begin(struct k2hft_client *client, uint64_t now_ns)
{
	k2i_client_unanswered(client, now_ns);
	client->state = K2HFT_CLIENT_CONNECTING;
	client->targets.look_ns = 0;
	dial_go_on(client, k2i_dial_begin(&client->dial, now_ns), now_ns);
}

void k2i_client_socket_event(struct k2hft_client *client, uint32_t events, uint64_t now_ns)
{
	if (client->state == K2HFT_CLIENT_CONNECTING)
		dial_go_on(client, k2i_dial_step(&client->dial, events, now_ns), now_ns);
	else if (client->state != K2HFT_CLIENT_WAITING && events & (EPOLLIN | EPOLLERR | EPOLLHUP))
		k2i_client_receive(client, now_ns);
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

/*
 * Both: no byte for long, and time enough for an answer, as this process may have been stopped in between. With others that
 * can take over: for so long as they may not have to wait.
 */
static uint64_t dead_at_ns(const struct k2hft_client *client)
{
	uint64_t silent_ns = client->life.received_ns + K2I_CLIENT_DEAD_NS;
	uint64_t answer_ns = client->life.expected_ns + (K2I_CLIENT_DEAD_NS - K2I_CLIENT_PING_NS);

	if (client->life.expected_ns == 0 || !k2i_client_answer_outstanding(client))
		return UINT64_MAX;
	if (k2i_client_movable(client))
		return client->life.expected_ns + k2i_client_patience_ns(client);
	return silent_ns > answer_ns ? silent_ns : answer_ns;
}

/*
 * When it is looked at what is still on its way, which tells a slow link from a receiver that was stopped: its host takes
 * bytes for a while, but those that were sent in the first half of the time have come there by its end.
 */
static uint64_t sample_at_ns(const struct k2hft_client *client)
{
	if (!k2i_client_movable(client) || client->life.expected_ns == 0 ||
	    client->life.sampled_ns == client->life.expected_ns)
		return UINT64_MAX;
	return client->life.expected_ns + k2i_client_patience_ns(client) / 2;
}

/* TLS makes more bytes of those that it takes, so the difference can sink. */
static uint64_t confirmed_now(const struct k2hft_client *client)
{
	return client->life.written_bytes - k2i_transport_unconfirmed_bytes(&client->dial.transport);
}

static void sample_take(struct k2hft_client *client)
{
	client->life.sampled_ns = client->life.expected_ns;
	client->life.sampled_bytes = client->life.written_bytes;
	client->life.confirmed_bytes = confirmed_now(client);
}

/* On a slow link the answer may wait behind much that is still on its way: if that moves, it is alive. */
static bool link_moves(struct k2hft_client *client)
{
	uint64_t confirmed_bytes = confirmed_now(client);
	uint64_t to = k2i_client_movable(client) ? client->life.sampled_bytes : client->life.written_bytes;

	if ((int64_t)(confirmed_bytes - client->life.confirmed_bytes) <= 0 || (int64_t)(to - confirmed_bytes) <= 0)
		return false;
	client->life.confirmed_bytes = confirmed_bytes;
	return true;
}

/* A receiver that owes nothing is asked seldom, however soon another one takes over: 64 of them would keep a sender awake. */
static uint64_t ping_at_ns(const struct k2hft_client *client)
{
	uint64_t since_ns = client->life.received_ns;

	if (client->life.ping_out)
		return UINT64_MAX;
	if (client->life.expected_ns == 0 || !k2i_client_answer_outstanding(client))
		return since_ns + K2I_CLIENT_PING_NS;
	if (since_ns < client->life.expected_ns)
		since_ns = client->life.expected_ns;
	return since_ns + k2i_client_ping_ns(client);
}

static void life_check(struct k2hft_client *client, uint64_t now_ns)
{
	if (now_ns >= ping_at_ns(client))
		ping_send(client, now_ns);
	if (client->state != K2HFT_CLIENT_CONNECTED)
		return;
	if (now_ns >= sample_at_ns(client))
		sample_take(client);
	if (now_ns < dead_at_ns(client))
		return;
	/* An answer may be there that no event told of: this process had no turn, or a signal ended its wait. */
	k2i_client_receive(client, now_ns);
	if (client->state != K2HFT_CLIENT_CONNECTED || now_ns < dead_at_ns(client))
		return;
	if (link_moves(client)) {
		client->life.expected_ns = now_ns;
		return;
	}
	if (k2i_client_movable(client))
		k2i_client_disconnect(client, K2I_CLIENT_RETRY_SOON, now_ns, "no answer for %" PRIu64 " ms",
				      (now_ns - client->life.expected_ns) / K2I_MILLISECOND_NS);
	else
		k2i_client_disconnect(client, K2I_CLIENT_RETRY_SOON, now_ns, "no answer for %u s",
				      (unsigned)((now_ns - client->life.received_ns) / K2I_SECOND_NS));
}

void k2i_client_session_step(struct k2hft_client *client, uint64_t now_ns)
{
	k2i_client_certificate_look(client, now_ns);
	if (now_ns >= k2i_client_failover_at(client))
		k2i_client_failover(client, now_ns);
	switch (client->state) {
	case K2HFT_CLIENT_WAITING:
		if (now_ns >= client->failure.retry_at_ns)
			connect_begin(client, now_ns);
		return;
	case K2HFT_CLIENT_CONNECTING:
		dial_go_on(client, k2i_dial_step(&client->dial, 0, now_ns), now_ns);
		return;
	case K2HFT_CLIENT_GREETING:
		if (now_ns >= client->dial.deadline_ns)
			k2i_client_disconnect(client, K2I_CLIENT_RETRY_SOON, now_ns, "no WELCOME for 10 s");
		return;
	case K2HFT_CLIENT_CONNECTED:
		life_check(client, now_ns);
		return;
	}
}

uint64_t k2i_client_deadline(const struct k2hft_client *client)
{
	if (client->state == K2HFT_CLIENT_WAITING)
		return k2i_least(client->failure.retry_at_ns, k2i_client_failover_at(client));
	if (client->state != K2HFT_CLIENT_CONNECTED)
		return k2i_least(client->dial.deadline_ns, k2i_client_failover_at(client));
	uint64_t deadline_ns = k2i_least(dead_at_ns(client), k2i_client_side_deadline(client));
	deadline_ns = k2i_least(deadline_ns, sample_at_ns(client));
	deadline_ns = k2i_least(deadline_ns, ping_at_ns(client));
	if (client->data.pause == K2I_CLIENT_PAUSE_CLAIM || client->data.pause == K2I_CLIENT_PAUSE_GATHER ||
	    client->data.pause == K2I_CLIENT_PAUSE_MEMORY)
		deadline_ns = k2i_least(deadline_ns, client->data.pause_until_ns);
	return deadline_ns;
}
