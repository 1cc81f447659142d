/* SPDX-License-Identifier: MIT */
#include "fuse/keeper/left_rings.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <k2hft/ring.h>

#include "fuse/base/mount.h"

/* Where the records of such a ring go. */
struct k2i_left_target {
	struct k2hft_target target;
	char host[K2I_SPREAD_HOME_BYTES];
};

static bool lanes_have(const struct k2i_mount_lanes *lanes, const char *file)
{
	unsigned at = 0;

	while (at < lanes->count && !(lanes->lane[at].ring_file && strcmp(lanes->lane[at].ring_file, file) == 0))
		at++;
	return at < lanes->count;
}

static uint64_t ring_records(const char *file)
{
	struct k2hft_ring_stats stats = K2HFT_RING_STATS_INIT;
	int served;

	return k2hft_ring_observe(file, &stats, &served) == 0 && !served ? stats.unacked_records : 0;
}

/* `home`: HOST:PORT, or "", which was the only receiver. false: it is neither. The other receivers have the same TLS, mostly. */
static bool target_parse(const struct k2i_mount *mount, const char *home, struct k2i_left_target *left)
{
	char *port, *end;

	left->target = mount->config.targets[0];
	if (!*home)
		return true;
	(void)snprintf(left->host, sizeof(left->host), "%s", home);
	port = strrchr(left->host, ':');
	if (!port || port == left->host || strtoul(port + 1, &end, 10) == 0 || *end)
		return false;
	*port = '\0';
	left->target.host = left->host;
	left->target.port = port + 1;
	if (*left->host == '[' && port[-1] == ']') {
		port[-1] = '\0';
		left->target.host++;
	}
	return true;
}

/* Any of the receivers may take it over, unless each has a copy of its own. */
static int others_find(const struct k2i_mount *mount, struct k2i_mount_lane *lane)
{
	unsigned count = mount->lanes.takers;

	if (mount->config.options.replica == K2HFT_REPLICA_NONE || mount->lanes.spread == K2HFT_SPREAD_ALL ||
	    mount->lanes.copies > 1)
		return 0;
	lane->others = calloc(count, sizeof(*lane->others));
	if (!lane->others)
		return -ENOMEM;
	for (unsigned at = 0; at < count; at++) {
		const struct k2hft_target *other = &mount->config.targets[at];

		if (other->host != lane->target->host)
			lane->others[lane->others_count++] = *other;
	}
	return 0;
}

static int lane_add(struct k2i_mount *mount, const char *file, struct k2i_left_target *left)
{
	struct k2i_mount_lanes *lanes = &mount->lanes;
	struct k2i_mount_lane *lane = &lanes->lane[lanes->count];
	int status;

	lane->left = left;
	lane->target = &left->target;
	lane->ring_file = strdup(file);
	status = lane->ring_file ? others_find(mount, lane) : -ENOMEM;
	if (status)
		return status;
	k2i_spread_home(lane->target->host, lane->target->port, lanes->names[lanes->count]);
	lanes->homes[lanes->count] = lanes->names[lanes->count];
	lanes->count++;
	return 0;
}

static int ring_take(struct k2i_mount *mount, const char *file, const char *home)
{
	uint64_t records = lanes_have(&mount->lanes, file) ? 0 : ring_records(file);
	struct k2i_left_target *left;
	int status = 0;

	if (records == 0)
		return 0;
	left = calloc(1, sizeof(*left));
	if (!left)
		return -ENOMEM;
	if (!mount->settings->queue_fresh && mount->lanes.count < K2I_LANE_COUNT_MAX &&
	    target_parse(mount, home, left)) {
		status = lane_add(mount, file, left);
		k2i_log(K2HFT_LOG_INFO, "mount: %s keeps %llu records of a receiver that has left: they are sent", file,
			(unsigned long long)records);
		return status;
	}
	free(left);
	k2i_log(K2HFT_LOG_WARNING,
		"mount: %s keeps %llu records that nobody sends: k2hft push -r HOST:PORT --ring does", file,
		(unsigned long long)records);
	return 0;
}

int k2i_left_rings_find(struct k2i_mount *mount)
{
	const char *own = mount->settings->queue_type == K2I_QUEUE_FILE ? mount->settings->queue_file : "";
	const char *name = strrchr(own, '/') ? strrchr(own, '/') + 1 : own;
	char above[PATH_MAX], directory[PATH_MAX], file[PATH_MAX + NAME_MAX + 2];
	const struct dirent *entry;
	size_t bytes = strlen(name);
	DIR *files = NULL;
	int status = 0;

	(void)snprintf(above, sizeof(above), "%.*s", (int)(name - own), own);
	if (bytes && realpath(*above ? above : ".", directory))
		files = opendir(directory);
	while (files && status == 0 && (entry = readdir(files))) {
		const char *rest = entry->d_name + bytes;

		if (strncmp(entry->d_name, name, bytes) != 0 || (*rest && *rest != '.'))
			continue;
		(void)snprintf(file, sizeof(file), "%s/%s", directory, entry->d_name);
		status = ring_take(mount, file, rest + (*rest == '.'));
	}
	if (files)
		(void)closedir(files);
	return status;
}

void k2i_left_ring_aim(const struct k2i_mount *mount, struct k2i_mount_lane *lane)
{
	const struct k2hft_target *targets = mount->config.targets;
	bool first = !*lane->left->host; /* its home is the first receiver */

	if (first)
		lane->left->target = targets[0];
	lane->left->target.tls = targets[0].tls;
	for (uint32_t other = 0; other < lane->others_count; other++)
		lane->others[other] = targets[other + first];
}

void k2i_left_ring_free(struct k2i_mount_lane *lane)
{
	free(lane->left);
}
