/* SPDX-License-Identifier: MIT */
#include <unistd.h>

#include "base/clock.h"
#include "client/state.h"
#include "ring/ring.h"

/*
 * OpenSSL takes itself apart when a program that has begun to use it before this library ends, and waits for no thread:
 * clients that have one must be done with it then.
 */
#define END_WAIT_NS (2 * K2I_SECOND_NS) /* all together, for what was written until then */

static pthread_mutex_t users_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct k2hft_client *users;

static void users_lock(void)
{
	(void)pthread_mutex_lock(&users_mutex);
}

static void users_unlock(void)
{
	(void)pthread_mutex_unlock(&users_mutex);
}

/*
 * A child of fork(2) has neither the threads nor a say in the connections. Its pid need not tell: it is that of its parent if
 * both are the first of their namespaces.
 */
static void users_forget(void)
{
	users = NULL;
	users_unlock();
}

static void user_end(struct k2hft_client *client, uint64_t deadline_ns)
{
	struct k2hft_client_stats stats = {.size = sizeof(stats)};
	uint64_t now_ns = k2i_clock_ns(CLOCK_MONOTONIC);
	int left_ms = now_ns < deadline_ns ? (int)((deadline_ns - now_ns) / K2I_MILLISECOND_NS) : 0;

	/*
	 * A child of clone(2) has forgotten nothing, so the ring compares pids. relaxed: the thread that ends the
	 * program starts no other.
	 */
	if (!atomic_load_explicit(&client->thread.runs, memory_order_relaxed) || !k2i_ring_own(client->ring))
		return;
	if (k2hft_client_stats(client, &stats) == 0 && stats.state == K2HFT_CLIENT_CONNECTED)
		(void)k2hft_client_drain(client, left_ms);
	k2i_client_waits_end(client);
	k2i_client_thread_stop(client);
	k2i_client_bye(client);
	k2i_client_tls_end(client->targets.tls);
	k2i_client_fail(client);
}

static void users_end(void)
{
	uint64_t deadline_ns = k2i_clock_ns(CLOCK_MONOTONIC) + END_WAIT_NS;

	users_lock();
	for (; users; users = users->exit_next)
		user_end(users, deadline_ns);
	users_unlock();
}

static void users_prepare(void)
{
	(void)pthread_atfork(users_lock, users_unlock, users_forget);
	k2i_tls_at_end(users_end);
}

void k2i_client_exit_add(struct k2hft_client *client)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	(void)pthread_once(&once, users_prepare);
	users_lock();
	client->exit_next = users;
	users = client;
	users_unlock();
}

void k2i_client_exit_remove(struct k2hft_client *client)
{
	struct k2hft_client **place = &users;

	users_lock();
	while (*place && *place != client)
		place = &(*place)->exit_next;
	if (*place)
		*place = client->exit_next;
	users_unlock();
}
