/* SPDX-License-Identifier: MIT */
#include "fuse/keeper/change.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/program/ring_stats.h"
#include "base/crash.h"
#include "fuse/base/journal.h"
#include "fuse/base/mount.h"
#include "fuse/device/populate.h"
#include "fuse/intake/handles.h"
#include "fuse/intake/queue.h"
#include "fuse/intake/record_route.h"
#include "fuse/keeper/handover.h"
#include "fuse/keeper/lanes.h"
#include "fuse/keeper/setup.h"
#include "fuse/keeper/worker.h"
#include "fuse/plugin/feeder.h"
#include "fuse/tree/nodes.h"

/* The lane of a receiver; NULL: there is none. */
static struct k2i_mount_lane *lane_find(struct k2i_mount_lanes *lanes, const char *home)
{
	for (unsigned at = 0; at < lanes->count; at++) {
		struct k2i_mount_lane *lane = &lanes->lane[at];

		if (k2i_lane_used(lane) && !lane->plugin && !lane->homeless && strcasecmp(lanes->names[at], home) == 0)
			return lane;
	}
	return NULL;
}

/* A place for a lane, of which nobody knows yet; NULL: there is none. */
static struct k2i_mount_lane *lane_free(struct k2i_mount_lanes *lanes, uint64_t taken)
{
	for (unsigned at = 0; at < K2I_LANE_COUNT_MAX; at++) {
		if (lanes->lane[at].state == K2I_LANE_FREE && lanes->lane[at].ring_fd < 0 && !(taken >> at & 1))
			return &lanes->lane[at];
	}
	return NULL;
}

static void lane_drop(struct k2i_mount_lane *lane)
{
	k2hft_client_close(lane->client);
	k2hft_producer_close(lane->producer);
	k2i_populated_free(lane->populated);
	k2hft_ring_close(lane->ring);
	lane->client = NULL;
	lane->producer = NULL;
	lane->populated = NULL;
	lane->ring = NULL;
}

static int ring_hand_over(const struct k2i_mount *mount, const struct k2i_mount_lane *lane)
{
	int kept = k2hft_ring_keep(lane->ring), status;

	if (kept < 0)
		return kept;
	status = k2i_handover_give(mount, lane->index, kept);
	(void)close(kept);
	return status;
}

static int ring_prepare(struct k2i_mount *mount, const struct k2i_setup *setup, struct k2i_mount_lane *lane,
			struct k2i_reload *told)
{
	char *file = mount->lanes.ring_files[lane->index];
	const char *home = mount->lanes.names[lane->index];
	int status, length = 0;

	/* Beside others, also if it will be alone: the former one's has that name still. */
	if (setup->config.settings->queue_type == K2I_QUEUE_FILE)
		length = snprintf(file, PATH_MAX, "%s.", setup->config.settings->queue_file);
	if (length >= PATH_MAX - (int)K2I_SPREAD_HOME_BYTES)
		return -ENAMETOOLONG;
	memcpy(file + length, length ? home : "", strlen(length ? home : "") + 1);
	if (*file && access(file, F_OK))
		lane->made = true;
	status = k2i_lane_ring_open(mount, &setup->config, lane, &lane->ring, told->error, sizeof(told->error));
	if (status)
		return status;
	status = k2hft_producer_open(lane->ring, &lane->producer);
	if (status == 0)
		status = k2i_populated_create(lane->ring, &lane->populated);
	return status ? status : ring_hand_over(mount, lane);
}

/* NULL: there is no place, as `told` says. */
static struct k2i_mount_lane *lane_begin(struct k2i_mount *mount, const struct k2i_setup *setup,
					 struct k2i_change *change, struct k2i_reload *told)
{
	struct k2i_mount_lane *lane = lane_free(&mount->lanes, change->added);

	if (!lane) {
		(void)snprintf(told->error, sizeof(told->error),
			       "%s: with those that were removed and are not empty yet, a mount can have %u receivers "
			       "and rules with PLUGIN",
			       setup->config.settings->file, K2I_LANE_COUNT_MAX);
		return NULL;
	}
	change->added |= k2i_lane_bit(lane);
	*lane = (struct k2i_mount_lane){.index = lane->index, .state = K2I_LANE_FREE, .ring_fd = -1};
	return lane;
}

static int lane_prepare(struct k2i_mount *mount, const struct k2i_setup *setup, const struct k2hft_target *target,
			struct k2i_mount_lane *lane, struct k2i_reload *told)
{
	char *home = mount->lanes.names[lane->index];
	int status;

	k2i_spread_home(target->host, target->port, home);
	status = ring_prepare(mount, setup, lane, told);
	lane->target = target;
	if (status == 0)
		status = k2i_lane_client_open(mount, &setup->config, lane);
	if (status && !told->error[0])
		(void)snprintf(told->error, sizeof(told->error), "%s: %s", home, strerror(-status));
	return status;
}

static int plugin_prepare(struct k2i_mount *mount, const struct k2i_setup *setup, const struct k2i_rule *rule,
			  struct k2i_mount_lane *lane, struct k2i_reload *told)
{
	int status = k2i_lane_plugin_begin(&mount->lanes, lane, setup->config.settings, rule);

	if (status == 0)
		status = ring_prepare(mount, setup, lane, told);
	if (status && !told->error[0])
		(void)snprintf(told->error, sizeof(told->error), "%s:%u: PLUGIN of %s: %s", rule->place.file,
			       rule->place.line, rule->target, strerror(-status));
	return status;
}

/* Those of rules that are as they were go on. */
static int plugins_prepare(struct k2i_mount *mount, const struct k2i_setup *setup, struct k2i_change *change,
			   struct k2i_reload *told)
{
	const struct k2i_settings *settings = setup->config.settings;
	struct k2i_mount_lanes *lanes = &mount->lanes;
	uint64_t kept = 0;

	for (size_t number = 0; number < settings->rule_count; number++) {
		const struct k2i_rule *rule = &settings->rules[number];
		struct k2i_mount_lane *lane = rule->plugin ? k2i_lane_plugin_find(lanes, settings, rule) : NULL;
		int status;

		if (!rule->plugin || lane) {
			kept |= lane ? k2i_lane_bit(lane) : 0;
			continue;
		}
		lane = lane_begin(mount, setup, change, told);
		status = lane ? plugin_prepare(mount, setup, rule, lane, told) : -ENOSPC;
		if (status)
			return status;
		change->plugins |= k2i_lane_bit(lane);
	}
	for (unsigned at = 0; at < lanes->count; at++) {
		if (lanes->lane[at].plugin && lanes->lane[at].state == K2I_LANE_TAKES)
			change->removed |= k2i_lane_bit(&lanes->lane[at]) & ~kept;
	}
	change->plugins |= change->removed;
	return 0;
}

/* Receivers that are not in the list any more. */
static uint64_t removed_find(const struct k2i_mount_lanes *lanes, const struct k2i_change *change)
{
	uint64_t removed = 0;

	for (unsigned at = 0; at < lanes->takers; at++)
		removed |= k2i_lane_bit(&lanes->lane[lanes->taker[at]]);
	for (unsigned at = 0; at < change->takers; at++)
		removed &= ~k2i_lane_bit(&lanes->lane[change->taker[at]]);
	return removed;
}

int k2i_change_prepare(struct k2i_mount *mount, const struct k2i_setup *setup, struct k2i_change *change,
		       struct k2i_reload *told)
{
	const struct k2i_sender_config *config = &setup->config;
	int status = 0;

	*change = (struct k2i_change){.takers = config->target_count};
	for (unsigned at = 0; status == 0 && at < change->takers; at++) {
		char home[K2I_SPREAD_HOME_BYTES];
		struct k2i_mount_lane *lane;

		k2i_spread_home(config->targets[at].host, config->targets[at].port, home);
		lane = lane_find(&mount->lanes, home);
		if (!lane) {
			lane = lane_begin(mount, setup, change, told);
			status = lane ? lane_prepare(mount, setup, &config->targets[at], lane, told) : -ENOSPC;
			if (!lane)
				break;
		} else if (lane->state == K2I_LANE_EMPTIES) {
			change->returning |= k2i_lane_bit(lane);
		}
		change->taker[at] = lane->index;
	}
	if (status == 0)
		status = plugins_prepare(mount, setup, change, told);
	if (status) {
		k2i_change_undo(mount, change);
		return status;
	}
	change->removed |= removed_find(&mount->lanes, change);
	K2I_CRASH(mount_lanes_prepared);
	return 0;
}

static void states_take(struct k2i_mount_lanes *lanes, const struct k2i_change *change)
{
	uint64_t takes = change->added | change->returning;

	for (unsigned at = 0; at < K2I_LANE_COUNT_MAX; at++) {
		struct k2i_mount_lane *lane = &lanes->lane[at];

		if (!((takes | change->removed) & k2i_lane_bit(lane)))
			continue;
		K2I_JOURNAL_KEEP(&lane->state);
		K2I_JOURNAL_KEEP(&lane->made);
		lane->made = false;
		lane->state = takes & k2i_lane_bit(lane) ? K2I_LANE_TAKES : K2I_LANE_EMPTIES;
		lane->away_ns = 0;
		if (at >= lanes->count)
			lanes->count = at + 1;
	}
}

void k2i_change_take(struct k2i_mount *mount, const struct k2i_change *change)
{
	const struct k2hft_sender_options *options = &mount->config.options;
	struct k2i_mount_lanes *lanes = &mount->lanes;

	k2i_journal_keep(lanes, offsetof(struct k2i_mount_lanes, lane));
	if ((change->added | change->returning | change->removed) & ~change->plugins) {
		memcpy(lanes->former, lanes->taker, sizeof(lanes->former));
		lanes->formers = lanes->takers;
		for (unsigned at = 0; at < lanes->count; at++) {
			if (k2i_lane_used(&lanes->lane[at]) && !lanes->lane[at].plugin)
				k2i_lane_changed(lanes, &lanes->lane[at]);
		}
	}
	states_take(lanes, change);
	lanes->takers = change->takers;
	memcpy(lanes->taker, change->taker, sizeof(lanes->taker));
	for (unsigned at = 0; at < lanes->takers; at++)
		lanes->homes[at] = lanes->names[lanes->taker[at]];
	lanes->spread = lanes->takers > 1 ? options->spread : K2HFT_SPREAD_HASH;
	lanes->chosen = lanes->last = lanes->likely = NULL;
	lanes->chosen_bytes = 0;
	for (unsigned at = 0; at < lanes->count; at++) {
		struct k2hft_ring_stats stats;

		if (!(change->added & k2i_lane_bit(&lanes->lane[at])))
			continue;
		stats = k2i_ring_stats_get(lanes->lane[at].ring);
		if (stats.payload_bytes_max < lanes->chunk_bytes_max)
			lanes->chunk_bytes_max = stats.payload_bytes_max;
	}
	k2i_lanes_aim(mount);
}

void k2i_change_undo(struct k2i_mount *mount, const struct k2i_change *change)
{
	/* Routes were opened for it. */
	k2i_routes_release_streams();
	for (unsigned at = 0; at < K2I_LANE_COUNT_MAX; at++) {
		struct k2i_mount_lane *lane = &mount->lanes.lane[at];

		if (!(change->added & k2i_lane_bit(lane)))
			continue;
		lane_drop(lane);
		if (lane->made)
			(void)unlink(mount->lanes.ring_files[at]);
		lane->made = false;
	}
}

static void plugin_follow(const struct k2i_mount_lane *lane, const struct k2i_change *change)
{
	if (change->added & k2i_lane_bit(lane))
		k2i_log(K2HFT_LOG_INFO, "mount: PLUGIN of %s begins: %s", lane->plugin->rule.target,
			lane->plugin->rule.plugin);
	else if (change->removed & k2i_lane_bit(lane))
		k2i_log(K2HFT_LOG_INFO, "mount: PLUGIN of %s ends when it has read what waits, %llu records: %s",
			lane->plugin->rule.target, (unsigned long long)k2i_ring_stats_get(lane->ring).unacked_records,
			lane->plugin->rule.plugin);
}

void k2i_change_follow(struct k2i_mount *mount, const struct k2i_change *change)
{
	struct k2i_mount_lanes *lanes = &mount->lanes;

	for (unsigned at = 0; at < lanes->count; at++) {
		struct k2i_mount_lane *lane = &lanes->lane[at];

		if (lane->plugin)
			plugin_follow(lane, change);
		if (lane->plugin || !k2i_lane_used(lane))
			continue;
		if (k2hft_client_others_set(lane->client, lane->others, lane->others_count))
			k2i_log(K2HFT_LOG_WARNING, "mount: %s: the receivers that may take over are those of before",
				lanes->names[at]);
		if ((change->added | change->returning) & k2i_lane_bit(lane))
			k2i_log(K2HFT_LOG_INFO, "mount: %s is added", lanes->names[at]);
		else if (change->removed & k2i_lane_bit(lane))
			k2i_log(K2HFT_LOG_INFO, "mount: %s is removed: it gets %llu records that are in its ring still",
				lanes->names[at], (unsigned long long)k2i_ring_stats_get(lane->ring).unacked_records);
	}
	k2i_lanes_name_files(mount);
}

/* ---- files */

/* The keeper's number of the ring is another descriptor of a worker that has made it. */
static bool file_is_ring(const char *file, const struct k2hft_ring *ring)
{
	struct stat named, kept;

	return stat(file, &named) == 0 && fstat(k2hft_ring_descriptor(ring), &kept) == 0 &&
	       named.st_dev == kept.st_dev && named.st_ino == kept.st_ino;
}

/* Another ring that has the name keeps it until it is gone. */
static void file_name(struct k2i_mount *mount, const struct k2i_mount_lane *lane)
{
	char wanted[PATH_MAX], *file = mount->lanes.ring_files[lane->index], *name;

	k2i_lane_ring_name(mount, lane, wanted);
	name = strrchr(wanted, '/');
	if (!*file || !name || strcmp(strrchr(file, '/'), name) == 0)
		return;
	/* In the directory where it is, by whichever way the configuration leads there. */
	(void)memmove(wanted + (strrchr(file, '/') - file), name, strlen(name) + 1);
	(void)memcpy(wanted, file, (size_t)(strrchr(file, '/') - file));
	if (access(wanted, F_OK) && file_is_ring(file, lane->ring))
		(void)rename(file, wanted);
	K2I_CRASH(mount_ring_renamed);
	if (!file_is_ring(wanted, lane->ring))
		return;
	k2i_journal_keep(file, PATH_MAX);
	(void)snprintf(file, PATH_MAX, "%s", wanted);
	k2i_journal_step();
}

/* A start looks for what a plug-in has not read under the first name of its TARGET. */
static void plugin_name(struct k2i_mount *mount, const struct k2i_mount_lane *lane)
{
	char name[K2I_SPREAD_HOME_BYTES], *own = mount->lanes.names[lane->index];

	k2i_lane_plugin_name(&mount->lanes, lane, name);
	if (strcmp(name, own) != 0) {
		k2i_journal_keep(own, sizeof(name));
		memcpy(own, name, sizeof(name));
		k2i_journal_step();
	}
	/* A worker can have died between. */
	file_name(mount, lane);
}

void k2i_lanes_name_files(struct k2i_mount *mount)
{
	for (unsigned at = 0; at < mount->lanes.takers; at++)
		file_name(mount, &mount->lanes.lane[mount->lanes.taker[at]]);
	for (unsigned at = 0; at < mount->lanes.count; at++) {
		if (mount->lanes.lane[at].plugin && mount->lanes.lane[at].state == K2I_LANE_TAKES)
			plugin_name(mount, &mount->lanes.lane[at]);
	}
}

/* ---- the end of a lane */

/* The others have copies, and nobody takes over: a receiver that is away for good would keep the lane for ever. */
static bool lane_is_given_up(const struct k2i_mount *mount, struct k2i_mount_lane *lane, uint32_t state,
			     uint64_t now_ns)
{
	uint32_t failover_ms = mount->config.options.failover_ms;

	if (state == K2HFT_CLIENT_CONNECTED || !lane->away_ns)
		lane->away_ns = now_ns;
	failover_ms = failover_ms ? failover_ms : K2HFT_FAILOVER_MS_DEFAULT;
	return (mount->lanes.spread == K2HFT_SPREAD_ALL || mount->lanes.copies > 1) &&
	       now_ns - lane->away_ns >= failover_ms * K2I_MILLISECOND_NS;
}

/* All is acknowledged, every receiver that it has left has settled, and nobody can write to it any more. */
static bool lane_is_empty(const struct k2i_mount *mount, struct k2i_mount_lane *lane)
{
	struct k2hft_client_stats client = K2HFT_CLIENT_STATS_INIT;
	struct k2hft_ring_stats ring = k2i_ring_stats_get(lane->ring);

	if (lane->missing_newline_first || ring.producers > 1 || k2i_handles_use(mount, k2i_lane_bit(lane)))
		return false;
	if (lane->plugin)
		return ring.head >= ring.tail && k2i_feeder_leave(mount, lane);
	(void)k2hft_client_stats(lane->client, &client);
	if (ring.head >= ring.tail && k2hft_client_drain(lane->client, 0) == 0 && !client.unsettled)
		return true;
	if (!lane_is_given_up(mount, lane, client.state, k2i_clock_now_ns()))
		return false;
	k2i_log(K2HFT_LOG_ERROR,
		"mount: %s was removed and does not answer: %llu records for it are given up; the other receivers have "
		"them",
		mount->lanes.names[lane->index], (unsigned long long)ring.unacked_records);
	return true;
}

/*
 * Nothing of it is part of a step: whoever finds the lane empty comes to the same. No set of lanes may have it any more, since
 * another can get its place.
 */
static void lane_end(struct k2i_mount *mount, struct k2i_mount_lane *lane)
{
	const char *file = mount->lanes.ring_files[lane->index];

	K2I_CRASH(mount_lane_empty);
	if (*file && file_is_ring(file, lane->ring))
		(void)unlink(file);
	K2I_CRASH(mount_lane_unlinked);
	lane_drop(lane);
	k2i_nodes_leave(mount->nodes, k2i_lane_bit(lane));
	k2i_queues_leave(mount->queues, k2i_lane_bit(lane));
	mount->lanes.changed &= ~k2i_lane_bit(lane);
	mount->lanes.claimed = &mount->lanes.lane[mount->lanes.taker[0]];
	k2i_log(K2HFT_LOG_INFO, "mount: %s: its ring is empty, and gone",
		lane->plugin ? lane->plugin->rule.target : mount->lanes.names[lane->index]);
	k2i_journal_free(lane->plugin);
	lane->plugin = NULL;
	lane->state = K2I_LANE_ENDED;
	(void)k2i_worker_say(mount, K2I_WORD_LANES);
}

void k2i_lanes_end(struct k2i_mount *mount)
{
	if (mount->ending)
		return;
	k2i_lane_drop_claim(&mount->lanes);
	k2i_handles_go_on(mount);
	k2i_journal_step();
	k2i_routes_release_streams();
	for (unsigned at = 0; at < mount->lanes.count; at++) {
		struct k2i_mount_lane *lane = &mount->lanes.lane[at];

		if (lane->state != K2I_LANE_EMPTIES || !lane_is_empty(mount, lane))
			continue;
		lane_end(mount, lane);
		k2i_lanes_name_files(mount);
	}
}
