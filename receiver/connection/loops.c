/* SPDX-License-Identifier: MIT */
#include "receiver/connection/loops.h"

#include <errno.h>
#include <netdb.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include <event2/event.h>

#include "base/clock.h"
#include "receiver/connection/connection.h"
#include "receiver/commit/syncer.h"
#include "base/thread.h"

/* At the end: so long sinks have to store what they have taken, and then peers to take their last answers. */
#define STORE_NS UINT64_C(3000000000)
#define STOP_NS UINT64_C(3000000000)
#define TICK_NS UINT64_C(1000000000)
#define STARVED_TICK_US 200000

struct message { /* for a loop, from any thread */
	struct message *next;
	void (*deed)(struct k2i_connection *connection); /* for that with this id, if it is still there */
	uint64_t id;
	bool stop; /* without a deed: the loop ends; or has other limits; else a connection begins */
	const struct k2i_loops_limits *limits; /* behind the message */
	int descriptor;                        /* -1: none */
	bool crowded;                          /* one too many */
	char peer[K2I_PEER_BYTES_MAX];
};

struct loop_whole { /* the whole of a struct k2i_loop */
	struct k2i_loop loop;
	pthread_t thread;
	bool started;
	struct message *stop; /* made beforehand: the end must not need memory */
	atomic_bool synced;   /* since it was woken */
	int wake;
	struct event *woken, *tick;
	uint64_t part_ns, stop_ns;
	atomic_uint_fast64_t ticked_ns;
	uint64_t watched; /* the loop's wait_count, as k2i_loops_watch saw it last */
	bool slow;        /* it has not moved between the last two */
	/* Guards what follows. */
	pthread_mutex_t mutex;
	struct message *first, **last;
	struct k2i_sink_report *first_report, **last_report;
};

struct k2i_loops {
	struct k2i_service *service;
	unsigned loop_count, next;
	struct loop_whole *loops;
};

/* Messages ------------------------------------------------------------------------------------------------------- */

static void loop_wake(struct loop_whole *whole)
{
	uint64_t one = 1;

	/* It can't fail but when the counter is at its end: then the loop has been woken already. */
	(void)!write(whole->wake, &one, sizeof(one));
}

static void message_post(struct loop_whole *whole, struct message *message)
{
	message->next = NULL;
	(void)pthread_mutex_lock(&whole->mutex);
	*whole->last = message;
	whole->last = &message->next;
	(void)pthread_mutex_unlock(&whole->mutex);
	loop_wake(whole);
}

void k2i_loops_stored(struct k2i_sink_report *report)
{
	struct loop_whole *whole = report->owner.place;

	report->next = NULL;
	(void)pthread_mutex_lock(&whole->mutex);
	*whole->last_report = report;
	whole->last_report = &report->next;
	(void)pthread_mutex_unlock(&whole->mutex);
	loop_wake(whole);
}

/* After each round of the syncer, from its thread. */
static void loops_synced(void *argument)
{
	struct k2i_loops *loops = argument;
	unsigned i;

	for (i = 0; i < loops->loop_count; i++) {
		atomic_store(&loops->loops[i].synced, true);
		loop_wake(&loops->loops[i]);
	}
}

/* Each can be gone afterwards. */
static void connections_each(struct loop_whole *whole, void (*each)(struct k2i_connection *connection))
{
	struct k2i_connection *connection, *next;

	for (connection = k2i_connection_next(&whole->loop, NULL); connection; connection = next) {
		next = k2i_connection_next(&whole->loop, connection);
		each(connection);
	}
}

/* All that is there for the loop. */
static void posted_take(struct loop_whole *whole, struct message **message, struct k2i_sink_report **report)
{
	(void)pthread_mutex_lock(&whole->mutex);
	*message = whole->first;
	whole->first = NULL;
	whole->last = &whole->first;
	*report = whole->first_report;
	whole->first_report = NULL;
	whole->last_report = &whole->first_report;
	(void)pthread_mutex_unlock(&whole->mutex);
}

static void reports_handle(struct loop_whole *whole, struct k2i_sink_report *report)
{
	struct k2i_connection *connection;
	struct k2i_sink_report *next;

	for (; report; report = next) {
		next = report->next;
		connection = k2i_connection_find(&whole->loop, report->owner.id);
		if (connection)
			k2i_connection_stored(connection, report);
		free(report);
	}
}

/* Parts with those that wait for nothing any more: sinks can still be storing what they have taken. */
static void connection_part(struct k2i_connection *connection)
{
	if (!k2i_connection_waits(connection))
		k2i_connection_bye(connection);
}

static void loop_stop(struct loop_whole *whole)
{
	whole->loop.stopping = true;
	whole->part_ns = k2i_clock_now_ns() + STORE_NS;
	whole->stop_ns = whole->part_ns + STOP_NS;
	connections_each(whole, k2i_connection_finish);
	connections_each(whole, connection_part);
}

static void limits_set(struct k2i_session_shared *shared, const struct k2i_loops_limits *limits)
{
	shared->window_bytes = limits->window_bytes;
	shared->frame_bytes_max = limits->frame_bytes_max;
	shared->host_connections_max = limits->host_connections_max;
	shared->sync_always = limits->sync_always;
}

static void message_handle(struct loop_whole *whole, const struct message *message)
{
	struct k2i_connection *connection = message->deed ? k2i_connection_find(&whole->loop, message->id) : NULL;

	if (connection)
		message->deed(connection);
	else if (message->stop)
		loop_stop(whole);
	else if (message->limits)
		limits_set(&whole->loop.shared, message->limits);
	else if (!message->deed)
		k2i_connection_start(&whole->loop, message->descriptor, message->peer, message->crowded);
}

static void stop_check(struct loop_whole *whole)
{
	uint64_t now_ns = k2i_clock_now_ns();

	if (whole->loop.stopping)
		connections_each(whole, now_ns < whole->part_ns ? connection_part : k2i_connection_bye);
	if (whole->loop.stopping && (!whole->loop.connections.oldest || now_ns >= whole->stop_ns))
		(void)event_base_loopbreak(whole->loop.base);
}

static void on_wake(evutil_socket_t descriptor, short what, void *argument)
{
	struct loop_whole *whole = argument;
	struct message *message, *next;
	struct k2i_sink_report *report;
	uint64_t count;

	(void)what;
	if (read(descriptor, &count, sizeof(count)) < 0)
		return;
	posted_take(whole, &message, &report);
	for (; message; message = next) {
		next = message->next;
		message_handle(whole, message);
		free(message);
	}
	reports_handle(whole, report);
	if (atomic_exchange(&whole->synced, false))
		connections_each(whole, k2i_connection_synced);
	stop_check(whole);
}

/* Starved connections are tried sooner. */
static int tick_add(struct loop_whole *whole)
{
	struct timeval starved = {0, STARVED_TICK_US}, second = {1, 0};

	return event_add(whole->tick, atomic_load(&whole->loop.service->budget.starved) > 0 ? &starved : &second);
}

static void on_tick(evutil_socket_t descriptor, short what, void *argument)
{
	struct loop_whole *whole = argument;
	struct k2i_connection *connection, *next;
	uint64_t now_ns = k2i_clock_now_ns(), late_ns = 0;

	(void)descriptor;
	(void)what;
	/* A disk that does not answer stops the loop in the middle of a write. */
	if (now_ns > whole->ticked_ns + 2 * TICK_NS)
		late_ns = now_ns - whole->ticked_ns - TICK_NS;
	whole->ticked_ns = now_ns;
	for (connection = k2i_connection_next(&whole->loop, NULL); connection; connection = next) {
		next = k2i_connection_next(&whole->loop, connection);
		k2i_connection_tick(connection, now_ns, late_ns);
	}
	k2i_buffer_pool_tick(&whole->loop.buffers);
	(void)tick_add(whole);
	stop_check(whole);
}

static void owner_post(struct k2i_owner owner, void (*deed)(struct k2i_connection *connection))
{
	struct message *message = calloc(1, sizeof(*message));

	/* Without it the connection finds out by itself: it can't commit any more, times out, or tries again. */
	if (!message)
		return;
	message->deed = deed;
	message->id = owner.id;
	message->descriptor = -1;
	message_post(owner.place, message);
}

void k2i_loops_fence(struct k2i_owner owner)
{
	owner_post(owner, k2i_connection_fence);
}

void k2i_loops_ready(struct k2i_owner owner)
{
	owner_post(owner, k2i_connection_ready);
}

void k2i_loops_admit(struct k2i_owner owner)
{
	owner_post(owner, k2i_connection_admit);
}

/* Threads -------------------------------------------------------------------------------------------------------- */

static void *loop_run(void *argument)
{
	struct loop_whole *whole = argument;

	(void)pthread_mutex_lock(&whole->loop.shared.serving);
	(void)event_base_dispatch(whole->loop.base);
	while (whole->loop.connections.oldest)
		k2i_connection_free(k2i_connection_next(&whole->loop, NULL));
	(void)pthread_mutex_unlock(&whole->loop.shared.serving);
	return NULL;
}

static int loop_events(struct loop_whole *whole)
{
	whole->loop.base = event_base_new();
	if (!whole->loop.base)
		return -ENOMEM;
	whole->woken = event_new(whole->loop.base, whole->wake, EV_READ | EV_PERSIST, on_wake, whole);
	whole->tick = event_new(whole->loop.base, -1, 0, on_tick, whole);
	if (!whole->woken || !whole->tick || event_add(whole->woken, NULL) || tick_add(whole))
		return -ENOMEM;
	return 0;
}

static int loop_start(struct loop_whole *whole, struct k2i_service *service)
{
	int error;

	(void)pthread_mutex_init(&whole->mutex, NULL);
	(void)pthread_mutex_init(&whole->loop.shared.serving, NULL);
	whole->last = &whole->first;
	whole->last_report = &whole->first_report;
	whole->loop.service = service;
	k2i_buffer_pool_start(&whole->loop.buffers, &service->budget);
	whole->loop.shared.rings = service->rings;
	whole->loop.shared.committer = &whole->loop.committer;
	whole->loop.shared.syncer = service->syncer;
	whole->loop.shared.streams = &service->streams;
	whole->loop.shared.peers = &service->peers;
	whole->loop.shared.host_connections_max = service->host_connections_max;
	whole->loop.shared.sync_always = service->sync_always;
	whole->loop.shared.counters = service->counters;
	whole->loop.shared.receiver_uuid = service->receiver_uuid;
	whole->loop.shared.window_bytes = service->window_bytes;
	whole->loop.shared.frame_bytes_max = service->frame_bytes_max;
	error = k2i_committer_start(&whole->loop.committer, service->destination);
	if (error)
		return error;
	whole->stop = calloc(1, sizeof(*whole->stop));
	if (!whole->stop)
		return -ENOMEM;
	whole->stop->stop = true;
	whole->stop->descriptor = -1;
	whole->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (whole->wake < 0)
		return -errno;
	error = loop_events(whole);
	/* It can hang before its first tick. */
	whole->ticked_ns = k2i_clock_now_ns();
	if (!error)
		error = k2i_thread_start(&whole->thread, loop_run, whole);
	whole->started = !error;
	return error;
}

static void loop_free(struct loop_whole *whole)
{
	struct message *message, *next;
	struct k2i_sink_report *report;

	posted_take(whole, &message, &report);
	for (; message; message = next) {
		next = message->next;
		if (message->descriptor >= 0)
			(void)close(message->descriptor);
		free(message);
	}
	reports_handle(whole, report); /* no connection is left */
	if (whole->woken)
		event_free(whole->woken);
	if (whole->tick)
		event_free(whole->tick);
	if (whole->loop.base)
		event_base_free(whole->loop.base);
	if (whole->wake >= 0)
		(void)close(whole->wake);
	k2i_buffer_pool_free(&whole->loop.buffers);
	free(whole->loop.shared.raw);
	free(whole->stop);
	(void)pthread_mutex_destroy(&whole->loop.shared.serving);
	(void)pthread_mutex_destroy(&whole->mutex);
}

int k2i_loops_start(struct k2i_service *service, unsigned loop_count, struct k2i_loops **loops)
{
	struct k2i_loops *started = calloc(1, sizeof(*started));
	int error = 0;

	if (!started)
		return -ENOMEM;
	started->service = service;
	started->loops = calloc(loop_count, sizeof(*started->loops));
	while (started->loops && !error && started->loop_count < loop_count) {
		started->loops[started->loop_count].wake = -1;
		error = loop_start(&started->loops[started->loop_count++], service);
	}
	if (!started->loops)
		error = -ENOMEM;
	if (error) {
		k2i_loops_stop(started);
		k2i_loops_free(started);
		return error;
	}
	/* Nobody can connect yet, so nobody waits for it. */
	k2i_syncer_listen(service->syncer, loops_synced, started);
	*loops = started;
	return error;
}

int k2i_loops_limit(struct k2i_loops *loops, const struct k2i_loops_limits *limits)
{
	struct {
		struct message message;
		struct k2i_loops_limits limits;
	} * made;
	struct message *first = NULL, *message;
	unsigned count;

	for (count = 0; count < loops->loop_count; count++) {
		made = calloc(1, sizeof(*made));
		if (!made)
			break;
		made->limits = *limits;
		made->message.limits = &made->limits;
		made->message.descriptor = -1;
		made->message.next = first;
		first = &made->message;
	}
	for (unsigned i = 0; (message = first) != NULL; i++) {
		first = message->next;
		if (count == loops->loop_count)
			message_post(&loops->loops[i], message);
		else
			free(message);
	}
	return count == loops->loop_count ? 0 : -ENOMEM;
}

/* A crowded connection can only take the place of one on its own loop. */
static bool loop_better(const struct loop_whole *whole, const struct loop_whole *than, bool crowded)
{
	bool ungreeted = atomic_load(&whole->loop.ungreeted_count) > 0;

	if (whole->slow != than->slow)
		return than->slow;
	if (crowded && ungreeted != (atomic_load(&than->loop.ungreeted_count) > 0))
		return ungreeted;
	return atomic_load(&whole->loop.connection_count) < atomic_load(&than->loop.connection_count);
}

/*
 * The loop with the fewest connections that does not wait for the disk; of several the next after the last. Turns alone would put two senders that stay
 * on the same loop when a short connection came between them.
 */
static struct loop_whole *loop_choose(struct k2i_loops *loops, bool crowded)
{
	struct loop_whole *chosen = NULL, *loop;

	loops->next++;
	for (unsigned i = 0; i < loops->loop_count; i++) {
		loop = &loops->loops[(loops->next + i) % loops->loop_count];
		if (!chosen || loop_better(loop, chosen, crowded))
			chosen = loop;
	}
	atomic_fetch_add(&chosen->loop.connection_count, 1);
	return chosen;
}

int k2i_loops_serve(struct k2i_loops *loops, int descriptor, const struct sockaddr *address, socklen_t address_bytes)
{
	struct k2i_service *service = loops->service;
	char host[K2I_PEER_BYTES_MAX - 16] = "?", port[8] = "?";
	size_t others = atomic_load(&service->connections);
	bool many = others >= service->connections_max + K2I_LOOPS_CROWD_MAX;
	struct message *message = many ? NULL : calloc(1, sizeof(*message));

	if (!message) {
		(void)close(descriptor);
		return many ? -EUSERS : -ENOMEM;
	}
	atomic_fetch_add(&service->connections, 1);
	(void)getnameinfo(address, address_bytes, host, sizeof(host), port, sizeof(port),
			  NI_NUMERICHOST | NI_NUMERICSERV);
	(void)snprintf(message->peer, sizeof(message->peer), strchr(host, ':') ? "[%s]:%s" : "%s:%s", host, port);
	message->descriptor = descriptor;
	message->crowded = others >= service->connections_max;
	message_post(loop_choose(loops, message->crowded), message);
	return 0;
}

bool k2i_loops_watch(struct k2i_loops *loops)
{
	struct loop_whole *whole;
	bool moves = true;

	for (whole = loops->loops; whole < loops->loops + loops->loop_count; whole++) {
		uint64_t ticked_ns = whole->ticked_ns;

		whole->slow = false;
		if (pthread_mutex_trylock(&whole->loop.shared.serving)) {
			moves = moves && k2i_clock_now_ns() < ticked_ns + K2I_LOOPS_HANG_NS;
			continue;
		}
		whole->slow = whole->watched == whole->loop.shared.wait_count;
		if (whole->slow)
			connections_each(whole, k2i_connection_slow);
		whole->watched = whole->loop.shared.wait_count;
		(void)pthread_mutex_unlock(&whole->loop.shared.serving);
	}
	return moves;
}

void k2i_loops_stop(struct k2i_loops *loops)
{
	unsigned i;

	if (!loops)
		return;
	for (i = 0; i < loops->loop_count; i++) {
		if (loops->loops[i].started) {
			message_post(&loops->loops[i], loops->loops[i].stop);
			loops->loops[i].stop = NULL;
		}
	}
	for (i = 0; i < loops->loop_count; i++) {
		if (loops->loops[i].started)
			(void)pthread_join(loops->loops[i].thread, NULL);
	}
	k2i_syncer_listen(loops->service->syncer, NULL, NULL);
	for (i = 0; i < loops->loop_count; i++)
		k2i_committer_free(&loops->loops[i].loop.committer);
}

void k2i_loops_free(struct k2i_loops *loops)
{
	unsigned i;

	if (!loops)
		return;
	for (i = 0; i < loops->loop_count; i++)
		loop_free(&loops->loops[i]);
	free(loops->loops);
	free(loops);
}
