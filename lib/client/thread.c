/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>

#include "base/caller.h"
#include "base/clock.h"
#include "base/thread.h"
#include "client/state.h"
#include "ring/ring.h"

/* A wait and the events that it brought. The caller holds `running`, which a lease can have during the wait. */
static int thread_step(struct k2hft_client *client)
{
	struct epoll_event events[K2I_CLIENT_EVENTS_MAX];
	uint64_t lease_count = client->lease.count;
	int wait_ms = k2hft_client_timeout_ms(client, k2i_clock_ns(CLOCK_MONOTONIC)), count, error;

	(void)pthread_mutex_unlock(&client->lease.running);
	count = epoll_wait(client->wake.epoll, events, K2I_CLIENT_EVENTS_MAX, wait_ms);
	error = count < 0 && errno != EINTR ? -errno : 0;
	(void)pthread_mutex_lock(&client->lease.running);
	/* Without an end it would ask on and on, and by numbers that are other files' by now. */
	if (error) {
		k2i_log(K2HFT_LOG_ERROR, "client: %s: the program has closed its descriptors, nothing is sent any more",
			strerror(-error));
		return error;
	}
	/* The events can be of a socket that is closed since. An event that still holds comes again. */
	if (count < 0 || lease_count != client->lease.count)
		count = 0;
	if (client->lease.yield_wanted)
		k2i_client_yield(client);
	return k2i_client_step(client, events, count, k2i_clock_ns(CLOCK_MONOTONIC));
}

static void *thread_main(void *argument)
{
	struct k2hft_client *client = argument;
	int error = 0;

	(void)pthread_setname_np(pthread_self(), "k2hft-client");
	(void)pthread_mutex_lock(&client->lease.running);
	while (error == 0 && !atomic_load_explicit(&client->thread.stop, memory_order_relaxed))
		error = thread_step(client);
	if (error < 0)
		k2i_client_fail(client);
	(void)pthread_mutex_unlock(&client->lease.running);
	return NULL;
}

int k2hft_client_thread_start(struct k2hft_client *client)
{
	K2I_ERRNO_KEPT;

	/* relaxed, both: nobody else asks yet. */
	if (atomic_load_explicit(&client->thread.runs, memory_order_relaxed))
		return -EALREADY;
	int error = k2i_thread_start(&client->thread.thread, thread_main, client);
	atomic_store_explicit(&client->thread.runs, error == 0, memory_order_relaxed);
	return error;
}

void k2i_client_thread_stop(struct k2hft_client *client)
{
	/* relaxed: only user_end of exit.c can have ended it on another thread, and the users' mutex lies between. */
	if (!atomic_load_explicit(&client->thread.runs, memory_order_relaxed))
		return;
	/* Relaxed: the flag stands alone, and the join orders all else. */
	atomic_store_explicit(&client->thread.stop, true, memory_order_relaxed);
	k2i_client_interrupt(client);
	(void)pthread_join(client->thread.thread, NULL);
	/* release: a drain that goes on meanwhile sees `ended` with it. */
	atomic_store_explicit(&client->thread.runs, false, memory_order_release);
}

int k2hft_client_drain(struct k2hft_client *client, int timeout_ms)
{
	struct k2hft_ring_stats stats = k2i_ring_stats(client->ring);

	/* acquire: pairs with the release of k2i_client_thread_stop. */
	if (!atomic_load_explicit(&client->thread.runs, memory_order_acquire) && !k2i_client_failed(client))
		return -EINVAL;
	return stats.head >= stats.tail ? 0 : k2i_client_drained_wait(client, stats.tail, timeout_ms);
}
