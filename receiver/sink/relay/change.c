/* SPDX-License-Identifier: MIT */
/* Another list of next stages: a reload of TRANSCONF adds lanes and lets others leave, while groups are stored. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/log.h"
#include "receiver/base/text.h"
#include "receiver/sink/relay/internal.h"

static const struct k2hft_target *target_find(const struct k2i_sender_config *config, const char *home)
{
	char name[K2I_SPREAD_HOME_BYTES];

	for (uint32_t at = 0; at < config->target_count; at++) {
		k2i_spread_home(config->targets[at].host, config->targets[at].port, name);
		if (strcasecmp(name, home) == 0)
			return &config->targets[at];
	}
	return NULL;
}

/* Chunks of before a change. */
static bool lane_is_behind(const struct k2i_relay *relay, const struct k2i_relay_lane *lane)
{
	if (lane->state == K2I_RELAY_LANE_TAKES)
		return k2i_ring_stats_get(lane->ring).head < lane->changed_at;
	return lane->state == K2I_RELAY_LANE_LEAVES && k2i_relay_lane_leaves(relay, lane);
}

/* Both mutexes: groups are stored, and the worker looks, while lanes change. */
static void lanes_lock(struct k2i_relay *relay)
{
	(void)pthread_mutex_lock(&relay->mutex);
	(void)pthread_mutex_lock(&relay->wait_mutex);
}

static void lanes_unlock(struct k2i_relay *relay)
{
	(void)pthread_mutex_unlock(&relay->wait_mutex);
	(void)pthread_mutex_unlock(&relay->mutex);
}

static bool change_is_over(const struct k2i_relay *relay)
{
	uint32_t at = 0;

	while (relay->changing && at < relay->former_count && !lane_is_behind(relay, &relay->lanes[relay->formers[at]]))
		at++;
	return !relay->changing || at == relay->former_count;
}

bool k2i_relay_stream_waits(const struct k2i_relay *relay, const struct k2i_relay_stream *stream, uint32_t lane)
{
	uint32_t former[K2I_RELAY_LANES_MAX];

	if (!relay->changing)
		return false;
	k2i_relay_order(relay, relay->formers, relay->former_count, stream->path, 1, former);
	return former[0] != lane && lane_is_behind(relay, &relay->lanes[former[0]]);
}

static bool lane_has_ways(const struct k2i_relay *relay, uint32_t lane)
{
	const struct k2i_relay_way *way = relay->ways;

	while (way && way->lane != lane)
		way = way->next;
	return way != NULL;
}

void k2i_relay_change_tick(struct k2i_relay *relay)
{
	if (change_is_over(relay))
		relay->changing = false;
	for (uint32_t at = 0; at < K2I_RELAY_LANES_MAX; at++) {
		struct k2i_relay_lane *lane = &relay->lanes[at];

		if (lane->state == K2I_RELAY_LANE_LEAVES && !lane_has_ways(relay, at) &&
		    !k2i_relay_lane_leaves(relay, lane))
			lane->state = K2I_RELAY_LANE_FREE;
	}
}

/* Preparing ------------------------------------------------------------------------------------------------------- */

static int keys_check(const struct k2i_relay *relay, char *message, size_t message_room)
{
	const struct k2i_sender_config *next = &relay->next;
	char names[512], place[480];

	if (k2i_settings_restart(relay->config.settings, next->settings, K2I_RELOADS_RELAY, names, sizeof(names), place,
				 sizeof(place))) {
		(void)snprintf(message, message_room, "%s: %s changed, which needs a restart", place, names);
		return -EINVAL;
	}
	for (uint32_t at = 0; at < next->target_count; at++) {
		char home[K2I_SPREAD_HOME_BYTES];
		const struct k2hft_target *former;

		k2i_spread_home(next->targets[at].host, next->targets[at].port, home);
		former = target_find(&relay->config, home);
		if (!former || k2i_sender_tls_same(former->tls, next->targets[at].tls))
			continue;
		(void)snprintf(message, message_room, "%s: SSL or its files changed for %s, which needs a restart",
			       next->settings->file, home);
		return -EINVAL;
	}
	return 0;
}

/* Whether the receivers are others than they were. */
static bool targets_change(const struct k2i_relay *relay)
{
	const struct k2i_sender_config *next = &relay->next;
	uint32_t same = 0;

	for (uint32_t at = 0; at < relay->taker_count; at++)
		same += target_find(next, relay->lanes[relay->takers[at]].home) != NULL;
	return same != relay->taker_count || same != next->target_count;
}

static int lane_add(struct k2i_relay *relay, const struct k2hft_target *target, const char *home)
{
	uint32_t place = 0;
	int error;

	lanes_lock(relay);
	while (place < K2I_RELAY_LANES_MAX && relay->lanes[place].state != K2I_RELAY_LANE_FREE)
		place++;
	lanes_unlock(relay);
	error = place < K2I_RELAY_LANES_MAX ? k2hft_sender_target_add(relay->sender, target) : -ENOSPC;
	if (error)
		return error;
	lanes_lock(relay);
	relay->added[relay->added_count++] = place;
	error = k2i_relay_lane_open(relay, home, place);
	relay->lanes[place].state = K2I_RELAY_LANE_ADDED;
	lanes_unlock(relay);
	return error;
}

static int lanes_add(struct k2i_relay *relay, char *message, size_t message_room)
{
	const struct k2i_sender_config *next = &relay->next;
	int error;

	lanes_lock(relay);
	error = change_is_over(relay) ? 0 : -EBUSY;
	lanes_unlock(relay);
	for (uint32_t at = 0; at < next->target_count && !error; at++) {
		char home[K2I_SPREAD_HOME_BYTES];

		k2i_spread_home(next->targets[at].host, next->targets[at].port, home);
		if (target_find(&relay->config, home))
			continue;
		error = lane_add(relay, &next->targets[at], home);
		if (error)
			(void)snprintf(message, message_room, "%s: %s: %s", next->settings->file, home,
				       error == -EBUSY ? "it was removed, and has not acknowledged all yet"
						       : k2i_text_error(error));
	}
	if (error && !message[0])
		(void)snprintf(
			message, message_room,
			"%s: the receivers of the last change have not acknowledged yet what was there before it",
			next->settings->file);
	return error;
}

int k2i_relay_prepare(struct k2i_sink *sink, const struct k2i_settings *settings, char *message, size_t message_room)
{
	struct k2i_relay *relay = k2i_relay(sink);
	int error = k2i_sender_config_relay(settings, &relay->next, message, message_room);

	if (error)
		return error;
	relay->prepared = true;
	relay->added_count = 0;
	error = keys_check(relay, message, message_room);
	return error || !targets_change(relay) ? error : lanes_add(relay, message, message_room);
}

/* Changing -------------------------------------------------------------------------------------------------------- */

static void target_remove(struct k2i_relay *relay, const struct k2hft_target *target, const char *home)
{
	int error = k2hft_sender_target_remove(relay->sender, target->host, target->port);

	if (error)
		k2i_log(K2HFT_LOG_ERROR, "relay: %s can't be removed: %s", home, k2i_text_error(error));
}

static void change_undo(struct k2i_relay *relay)
{
	for (uint32_t at = 0; at < relay->added_count; at++) {
		struct k2i_relay_lane *lane = &relay->lanes[relay->added[at]];

		lanes_lock(relay);
		k2i_relay_lane_close(lane);
		lane->state = K2I_RELAY_LANE_FREE;
		lanes_unlock(relay);
		target_remove(relay, target_find(&relay->next, lane->home), lane->home);
	}
}

/* Those that are to be removed; with both mutexes. */
static uint32_t takers_change(struct k2i_relay *relay, uint32_t leaving[K2I_RELAY_LANES_MAX])
{
	const bool hash = relay->config.options.spread == K2HFT_SPREAD_HASH && relay->config.options.copies <= 1;
	uint32_t left = 0;

	memcpy(relay->formers, relay->takers, sizeof(relay->formers));
	relay->former_count = relay->taker_count;
	relay->taker_count = 0;
	for (uint32_t at = 0; at < relay->former_count; at++) {
		struct k2i_relay_lane *lane = &relay->lanes[relay->formers[at]];

		lane->changed_at = lane->tail;
		if (target_find(&relay->next, lane->home))
			continue;
		leaving[left++] = relay->formers[at];
		k2i_relay_streams_leave(relay, relay->formers[at]);
		k2i_relay_lane_close(lane);
		lane->state = K2I_RELAY_LANE_LEAVES;
	}
	for (uint32_t at = 0; at < relay->added_count; at++) {
		k2i_relay_streams_leave(relay, relay->added[at]);
		relay->lanes[relay->added[at]].state = K2I_RELAY_LANE_TAKES;
	}
	for (uint32_t at = 0; at < relay->next.target_count; at++) {
		char home[K2I_SPREAD_HOME_BYTES];
		uint32_t place = 0;

		k2i_spread_home(relay->next.targets[at].host, relay->next.targets[at].port, home);
		while (relay->lanes[place].state != K2I_RELAY_LANE_TAKES ||
		       strcasecmp(relay->lanes[place].home, home) != 0)
			place++;
		relay->takers[relay->taker_count++] = place;
	}
	relay->changing = hash;
	return left;
}

static void change_take(struct k2i_relay *relay)
{
	struct k2i_sender_config former = relay->config;
	uint32_t leaving[K2I_RELAY_LANES_MAX], left = 0;

	lanes_lock(relay);
	if (targets_change(relay))
		left = takers_change(relay, leaving);
	relay->config = relay->next;
	lanes_unlock(relay);
	for (uint32_t at = 0; at < relay->added_count; at++)
		k2i_log(K2HFT_LOG_INFO, "relay: %s is added", relay->lanes[relay->added[at]].home);
	for (uint32_t at = 0; at < left; at++) {
		const char *home = relay->lanes[leaving[at]].home;

		k2i_log(K2HFT_LOG_INFO, "relay: %s is removed: it gets what is in its ring still", home);
		target_remove(relay, target_find(&former, home), home);
	}
	k2i_sender_config_free(&former);
}

void k2i_relay_change(struct k2i_sink *sink, bool take)
{
	struct k2i_relay *relay = k2i_relay(sink);

	if (!relay->prepared)
		return;
	if (take) {
		change_take(relay);
	} else {
		change_undo(relay);
		k2i_sender_config_free(&relay->next);
	}
	relay->prepared = false;
}
