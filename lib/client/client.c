/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/caller.h"
#include "base/clock.h"
#include "client/state.h"

int k2hft_client_descriptor(const struct k2hft_client *client)
{
	return client->wake.epoll;
}

int k2hft_client_timeout_ms(struct k2hft_client *client, uint64_t now_ns)
{
	if (client->broken)
		return -1;
	if (client->state == K2HFT_CLIENT_CONNECTED && client->data.pause == K2I_CLIENT_PAUSE_NONE)
		return 0;
	if (k2i_transport_more(&client->dial.transport))
		return 0;
	uint64_t deadline_ns = k2i_client_deadline(client), claims_due_ns = k2i_client_claims_due(client);
	if (deadline_ns > claims_due_ns)
		deadline_ns = claims_due_ns;
	if (deadline_ns <= now_ns)
		return 0;
	/* Up, so that it is not called again just before the time. */
	uint64_t wait_ms = (deadline_ns - now_ns + K2I_MILLISECOND_NS - 1) / K2I_MILLISECOND_NS;
	return wait_ms > INT_MAX ? INT_MAX : (int)wait_ms;
}

static void event_handle(struct k2hft_client *client, const struct epoll_event *event, uint64_t now_ns)
{
	if (event->data.fd == client->wake.interrupt)
		k2i_client_interrupted(client);
	else if (event->data.fd == client->dial.transport.descriptor)
		k2i_client_socket_event(client, event->events, now_ns);
	else if (event->data.fd == client->side.dial.transport.descriptor)
		k2i_client_side_event(client, event->events, now_ns);
	else
		k2hft_ring_awake(client->ring);
}

/* Before a wait, the descriptors are set to wake this thread for the events that it needs now, and for no others. */
static int wait_prepare(struct k2hft_client *client, uint64_t now_ns)
{
	if (client->state != K2HFT_CLIENT_GREETING && client->state != K2HFT_CLIENT_CONNECTED)
		return 0;
	int error = k2i_dial_watch(&client->dial, client->output.full ? EPOLLIN | EPOLLOUT : EPOLLIN);
	if (error < 0)
		k2i_client_disconnect(client, K2I_CLIENT_RETRY_SOON, now_ns, "%s", strerror(-error));
	return client->state == K2HFT_CLIENT_CONNECTED ? k2i_client_ring_sleep(client, now_ns) : 0;
}

static void ring_give_up(struct k2hft_client *client, uint64_t now_ns)
{
	k2i_log(K2HFT_LOG_ERROR, "client: the ring can't be used any more");
	client->broken = true;
	k2i_client_disconnect(client, K2I_CLIENT_RETRY_LATE, now_ns, "the ring can't be used any more");
}

int k2i_client_step(struct k2hft_client *client, const struct epoll_event *events, int event_count, uint64_t now_ns)
{
	int error = 0;

	if (client->broken)
		return -EIO;
	/* A thread that takes the lease can have read the clock before the thread that had it. */
	if (now_ns < client->step_ns)
		now_ns = client->step_ns;
	client->step_ns = now_ns;
	for (int index = 0; index < event_count; index++)
		event_handle(client, &events[index], now_ns);
	/* Bytes that are left in TLS make no event. */
	if (k2i_transport_more(&client->dial.transport))
		k2i_client_receive(client, now_ns);
	k2i_client_session_step(client, now_ns);
	if (client->state == K2HFT_CLIENT_GREETING || client->state == K2HFT_CLIENT_CONNECTED)
		error = k2i_client_send(client, now_ns);
	if (error == 0)
		error = wait_prepare(client, now_ns);
	k2i_client_claims_seal(client, now_ns);
	k2i_client_side_step(client, now_ns);
	if (error < 0)
		ring_give_up(client, now_ns);
	k2i_client_publish(client);
	return client->broken ? -EIO : 0;
}

int k2hft_client_process(struct k2hft_client *client, uint64_t now_ns)
{
	struct epoll_event events[K2I_CLIENT_EVENTS_MAX];
	/* A caller's thread that ended in the middle would leave a descriptor open, or bytes that went out uncounted. */
	K2I_CANCEL_DISABLED;
	K2I_ERRNO_KEPT;
	int count = epoll_wait(client->wake.epoll, events, K2I_CLIENT_EVENTS_MAX, 0);

	return k2i_client_step(client, events, count < 0 ? 0 : count, now_ns);
}
