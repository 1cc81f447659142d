/* SPDX-License-Identifier: MIT */
#include "receiver/session/streams.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

struct stream_node {
	struct k2i_table_node node;
	struct k2i_stream stream; /* strings: behind this structure */
};

static bool room_take(struct k2i_stream_room *room)
{
	if (atomic_fetch_add(&room->count, 1) < room->count_max)
		return true;
	atomic_fetch_sub(&room->count, 1);
	return false;
}

static void room_give(struct k2i_stream_room *room)
{
	atomic_fetch_sub(&room->count, 1);
}

struct k2i_stream *k2i_session_stream_find(struct k2i_session *session, uint32_t id)
{
	struct k2i_table_node *node = NULL;
	struct k2i_stream *stream;
	uint64_t hash;

	/* Chunks of one stream come in runs. */
	if (session->stream && session->stream->id == id)
		return session->stream;
	hash = k2i_table_hash(&id, sizeof(id));
	while ((node = k2i_table_find(&session->streams, hash, node)) != NULL) {
		stream = &K2I_TABLE_ENTRY(node, struct stream_node, node)->stream;
		if (stream->id == id)
			return session->stream = stream;
	}
	return NULL;
}

static void stream_drop(void *argument, struct k2i_table_node *node)
{
	struct k2i_session *session = argument;

	k2i_table_remove(&session->streams, node);
	room_give(session->shared->streams);
	k2i_flow_give(&session->shared->streams->flows, K2I_TABLE_ENTRY(node, struct stream_node, node)->stream.flow);
	free(K2I_TABLE_ENTRY(node, struct stream_node, node));
}

static uint64_t writer_seed(const struct k2i_session *session, const char *path, const char *host)
{
	uint64_t parts[3] = {k2i_hash(session->ring->uuid, 16), k2i_hash(path, strlen(path)),
			     k2i_hash(host, strlen(host))};

	return k2i_hash(parts, sizeof(parts));
}

static struct stream_node *stream_make(struct k2i_session *session, const struct k2hft_stream_message *message)
{
	const char *host = message->host[0] ? message->host : session->host;
	size_t path_room = strlen(message->path) + 1, host_room = strlen(host) + 1;
	struct stream_node *node = calloc(1, sizeof(*node) + path_room + host_room);
	char *strings;

	if (!node)
		return NULL;
	strings = (char *)(node + 1);
	node->stream.id = message->stream_id;
	node->stream.mode = message->mode;
	node->stream.path = memcpy(strings, message->path, path_room);
	node->stream.host = memcpy(strings + path_room, host, host_room);
	node->stream.ring = session->ring->uuid;
	node->stream.writer_seed = writer_seed(session, message->path, host);
	return node;
}

int k2i_session_stream_declare(struct k2i_session *session, const struct k2hft_stream_message *message)
{
	struct k2i_stream *old = k2i_session_stream_find(session, message->stream_id);
	struct stream_node *node;

	/* First, since it has the room that the new one needs; whatever is wrong with that ends the session. */
	if (old)
		stream_drop(session, &K2I_TABLE_ENTRY(old, struct stream_node, stream)->node);
	session->stream = NULL;
	if (session->streams.count >= K2I_SESSION_STREAMS_MAX)
		return -ENOSPC;
	if (!room_take(session->shared->streams))
		return -EDQUOT;
	node = stream_make(session, message);
	if (!node || k2i_table_insert(&session->streams, &node->node, k2i_table_hash(&message->stream_id, 4))) {
		room_give(session->shared->streams);
		free(node);
		return -ENOMEM;
	}
	node->stream.flow = k2i_flow_take(&session->shared->streams->flows, node->stream.path, node->stream.host);
	return 0;
}

void k2i_session_streams_free(struct k2i_session *session)
{
	k2i_table_each(&session->streams, stream_drop, session);
	k2i_table_free(&session->streams);
}
