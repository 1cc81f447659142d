/* SPDX-License-Identifier: MIT */
#include "client/streams.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "client/state.h"

void k2i_client_streams_reset(struct k2i_client_streams *streams)
{
	if (++streams->connection != 0)
		return;
	/* After 2^32 connections an old mark could look new. */
	memset(streams->declared, 0, sizeof(streams->declared));
	streams->connection = 1;
}

/* 0: the receiver knows it, or will by what is queued; -ENOBUFS the queue has no room now; others: it can't be told. */
static int stream_declare(struct k2hft_client *client, uint32_t stream_id)
{
	struct k2hft_stream stream;
	uint32_t generation;
	int error = k2hft_stream_find(client->ring, stream_id, &stream, &generation);

	if (error < 0)
		return error;
	/* The result is a number of the ring's table. */
	struct k2i_client_stream *declared = &client->streams.declared[stream_id - 1];
	if (declared->connection == client->streams.connection && declared->generation == generation)
		return 0;
	uint8_t *room = k2i_client_control_room(client, K2I_CLIENT_MESSAGE_ROOM);
	if (!room)
		return -ENOBUFS;
	struct k2hft_stream_message message = {.stream_id = stream_id, .mode = stream.mode};
	(void)snprintf(message.path, sizeof(message.path), "%s", stream.path);
	(void)snprintf(message.host, sizeof(message.host), "%s", stream.host);
	int bytes = k2hft_stream_encode(&message, room, K2I_CLIENT_MESSAGE_ROOM);
	if (bytes < 0)
		return bytes;
	k2i_client_control_add(client, (size_t)bytes);
	*declared = (struct k2i_client_stream){client->streams.connection, generation};
	return 0;
}

int64_t k2i_client_streams_declare(struct k2hft_client *client, const struct k2hft_span *span)
{
	struct k2i_chunk_glance glance;
	uint32_t last_id = 0;
	bool last_valid = false;
	size_t at = 0;
	int error = 0;

	while (at < span->bytes) {
		if (k2i_chunk_glance(span, at, &glance) < 0)
			return -EBADMSG;
		if (!last_valid || glance.stream_id != last_id) {
			error = stream_declare(client, glance.stream_id);
			if (error < 0)
				break;
			last_id = glance.stream_id;
			last_valid = true;
		}
		at += glance.bytes;
	}
	return at == 0 && (error == -ENOMEM || error == -ENOBUFS) ? error : (int64_t)at;
}
