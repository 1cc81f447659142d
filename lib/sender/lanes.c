/* SPDX-License-Identifier: MIT */
/* The lanes of a sender: one for each receiver, and those of receivers that were removed until they are drained. */
#include "base/bits.h"
#include "sender/sender.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/caller.h"
#include "base/options.h"
#include "base/spread.h"
#include "client/client.h"
#include "ring/ring.h"
#include "sender/target.h"
#include "sender/writer.h"

/* Receivers that may take over from a lane. */
struct others {
	struct k2hft_target targets[K2HFT_TARGETS_MAX];
	uint32_t count;
};

int k2i_sender_lane_add(struct k2hft_sender *sender, struct k2i_lane *lane)
{
	struct k2i_lane **larger;

	(void)pthread_mutex_lock(&sender->mutex);
	larger = reallocarray(sender->lanes, sender->lane_count + 1, sizeof(*larger));
	if (larger) {
		sender->lanes = larger;
		larger[sender->lane_count++] = lane;
	}
	(void)pthread_mutex_unlock(&sender->mutex);
	return larger ? 0 : -ENOMEM;
}

uint32_t k2i_sender_lanes_hold(struct k2hft_sender *sender, struct k2i_lane ***lanes)
{
	uint32_t count = 0;

	(void)pthread_mutex_lock(&sender->mutex);
	*lanes = malloc(sender->lane_count * sizeof(**lanes));
	for (; *lanes && count < sender->lane_count; count++) {
		(*lanes)[count] = sender->lanes[count];
		sender->lanes[count]->users++;
	}
	(void)pthread_mutex_unlock(&sender->mutex);
	return count;
}

void k2i_sender_lanes_release(struct k2hft_sender *sender, struct k2i_lane **lanes, uint32_t count)
{
	(void)pthread_mutex_lock(&sender->mutex);
	while (count-- > 0)
		k2i_lane_leave(lanes[count]);
	(void)pthread_mutex_unlock(&sender->mutex);
	free(lanes);
}

static bool has_file(const struct k2hft_sender *sender)
{
	return sender->options.ring_path && !(sender->options.ring_flags & K2HFT_RING_TEMPORARY);
}

/* The name of a file of the lane: the single one has the one that the options say. */
static int lane_path(const struct k2i_lane *lane, const char *path, bool single, char **made)
{
	if (!path)
		return 0;
	if (single)
		*made = strdup(path);
	else if (asprintf(made, "%s.%s", path, lane->home) < 0)
		*made = NULL;
	return *made ? 0 : -ENOMEM;
}

static int lane_ring_open(const struct k2hft_sender *sender, struct k2i_lane *lane)
{
	struct k2hft_ring_options options = k2i_ring_options_of(&sender->options);
	uint64_t waiting;
	int status;

	if (lane->ring_path)
		options.path = lane->ring_path;
	waiting = k2i_ring_waiting(&options);
	status = k2hft_ring_open(&options, &lane->ring);
	if (status == 0 && waiting)
		k2i_log(K2HFT_LOG_WARNING,
			"sender: %s is begun afresh: %llu records in it that were not acknowledged are lost",
			options.path, (unsigned long long)waiting);
	if (status == 0)
		lane->changed_at = k2i_ring_stats(lane->ring).tail;
	return status;
}

int k2i_sender_lane_make(struct k2hft_sender *sender, const struct k2hft_target *target, bool single,
			 struct k2i_lane **made)
{
	struct k2i_lane *lane = k2i_lane_create(sender);
	int status = lane ? k2i_target_copy(target, &lane->target) : -ENOMEM;

	if (status == 0) {
		k2i_spread_home(target->host, target->port, lane->home);
		status = lane_path(lane, has_file(sender) ? sender->options.ring_path : NULL, single, &lane->ring_path);
	}
	if (status == 0)
		status = lane_path(lane, sender->options.archive_path, single, &lane->archive_path);
	if (status == 0)
		status = lane_ring_open(sender, lane);
	if (status && lane)
		k2i_lane_close(lane);
	else
		*made = lane;
	return status;
}

/*
 * The receivers behind the lane in the list, the first behind the last, as many as may take over. Their texts are those of
 * the other lanes, which stay as long as the caller has `change`.
 */
static void others_find(struct k2hft_sender *sender, const struct k2i_lane *lane, struct others *others)
{
	uint32_t most = sender->options.replica ? sender->options.replica : K2HFT_TARGETS_MAX, at = 0;

	others->count = 0;
	/* A receiver that was removed may never come back. */
	if (lane->removed)
		most = K2HFT_TARGETS_MAX;
	if (sender->copies_kept || most == K2HFT_REPLICA_NONE)
		return;
	(void)pthread_mutex_lock(&sender->mutex);
	while (at + 1 < sender->lane_count && sender->lanes[at] != lane)
		at++;
	for (uint32_t step = 1; step <= sender->lane_count && others->count < most; step++) {
		const struct k2i_lane *other = sender->lanes[(at + step) % sender->lane_count];

		if (other != lane && !other->removed && others->count < K2HFT_TARGETS_MAX)
			others->targets[others->count++] = other->target;
	}
	(void)pthread_mutex_unlock(&sender->mutex);
}

void k2i_sender_others_renew(struct k2hft_sender *sender)
{
	struct others *others = malloc(sizeof(*others));
	struct k2i_lane **lanes;
	uint32_t count = k2i_sender_lanes_hold(sender, &lanes);

	for (uint32_t at = 0; others && at < count; at++) {
		others_find(sender, lanes[at], others);
		(void)k2hft_client_others_set(lanes[at]->client, others->targets, others->count);
	}
	k2i_sender_lanes_release(sender, lanes, count);
	free(others);
}

static void claim_in_the_way(void *argument)
{
	k2i_lane_seal(argument);
}

int k2i_sender_lane_start(struct k2hft_sender *sender, struct k2i_lane *lane)
{
	struct k2hft_client_options options = k2i_client_options_of(&sender->options);
	struct others *others = malloc(sizeof(*others));
	int status;

	if (!others)
		return -ENOMEM;
	others_find(sender, lane, others);
	options.host = lane->target.host;
	options.port = lane->target.port;
	options.tls = lane->target.tls;
	options.others = others->count ? others->targets : NULL;
	options.others_count = others->count;
	options.archive_path = lane->archive_path;
	status = k2i_lane_client_start(lane, &options, claim_in_the_way);
	free(others);
	return status;
}

/*
 * A file that was left beside the others, because its receiver is not one of the sender's any more, or was its only one.
 * "HOST:PORT" behind the name says where its records go.
 */
struct leftover {
	char path[PATH_MAX];
	char host[K2I_SPREAD_HOME_BYTES];
	struct k2hft_target target;
};

static bool leftover_home(struct k2hft_sender *sender, const char *rest, struct leftover *leftover)
{
	char *port;

	/* The others have the same TLS, mostly; nothing says what this one had. */
	leftover->target = sender->lanes[0]->target;
	if (!*rest)
		return true;
	if (*rest++ != '.' || strlen(rest) >= sizeof(leftover->host))
		return false;
	(void)snprintf(leftover->host, sizeof(leftover->host), "%s", rest);
	port = strrchr(leftover->host, ':');
	if (!port || !port[1] || port == leftover->host)
		return false;
	*port++ = '\0';
	leftover->target.host = leftover->host;
	leftover->target.port = port;
	if (*leftover->host == '[' && port[-2] == ']') {
		port[-2] = '\0';
		leftover->target.host++;
	}
	return true;
}

static bool leftover_is_used(struct k2hft_sender *sender, const char *path)
{
	bool used = false;

	/* Leftovers before it may be sent by now, and end. */
	(void)pthread_mutex_lock(&sender->mutex);
	for (uint32_t at = 0; at < sender->lane_count; at++)
		used |= strcmp(sender->lanes[at]->ring_path, path) == 0;
	(void)pthread_mutex_unlock(&sender->mutex);
	return used;
}

/* Its lane drains and ends, as one that was removed. */
static int leftover_open(struct k2hft_sender *sender, const struct leftover *leftover)
{
	struct k2i_lane *lane = k2i_lane_create(sender);
	int status = lane ? k2i_target_copy(&leftover->target, &lane->target) : -ENOMEM;

	if (status == 0) {
		k2i_spread_home(leftover->target.host, leftover->target.port, lane->home);
		lane->removed = true;
		lane->ring_path = strdup(leftover->path);
		status = lane->ring_path ? lane_ring_open(sender, lane) : -ENOMEM;
	}
	if (status == 0)
		status = lane_path(lane, sender->options.archive_path, false, &lane->archive_path);
	if (status == 0)
		status = k2i_sender_lane_add(sender, lane);
	if (status) {
		if (lane)
			k2i_lane_close(lane);
		return status;
	}
	k2i_log(K2HFT_LOG_WARNING, "sender: %s is left from other receivers: what is in it goes to %s", lane->ring_path,
		lane->home);
	/* Its streams can go to other lanes now. */
	sender->changed = true;
	status = k2i_sender_lane_start(sender, lane);
	return status ? status : k2i_lane_end_begin(lane);
}

static int leftover_look(struct k2hft_sender *sender, const char *path, const char *rest)
{
	struct k2hft_ring_stats stats = K2HFT_RING_STATS_INIT;
	struct leftover leftover;
	int served;

	if ((size_t)snprintf(leftover.path, sizeof(leftover.path), "%s%s", path, rest) >= sizeof(leftover.path) ||
	    !leftover_home(sender, rest, &leftover) || leftover_is_used(sender, leftover.path))
		return 0;
	/* Files that are no rings, and rings that another process sends, are not this sender's. */
	if (k2hft_ring_observe(leftover.path, &stats, &served) || served)
		return 0;
	return leftover_open(sender, &leftover);
}

/* Ring files are looked for by name: the option's own, and those with a home behind it. */
static int leftovers_open(struct k2hft_sender *sender)
{
	const char *path = sender->options.ring_path, *name;
	char directory[PATH_MAX];
	struct dirent *entry;
	size_t bytes;
	int status = 0;
	DIR *files;
	K2I_ERRNO_KEPT;

	if (!has_file(sender))
		return 0;
	name = strrchr(path, '/');
	(void)snprintf(directory, sizeof(directory), "%.*s", name ? (int)(name - path) + 1 : 1, name ? path : ".");
	name = name ? name + 1 : path;
	bytes = strlen(name);
	files = opendir(directory);
	if (!files)
		return 0;
	while (status == 0 && (entry = readdir(files)) != NULL)
		if (strncmp(entry->d_name, name, bytes) == 0)
			status = leftover_look(sender, path, entry->d_name + bytes);
	(void)closedir(files);
	return status;
}

static void sizes_set(struct k2hft_sender *sender)
{
	struct k2i_lane_sizes *sizes = &sender->sizes;

	*sizes = k2i_lane_sizes(sender->lanes[0]);
	for (uint32_t at = 1; at < sender->lane_count; at++) {
		struct k2i_lane_sizes other = k2i_lane_sizes(sender->lanes[at]);

		sizes->open_bytes_max = k2i_least_bytes(sizes->open_bytes_max, other.open_bytes_max);
		sizes->piece_bytes_max = k2i_least_bytes(sizes->piece_bytes_max, other.piece_bytes_max);
		sizes->run_bytes_max = k2i_least_bytes(sizes->run_bytes_max, other.run_bytes_max);
	}
}

static int lane_open(struct k2hft_sender *sender, const struct k2hft_target *target, bool single)
{
	struct k2i_lane *lane;
	int status = k2i_sender_lane_make(sender, target, single, &lane);

	if (status)
		return status;
	/* A stream that is in it can go to another lane now, if there are others than before. */
	sender->changed |= k2i_ring_stats(lane->ring).unacked_records != 0;
	status = k2i_sender_lane_add(sender, lane);
	if (status)
		k2i_lane_close(lane);
	return status;
}

int k2i_sender_lanes_open(struct k2hft_sender *sender, const struct k2hft_sender_options *options)
{
	struct k2hft_target one;
	uint32_t count;
	const struct k2hft_target *targets = k2i_sender_targets(options, &one, &count);
	int status = 0;

	for (uint32_t at = 0; at < count && status == 0; at++)
		status = lane_open(sender, &targets[at], count == 1);
	if (status)
		return status;
	sizes_set(sender);
	for (uint32_t at = 0; at < count && status == 0; at++)
		status = k2i_sender_lane_start(sender, sender->lanes[at]);
	return status ? status : leftovers_open(sender);
}
