/* SPDX-License-Identifier: MIT */
#include "fuse/keeper/lanes.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/clock.h"
#include "base/hash.h"
#include "fuse/base/journal.h"
#include "fuse/base/mount.h"
#include "fuse/base/mount_point.h"
#include "fuse/device/loop.h"

/* Records that a plug-in has not read stay there, and are copied on the way to it. */
#define PLUGIN_RING_BYTES_MAX (16u * 1024 * 1024)

#define PLUGIN_PREFIX "plugin-"

/* Each process's own: of receivers that its configuration does not name, and of those that may take lanes over. */
static struct unnamed {
	char room[K2I_SPREAD_HOME_BYTES];
	struct k2hft_target target;
} unnamed[K2I_LANE_COUNT_MAX];
static struct k2hft_target others[K2I_LANE_COUNT_MAX][K2I_LANE_COUNT_MAX];

static char *text_put(char **at, const char *text)
{
	size_t bytes = text ? strlen(text) + 1 : 0;
	char *put = text ? memcpy(*at, text, bytes) : NULL;

	*at += bytes;
	return put;
}

static struct k2i_lane_plugin *plugin_copy(const struct k2i_rule *rule)
{
	size_t bytes = strlen(rule->target) + 1 + strlen(rule->plugin) + 1 +
		       (rule->output_file ? strlen(rule->output_file) + 1 : 0);
	struct k2i_lane_plugin *made = k2i_journal_alloc(sizeof(*made) + bytes);
	char *at = (char *)(made + 1);

	if (!made)
		return NULL;
	*made = (struct k2i_lane_plugin){.rule = {.directory = rule->directory,
						  .transfer = rule->transfer,
						  .plugin_transfers = rule->plugin_transfers,
						  .target = text_put(&at, rule->target),
						  .plugin = text_put(&at, rule->plugin),
						  .output_file = text_put(&at, rule->output_file)}};
	return made;
}

void k2i_lane_plugin_name(const struct k2i_mount_lanes *lanes, const struct k2i_mount_lane *lane,
			  char name[K2I_SPREAD_HOME_BYTES])
{
	const char *target = lane->plugin->rule.target;
	const uint64_t first = k2i_hash(target, strlen(target));
	uint64_t turn = 0, other;

	for (unsigned at = 0; at < lanes->count; at++) {
		const struct k2i_lane_plugin *plugin = lanes->lane[at].plugin;

		if (!k2i_lane_used(&lanes->lane[at]) || !plugin || plugin->turn >= lane->plugin->turn ||
		    strcmp(plugin->rule.target, target) != 0)
			continue;
		other = strtoull(lanes->names[at] + strlen(PLUGIN_PREFIX), NULL, 16) - first;
		turn = other >= turn ? other + 1 : turn;
	}
	(void)snprintf(name, K2I_SPREAD_HOME_BYTES, PLUGIN_PREFIX "%016" PRIx64, first + turn);
}

int k2i_lane_plugin_begin(struct k2i_mount_lanes *lanes, struct k2i_mount_lane *lane,
			  const struct k2i_settings *settings, const struct k2i_rule *rule)
{
	char name[K2I_SPREAD_HOME_BYTES];

	lane->plugin = plugin_copy(rule);
	if (!lane->plugin)
		return -ENOMEM;
	lane->plugin->mode = settings->copy_mode;
	for (unsigned at = 0; at < lanes->count; at++) {
		if (k2i_lane_used(&lanes->lane[at]) && lanes->lane[at].plugin &&
		    lane->plugin->turn <= lanes->lane[at].plugin->turn)
			lane->plugin->turn = lanes->lane[at].plugin->turn + 1;
	}
	k2i_lane_plugin_name(lanes, lane, name);
	memcpy(lanes->names[lane->index], name, sizeof(name));
	return 0;
}

static bool text_same(const char *one, const char *other)
{
	return one && other ? strcmp(one, other) == 0 : one == other;
}

struct k2i_mount_lane *k2i_lane_plugin_find(struct k2i_mount_lanes *lanes, const struct k2i_settings *settings,
					    const struct k2i_rule *rule)
{
	for (unsigned at = 0; at < lanes->count; at++) {
		const struct k2i_lane_plugin *plugin = lanes->lane[at].plugin;

		if (lanes->lane[at].state == K2I_LANE_TAKES && plugin && plugin->mode == settings->copy_mode &&
		    plugin->rule.directory == rule->directory &&
		    plugin->rule.plugin_transfers == rule->plugin_transfers &&
		    text_same(plugin->rule.target, rule->target) && text_same(plugin->rule.plugin, rule->plugin) &&
		    text_same(plugin->rule.output_file, rule->output_file))
			return &lanes->lane[at];
	}
	return NULL;
}

/* A lane for each rule with a PLUGIN. */
static int plugin_lanes_make(struct k2i_mount *mount)
{
	const struct k2i_settings *settings = mount->settings;
	struct k2i_mount_lanes *lanes = &mount->lanes;

	for (size_t number = 0; number < settings->rule_count; number++) {
		const struct k2i_rule *rule = &settings->rules[number];

		if (!rule->plugin)
			continue;
		if (lanes->count == K2I_LANE_COUNT_MAX) {
			k2i_log(K2HFT_LOG_ERROR, "%s: receivers and rules with PLUGIN: a mount can have %u together",
				settings->file, K2I_LANE_COUNT_MAX);
			return -EINVAL;
		}
		if (k2i_lane_plugin_begin(lanes, &lanes->lane[lanes->count], settings, rule))
			return -ENOMEM;
		lanes->lane[lanes->count++].state = K2I_LANE_TAKES;
	}
	return 0;
}

int k2i_lanes_make(struct k2i_mount *mount)
{
	const struct k2i_sender_config *config = &mount->config;
	struct k2i_mount_lanes *lanes = &mount->lanes;

	if (config->target_count > K2I_LANE_COUNT_MAX) {
		k2i_log(K2HFT_LOG_ERROR, "%s: %" PRIu32 " receivers: a mount can have %u", mount->settings->file,
			config->target_count, K2I_LANE_COUNT_MAX);
		return -EINVAL;
	}
	lanes->count = lanes->takers = config->target_count;
	lanes->spread = lanes->count > 1 ? config->options.spread : K2HFT_SPREAD_HASH;
	lanes->copies = config->options.copies > 1 ? config->options.copies : 1;
	lanes->random = k2i_clock_now_ns() | 1;
	for (unsigned at = 0; at < lanes->count; at++) {
		k2i_spread_home(config->targets[at].host, config->targets[at].port, lanes->names[at]);
		lanes->lane[at].state = K2I_LANE_TAKES;
		lanes->taker[at] = at;
		lanes->homes[at] = lanes->names[at];
	}
	k2i_lanes_aim(mount);
	return plugin_lanes_make(mount);
}

bool k2i_lane_home_parse(const char *home, char *room, struct k2hft_target *target)
{
	char *port, *end;

	(void)snprintf(room, K2I_SPREAD_HOME_BYTES, "%s", home);
	port = strrchr(room, ':');
	if (!port || port == room || strtoul(port + 1, &end, 10) == 0 || *end)
		return false;
	*port = '\0';
	target->host = room;
	target->port = port + 1;
	if (*room == '[' && port[-1] == ']') {
		port[-1] = '\0';
		target->host++;
	}
	return true;
}

static const struct k2hft_target *target_named(const struct k2i_mount *mount, const char *home)
{
	char name[K2I_SPREAD_HOME_BYTES];

	for (uint32_t at = 0; at < mount->config.target_count; at++) {
		k2i_spread_home(mount->config.targets[at].host, mount->config.targets[at].port, name);
		if (strcasecmp(name, home) == 0)
			return &mount->config.targets[at];
	}
	return NULL;
}

/* Nobody knows the TLS of a receiver that the configuration does not name: the others have the same, mostly. */
static const struct k2hft_target *home_find(const struct k2i_mount *mount, const struct k2i_mount_lane *lane)
{
	const char *home = mount->lanes.names[lane->index];
	const struct k2hft_target *named = lane->homeless ? NULL : target_named(mount, home);
	struct unnamed *made = &unnamed[lane->index];

	if (named)
		return named;
	made->target = mount->config.targets[0];
	if (!lane->homeless && !k2i_lane_home_parse(home, made->room, &made->target))
		made->target = mount->config.targets[0];
	return &made->target;
}

/*
 * The next ones in the order of the file may take a lane over, of one that only empties any; but not a receiver that has a
 * copy of its own, which must not get another's, too.
 */
static void others_find(const struct k2i_mount *mount, struct k2i_mount_lane *lane)
{
	const struct k2i_mount_lanes *lanes = &mount->lanes;
	uint32_t replica = mount->config.options.replica, wanted = lanes->takers;
	unsigned first = 0;

	lane->others = others[lane->index];
	lane->others_count = 0;
	if (lanes->spread == K2HFT_SPREAD_ALL || lanes->copies > 1)
		return;
	while (first < lanes->takers && lanes->taker[first] != lane->index)
		first++;
	if (replica && lane->state == K2I_LANE_TAKES)
		wanted = replica == K2HFT_REPLICA_NONE ? 0 : replica;
	for (unsigned step = 1; step <= lanes->takers && lane->others_count < wanted; step++) {
		const struct k2i_mount_lane *other = &lanes->lane[lanes->taker[(first + step) % lanes->takers]];

		if (other != lane && strcasecmp(lanes->names[other->index], lanes->names[lane->index]) != 0)
			lane->others[lane->others_count++] = *home_find(mount, other);
	}
}

void k2i_lanes_aim(struct k2i_mount *mount)
{
	for (unsigned at = 0; at < mount->lanes.count; at++) {
		struct k2i_mount_lane *lane = &mount->lanes.lane[at];

		if (lane->plugin || !k2i_lane_used(lane))
			continue;
		lane->target = home_find(mount, lane);
		others_find(mount, lane);
	}
}

/* ---- rings */

/* A process that ends gives up its mount before its rings: two seconds. */
#define DYING_TRIES 100u
#define DYING_PAUSE_NS 20000000L

/* A user who has changed RINGSIZE would otherwise believe that the next outage may last longer. */
static void ring_warn_kept_size(const struct k2hft_ring *ring, const struct k2hft_ring_options *options)
{
	struct k2hft_ring_stats stats = {.size = sizeof(stats)};

	if (k2hft_ring_stats(ring, &stats))
		return;
	if (stats.ring_bytes < options->ring_bytes || stats.ring_bytes / 2 >= options->ring_bytes)
		k2i_log(K2HFT_LOG_WARNING,
			"mount: K2HFILE %s keeps the size that it was made with, %llu bytes, not RINGSIZE: to change "
			"it, unmount, and remove the file once everything in it is acknowledged",
			options->path, (unsigned long long)stats.ring_bytes);
}

/* Records in a file that is about to be begun afresh, which loses them. 0: none that is known. */
static uint64_t ring_has_records(const struct k2hft_ring_options *options)
{
	struct k2hft_ring_stats stats = K2HFT_RING_STATS_INIT;
	int served;

	if (options->path && options->flags == K2HFT_RING_FRESH &&
	    k2hft_ring_observe(options->path, &stats, &served) == 0 && !served)
		return stats.unacked_records;
	return 0;
}

void k2i_lane_ring_name(const struct k2i_mount *mount, const struct k2i_mount_lane *lane, char file[PATH_MAX])
{
	const struct k2i_settings *settings = mount->settings;
	bool several = mount->lanes.takers > 1 || lane->plugin;
	char name[PATH_MAX] = "";

	if (settings->queue_type == K2I_QUEUE_FILE)
		(void)snprintf(name, sizeof(name), "%s%s%s", settings->queue_file, several ? "." : "",
			       several ? mount->lanes.names[lane->index] : "");
	/* The mount itself has room for it: gcc sees an overlap with the lane's name if it is written there. */
	memcpy(file, name, sizeof(name));
}

int k2i_lane_ring_open(struct k2i_mount *mount, const struct k2i_sender_config *config, struct k2i_mount_lane *lane,
		       struct k2hft_ring **ring, char *message, size_t message_room)
{
	char *file = mount->lanes.ring_files[lane->index], resolved[PATH_MAX];
	struct k2hft_ring_options options;
	bool named = *file;
	uint64_t waiting;
	int status;

	(void)k2hft_sender_ring_options(&config->options, &options);
	if (lane->plugin && options.ring_bytes > PLUGIN_RING_BYTES_MAX)
		options.ring_bytes = PLUGIN_RING_BYTES_MAX;
	if (named)
		options.path = file;
	waiting = ring_has_records(&options);
	status = k2hft_ring_open(&options, ring);
	if (status) {
		k2i_sender_config_ring_failed(config, status, message, message_room);
		return status;
	}
	if (waiting)
		k2i_log(K2HFT_LOG_WARNING,
			"mount: K2HFILE %s is begun afresh, since K2HINIT is yes: %llu records in it that were not "
			"acknowledged are lost",
			options.path, (unsigned long long)waiting);
	if (named && lane->state != K2I_LANE_EMPTIES)
		ring_warn_kept_size(*ring, &options);
	if (named && realpath(file, resolved))
		(void)snprintf(file, PATH_MAX, "%s", resolved);
	return 0;
}

int k2i_lane_ring_keep(struct k2i_mount *mount, struct k2i_mount_lane *lane)
{
	char *file = mount->lanes.ring_files[lane->index], message[1024];
	struct k2hft_ring *ring;
	int status;

	if (!*file)
		k2i_lane_ring_name(mount, lane, file);
	status = k2i_lane_ring_open(mount, &mount->config, lane, &ring, message, sizeof(message));
	for (unsigned tries = 0; status == -EBUSY && mount->kernel.follows_dead && tries < DYING_TRIES; tries++) {
		(void)nanosleep(&(struct timespec){.tv_nsec = DYING_PAUSE_NS}, NULL);
		status = k2i_lane_ring_open(mount, &mount->config, lane, &ring, message, sizeof(message));
	}
	if (status) {
		k2i_log(K2HFT_LOG_ERROR, "%s", message);
		return status;
	}
	/* Processes that are attached wait for the next worker then. */
	lane->ring_fd = k2hft_ring_keep(ring);
	status = lane->ring_fd < 0 ? lane->ring_fd : 0;
	k2hft_ring_close(ring);
	return status ? k2i_mount_fail(status == -ENOENT ? "/proc, which a mount needs" : "/proc/self/fd", status) : 0;
}

int k2i_lane_client_open(struct k2i_mount *mount, const struct k2i_sender_config *config, struct k2i_mount_lane *lane)
{
	struct k2hft_client_options options;
	char archive[PATH_MAX];
	int status;

	/* The last worker alone closes its client in good order. */
	(void)k2hft_sender_client_options(&config->options, &options);
	options.host = lane->target->host;
	options.port = lane->target->port;
	options.tls = lane->target->tls;
	options.others = lane->others;
	options.others_count = lane->others_count;
	options.failover_ms = config->options.failover_ms;
	if (options.archive_path && mount->lanes.takers > 1) {
		(void)snprintf(archive, sizeof(archive), "%s.%s", options.archive_path,
			       mount->lanes.names[lane->index]);
		options.archive_path = archive;
	}
	options.progress = k2i_loop_progress;
	options.progress_argument = mount;
	status = k2hft_client_open(lane->ring, &options, &lane->client);
	return status ? status : k2hft_client_thread_start(lane->client);
}
