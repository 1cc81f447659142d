/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "receiver/sink/relay/internal.h"

/* A stream that was not used for so long gives its number back where another one wants it. */
#define BUSY_NS (UINT64_C(1) * K2I_SECOND_NS)

static struct k2i_relay_stream *stream_find(const struct k2i_relay *relay, const struct k2i_stream *stream)
{
	struct k2i_table_node *node = NULL;
	struct k2i_relay_stream *found;

	while ((node = k2i_table_find(&relay->streams, stream->writer_seed, node)) != NULL) {
		found = K2I_TABLE_ENTRY(node, struct k2i_relay_stream, node);
		if (found->mode == stream->mode && strcmp(found->path, stream->path) == 0 &&
		    strcmp(found->host, stream->host) == 0)
			return found;
	}
	return NULL;
}

static struct k2i_relay_stream *stream_make(struct k2i_relay *relay, const struct k2i_stream *stream)
{
	size_t path_room = strlen(stream->path) + 1, host_room = strlen(stream->host) + 1;
	struct k2i_relay_stream *made = calloc(1, sizeof(*made) + path_room + host_room);
	char *strings;

	if (!made)
		return NULL;
	strings = (char *)(made + 1);
	made->path = memcpy(strings, stream->path, path_room);
	made->host = memcpy(strings + path_room, stream->host, host_room);
	made->mode = stream->mode;
	if (!k2i_table_insert(&relay->streams, &made->node, stream->writer_seed))
		return made;
	free(made);
	return NULL;
}

int k2i_relay_stream_get(struct k2i_relay *relay, const struct k2i_stream *stream, struct k2i_relay_stream **found)
{
	struct k2i_relay_stream *last = relay->stream;

	/* Chunks of one stream come in runs. */
	if (!last || last->node.hash != stream->writer_seed || last->mode != stream->mode)
		last = stream_find(relay, stream);
	if (!last)
		last = stream_make(relay, stream);
	if (!last)
		return -ENOMEM;
	last->used_ns = k2i_clock_now_ns();
	*found = relay->stream = last;
	return 0;
}

static bool lane_connected(void *argument, uint32_t at)
{
	struct k2i_relay *relay = argument;
	struct k2hft_client_stats stats = K2HFT_CLIENT_STATS_INIT;

	return k2hft_client_stats(k2i_relay_taker(relay, at)->client, &stats) == 0 &&
	       stats.state == K2HFT_CLIENT_CONNECTED;
}

static uint64_t lane_unacked_bytes(void *argument, uint32_t at)
{
	struct k2i_relay *relay = argument;
	struct k2hft_ring_stats stats = k2i_ring_stats_get(k2i_relay_taker(relay, at)->ring);

	return stats.tail - stats.head;
}

uint32_t k2i_relay_lane_choose(struct k2i_relay *relay)
{
	const struct k2i_spread_lanes lanes = {
		.count = relay->taker_count,
		.connected = lane_connected,
		.unacked_bytes = lane_unacked_bytes,
		.argument = relay,
	};

	if (relay->taker_count == 1 || relay->config.options.spread != K2HFT_SPREAD_RANDOM)
		return relay->takers[0];
	return relay->takers[k2i_spread_random(&lanes, &relay->random)];
}

uint32_t k2i_relay_stream_lanes(struct k2i_relay *relay, struct k2i_relay_stream *stream,
				const struct k2i_group_entry *entry, uint32_t chosen,
				uint32_t lanes[K2I_RELAY_LANES_MAX])
{
	const struct k2hft_sender_options *options = &relay->config.options;
	uint32_t copies = options->copies ? options->copies : 1;

	if (relay->taker_count == 1 || options->spread == K2HFT_SPREAD_ALL) {
		memcpy(lanes, relay->takers, sizeof(relay->takers));
		return relay->taker_count;
	}
	if (options->spread == K2HFT_SPREAD_HASH) {
		k2i_relay_order(relay, relay->takers, relay->taker_count, stream->path, copies, lanes);
		return copies;
	}
	/* The pieces of a record stay together. */
	if (!(entry->flags & K2HFT_CHUNK_CONTINUED) || relay->lanes[stream->lane].state != K2I_RELAY_LANE_TAKES)
		stream->lane = chosen;
	lanes[0] = stream->lane;
	return 1;
}

void k2i_relay_order(const struct k2i_relay *relay, const uint32_t *of, uint32_t count, const char *path,
		     uint32_t wanted, uint32_t *lanes)
{
	const char *homes[K2I_RELAY_LANES_MAX];

	for (uint32_t at = 0; at < count; at++)
		homes[at] = relay->lanes[of[at]].home;
	k2i_spread_order(homes, count, path, wanted, lanes);
	for (uint32_t at = 0; at < wanted; at++)
		lanes[at] = of[lanes[at]];
}

int k2i_relay_stream_declare(struct k2i_relay *relay, struct k2i_relay_stream *stream, uint32_t lane)
{
	const struct k2hft_stream declared = {.path = stream->path, .host = stream->host, .mode = stream->mode};
	struct k2hft_ring *ring = relay->lanes[lane].ring;
	int error = stream->ids[lane] ? 0 : k2hft_stream_declare(ring, &declared, &stream->ids[lane]);

	if (error == -ENOSPC) {
		k2i_relay_streams_drop(relay, k2i_clock_now_ns() - BUSY_NS);
		error = k2hft_stream_declare(ring, &declared, &stream->ids[lane]);
	}
	if (error)
		stream->ids[lane] = 0;
	return error == -ENOSPC || error == -EBUSY ? -EAGAIN : error;
}

struct drop {
	struct k2i_relay *relay;
	uint64_t since_ns;
};

static void stream_drop(void *argument, struct k2i_table_node *node)
{
	const struct drop *drop = argument;
	struct k2i_relay_stream *stream = K2I_TABLE_ENTRY(node, struct k2i_relay_stream, node);

	if (stream->used_ns >= drop->since_ns)
		return;
	for (uint32_t lane = 0; lane < K2I_RELAY_LANES_MAX; lane++) {
		if (stream->ids[lane] && drop->relay->lanes[lane].state == K2I_RELAY_LANE_TAKES)
			(void)k2hft_stream_release(drop->relay->lanes[lane].ring, stream->ids[lane]);
	}
	k2i_table_remove(&drop->relay->streams, node);
	if (drop->relay->stream == stream)
		drop->relay->stream = NULL;
	free(stream);
}

void k2i_relay_streams_drop(struct k2i_relay *relay, uint64_t since_ns)
{
	struct drop drop = {relay, since_ns};

	k2i_table_each(&relay->streams, stream_drop, &drop);
}

struct leave {
	uint32_t lane;
};

static void stream_leave(void *argument, struct k2i_table_node *node)
{
	const struct leave *leave = argument;

	K2I_TABLE_ENTRY(node, struct k2i_relay_stream, node)->ids[leave->lane] = 0;
}

void k2i_relay_streams_leave(struct k2i_relay *relay, uint32_t lane)
{
	struct leave leave = {lane};

	k2i_table_each(&relay->streams, stream_leave, &leave);
}

void k2i_relay_streams_free(struct k2i_relay *relay)
{
	k2i_relay_streams_drop(relay, UINT64_MAX);
	k2i_table_free(&relay->streams);
}
