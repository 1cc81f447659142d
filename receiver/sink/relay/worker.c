/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/condition.h"
#include "base/thread.h"
#include "receiver/sink/relay/internal.h"

/* A ring tells one who waits for room, not several, nor of acknowledgements. While somebody waits it is looked at so often. */
#define LOOK_NS UINT64_C(2000000)

/* With the lock, as all that are static here. */
static void waiters_look(struct k2i_relay *relay, uint64_t now_ns)
{
	uint64_t room = relay->waiter_count ? k2i_relay_lanes_free(relay) : 0;

	for (size_t at = relay->waiter_count; at-- > 0;) {
		struct k2i_relay_waiter waiter = relay->waiters[at];

		if (waiter.bytes > room || now_ns < waiter.since_ns)
			continue;
		relay->waiters[at] = relay->waiters[--relay->waiter_count];
		k2i_sink_ready(&relay->sink, waiter.owner);
	}
}

/* A lane that leaves is gone when all is acknowledged, or given up since others have copies. */
static uint64_t lane_acked(const struct k2i_relay *relay, const struct k2i_relay_lane *lane)
{
	if (lane->state == K2I_RELAY_LANE_TAKES)
		return k2i_ring_stats_get(lane->ring).head;
	return lane->state == K2I_RELAY_LANE_LEAVES && k2i_relay_lane_leaves(relay, lane) ? 0 : UINT64_MAX;
}

static void ways_look(struct k2i_relay *relay)
{
	struct k2i_relay_way **at = &relay->ways, *way;
	uint64_t acked[K2I_RELAY_LANES_MAX];

	for (uint32_t lane = 0; relay->ways && lane < K2I_RELAY_LANES_MAX; lane++)
		acked[lane] = lane_acked(relay, &relay->lanes[lane]);
	relay->last_way = &relay->ways;
	while ((way = *at) != NULL) {
		if (way->position > acked[way->lane]) {
			at = relay->last_way = &way->next;
			continue;
		}
		*at = way->next;
		k2i_pending_done(&relay->pending, way->group, 0);
		free(way);
	}
}

static void look_await(struct k2i_relay *relay)
{
	struct timespec until = k2i_timespec(k2i_clock_now_ns() + LOOK_NS);

	while (!relay->waiter_count && !relay->ways && !relay->stopping)
		(void)pthread_cond_wait(&relay->wake, &relay->wait_mutex);
	if (!relay->stopping)
		(void)pthread_cond_timedwait(&relay->wake, &relay->wait_mutex, &until);
}

static void *worker_run(void *argument)
{
	struct k2i_relay *relay = argument;

	(void)pthread_mutex_lock(&relay->wait_mutex);
	while (!relay->stopping) {
		look_await(relay);
		waiters_look(relay, k2i_clock_now_ns());
		ways_look(relay);
	}
	(void)pthread_mutex_unlock(&relay->wait_mutex);
	return NULL;
}

int k2i_relay_worker_start(struct k2i_relay *relay)
{
	int error = k2i_thread_start(&relay->thread, worker_run, relay);

	relay->started = !error;
	return error;
}

void k2i_relay_worker_stop(struct k2i_relay *relay)
{
	struct k2i_relay_way *way;

	(void)pthread_mutex_lock(&relay->wait_mutex);
	relay->stopping = true;
	(void)pthread_cond_signal(&relay->wake);
	(void)pthread_mutex_unlock(&relay->wait_mutex);
	if (relay->started)
		(void)pthread_join(relay->thread, NULL);
	relay->started = false;
	while ((way = relay->ways) != NULL) {
		relay->ways = way->next;
		k2i_pending_done(&relay->pending, way->group, -ECANCELED);
		free(way);
	}
	free(relay->waiters);
	relay->waiters = NULL;
	relay->waiter_count = 0;
}

int k2i_relay_wait(struct k2i_relay *relay, const struct k2i_relay_waiter *waiter)
{
	struct k2i_relay_waiter *larger;
	int error = 0;

	(void)pthread_mutex_lock(&relay->wait_mutex);
	if (relay->waiter_count == relay->waiter_room) {
		larger = reallocarray(relay->waiters, relay->waiter_room + 16, sizeof(*larger));
		error = larger ? 0 : -ENOMEM;
		relay->waiters = larger ? larger : relay->waiters;
		relay->waiter_room += larger ? 16 : 0;
	}
	if (!error)
		relay->waiters[relay->waiter_count++] = *waiter;
	(void)pthread_cond_signal(&relay->wake);
	(void)pthread_mutex_unlock(&relay->wait_mutex);
	return error;
}

void k2i_relay_way_add(struct k2i_relay *relay, struct k2i_relay_way *way)
{
	(void)pthread_mutex_lock(&relay->wait_mutex);
	way->next = NULL;
	*relay->last_way = way;
	relay->last_way = &way->next;
	(void)pthread_cond_signal(&relay->wake);
	(void)pthread_mutex_unlock(&relay->wait_mutex);
}
