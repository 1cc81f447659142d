/* SPDX-License-Identifier: MIT */
/*
 * While the ring goes to another receiver: a second connection, that greets in turn each one that can be unsettled, and the
 * home, to which the ring returns. It carries no chunks. The home is left connected, and asked, until it has answered for
 * failover_ms; then nothing more is sent to the other, and when that has acknowledged everything the ring goes home.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/clock.h"
#include "base/uuid.h"
#include "client/state.h"

/* Before a receiver that is settled is greeted again, since another one can answer to its name by then. */
#define SETTLED_PAUSE_NS (60 * K2I_SECOND_NS)
#define ANSWER_NS (10 * K2I_SECOND_NS)
/* Behind so many failures in a row, which take half a minute, the pauses are longer: nobody waits for a receiver that is away. */
#define FAILURES_MANY 16u
#define LONGER 4u

static bool is_home(const struct k2hft_client *client, const struct k2i_target *target)
{
	return target == client->targets.list;
}

static bool target_wanted(const struct k2hft_client *client, const struct k2i_target *target)
{
	return target != client->dial.target && (is_home(client, target) || client->move.receivers.unsettled_count > 0);
}

/* NULL: none is greeted, whenever it were. */
static struct k2i_target *target_first(const struct k2hft_client *client)
{
	struct k2i_target *first = NULL;

	for (uint32_t at = 0; at < client->targets.count; at++) {
		struct k2i_target *target = &client->targets.list[at];

		if (target_wanted(client, target) && (!first || target->side_at_ns < first->side_at_ns))
			first = target;
	}
	return first;
}

static void side_end(struct k2hft_client *client, uint64_t pause_ns, uint64_t now_ns)
{
	struct k2i_client_side *side = &client->side;

	k2i_dial_close(&side->dial);
	k2i_dial_addresses_free(&side->dial);
	side->dial.target->side_at_ns = pause_ns == UINT64_MAX ? UINT64_MAX : now_ns + pause_ns;
	side->dial.target = NULL;
	side->state = K2HFT_CLIENT_WAITING;
}

static void side_fail(struct k2hft_client *client, const char *reason, uint64_t now_ns)
{
	struct k2i_target *target = client->side.dial.target;
	uint64_t pause_ns = k2i_client_backoff_ns(++target->side_failures, k2i_client_random(client));

	k2i_log_limited(&client->side.limit, now_ns, K2HFT_LOG_DEBUG, "client: %s: %s", target->peer, reason);
	side_end(client, target->side_failures > FAILURES_MANY ? LONGER * pause_ns : pause_ns, now_ns);
}

/* All of it or nothing: a receiver that does not take so little has other worries. */
static bool side_write(struct k2i_client_side *side, uint8_t *bytes, int count)
{
	struct iovec piece = {bytes, (size_t)count};

	return count > 0 && k2i_transport_write(&side->dial.transport, &piece, 1) == count &&
	       k2i_dial_watch(&side->dial,
			      k2i_transport_waiting(&side->dial.transport) ? EPOLLIN | EPOLLOUT : EPOLLIN) == 0;
}

static bool ping_write(struct k2i_client_side *side, uint8_t type, uint64_t token)
{
	struct k2hft_ping ping = {.token = token};
	uint8_t bytes[K2I_CLIENT_SHORT_ROOM];

	return side_write(side, bytes, k2hft_ping_encode(type, &ping, bytes, sizeof(bytes)));
}

static void side_bye(struct k2hft_client *client, uint64_t pause_ns, uint64_t now_ns)
{
	if (client->side.state == K2HFT_CLIENT_CONNECTED)
		(void)ping_write(&client->side, K2HFT_FRAME_BYE, 0);
	side_end(client, pause_ns, now_ns);
}

static void side_greet(struct k2hft_client *client, uint64_t now_ns)
{
	uint8_t bytes[K2I_CLIENT_MESSAGE_ROOM];
	struct k2i_client_side *side = &client->side;

	side->state = K2HFT_CLIENT_GREETING;
	side->input_bytes = 0;
	side->dial.deadline_ns = now_ns + ANSWER_NS;
	if (!side_write(side, bytes, k2i_client_hello_encode(client, bytes, sizeof(bytes))))
		side_fail(client, "no greeting", now_ns);
}

/* Two names of one receiver: its other connection was ended by this one. */
static void alias_found(struct k2hft_client *client, uint64_t now_ns)
{
	struct k2i_target *target = client->side.dial.target;

	side_end(client, UINT64_MAX, now_ns);
	k2i_log(K2HFT_LOG_INFO, "client: %s and %s are the same receiver", target->peer, client->dial.target->peer);
	k2i_client_target_go(client, is_home(client, target) ? target : client->dial.target, now_ns);
}

static void side_welcome(struct k2hft_client *client, const uint8_t *body, size_t body_bytes, uint64_t now_ns)
{
	struct k2i_client_side *side = &client->side;
	struct k2hft_welcome welcome;

	if (k2hft_welcome_decode(body, body_bytes, &welcome) < 0 || welcome.version != K2HFT_FRAME_VERSION ||
	    welcome.features) {
		side_fail(client, "WELCOME is not well formed", now_ns);
		return;
	}
	if (!k2i_client_settle(client, &welcome, side->dial.target->peer)) {
		side_fail(client, "it has not taken back what it was asked to", now_ns);
		return;
	}
	side->dial.target->side_failures = 0;
	if (memcmp(welcome.receiver_uuid, client->move.receivers.last, sizeof(welcome.receiver_uuid)) == 0) {
		alias_found(client, now_ns);
		return;
	}
	side->state = K2HFT_CLIENT_CONNECTED;
	side->welcomed_ns = side->asked_ns = now_ns;
	side->ping_out = false;
	if (!is_home(client, side->dial.target))
		side_bye(client, SETTLED_PAUSE_NS, now_ns);
}

static void side_ping(struct k2hft_client *client, uint8_t type, const uint8_t *body, size_t body_bytes,
		      uint64_t now_ns)
{
	struct k2hft_ping ping;

	if (k2hft_ping_decode(body, body_bytes, &ping) < 0)
		side_fail(client, "PING or PONG is not well formed", now_ns);
	else if (type == K2HFT_FRAME_PONG)
		client->side.ping_out = false;
	else if (!ping_write(&client->side, K2HFT_FRAME_PONG, ping.token))
		side_fail(client, "it asks and does not read", now_ns);
}

static void side_message(struct k2hft_client *client, uint8_t type, const uint8_t *body, size_t body_bytes,
			 uint64_t now_ns)
{
	bool connected = client->side.state == K2HFT_CLIENT_CONNECTED;

	if (type == K2HFT_FRAME_WELCOME && !connected)
		side_welcome(client, body, body_bytes, now_ns);
	else if (connected && (type == K2HFT_FRAME_PING || type == K2HFT_FRAME_PONG))
		side_ping(client, type, body, body_bytes, now_ns);
	else if (!connected || type != K2HFT_FRAME_ACK)
		side_fail(client, "it ended the connection", now_ns);
}

/* false: there is no whole frame, or it was the last. */
static bool side_frame(struct k2hft_client *client, uint64_t now_ns)
{
	struct k2i_client_side *side = &client->side;
	uint8_t *body = side->input + K2HFT_FRAME_HEADER_BYTES;
	struct k2hft_frame frame;
	int error = k2hft_frame_header_decode(side->input, side->input_bytes, K2HFT_MESSAGE_BYTES_MAX, &frame);
	size_t whole = K2HFT_FRAME_HEADER_BYTES + (error ? 0 : (size_t)frame.body_bytes);

	if (error == -EAGAIN || (error == 0 && side->input_bytes < whole))
		return false;
	if (error < 0 || k2hft_frame_verify(side->input, &frame, body) < 0) {
		side_fail(client, "what answers is no receiver", now_ns);
		return false;
	}
	side_message(client, frame.type, body, frame.body_bytes, now_ns);
	if (!side->dial.target)
		return false;
	side->input_bytes -= whole;
	memmove(side->input, side->input + whole, side->input_bytes);
	return true;
}

static void side_receive(struct k2hft_client *client, uint64_t now_ns)
{
	struct k2i_client_side *side = &client->side;

	do {
		ssize_t count = k2i_transport_read(&side->dial.transport, side->input + side->input_bytes,
						   sizeof(side->input) - side->input_bytes);

		if (count == -EAGAIN)
			return;
		if (count <= 0) {
			side_fail(client, "it closed the connection", now_ns);
			return;
		}
		side->input_bytes += (size_t)count;
		while (side_frame(client, now_ns))
			;
	} while (side->dial.target && k2i_transport_more(&side->dial.transport));
}

static void side_dialled(struct k2hft_client *client, int done, uint64_t now_ns)
{
	if (done == K2I_DIAL_READY)
		side_greet(client, now_ns);
	else if (done < 0)
		side_fail(client, client->side.dial.reason, now_ns);
}

void k2i_client_side_event(struct k2hft_client *client, uint32_t events, uint64_t now_ns)
{
	struct k2i_client_side *side = &client->side;

	if (side->state == K2HFT_CLIENT_CONNECTING) {
		side_dialled(client, k2i_dial_step(&side->dial, events, now_ns), now_ns);
		return;
	}
	int flushed = k2i_transport_flush(&side->dial.transport);
	if (flushed > 0)
		(void)k2i_dial_watch(&side->dial, EPOLLIN);
	side_receive(client, now_ns);
}

static void side_begin(struct k2hft_client *client, struct k2i_target *target, uint64_t now_ns)
{
	struct k2i_client_side *side = &client->side;

	side->dial.target = target;
	side->state = K2HFT_CLIENT_CONNECTING;
	side_dialled(client, k2i_dial_begin(&side->dial, now_ns), now_ns);
}

/* The home: it is asked as the other is, and has answered for long enough when it has for failover_ms. */
static void home_ask(struct k2hft_client *client, uint64_t now_ns)
{
	struct k2i_client_side *side = &client->side;
	uint64_t failover_ns = client->options.failover_ms * K2I_MILLISECOND_NS;

	if (side->ping_out && now_ns >= side->asked_ns + failover_ns) {
		side_fail(client, "no answer", now_ns);
	} else if (!side->ping_out && now_ns >= side->welcomed_ns + failover_ns) {
		client->move.returning = true;
	} else if (!side->ping_out && now_ns >= side->asked_ns + k2i_client_ping_ns(client)) {
		side->asked_ns = now_ns;
		side->ping_out = true;
		if (!ping_write(side, K2HFT_FRAME_PING, now_ns))
			side_fail(client, "it asks and does not read", now_ns);
	}
}

static void home_go(struct k2hft_client *client, uint64_t now_ns)
{
	k2i_log(K2HFT_LOG_INFO, "client: %s answers again: %s is left at position %" PRIu64,
		client->targets.list[0].peer, client->dial.target->peer, client->positions.acked);
	side_bye(client, 0, now_ns);
	k2i_client_bye(client);
	k2i_client_target_go(client, client->targets.list, now_ns);
	/* If it does not after all, the next one is tried at once. */
	client->move.searching = client->move.going_home = true;
}

/* It takes over no more. */
static void target_leave(struct k2hft_client *client, uint64_t now_ns)
{
	const char *before = client->dial.target->peer;

	k2i_client_bye(client);
	k2i_client_target_go(client, k2i_client_target_next(client), now_ns);
	client->move.searching = true;
	client->move.searched = 0;
	k2i_log(K2HFT_LOG_INFO, "client: %s takes over no more: it is left at position %" PRIu64 " for %s", before,
		client->positions.acked, client->dial.target->peer);
}

static void side_time(struct k2hft_client *client, uint64_t now_ns)
{
	struct k2i_client_side *side = &client->side;

	if (side->state == K2HFT_CLIENT_CONNECTING)
		side_dialled(client, k2i_dial_step(&side->dial, 0, now_ns), now_ns);
	else if (side->state == K2HFT_CLIENT_CONNECTED)
		home_ask(client, now_ns);
	else if (now_ns >= side->dial.deadline_ns)
		side_fail(client, "no WELCOME", now_ns);
}

/* The client is about to end: whoever is unsettled is greeted once more at once. */
static void side_hurry(struct k2hft_client *client)
{
	/* relaxed, both: the flag stands alone. */
	if (!atomic_load_explicit(&client->side.hurry, memory_order_relaxed))
		return;
	atomic_store_explicit(&client->side.hurry, false, memory_order_relaxed);
	for (uint32_t at = 0; at < client->targets.count; at++)
		client->targets.list[at].side_at_ns = 0;
}

void k2i_client_side_step(struct k2hft_client *client, uint64_t now_ns)
{
	struct k2i_client_side *side = &client->side;
	bool ready = client->state == K2HFT_CLIENT_CONNECTED && k2i_client_movable(client);

	if (side->dial.target && (!ready || !target_wanted(client, side->dial.target)))
		side_bye(client, 0, now_ns);
	client->move.returning = ready && (client->dial.target->gone ||
					   (client->move.returning && side->state == K2HFT_CLIENT_CONNECTED));
	if (!ready)
		return;
	if (side->dial.target) {
		side_time(client, now_ns);
	} else {
		side_hurry(client);
		struct k2i_target *first = target_first(client);
		if (first && now_ns >= first->side_at_ns)
			side_begin(client, first, now_ns);
	}
	if (!client->move.returning || k2i_client_answer_outstanding(client) || client->output.control_bytes)
		return;
	if (client->dial.target->gone)
		target_leave(client, now_ns);
	else
		home_go(client, now_ns);
}

uint64_t k2i_client_side_deadline(const struct k2hft_client *client)
{
	const struct k2i_client_side *side = &client->side;

	if (client->state != K2HFT_CLIENT_CONNECTED || !k2i_client_movable(client))
		return UINT64_MAX;
	if (!side->dial.target) {
		const struct k2i_target *first = target_first(client);

		return first ? first->side_at_ns : UINT64_MAX;
	}
	if (side->state != K2HFT_CLIENT_CONNECTED)
		return side->dial.deadline_ns;
	if (client->move.returning)
		return UINT64_MAX;
	return side->asked_ns +
	       (side->ping_out ? client->options.failover_ms * K2I_MILLISECOND_NS : k2i_client_ping_ns(client));
}

void k2i_client_side_end(struct k2hft_client *client)
{
	if (client->side.dial.target)
		side_bye(client, 0, 0);
}
