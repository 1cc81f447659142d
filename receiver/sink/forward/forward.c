/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/crash.h"
#include "config/remote.h"
#include "receiver/base/text.h"
#include "receiver/sink/forward/message.h"
#include "receiver/sink/forward/peer.h"
#include "receiver/sink/module.h"

/*
 * TYPE = forward: records go to a server of Fluentd Forward v1, each piece as one message or several whose chunk ids say
 * where in which ring they come from. A piece is stored when the server has acknowledged the last of them. Messages that
 * were sent and not acknowledged come again with the same ids.
 */

#define PORT_DEFAULT "24224"
#define BATCH_BYTES (4u * 1024 * 1024)
#define BATCH_PIECES 1024u
/* So many acknowledgements fit into the buffers of sockets: nobody waits for the other to read. */
#define FLIGHTS_MAX 256u

struct flight { /* a message that is sent and not acknowledged */
	struct k2i_remote_piece *piece;
	unsigned number; /* of the piece's messages */
	bool last, acknowledged;
	char id[K2I_FORWARD_ID_BYTES];
};

struct forward {
	struct k2i_forward_options options;
	struct k2i_forward_peer *peers;
	size_t peer_count, current;
	char *servers; /* the text that the peers' hosts and ports are parts of */
	struct k2i_message_maker maker;
	struct k2i_format *tag;
	struct flight flights[FLIGHTS_MAX]; /* a ring, in the order in which they were sent */
	size_t flight_first, flight_count;
};

/* Flights --------------------------------------------------------------------------------------------------------- */

static struct flight *flight_at(struct forward *forward, size_t number)
{
	return &forward->flights[(forward->flight_first + number) % FLIGHTS_MAX];
}

/* Messages of a piece are acknowledged in their order, whatever the order of the server's answers. */
static void flights_land(struct forward *forward)
{
	struct flight *flight;

	while (forward->flight_count && (flight = flight_at(forward, 0))->acknowledged) {
		flight->piece->progress = flight->number + 1;
		if (flight->last)
			flight->piece->fate = K2I_REMOTE_STORED;
		forward->flight_first = (forward->flight_first + 1) % FLIGHTS_MAX;
		forward->flight_count--;
	}
}

/* Takes the acknowledgements that are there, until no more than `left` messages are under way. */
static int flights_await(struct forward *forward, struct k2i_forward_peer *peer, size_t left)
{
	const char *id;
	size_t id_bytes;
	int result = 1;

	while (result > 0 && forward->flight_count) {
		result = k2i_forward_peer_acknowledged(peer, forward->flight_count > left, &id, &id_bytes);
		for (size_t at = 0; result > 0 && at < forward->flight_count; at++) {
			struct flight *flight = flight_at(forward, at);

			if (strlen(flight->id) != id_bytes || memcmp(flight->id, id, id_bytes) != 0)
				continue;
			flight->acknowledged = true;
			peer->strange = 0;
		}
		flights_land(forward);
	}
	return result < 0 ? result : 0;
}

/* Delivering ------------------------------------------------------------------------------------------------------ */

static int memory_failed(struct k2i_forward_peer *peer)
{
	(void)snprintf(peer->reason, sizeof(peer->reason), "no memory");
	return -ENOMEM;
}

static int message_send(struct forward *forward, struct k2i_forward_peer *peer, struct k2i_remote_piece *piece,
			unsigned number, size_t *from)
{
	int error = flights_await(forward, peer, FLIGHTS_MAX - 1);
	struct flight *flight = flight_at(forward, forward->flight_count);

	if (error)
		return error;
	if (k2i_message_make(&forward->maker, piece, number, from, flight->id))
		return memory_failed(peer);
	flight->piece = piece;
	flight->number = number;
	flight->last = *from == piece->bytes;
	flight->acknowledged = false;
	forward->flight_count++;
	error = k2i_forward_peer_write(peer, forward->maker.message.bytes, forward->maker.message.count);
	K2I_CRASH(forward_sent);
	return error;
}

static int piece_send(struct forward *forward, struct k2i_forward_peer *peer, struct k2i_remote_piece *piece)
{
	unsigned number = 0;
	size_t from = 0;
	int error = 0;

	for (; number < piece->progress; number++)
		if (k2i_message_skip(&forward->maker, piece, &from))
			return memory_failed(peer);
	for (; from < piece->bytes && !error; number++)
		error = message_send(forward, peer, piece, number, &from);
	return error;
}

/* A server that has gone while there was nothing to send has not failed. */
static int peer_open(struct k2i_forward_peer *peer)
{
	const char *id;
	size_t id_bytes;
	int error;

	if (peer->open && k2i_forward_peer_acknowledged(peer, false, &id, &id_bytes) < 0)
		k2i_forward_peer_close(peer);
	if (peer->open)
		return 0;
	error = k2i_forward_peer_open(peer);
	return error || !peer->options->key_file ? error : k2i_forward_greet(peer);
}

static int batch_send(struct forward *forward, struct k2i_forward_peer *peer, struct k2i_remote_batch *batch)
{
	int error;

	k2i_remote_say(batch->remote, "%s:%s has not answered yet", peer->host, peer->port);
	peer->stop = batch->stop;
	error = peer_open(peer);
	forward->flight_count = 0;
	for (size_t at = 0; at < batch->count && !error; at++) {
		if (batch->pieces[at]->fate == K2I_REMOTE_LEFT)
			error = piece_send(forward, peer, batch->pieces[at]);
	}
	if (!error)
		error = flights_await(forward, peer, 0);
	if (error || peer->once)
		k2i_forward_peer_close(peer);
	return error;
}

static void deliver(void *argument, struct k2i_remote_batch *batch)
{
	struct forward *forward = argument;
	struct k2i_forward_peer *peer = &forward->peers[forward->current];
	int error;

	if (batch->renew)
		k2i_forward_peer_close(peer);
	for (size_t tries = 0; tries < forward->peer_count; tries++) {
		error = batch_send(forward, peer, batch);
		if (!error)
			return;
		(void)snprintf(batch->reason, sizeof(batch->reason), "%s:%s: %s", peer->host, peer->port, peer->reason);
		if (error == -ECANCELED)
			return;
		forward->current = (forward->current + 1) % forward->peer_count;
		peer = &forward->peers[forward->current];
	}
}

/* Opening --------------------------------------------------------------------------------------------------------- */

static void forward_free(void *argument)
{
	struct forward *forward = argument;

	for (size_t at = 0; at < forward->peer_count; at++)
		k2i_forward_peer_close(&forward->peers[at]);
	free(forward->peers);
	free(forward->servers);
	k2i_message_maker_end(&forward->maker);
	k2i_format_free(forward->tag);
	free(forward);
}

static int servers_take(struct forward *forward, const struct k2i_settings *settings)
{
	char *rest, *server;

	/* They are there, and right, or the configuration would be refused. */
	forward->servers = rest = strdup(settings->forward_server);
	if (!rest)
		return -ENOMEM;
	while ((server = k2i_server_next(&rest)) != NULL) {
		struct k2i_forward_peer *peers =
			realloc(forward->peers, (forward->peer_count + 1) * sizeof(*forward->peers));

		if (!peers)
			return -ENOMEM;
		forward->peers = peers;
		peers += forward->peer_count++;
		memset(peers, 0, sizeof(*peers));
		peers->options = &forward->options;
		peers->transport.descriptor = -1;
		peers->port = (char *)(uintptr_t)PORT_DEFAULT;
		(void)k2i_server_split(server, &peers->host, &peers->port);
	}
	return 0;
}

static const char *file_of(const char *file)
{
	return file && strcmp(file, "null") != 0 ? file : NULL;
}

static int forward_take(struct forward *forward, const struct k2i_settings *settings)
{
	char message[512];
	int error = servers_take(forward, settings);

	if (error)
		return error;
	forward->options = (struct k2i_forward_options){.tls = settings->forward_tls,
							.authority = file_of(settings->forward_authority),
							.key_file = file_of(settings->forward_key_file),
							.user = settings->forward_user,
							.password_file = file_of(settings->forward_password_file),
							.answer_ms = settings->forward_ack_timeout_ms};
	error = k2i_format_compile_name(settings->forward_tag, settings->time_format, &forward->tag, message,
					sizeof(message));
	if (error)
		return error;
	forward->maker.tag = forward->tag;
	forward->maker.compress = settings->forward_compress;
	return 0;
}

static int forward_open(const struct k2i_sink_options *options, struct k2i_sink **sink)
{
	struct forward *forward = calloc(1, sizeof(*forward));
	struct k2i_counters *counters = options->counters;
	const struct k2i_remote_kind kind = {.name = "forward",
					     .peer = options->settings->forward_server,
					     .batch_bytes = BATCH_BYTES,
					     .batch_pieces = BATCH_PIECES,
					     .deliver = deliver,
					     .free = forward_free,
					     .argument = forward,
					     .records = &counters->forward_records,
					     .retries = &counters->forward_retries,
					     .waiting_bytes = &counters->forward_waiting_bytes,
					     .waiting_seconds = &counters->forward_waiting_seconds};
	int error = forward ? forward_take(forward, options->settings) : -ENOMEM;

	if (!error)
		return k2i_remote_open(&kind, options, sink);
	k2i_log(K2HFT_LOG_ERROR, "forward: can't start: %s", k2i_text_error(error));
	if (forward)
		forward_free(forward);
	return error;
}

const struct k2i_sink_module k2i_sink_module = {K2I_SINK_MODULE_VERSION, forward_open};
