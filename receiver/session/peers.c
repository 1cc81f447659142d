/* SPDX-License-Identifier: MIT */
#include "receiver/session/peers.h"

#include <stdio.h>
#include <string.h>

#include "receiver/session/session.h"

void k2i_peers_start(struct k2i_peers *peers)
{
	(void)pthread_mutex_init(&peers->mutex, NULL);
	peers->list = (struct k2i_list){0};
}

void k2i_peers_end(struct k2i_peers *peers)
{
	(void)pthread_mutex_destroy(&peers->mutex);
}

void k2i_peer_add(struct k2i_peers *peers, struct k2i_peer *peer, const char *address, uint64_t now_ns)
{
	peer->address = address;
	peer->connected_ns = now_ns;
	atomic_init(&peer->record_ns, now_ns);
	(void)pthread_mutex_lock(&peers->mutex);
	k2i_list_add(&peers->list, &peer->link);
	(void)pthread_mutex_unlock(&peers->mutex);
}

void k2i_peer_remove(struct k2i_peers *peers, struct k2i_peer *peer)
{
	(void)pthread_mutex_lock(&peers->mutex);
	k2i_list_remove(&peers->list, &peer->link);
	(void)pthread_mutex_unlock(&peers->mutex);
}

static struct k2i_peer *peer_newest(const struct k2i_peers *peers)
{
	return K2I_LIST_ENTRY(peers->list.newest, struct k2i_peer, link);
}

static struct k2i_peer *peer_before(const struct k2i_peer *peer)
{
	return K2I_LIST_ENTRY(peer->link.older, struct k2i_peer, link);
}

static void peer_greet(struct k2i_peers *peers, struct k2i_peer *peer, const struct k2i_session *session)
{
	(void)pthread_mutex_lock(&peers->mutex);
	(void)snprintf(peer->host, sizeof(peer->host), "%s", session->host);
	memcpy(peer->ring_uuid, session->ring->uuid, sizeof(peer->ring_uuid));
	atomic_store(&peer->greeted, true);
	(void)pthread_mutex_unlock(&peers->mutex);
}

/* relaxed, all numbers: each is right by itself. */
static void number_show(atomic_uint_fast64_t *shown, uint64_t number)
{
	atomic_store_explicit(shown, number, memory_order_relaxed);
}

void k2i_peer_update(struct k2i_peers *peers, struct k2i_peer *peer, const struct k2i_session *session, bool stalled)
{
	if (!session->ring)
		return;
	if (!atomic_load_explicit(&peer->greeted, memory_order_relaxed))
		peer_greet(peers, peer, session);
	number_show(&peer->committed, session->committed);
	number_show(&peer->records, session->commit.counts.records);
	number_show(&peer->bytes, session->commit.counts.bytes);
	number_show(&peer->duplicates, session->duplicate_count);
	atomic_store_explicit(&peer->level, session->level, memory_order_relaxed);
	atomic_store_explicit(&peer->stall_error, stalled ? session->stall_error : 0, memory_order_relaxed);
}

void k2i_peer_wrote(struct k2i_peer *peer, uint64_t now_ns)
{
	number_show(&peer->record_ns, now_ns);
}

void k2i_peer_tick(struct k2i_peer *peer, uint64_t now_ns)
{
	uint64_t bytes = atomic_load_explicit(&peer->bytes, memory_order_relaxed);
	double seconds = (double)(now_ns - peer->ticked_ns) / 1e9;

	if (peer->ticked_ns && seconds > 0)
		number_show(&peer->bytes_per_s, (uint64_t)((double)(bytes - peer->ticked_bytes) / seconds));
	peer->ticked_ns = now_ns;
	peer->ticked_bytes = bytes;
}

/* "ADDRESS:PORT" */
static size_t host_bytes(const char *address)
{
	const char *colon = strrchr(address, ':');

	return colon ? (size_t)(colon - address) : strlen(address);
}

bool k2i_peers_take_place(struct k2i_peers *peers, const char *address, const uint8_t ring_uuid[16], size_t count_max)
{
	size_t bytes = host_bytes(address), count = 0;
	struct k2i_peer *peer, *own = NULL;
	bool room;

	/* In one step: several loops are asked at the same time. */
	(void)pthread_mutex_lock(&peers->mutex);
	for (peer = peer_newest(peers); peer; peer = peer_before(peer)) {
		if (peer->address == address)
			own = peer;
		count += peer->counted && peer != own && strncmp(peer->address, address, bytes) == 0 &&
			 host_bytes(peer->address) == bytes && memcmp(peer->ring_uuid, ring_uuid, 16) != 0;
	}
	room = count < count_max;
	if (own && room) {
		own->counted = true;
		memcpy(own->ring_uuid, ring_uuid, sizeof(own->ring_uuid));
	}
	(void)pthread_mutex_unlock(&peers->mutex);
	return room;
}

void k2i_peers_each(struct k2i_peers *peers, void (*each)(void *argument, struct k2i_peer *peer), void *argument)
{
	struct k2i_peer *peer;

	(void)pthread_mutex_lock(&peers->mutex);
	for (peer = peer_newest(peers); peer; peer = peer_before(peer))
		each(argument, peer);
	(void)pthread_mutex_unlock(&peers->mutex);
}
