/* SPDX-License-Identifier: MIT */
/* Receivers that are added to a sender and removed from it while writers write. */
#include "sender/sender.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "base/caller.h"
#include "base/options.h"
#include "base/spread.h"
#include "client/client.h"
#include "ring/ring.h"

/* Streams that are in a lane now can go on in another one. With the mutex. */
static void lanes_changed(struct k2hft_sender *sender)
{
	for (uint32_t at = 0; at < sender->lane_count; at++)
		sender->lanes[at]->changed_at = k2i_ring_stats(sender->lanes[at]->ring).tail;
	sender->changed = true;
	/* relaxed: what has changed is looked at with the mutex held. */
	(void)atomic_fetch_add_explicit(&sender->lanes_version, 1, memory_order_relaxed);
}

/* The ring of a new lane must take what writers may write, as those of the others do. */
static bool sizes_fit(const struct k2hft_sender *sender, const struct k2i_lane *lane)
{
	struct k2i_lane_sizes sizes = k2i_lane_sizes(lane);

	return sizes.open_bytes_max >= sender->sizes.open_bytes_max &&
	       sizes.piece_bytes_max >= sender->sizes.piece_bytes_max &&
	       sizes.run_bytes_max >= sender->sizes.run_bytes_max;
}

/* The lane of a home, and how many lanes are of receivers. NULL: there is none. */
static struct k2i_lane *lane_of(struct k2hft_sender *sender, const char *home, uint32_t *count)
{
	struct k2i_lane *found = NULL;

	(void)pthread_mutex_lock(&sender->mutex);
	*count = 0;
	for (uint32_t at = 0; at < sender->lane_count; at++) {
		*count += !sender->lanes[at]->removed;
		if (strcasecmp(sender->lanes[at]->home, home) == 0)
			found = sender->lanes[at];
	}
	(void)pthread_mutex_unlock(&sender->mutex);
	return found;
}

static int lane_begin(struct k2hft_sender *sender, struct k2i_lane *lane)
{
	int status = sizes_fit(sender, lane) ? k2i_sender_lane_start(sender, lane) : -EMSGSIZE;

	if (status == 0)
		status = k2i_sender_lane_add(sender, lane);
	if (status) {
		k2i_lane_close(lane);
		return status;
	}
	(void)pthread_mutex_lock(&sender->mutex);
	lanes_changed(sender);
	(void)pthread_mutex_unlock(&sender->mutex);
	k2i_sender_others_renew(sender);
	return 0;
}

static int target_add(struct k2hft_sender *sender, const struct k2hft_target *target)
{
	char home[K2I_SPREAD_HOME_BYTES];
	struct k2i_lane *lane;
	uint32_t count;
	int status;

	k2i_spread_home(target->host, target->port, home);
	lane = lane_of(sender, home, &count);
	if (lane)
		return lane->removed ? -EBUSY : -EEXIST;
	if (count >= K2HFT_TARGETS_MAX)
		return -ENOSPC;
	status = k2i_sender_lane_make(sender, target, false, &lane);
	return status ? status : lane_begin(sender, lane);
}

int k2hft_sender_target_add(struct k2hft_sender *sender, const struct k2hft_target *target)
{
	K2I_ERRNO_KEPT;
	struct k2hft_sender_options options;
	int status;

	if (!sender || !target || sender->attached)
		return -EINVAL;
	options = sender->options;
	options.targets = target;
	options.target_count = 1;
	options.copies = 0;
	status = k2i_sender_options_check(&options);
	if (status)
		return status;
	(void)pthread_mutex_lock(&sender->change);
	status = target_add(sender, target);
	(void)pthread_mutex_unlock(&sender->change);
	/* Writers that are idle follow now, so that the order of their streams does not depend on when they go on. */
	if (status == 0)
		(void)k2i_sender_seal(sender);
	return status;
}

static int target_remove(struct k2hft_sender *sender, const char *home)
{
	uint32_t count;
	struct k2i_lane *lane = lane_of(sender, home, &count);

	if (!lane || lane->removed)
		return -ENOENT;
	if (count == 1 || count <= sender->copies)
		return -EINVAL;
	(void)pthread_mutex_lock(&sender->mutex);
	lane->removed = true;
	lanes_changed(sender);
	(void)pthread_mutex_unlock(&sender->mutex);
	k2i_sender_others_renew(sender);
	return k2i_lane_end_begin(lane);
}

int k2hft_sender_target_remove(struct k2hft_sender *sender, const char *host, const char *port)
{
	K2I_ERRNO_KEPT;
	char home[K2I_SPREAD_HOME_BYTES];
	int status;

	if (!sender || !host || !port || sender->attached)
		return -EINVAL;
	k2i_spread_home(host, port, home);
	(void)pthread_mutex_lock(&sender->change);
	status = target_remove(sender, home);
	(void)pthread_mutex_unlock(&sender->change);
	return status;
}

uint32_t k2hft_sender_lane_count(struct k2hft_sender *sender)
{
	uint32_t count;

	(void)pthread_mutex_lock(&sender->mutex);
	count = sender->lane_count;
	(void)pthread_mutex_unlock(&sender->mutex);
	return count;
}

int k2hft_sender_lane(struct k2hft_sender *sender, uint32_t index, struct k2hft_lane *lane)
{
	struct k2hft_lane known = {.size = sizeof(known)};
	const struct k2i_lane *found;

	if (!sender || !lane)
		return -EINVAL;
	(void)pthread_mutex_lock(&sender->mutex);
	found = index < sender->lane_count ? sender->lanes[index] : NULL;
	if (found) {
		known.ring = found->ring;
		known.client = found->client;
		known.host = found->target.host;
		known.port = found->target.port;
		known.removed = found->removed;
	}
	(void)pthread_mutex_unlock(&sender->mutex);
	return found ? k2i_stats_copy(lane, &known, sizeof(known)) : -ENOENT;
}
