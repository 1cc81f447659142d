/* SPDX-License-Identifier: MIT */
/*
 * The client is run by one thread at a time, which has its mutex `running`: its own thread, or a producer's that leases
 * it. A lease is either kept by a producer with a loop (k2hft_lease_send), or is for one call by a writer that may
 * never come again.
 *
 * Nothing can be left to the next call of such a writer, so after it the client's thread yields: it sleeps for
 * YIELD_MS at most, and if no lease was taken meanwhile it goes on as ever. To wake it at the end of each such lease
 * would cost more time than the lease saves.
 *
 * Commits need not wake the thread while it yields, so each lease ends with k2i_consumer_sleep_end. If the thread
 * does not yield, because it is at work or in its own wait, the lease's end interrupts it: the time-out of that wait
 * and the ring's `sleeping` are older than the lease. `yields` changes with the mutex held, so the end of a lease
 * either sees that the thread yields, or its interrupt is seen by the thread.
 */
#include <errno.h>
#include <poll.h>
#include <time.h>

#include "base/caller.h"
#include "base/clock.h"
#include "client/state.h"
#include "ring/ring.h"

/* A producer that commits so much at once goes on doing so. Less is left to the thread: its frames have more chunks. */
#define LARGE_COMMIT_BYTES ((size_t)64 * 1024)
/* How long after a large commit the thread is to be there again. */
#define LEASE_IDLE_MS 2
#define YIELD_MS 2

/* TLS and compression are better done on a thread of their own, beside the producer's work. */
static bool lease_suits(const struct k2hft_client *client, uint64_t now_ns)
{
	return !client->dial.target->tls && client->state == K2HFT_CLIENT_CONNECTED &&
	       !k2i_link_compress(&client->link, client->options.compress, now_ns);
}

bool k2i_lease_take(struct k2hft_client *client, uint64_t now_ns)
{
	if (pthread_mutex_trylock(&client->lease.running))
		return false;
	if (!lease_suits(client, now_ns)) {
		(void)pthread_mutex_unlock(&client->lease.running);
		return false;
	}
	client->lease.count++;
	return true;
}

void k2i_lease_give(struct k2hft_client *client)
{
	/* The thread's wait is older than the lease: it looks anew. */
	client->lease.yield_wanted = false;
	k2i_client_interrupt(client);
	(void)pthread_mutex_unlock(&client->lease.running);
}

void k2hft_lease_committed(struct k2hft_lease *lease, size_t bytes, uint64_t now_ns)
{
	lease->large_ns = bytes >= LARGE_COMMIT_BYTES ? now_ns : 0;
}

static bool lease_hold(struct k2hft_lease *lease, uint64_t now_ns)
{
	if (lease->large_ns == 0 || now_ns - lease->large_ns > LEASE_IDLE_MS * K2I_MILLISECOND_NS)
		return false;
	if (lease->held)
		return lease_suits(lease->client, now_ns);
	lease->held = k2i_lease_take(lease->client, now_ns);
	return lease->held;
}

int k2hft_lease_send(struct k2hft_lease *lease, uint64_t now_ns)
{
	int wait_ms;

	if (!lease_hold(lease, now_ns) || k2hft_client_process(lease->client, now_ns)) {
		k2hft_lease_end(lease);
		return -1;
	}
	wait_ms = k2hft_client_timeout_ms(lease->client, now_ns);
	return wait_ms >= 0 && wait_ms < LEASE_IDLE_MS ? wait_ms : LEASE_IDLE_MS;
}

int k2hft_lease_descriptor(const struct k2hft_lease *lease)
{
	return lease->held ? k2hft_client_descriptor(lease->client) : -1;
}

void k2hft_lease_waited(const struct k2hft_lease *lease)
{
	if (lease->held)
		k2i_consumer_sleep_end(lease->client->ring);
}

void k2hft_lease_end(struct k2hft_lease *lease)
{
	if (lease->held)
		k2i_lease_give(lease->client);
	lease->held = false;
}

/* The end of a lease for one call. */
static void once_give(struct k2hft_client *client)
{
	k2i_consumer_sleep_end(client->ring);
	client->lease.yield_wanted = true;
	/* relaxed: the thread stores true with the mutex held. */
	if (!atomic_load_explicit(&client->lease.yields, memory_order_relaxed))
		k2i_client_interrupt(client);
	(void)pthread_mutex_unlock(&client->lease.running);
}

void k2i_client_send_once(struct k2hft_client *client)
{
	uint64_t now_ns = k2i_clock_now_ns();
	/* A thread that is cancelled in the middle would keep the lease for ever. */
	K2I_CANCEL_DISABLED;
	K2I_ERRNO_KEPT;

	if (!k2i_lease_take(client, now_ns))
		return;
	(void)k2hft_client_process(client, now_ns);
	once_give(client);
}

/*
 * poll(2), since epoll_wait(2) would end with EINTR after SIGSTOP and SIGCONT, too. -EBUSY: where a limit of descriptors
 * or a filter of system calls refuses it, the caller waits for the thread instead.
 */
static int events_wait(struct k2hft_client *client, uint64_t now_ns, uint64_t until_ns)
{
	struct pollfd events = {.fd = client->wake.epoll, .events = POLLIN};
	uint64_t left_ms = (until_ns - now_ns) / K2I_MILLISECOND_NS + 1;
	int wait_ms = k2hft_client_timeout_ms(client, now_ns);

	if (wait_ms < 0 || (uint64_t)wait_ms > left_ms)
		wait_ms = (int)left_ms;
	if (poll(&events, 1, wait_ms) >= 0)
		return 0;
	return errno == EINTR ? -EINTR : -EBUSY;
}

static int room_wait(struct k2hft_client *client, size_t bytes, int timeout_ms)
{
	uint64_t now_ns = k2i_clock_ns(CLOCK_MONOTONIC), until_ns = now_ns + (uint64_t)timeout_ms * K2I_MILLISECOND_NS;
	int status = 0;

	while (status == 0) {
		if (k2hft_client_process(client, now_ns) || !lease_suits(client, now_ns) ||
		    k2i_ring_room(client->ring, bytes) || now_ns >= until_ns)
			return 0;
		status = events_wait(client, now_ns, until_ns);
		now_ns = k2i_clock_ns(CLOCK_MONOTONIC);
	}
	return status;
}

int k2i_client_room_wait(struct k2hft_client *client, size_t bytes, int timeout_ms)
{
	int status;
	/* As above. */
	K2I_CANCEL_DISABLED;
	K2I_ERRNO_KEPT;

	if (!k2i_lease_take(client, k2i_clock_now_ns()))
		return -EBUSY;
	status = room_wait(client, bytes, timeout_ms);
	once_give(client);
	return status;
}

void k2i_client_yield_end(struct k2hft_client *client)
{
	/* relaxed: the flag orders nothing, and if it is missed the thread goes on after YIELD_MS all the same. */
	if (atomic_load_explicit(&client->lease.yields, memory_order_relaxed) &&
	    atomic_exchange_explicit(&client->lease.yields, false, memory_order_relaxed))
		k2i_client_interrupt(client);
}

void k2i_client_yield(struct k2hft_client *client)
{
	struct pollfd interrupt = {.fd = client->wake.interrupt, .events = POLLIN};
	uint64_t lease_count;
	int count;

	k2i_client_interrupted(client);
	/* relaxed, and below: read with the mutex held; k2i_client_yield_end needs no order. */
	atomic_store_explicit(&client->lease.yields, true, memory_order_relaxed);
	do {
		lease_count = client->lease.count;
		(void)pthread_mutex_unlock(&client->lease.running);
		count = poll(&interrupt, 1, YIELD_MS);
		(void)pthread_mutex_lock(&client->lease.running);
	} while (count == 0 && lease_count != client->lease.count);
	atomic_store_explicit(&client->lease.yields, false, memory_order_relaxed);
	client->lease.yield_wanted = false;
}
