/* SPDX-License-Identifier: MIT */
/* Shows other threads how the client stands, and wakes those that wait for acknowledgements. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/caller.h"
#include "base/clock.h"
#include "base/options.h"
#include "client/state.h"
#include "ring/ring.h"

/*
 * Up to where nothing is waiting or on its way; `*all`: nothing is in the ring. A claim that came to nothing leaves a
 * gap that no ACK names: the ring's own positions pass it, but only when they are read over.
 */
static uint64_t drained_position(struct k2hft_client *client, bool *all)
{
	bool connected = client->state == K2HFT_CLIENT_CONNECTED;
	bool all_acked =
		connected && client->sent.count == 0 && !client->output.frame && client->data.batch.span.bytes == 0;

	if (!connected && !client->broken) {
		struct k2hft_span unread; /* WELCOME places the ring anew, so nothing is lost by this */

		(void)k2hft_ring_rewind(client->ring, client->positions.acked);
		(void)k2hft_ring_read(client->ring, 1, 1, &unread, NULL);
	}
	struct k2hft_ring_stats stats = k2i_ring_stats(client->ring);
	uint64_t position = all_acked ? stats.read : stats.head;
	*all = position >= stats.tail;
	return position;
}

/* The counts since the last time go to the ring, where it stays when this process has ended. */
static void ring_tell(struct k2hft_client *client)
{
	const uint64_t *now = &client->stats.connects, *told = &client->published.stats.connects;

	for (unsigned at = 0; at < K2I_RING_COUNT_CLIENT_COUNT; at++)
		k2i_ring_count_at(client->ring, K2I_RING_COUNT_CLIENT + at, now[at] - told[at]);
}

void k2i_client_connection_tell(struct k2hft_client *client)
{
	struct k2i_ring_connection connection = {.state = client->state, .status = client->stats.status};

	(void)snprintf(connection.receiver, sizeof(connection.receiver), "%s", client->dial.target->peer);
	memcpy(connection.error, client->stats.last_error, sizeof(connection.error));
	k2i_ring_connection_set(client->ring, &connection);
}

/* For those who look at the ring from outside. */
static void connection_tell(struct k2hft_client *client)
{
	const struct k2hft_client_stats *now = &client->stats, *told = &client->published.stats;

	if (now->acked_ns != told->acked_ns)
		k2i_ring_connection_acked(client->ring, now->acked_ns);
	if (now->state != told->state || now->status != told->status || now->target != told->target ||
	    strcmp(now->last_error, told->last_error) != 0)
		k2i_client_connection_tell(client);
}

void k2i_client_publish(struct k2hft_client *client)
{
	/* This thread alone writes both. */
	ring_tell(client);
	client->stats.state = client->state;
	client->stats.acked = client->positions.acked;
	client->stats.window_end = client->positions.window_end;
	client->stats.target = (uint32_t)(client->dial.target - client->targets.list);
	client->stats.unsettled = client->move.receivers.unsettled_count;
	connection_tell(client);
	/* relaxed, and below: the flag stands alone, and is old as soon as it is read. */
	atomic_store_explicit(&client->published.connected, client->state == K2HFT_CLIENT_CONNECTED,
			      memory_order_relaxed);
	(void)pthread_mutex_lock(&client->published.lock);
	if (client->published.stats.unsettled != client->stats.unsettled)
		(void)pthread_cond_broadcast(&client->published.changed);
	client->published.stats = client->stats;
	if (client->published.drainers > 0) {
		bool all = false;
		uint64_t position = drained_position(client, &all);

		client->published.drained_all_count += all;
		if (client->published.drained_to < position || all || client->broken)
			(void)pthread_cond_broadcast(&client->published.changed);
		if (client->published.drained_to < position || client->broken)
			client->published.drained_to = position;
	}
	(void)pthread_mutex_unlock(&client->published.lock);
}

int k2hft_client_stats(struct k2hft_client *client, struct k2hft_client_stats *stats)
{
	struct k2hft_client_stats known;

	if (!client)
		return -EINVAL;
	(void)pthread_mutex_lock(&client->published.lock);
	known = client->published.stats;
	(void)pthread_mutex_unlock(&client->published.lock);
	return k2i_stats_copy(stats, &known, sizeof(known));
}

int k2hft_client_observe(const char *path, struct k2hft_client_stats *stats, char *receiver, size_t receiver_room)
{
	K2I_ERRNO_KEPT;
	struct k2hft_client_stats known = K2HFT_CLIENT_STATS_INIT;
	struct k2i_ring_connection connection;
	int error = path && stats && receiver && receiver_room ? 0 : -EINVAL;

	if (error == 0)
		error = k2i_ring_connection_observe(path, &connection, &known.acked_ns);
	if (error)
		return error;
	known.state = connection.state;
	known.status = connection.status;
	memcpy(known.last_error, connection.error, sizeof(known.last_error));
	(void)snprintf(receiver, receiver_room, "%s", connection.receiver);
	return k2i_stats_copy(stats, &known, sizeof(known));
}

void k2i_client_waits_end(struct k2hft_client *client)
{
	(void)pthread_mutex_lock(&client->published.lock);
	client->published.ended = true;
	(void)pthread_cond_broadcast(&client->published.changed);
	(void)pthread_mutex_unlock(&client->published.lock);
}

void k2i_client_fail(struct k2hft_client *client)
{
	client->broken = true;
	k2i_client_waits_end(client);
}

bool k2i_client_connected(const struct k2hft_client *client)
{
	return atomic_load_explicit(&client->published.connected, memory_order_relaxed);
}

bool k2i_client_failed(struct k2hft_client *client)
{
	bool failed;

	(void)pthread_mutex_lock(&client->published.lock);
	failed = client->published.ended;
	(void)pthread_mutex_unlock(&client->published.lock);
	return failed;
}

/* The target was the ring's tail, which goes back with claims that are given back, and then is never reached. */
static bool target_drained(const struct k2hft_client *client, uint64_t target, uint64_t all_count)
{
	return client->published.drained_to >= target || client->published.drained_all_count != all_count;
}

/* With the lock held. */
static int drain_wait(struct k2hft_client *client, uint64_t target, int timeout_ms)
{
	struct timespec deadline =
		k2i_timespec(k2i_clock_ns(CLOCK_MONOTONIC) + (timeout_ms < 0 ? 0 : (uint64_t)timeout_ms * 1000000));
	uint64_t all_count = client->published.drained_all_count;
	int error = 0;

	while (!target_drained(client, target, all_count) && error == 0) {
		if (client->published.ended)
			return -EIO;
		if (timeout_ms < 0)
			error = pthread_cond_wait(&client->published.changed, &client->published.lock);
		else
			error = pthread_cond_timedwait(&client->published.changed, &client->published.lock, &deadline);
	}
	return target_drained(client, target, all_count) ? 0 : -error;
}

static void drain_leave(void *argument)
{
	struct k2hft_client *client = argument;

	client->published.drainers--;
	(void)pthread_mutex_unlock(&client->published.lock);
}

int k2i_client_drained_wait(struct k2hft_client *client, uint64_t target, int timeout_ms)
{
	int error;

	(void)pthread_mutex_lock(&client->published.lock);
	client->published.drainers++;
	pthread_cleanup_push(drain_leave, client);
	/* The client's thread looks at the ring's positions only while somebody waits for them. */
	k2i_client_interrupt(client);
	error = drain_wait(client, target, timeout_ms);
	pthread_cleanup_pop(1);
	return error;
}

void k2i_client_settled_wait(struct k2hft_client *client, int timeout_ms)
{
	struct timespec until = k2i_timespec(k2i_clock_ns(CLOCK_MONOTONIC) + (uint64_t)timeout_ms * K2I_MILLISECOND_NS);
	int error = 0;

	/* acquire: as in k2hft_client_drain. */
	if (!(client->options.flags & K2HFT_CLIENT_RING_ENDS) ||
	    !atomic_load_explicit(&client->thread.runs, memory_order_acquire))
		return;
	/* relaxed: the flag stands alone. */
	atomic_store_explicit(&client->side.hurry, true, memory_order_relaxed);
	(void)pthread_mutex_lock(&client->published.lock);
	if (client->published.stats.unsettled > 0)
		k2i_client_interrupt(client);
	while (client->published.stats.unsettled > 0 && !client->published.ended && error == 0)
		error = pthread_cond_timedwait(&client->published.changed, &client->published.lock, &until);
	(void)pthread_mutex_unlock(&client->published.lock);
}
