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
#include "fuse/keeper/lanes.h"

static bool lanes_have(const struct k2i_mount_lanes *lanes, const char *file)
{
	unsigned at = 0;

	while (at < lanes->count && strcmp(lanes->ring_files[at], file) != 0)
		at++;
	return at < lanes->count;
}

static uint64_t ring_records(const char *file)
{
	struct k2hft_ring_stats stats = K2HFT_RING_STATS_INIT;
	int served;

	return k2hft_ring_observe(file, &stats, &served) == 0 && !served ? stats.unacked_records : 0;
}

/* `home`: HOST:PORT, or "", which was the only receiver. -EINVAL: it is neither. */
static int lane_add(struct k2i_mount *mount, const char *file, const char *home)
{
	struct k2i_mount_lanes *lanes = &mount->lanes;
	struct k2i_mount_lane *lane = &lanes->lane[lanes->count];
	struct k2hft_target target;
	char room[K2I_SPREAD_HOME_BYTES];

	if (lanes->count == K2I_LANE_COUNT_MAX || (*home && !k2i_lane_home_parse(home, room, &target)) ||
	    strlen(home) >= sizeof(room) || strlen(file) >= sizeof(lanes->ring_files[0]))
		return -EINVAL;
	(void)snprintf(lanes->names[lane->index], sizeof(lanes->names[0]), "%s", *home ? home : lanes->homes[0]);
	memcpy(lanes->ring_files[lane->index], file, strlen(file) + 1);
	lane->homeless = !*home;
	lane->state = K2I_LANE_EMPTIES;
	lanes->count++;
	return 0;
}

/* PLUGIN had changed when the mount ended: its ring, behind which this one is read. NULL: none. */
static struct k2i_mount_lane *plugin_former(struct k2i_mount_lanes *lanes, const char *name)
{
	const size_t word = strcspn(name, "-") + 1;

	for (unsigned at = 0; at < lanes->count && name[word - 1]; at++) {
		const char *own = lanes->names[at];

		if (lanes->lane[at].plugin && lanes->lane[at].state == K2I_LANE_TAKES &&
		    strncmp(name, own, word) == 0 &&
		    strtoull(name + word, NULL, 16) - strtoull(own + word, NULL, 16) <= UINT32_MAX)
			return &lanes->lane[at];
	}
	return NULL;
}

static int plugin_add(struct k2i_mount *mount, const char *file, const char *name)
{
	struct k2i_mount_lanes *lanes = &mount->lanes;
	struct k2i_mount_lane *former = plugin_former(lanes, name), *lane = &lanes->lane[lanes->count];

	if (!former || lanes->count == K2I_LANE_COUNT_MAX || strlen(file) >= sizeof(lanes->ring_files[0]) ||
	    k2i_lane_plugin_begin(lanes, lane, mount->settings, &former->plugin->rule))
		return -EINVAL;
	(void)snprintf(lanes->names[lane->index], sizeof(lanes->names[0]), "%s", name);
	memcpy(lanes->ring_files[lane->index], file, strlen(file) + 1);
	lane->state = K2I_LANE_TAKES;
	former->state = K2I_LANE_EMPTIES;
	lanes->count++;
	return 0;
}

static void ring_take(struct k2i_mount *mount, const char *file, const char *home)
{
	uint64_t records = lanes_have(&mount->lanes, file) ? 0 : ring_records(file);

	if (records == 0)
		return;
	if (!mount->settings->queue_fresh && plugin_add(mount, file, home) == 0)
		k2i_log(K2HFT_LOG_INFO, "mount: %s keeps %llu records for a PLUGIN that had changed", file,
			(unsigned long long)records);
	else if (!mount->settings->queue_fresh && lane_add(mount, file, home) == 0)
		k2i_log(K2HFT_LOG_INFO, "mount: %s keeps %llu records of a receiver that has left: they are sent", file,
			(unsigned long long)records);
	else
		k2i_log(K2HFT_LOG_WARNING,
			"mount: %s keeps %llu records that nobody sends: k2hft push -r HOST:PORT --ring does", file,
			(unsigned long long)records);
}

void k2i_left_rings_find(struct k2i_mount *mount)
{
	const char *own = mount->settings->queue_type == K2I_QUEUE_FILE ? mount->settings->queue_file : "";
	const char *name = strrchr(own, '/') ? strrchr(own, '/') + 1 : own;
	char above[PATH_MAX], directory[PATH_MAX], file[PATH_MAX + NAME_MAX + 2];
	size_t bytes = strlen(name);
	struct dirent **entries = NULL;
	int count = 0;

	(void)snprintf(above, sizeof(above), "%.*s", (int)(name - own), own);
	if (bytes && realpath(*above ? above : ".", directory))
		count = scandir(directory, &entries, NULL, alphasort);
	/* The order of names is that of the turns of a TARGET. */
	for (int at = 0; at < count; at++) {
		const char *entry = entries[at]->d_name, *rest = entry + bytes;

		if (strncmp(entry, name, bytes) == 0 && (!*rest || *rest == '.')) {
			(void)snprintf(file, sizeof(file), "%s/%s", directory, entry);
			ring_take(mount, file, rest + (*rest == '.'));
		}
		free(entries[at]);
	}
	free(entries);
	k2i_lanes_aim(mount);
}
