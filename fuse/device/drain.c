/* SPDX-License-Identifier: MIT */
#include "fuse/device/drain.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>

#include "base/clock.h"
#include "fuse/cached/writeback_pull.h"
#include "fuse/base/mount.h"
#include "app/program/ring_stats.h"
#include "fuse/base/mount_point.h"
#include "fuse/intake/advance.h"
#include "fuse/intake/write.h"
#include "fuse/intake/queue.h"
#include "fuse/plugin/feeder.h"

/* Requests are still answered meanwhile, so a look at what is acknowledged takes no longer than this. */
#define LOOK_MS 10
/* How long who asks again and again keeps a mount of which all is acknowledged. */
#define LAST_NS K2I_SECOND_NS

/* A file's bytes have been taken. */
static void drain_file(struct k2i_mount *mount, void *argument)
{
	(void)argument;
	if (--mount->drain->files == 0 && !mount->ending)
		k2i_drain_begin(mount);
}

void k2i_drain_ask(struct k2i_mount *mount)
{
	if (mount->drain->files)
		return;
	/* A call for the loop, which ends it if there is no file. */
	mount->drain->files = 1;
	for (struct k2i_cached_file *file = mount->pull->first; file; file = file->next) {
		mount->drain->files++;
		/* Data that is appended from here on would never be taken: the kernel asks first, and is told so. */
		(void)k2i_pull_leave(mount, file);
		k2i_pull_before(mount, file->node, drain_file, NULL);
	}
	drain_file(mount, NULL);
}

void k2i_drain_begin(struct k2i_mount *mount)
{
	/* Data behind a hole was accepted, too. */
	for (struct k2i_cached_file *file = mount->pull->first; file; file = file->next)
		k2i_pull_pass_hole(mount, file);
	if (!mount->ending)
		mount->drain->deadline_ns = k2i_clock_now_ns() + mount->settings->drain_timeout_s * K2I_SECOND_NS;
	mount->ending = true;
	/* Files that are open stay so until the device is closed; its other descriptor is ours. */
	if (mount->kernel.mounted)
		k2i_mount_point_unmount(mount);
	mount->kernel.mounted = false;
	k2i_write_end_all(mount);
}

/*
 * A writer that has heard that its bytes are taken asks next whether they are acknowledged, as a write(2) with O_DSYNC
 * does. It is to hear that they are, and not that the mount has ended: it would write them again.
 */
static bool drain_has_more(struct k2i_mount *mount)
{
	struct pollfd device = {.fd = mount->kernel.fd, .events = POLLIN};
	uint64_t now_ns = k2i_clock_now_ns();

	if (mount->drain->last_ns == 0)
		mount->drain->last_ns = now_ns + LAST_NS;
	return mount->kernel.fd >= 0 && now_ns < mount->drain->last_ns && now_ns < mount->drain->deadline_ns &&
	       poll(&device, 1, LOOK_MS) == 1 && device.revents & POLLIN;
}

/* Waits for the first that has not acknowledged all. */
static bool clients_drain(const struct k2i_mount *mount)
{
	unsigned at = 0;

	while (at < mount->lanes.count && (mount->lanes.lane[at].plugin || !k2i_lane_used(&mount->lanes.lane[at]) ||
					   k2hft_client_drain(mount->lanes.lane[at].client, LOOK_MS) == 0))
		at++;
	return at == mount->lanes.count;
}

bool k2i_drain_done(struct k2i_mount *mount)
{
	if (!k2i_queues_wait(mount->queues, UINT64_MAX) && k2i_feeder_drained(mount) && clients_drain(mount) &&
	    k2i_queue_is_empty(mount))
		return !drain_has_more(mount);
	if (k2i_clock_now_ns() < mount->drain->deadline_ns)
		return false;
	k2i_queue_abandon(mount, -ECONNABORTED);
	return true;
}

/* Records that never came as far as the ring. */
static int drain_report_lost(const struct k2i_mount *mount)
{
	if (mount->drain->aborted)
		k2i_log(K2HFT_LOG_ERROR,
			"mount: the kernel has ended it, as by umount -f or an abort in /sys/fs/fuse/connections: what "
			"was in its page cache, if anything, is lost");
	if (mount->counts.lost_records)
		k2i_log(K2HFT_LOG_ERROR, "mount: %" PRIu64 " records that were accepted are lost",
			mount->counts.lost_records);
	return mount->counts.lost_records || mount->drain->aborted ? -ENODATA : 0;
}

/* Counts of all lanes. */
struct drained {
	uint64_t committed_records, unacked_records, dropped_records, given_up_records;
};

static struct drained lanes_add(const struct k2i_mount *mount)
{
	struct drained all = {0};

	for (unsigned at = 0; at < mount->lanes.count; at++) {
		const struct k2i_mount_lane *lane = &mount->lanes.lane[at];
		struct k2hft_ring_stats stats;

		if (!k2i_lane_used(lane))
			continue;
		stats = k2i_ring_stats_get(lane->ring);
		if (lane->plugin) {
			all.unacked_records += stats.unacked_records;
			if (stats.unacked_records)
				k2i_log(K2HFT_LOG_WARNING,
					"mount: %" PRIu64 " records were not read by the PLUGIN of %s",
					stats.unacked_records, lane->plugin->rule.target);
			continue;
		}
		all.committed_records += stats.committed_records;
		all.unacked_records += stats.unacked_records;
		all.dropped_records += stats.dropped_records;
		all.given_up_records += stats.expired_records + stats.unknown_records;
		if (stats.unacked_records && k2i_lanes_used(&mount->lanes) > 1)
			k2i_log(K2HFT_LOG_WARNING,
				"mount: the lane of %s has %" PRIu64 " records that are not acknowledged",
				mount->lanes.names[at], stats.unacked_records);
	}
	return all;
}

int k2i_drain_report(struct k2i_mount *mount)
{
	struct drained all = lanes_add(mount);
	int lost = drain_report_lost(mount);

	/* While they are dropped there is a word of some of them, once in ten seconds. */
	if (all.dropped_records)
		k2i_log(K2HFT_LOG_WARNING,
			"mount: %" PRIu64 " records were dropped since the ring was made: it was full",
			all.dropped_records);
	if (all.unacked_records == 0) {
		if (all.given_up_records)
			k2i_log(K2HFT_LOG_WARNING,
				"mount: ended; of %" PRIu64 " records %" PRIu64
				" were given up, the others are acknowledged",
				all.committed_records, all.given_up_records);
		else
			k2i_log(K2HFT_LOG_INFO, "mount: ended; everything is acknowledged (%" PRIu64 " records)",
				all.committed_records);
		return lost;
	}
	if (mount->settings->queue_type == K2I_QUEUE_FILE) {
		k2i_log(K2HFT_LOG_WARNING, "mount: ended; %" PRIu64 " records are not acknowledged, %s%s keeps them%s",
			all.unacked_records, mount->settings->queue_file, k2i_lanes_used(&mount->lanes) > 1 ? ".*" : "",
			mount->settings->queue_fresh ? ", but K2HINIT = yes would start it afresh" : "");
		return lost;
	}
	k2i_log(K2HFT_LOG_ERROR,
		"mount: ended; %" PRIu64 " records are not acknowledged and lost with the ring's memory",
		all.unacked_records);
	return -ENODATA;
}
