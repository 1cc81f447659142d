/* SPDX-License-Identifier: MIT */
#include "receiver/connection/memory_pressure.h"

#include <errno.h>
#include <sys/ioctl.h>

#include <event2/event.h>

#include "base/clock.h"

#define STARVING_NS (5 * K2I_SECOND_NS) /* how long one frame may take while others wait for its memory */
#define STILL_NS (K2I_SECOND_NS / 2)    /* how long it may bring less than STILL_BYTES */
#define STILL_BYTES ((size_t)4096)

void k2i_memory_pressure_set(struct k2i_connection *connection, bool starved)
{
	struct k2i_service *service = connection->loop->service;

	if (connection->starved == starved)
		return;
	connection->starved = starved;
	if (!starved) {
		atomic_fetch_sub(&service->budget.starved, 1);
		return;
	}
	atomic_fetch_add(&service->budget.starved, 1);
	k2i_count(&service->counters->starved, 1);
}

static bool memory_held(const struct k2i_connection *connection)
{
	return connection->buffer.capacity > K2I_BUFFER_BYTES_MIN && connection->buffer.used > 0;
}

/* Whether nothing more has come: bytes that a slow disk kept from being read are not the sender's fault. */
static bool all_read(const struct k2i_connection *connection)
{
	int bytes = 0;

	return ioctl(connection->transport.descriptor, FIONREAD, &bytes) < 0 || bytes == 0;
}

/* The connection that holds memory and could go on, but whose frame has stood still the longest; NULL: none. */
static struct k2i_connection *stillest_find(const struct k2i_connection *claimant)
{
	uint64_t still_ns = k2i_clock_now_ns() - STILL_NS;
	struct k2i_connection *other, *stillest = NULL;

	for (other = k2i_connection_next(claimant->loop, NULL); other;
	     other = k2i_connection_next(claimant->loop, other)) {
		if (other != claimant && memory_held(other) && !other->stalled && !other->starved &&
		    other->moved_ns <= still_ns && (!stillest || other->moved_ns < stillest->moved_ns) &&
		    all_read(other))
			stillest = other;
	}
	return stillest;
}

/*
 * Takes the memory of a frame that stands still for one that is coming: a thousand senders that begin frames and do not
 * end them must not stop others (tests/e2e/receiver_thousand.sh). True: there may be memory now.
 */
static bool memory_claim(const struct k2i_connection *claimant)
{
	struct k2i_connection *stillest = stillest_find(claimant);

	if (!stillest)
		return false;
	k2i_count(&stillest->loop->service->counters->timeouts, 1);
	k2i_session_fail(&stillest->session, K2HFT_ERROR_LIMIT,
			 "memory for frames is short (BUFFERMAX), and this frame made no progress");
	k2i_buffer_release(&stillest->loop->buffers, &stillest->buffer);
	/* Not at once: it can be the next in a list that is being gone through. */
	event_active(stillest->writable, EV_WRITE, 1);
	return true;
}

int k2i_memory_pressure_room(struct k2i_connection *connection)
{
	struct k2i_buffer_pool *pool = &connection->loop->buffers;
	size_t limit = k2i_session_input_max(&connection->session);
	struct k2i_buffer *buffer = &connection->buffer;
	int error = 0;

	if (buffer->used == buffer->capacity)
		error = k2i_buffer_grow(pool, buffer, limit);
	while (error == -ENOBUFS && memory_claim(connection)) {
		k2i_buffer_widen(pool, buffer);
		error = buffer->used == buffer->capacity ? k2i_buffer_grow(pool, buffer, limit) : 0;
	}
	k2i_memory_pressure_set(connection, error == -ENOBUFS);
	return error;
}

void k2i_memory_pressure_moved(struct k2i_connection *connection, size_t bytes)
{
	connection->moved_bytes += bytes;
	if (connection->moved_bytes < STILL_BYTES)
		return;
	connection->moved_bytes = 0;
	connection->moved_ns = connection->heard_ns;
}

bool k2i_memory_pressure_over(const struct k2i_connection *connection, uint64_t now_ns)
{
	return memory_held(connection) && now_ns >= connection->frame_ns + STARVING_NS;
}

bool k2i_memory_pressure_shared(const struct k2i_connection *connection, uint64_t now_ns)
{
	return connection->starved || (atomic_load(&connection->loop->service->budget.starved) > 0 &&
				       k2i_memory_pressure_over(connection, now_ns));
}
