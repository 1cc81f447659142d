/* SPDX-License-Identifier: MIT */
/*
 * The turn, lent for one call to a producer that may never come again. Nothing can be left to its next call, so there is
 * always the thread: it stands by, that is, it sleeps for STANDBY_MS at most, and when the turn was not taken meanwhile
 * it goes on as ever. To wake it for each loan would cost what is to be saved.
 *
 * So commits need not wake it either, and a loan ends with k2i_consumer_stir. Who finds the thread not standing by, at
 * work or in its own wait, interrupts it: the wait's time-out and the ring's `sleeping` are older than the loan. All of
 * this is under the turn, so a loan's end either sees that the thread stands by, or is followed by its waking.
 */
#include <errno.h>
#include <poll.h>
#include <time.h>

#include "base/cancel.h"
#include "client/state.h"
#include "base/clock.h"
#include "ring/handle.h"

#define STANDBY_MS 2

/* What of the caller's thread a loan must leave as it was. */
struct kept {
	int error, cancel_state;
};

/* Whoever is cancelled in the middle would keep the turn for ever. */
static bool borrow(struct k2hft_client *client, struct kept *kept)
{
	kept->error = errno;
	kept->cancel_state = k2i_cancel_disable();
	if (k2i_client_turn_take(client, k2i_clock_ns(CLOCK_MONOTONIC)))
		return true;
	k2i_cancel_restore(kept->cancel_state);
	return false;
}

static void give_back(struct k2hft_client *client, const struct kept *kept)
{
	k2i_consumer_stir(client->ring);
	client->lent = true;
	/* relaxed: the thread stores true with the turn. */
	if (!atomic_load_explicit(&client->standby, memory_order_relaxed))
		k2i_client_interrupt(client);
	(void)pthread_mutex_unlock(&client->turn);
	k2i_cancel_restore(kept->cancel_state);
	errno = kept->error;
}

void k2i_client_turn_once(struct k2hft_client *client)
{
	struct kept kept;

	if (!borrow(client, &kept))
		return;
	(void)k2hft_client_process(client, k2i_clock_ns(CLOCK_MONOTONIC));
	give_back(client, &kept);
}

/*
 * poll(2), since epoll_wait(2) would end with EINTR after SIGSTOP and SIGCONT, too. -EBUSY: where a limit of descriptors
 * or a filter of system calls refuses it, the caller waits for the thread instead.
 */
static int events_wait(struct k2hft_client *client, uint64_t now_ns, uint64_t until_ns)
{
	struct pollfd events = {.fd = client->epoll, .events = POLLIN};
	uint64_t left_ms = (until_ns - now_ns) / K2I_MILLISECOND_NS + 1;
	int wait_ms = k2hft_client_timeout_ms(client, now_ns);

	if (wait_ms < 0 || (uint64_t)wait_ms > left_ms)
		wait_ms = (int)left_ms;
	if (poll(&events, 1, wait_ms) >= 0)
		return 0;
	return errno == EINTR ? -EINTR : -EBUSY;
}

static int room_wait(struct k2hft_client *client, int timeout_ms, uint64_t seen)
{
	uint64_t now_ns = k2i_clock_ns(CLOCK_MONOTONIC), until_ns = now_ns + (uint64_t)timeout_ms * K2I_MILLISECOND_NS;
	int status = 0;

	while (status == 0) {
		if (k2hft_client_process(client, now_ns) || !k2i_client_turn_suits(client, now_ns) ||
		    k2i_ring_free_bytes(client->ring) > seen || now_ns >= until_ns)
			return 0;
		status = events_wait(client, now_ns, until_ns);
		now_ns = k2i_clock_ns(CLOCK_MONOTONIC);
	}
	return status;
}

int k2i_client_room_wait(struct k2hft_client *client, int timeout_ms)
{
	uint64_t seen = k2i_full_seen(client->ring);
	struct kept kept;
	int status;

	if (!borrow(client, &kept))
		return -EBUSY;
	status = room_wait(client, timeout_ms, seen);
	give_back(client, &kept);
	return status;
}

void k2i_client_standby_end(struct k2hft_client *client)
{
	/* relaxed: it alone matters, and late is no worse than never, which STANDBY_MS allows for. */
	if (atomic_load_explicit(&client->standby, memory_order_relaxed) &&
	    atomic_exchange_explicit(&client->standby, false, memory_order_relaxed))
		k2i_client_interrupt(client);
}

void k2i_client_stand_by(struct k2hft_client *client)
{
	struct pollfd interrupt = {.fd = client->interrupt, .events = POLLIN};
	uint64_t turns_taken;
	int count;

	k2i_client_interrupted(client);
	/* relaxed, and below: read with the turn; k2i_client_standby_end needs no order. */
	atomic_store_explicit(&client->standby, true, memory_order_relaxed);
	do {
		turns_taken = client->turns_taken;
		(void)pthread_mutex_unlock(&client->turn);
		count = poll(&interrupt, 1, STANDBY_MS);
		(void)pthread_mutex_lock(&client->turn);
	} while (count == 0 && turns_taken != client->turns_taken);
	atomic_store_explicit(&client->standby, false, memory_order_relaxed);
	client->lent = false;
}
