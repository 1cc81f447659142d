/* SPDX-License-Identifier: MIT */
/* How the client of a ring stands, in the header. */
#include "ring/map.h"

#include <errno.h>
#include <string.h>

#include "base/hash.h"
#include "base/text.h"

/* The words in the header; `check` is the hash of all others, so that what is read while it is written is not believed. */
struct copy {
	struct k2i_ring_connection connection;
	uint64_t check;
};
static_assert(sizeof(struct copy) == K2I_RING_CONNECTION_WORDS * sizeof(uint64_t), "layout 2");

/* relaxed, all of this file: the consumer alone writes it, and nobody goes by it. */
void k2i_ring_connection_set(struct k2hft_ring *ring, const struct k2i_ring_connection *connection)
{
	struct copy copy = {.connection = *connection};
	uint64_t words[K2I_RING_CONNECTION_WORDS];

	copy.check = k2i_hash(&copy, offsetof(struct copy, check));
	memcpy(words, &copy, sizeof(words));
	for (unsigned word = 0; word < K2I_RING_CONNECTION_WORDS; word++)
		atomic_store_explicit(&ring->header->connection[word], words[word], memory_order_relaxed);
}

void k2i_ring_connection_acked(struct k2hft_ring *ring, uint64_t now_ns)
{
	atomic_store_explicit(&ring->header->connection_acked_ns, now_ns, memory_order_relaxed);
}

/* Producers can write here, too, and the reader's terminal may be root's. */
static void text_clean(char *text, size_t room)
{
	text[room - 1] = '\0';
	k2i_text_controls_mask(text);
}

static int connection_load(const struct k2i_ring_header *header, struct k2i_ring_connection *connection)
{
	uint64_t words[K2I_RING_CONNECTION_WORDS];
	struct copy copy;

	for (unsigned word = 0; word < K2I_RING_CONNECTION_WORDS; word++)
		words[word] = atomic_load_explicit(&header->connection[word], memory_order_relaxed);
	memcpy(&copy, words, sizeof(words));
	if (copy.check != k2i_hash(&copy, offsetof(struct copy, check)))
		return -ENODATA;
	*connection = copy.connection;
	text_clean(connection->receiver, sizeof(connection->receiver));
	text_clean(connection->error, sizeof(connection->error));
	return *connection->receiver ? 0 : -ENODATA;
}

int k2i_ring_connection_observe(const char *path, struct k2i_ring_connection *connection, uint64_t *acked_ns)
{
	struct k2hft_ring seen;
	int error = k2i_observed_open(path, &seen);

	if (!error && !k2i_consumer_alive(seen.descriptor, seen.header))
		error = -ENODATA;
	if (!error)
		error = connection_load(seen.header, connection);
	if (!error)
		*acked_ns = atomic_load_explicit(&seen.header->connection_acked_ns, memory_order_relaxed);
	k2i_observed_close(&seen);
	return error;
}
