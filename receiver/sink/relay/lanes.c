/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/log.h"
#include "receiver/base/text.h"
#include "receiver/sink/relay/internal.h"

/* A relay that ends waits so long for the next stage, if its ring ends with it. */
#define DRAIN_MS 30000

static int lane_path(const struct k2i_relay *relay, struct k2i_relay_lane *lane)
{
	const char *path = relay->config.options.ring_path;

	if (!relay->marks)
		return 0;
	/* A lane that is added later is beside others, whoever leaves. */
	if (relay->config.target_count == 1 && !relay->prepared)
		lane->path = strdup(path);
	else if (asprintf(&lane->path, "%s.%s", path, lane->home) < 0)
		lane->path = NULL;
	return lane->path ? 0 : -ENOMEM;
}

static int lane_find(const struct k2i_relay *relay, const char *home, struct k2hft_lane *found)
{
	char name[K2I_SPREAD_HOME_BYTES];
	int error;

	for (uint32_t index = 0; (error = k2hft_sender_lane(relay->sender, index, found)) == 0; index++) {
		k2i_spread_home(found->host, found->port, name);
		if (strcasecmp(name, home) == 0)
			break;
	}
	return error;
}

bool k2i_relay_lane_leaves(const struct k2i_relay *relay, const struct k2i_relay_lane *lane)
{
	struct k2hft_lane found = K2HFT_LANE_INIT;

	return lane_find(relay, lane->home, &found) == 0;
}

/* Nothing goes to the client that the ledger has not: the limit is there before the first chunk. */
int k2i_relay_lane_open(struct k2i_relay *relay, const char *home, uint32_t place)
{
	struct k2i_relay_lane *lane = &relay->lanes[place];
	struct k2hft_lane found = K2HFT_LANE_INIT;
	struct k2hft_ring_stats stats;
	int error = lane_find(relay, home, &found);

	if (error)
		return error;
	stats = k2i_ring_stats_get(found.ring);
	*lane = (struct k2i_relay_lane){
		.ring = found.ring, .client = found.client, .tail = stats.tail, .first = UINT64_MAX};
	memcpy(lane->uuid, stats.uuid, sizeof(lane->uuid));
	(void)snprintf(lane->home, sizeof(lane->home), "%s", home);
	error = lane_path(relay, lane);
	if (!error)
		error = k2hft_ring_limit(lane->ring, lane->tail);
	if (!error)
		error = k2hft_producer_open(lane->ring, &lane->producer);
	return error;
}

void k2i_relay_lane_close(struct k2i_relay_lane *lane)
{
	k2hft_producer_close(lane->producer);
	free(lane->path);
	lane->producer = NULL;
	lane->client = NULL;
	lane->ring = NULL;
	lane->path = NULL;
}

int k2i_relay_lanes_open(struct k2i_relay *relay)
{
	char message[PATH_MAX + 512];
	int error = relay->config.target_count > K2I_RELAY_LANES_MAX
			    ? -E2BIG
			    : k2hft_sender_open(&relay->config.options, &relay->sender);

	if (error == -E2BIG)
		(void)snprintf(message, sizeof(message), "TRANSCONF has more than %u receivers", K2I_RELAY_LANES_MAX);
	else if (error)
		k2i_sender_config_ring_failed(&relay->config, error, message, sizeof(message));
	/* A ring of a receiver that TRANSCONF does not name any more is behind those, and drains. */
	for (uint32_t at = 0; at < relay->config.target_count && !error; at++) {
		char home[K2I_SPREAD_HOME_BYTES];

		k2i_spread_home(relay->config.targets[at].host, relay->config.targets[at].port, home);
		error = k2i_relay_lane_open(relay, home, at);
		relay->lanes[at].state = K2I_RELAY_LANE_TAKES;
		relay->takers[at] = at;
		relay->taker_count = at + 1;
		if (error)
			(void)snprintf(message, sizeof(message), "%s", k2i_text_error(error));
	}
	if (error)
		k2i_log(K2HFT_LOG_ERROR, "relay: can't start: %s", message);
	return error;
}

void k2i_relay_lanes_close(struct k2i_relay *relay)
{
	struct k2hft_sender_stats stats = K2HFT_SENDER_STATS_INIT;

	for (uint32_t at = 0; at < relay->taker_count; at++)
		k2i_relay_lane_close(k2i_relay_taker(relay, at));
	if (!relay->sender)
		return;
	if (!relay->marks && k2hft_sender_flush(relay->sender, DRAIN_MS) &&
	    k2hft_sender_stats(relay->sender, &stats) == 0 && stats.unacked_records)
		k2i_log(K2HFT_LOG_ERROR,
			"relay: the next stage has not acknowledged %" PRIu64
			" records, which are lost with the ring in memory",
			stats.unacked_records);
	(void)k2hft_sender_close(relay->sender, 0);
}

/* Whether the ring of the mark is there now. */
static bool mark_look(const struct k2i_ledger_file *mark, struct k2hft_ring_stats *stats)
{
	const uint64_t words[2] = {mark->birth, mark->inode};

	*stats = (struct k2hft_ring_stats)K2HFT_RING_STATS_INIT;
	return mark->path && *mark->path == '/' && k2hft_ring_observe(mark->path, stats, NULL) == 0 &&
	       memcmp(stats->uuid, words, sizeof(words)) == 0;
}

bool k2i_relay_lane_behind(const struct k2i_ledger_file *mark)
{
	struct k2hft_ring_stats stats;

	return mark_look(mark, &stats) && stats.tail < mark->length;
}

void k2i_relay_lane_recover(const struct k2i_ledger_file *mark)
{
	const struct k2hft_ring_options options = {.size = sizeof(options), .path = mark->path};
	struct k2hft_ring_stats stats;
	struct k2hft_ring *ring;
	int error;

	if (!mark_look(mark, &stats) || stats.tail <= mark->length)
		return;
	error = k2hft_ring_open(&options, &ring);
	if (!error) {
		error = k2hft_ring_cut(ring, mark->length);
		k2hft_ring_close(ring);
	}
	if (error)
		k2i_log(K2HFT_LOG_ERROR, "relay: %s: chunks that come again can't be cut off: %s", mark->path,
			k2i_text_error(error));
	else
		k2i_log(K2HFT_LOG_INFO, "relay: %s is cut back to %" PRIu64 ": what is behind comes again", mark->path,
			mark->length);
}

uint64_t k2i_relay_lanes_free(struct k2i_relay *relay)
{
	uint64_t least = UINT64_MAX, room;

	for (uint32_t at = 0; at < relay->taker_count; at++) {
		struct k2hft_ring_stats stats = k2i_ring_stats_get(k2i_relay_taker(relay, at)->ring);

		room = stats.ring_bytes - (stats.tail - stats.head);
		least = room < least ? room : least;
	}
	return least;
}

struct k2i_ledger_file k2i_relay_lane_mark(const struct k2i_relay *relay, const struct k2i_relay_lane *lane)
{
	struct k2i_ledger_file mark = {
		.length = lane->tail, .path = lane->path, .deferred = relay->deferred, .sink = relay->sink.number};

	memcpy(&mark.birth, lane->uuid, sizeof(mark.birth));
	memcpy(&mark.inode, lane->uuid + sizeof(mark.birth), sizeof(mark.inode));
	return mark;
}

int k2i_relay_lane_tell(struct k2i_relay *relay, struct k2i_relay_lane *lane)
{
	const struct k2i_ledger_file mark = k2i_relay_lane_mark(relay, lane);
	int result;

	if (!lane->path || (lane->told && (relay->deferred || !lane->told_deferred)))
		return 0;
	result = k2i_ledger_file_opened(relay->ledger, &mark);
	if (result == 1)
		result = k2i_ledger_sync(relay->ledger);
	if (result)
		return result;
	lane->told = true;
	lane->told_deferred = relay->deferred;
	return 0;
}

void k2i_relay_lanes_show(struct k2i_relay *relay, struct k2i_report *report, struct k2i_sink_state *state)
{
	char link[64], goes_to[K2I_SPREAD_HOME_BYTES];

	state->name = "relay";
	k2i_report_open(report, "lanes", '[');
	(void)pthread_mutex_lock(&relay->wait_mutex);
	for (uint32_t at = 0; at < relay->taker_count; at++) {
		const struct k2i_relay_lane *lane = k2i_relay_taker(relay, at);
		const struct k2hft_target *targets = relay->config.targets;
		struct k2hft_client_stats client = K2HFT_CLIENT_STATS_INIT;
		struct k2hft_ring_stats ring = k2i_ring_stats_get(lane->ring);
		uint64_t waiting_bytes = ring.tail > ring.head ? ring.tail - ring.head : 0;

		(void)k2hft_client_stats(lane->client, &client);
		/* The others of a lane are the list behind it, the first behind the last. */
		targets += (at + client.target) % relay->config.target_count;
		k2i_spread_home(targets->host, targets->port, goes_to);
		(void)snprintf(link, sizeof(link), "/proc/%ld/fd/%d", (long)getpid(),
			       k2hft_ring_descriptor(lane->ring));
		k2i_sink_state_add(state, client.state == K2HFT_CLIENT_CONNECTED || !waiting_bytes ? "" : "away",
				   waiting_bytes, 0);
		k2i_report_lane(report, lane->home, goes_to, lane->path ? lane->path : link, &ring, &client);
	}
	(void)pthread_mutex_unlock(&relay->wait_mutex);
	k2i_report_close(report, ']');
}
