/* SPDX-License-Identifier: MIT */
/* The end of a connection, and when the next one is tried. */
#include <errno.h>
#include <netdb.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/clock.h"
#include "client/state.h"

#define RETRY_FLOOR_NS UINT64_C(10000000)

#define FAILURE_PAUSE_MIN_NS UINT64_C(10000000000)
#define FAILURE_PAUSE_MAX_NS UINT64_C(600000000000)

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

uint64_t k2i_client_random(struct k2hft_client *client)
{
	/* xorshift64: spreads retries, nothing else. */
	client->failure.random ^= client->failure.random << 13;
	client->failure.random ^= client->failure.random >> 7;
	client->failure.random ^= client->failure.random << 17;
	return client->failure.random;
}

/* The same line every few seconds says nothing new, less and less the longer it goes on; another one does. */
static void failure_log(struct k2hft_client *client, uint64_t now_ns)
{
	bool same = strcmp(client->failure.logged, client->stats.last_error) == 0;

	if (same && now_ns < client->failure.log_ns)
		return;
	client->failure.pause_ns = same ? client->failure.pause_ns * 2 : FAILURE_PAUSE_MIN_NS;
	if (client->failure.pause_ns > FAILURE_PAUSE_MAX_NS)
		client->failure.pause_ns = FAILURE_PAUSE_MAX_NS;
	client->failure.log_ns = now_ns + client->failure.pause_ns;
	memcpy(client->failure.logged, client->stats.last_error, sizeof(client->failure.logged));
	client->failure.logged_last = true;
	k2i_log(K2HFT_LOG_WARNING, "client: %s: %s; trying again", client->dial.target->peer, client->stats.last_error);
}

/*
 * While records wait for an only receiver, pauses stop growing behind so many failures, at 0.4 s: when it is back, it gets
 * them soon. Lanes that search among several receivers would keep a processor busy with that.
 */
#define FAILURES_WAITED 3u

static uint64_t retry_pause_ns(struct k2hft_client *client, enum k2i_client_retry retry)
{
	uint32_t failures = client->failure.count;

	if (retry == K2I_CLIENT_RETRY_LATE)
		return K2I_CLIENT_RETRY_MAX_NS;
	if (failures > FAILURES_WAITED && !client->move.searching && k2i_ring_stats(client->ring).unacked_records)
		failures = FAILURES_WAITED;
	return k2i_client_backoff_ns(failures, k2i_client_random(client));
}

/*
 * No connection now; the next try is when it is time: at once if the name has an address that was not tried yet, since what
 * answered at this one need not be the receiver.
 */
void k2i_client_retry_schedule(struct k2hft_client *client, enum k2i_client_retry retry, uint64_t now_ns)
{
	bool more = client->state != K2HFT_CLIENT_CONNECTED && client->dial.address_next;
	bool owed = client->state == K2HFT_CLIENT_CONNECTED && client->life.expected_ns &&
		    k2i_client_answer_outstanding(client);

	k2i_client_unanswered(client, owed ? client->life.expected_ns : now_ns);
	if (client->state == K2HFT_CLIENT_CONNECTED) {
		if (now_ns - client->failure.connected_ns >= GOOD_CONNECTION_NS)
			client->failure.count = 0;
	} else {
		client->stats.connect_failures++;
	}
	client->failure.count++;
	k2i_client_socket_close(client);
	if (!more)
		k2i_dial_addresses_free(&client->dial);
	client->state = K2HFT_CLIENT_WAITING;
	uint64_t pause_ns = more ? 0 : retry_pause_ns(client, retry);
	client->failure.retry_at_ns = now_ns + pause_ns;
	client->failure.answered_wrong = more;
	if (more)
		return;
	/* Without a ring there is no other try, which was said. */
	if (!client->broken)
		failure_log(client, now_ns);
	k2i_client_search_on(client, pause_ns, now_ns);
}

void k2i_client_disconnect(struct k2hft_client *client, enum k2i_client_retry retry, uint64_t now_ns,
			   const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(client->stats.last_error, sizeof(client->stats.last_error), format, arguments);
	va_end(arguments);
	k2i_client_retry_schedule(client, retry, now_ns);
}

/* Only between frames; a peer that does not read gets no second try. */
static void last_word_send(struct k2hft_client *client, uint8_t *bytes, int count)
{
	if (client->output.frame_sent == 0 && client->output.control_sent == 0 && count > 0)
		(void)k2i_transport_write(&client->dial.transport, &(struct iovec){bytes, (size_t)count}, 1);
}

static void error_send(struct k2hft_client *client, uint16_t code, const char *text)
{
	struct k2hft_error_message error = {.code = code};
	uint8_t bytes[K2I_CLIENT_MESSAGE_ROOM];

	(void)snprintf(error.text, sizeof(error.text), "%s", text);
	last_word_send(client, bytes, k2hft_error_encode(&error, bytes, sizeof(bytes)));
}

void k2i_client_refuse(struct k2hft_client *client, uint16_t code, enum k2i_client_retry retry, uint64_t now_ns,
		       const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(client->stats.last_error, sizeof(client->stats.last_error), format, arguments);
	va_end(arguments);
	error_send(client, code, client->stats.last_error);
	k2i_client_retry_schedule(client, retry, now_ns);
}

/* Says good-bye if that is possible at once. The receiver need not know a ring any more that is left to nobody. */
void k2i_client_bye(struct k2hft_client *client)
{
	bool ends = client->options.flags & K2HFT_CLIENT_RING_ENDS && !k2i_client_name_old(client);
	struct k2hft_ping bye = {.token = ends ? client->positions.acked : 0};
	uint8_t bytes[K2I_CLIENT_SHORT_ROOM];

	if (client->state == K2HFT_CLIENT_CONNECTED)
		last_word_send(client, bytes, k2hft_ping_encode(K2HFT_FRAME_BYE, &bye, bytes, sizeof(bytes)));
	k2i_client_socket_close(client);
	k2i_dial_addresses_free(&client->dial);
	for (uint32_t at = 0; at < client->targets.count; at++) {
		k2i_resolve_drop(client->targets.list[at].resolve);
		client->targets.list[at].resolve = NULL;
	}
	client->state = K2HFT_CLIENT_WAITING;
}
