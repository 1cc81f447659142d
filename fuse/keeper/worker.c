/* SPDX-License-Identifier: MIT */
#include "fuse/keeper/worker.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "fuse/cached/writeback_pull.h"
#include "app/program/daemon.h"
#include "fuse/intake/advance.h"
#include "fuse/intake/handles.h"
#include "fuse/device/loop.h"
#include "fuse/base/mount.h"
#include "fuse/base/options.h"
#include "fuse/intake/queue.h"
#include "fuse/device/populate.h"
#include "fuse/base/journal.h"
#include "fuse/keeper/change.h"
#include "fuse/keeper/handover.h"
#include "fuse/keeper/lanes.h"
#include "fuse/keeper/reload.h"
#include "fuse/keeper/setup.h"
#include "fuse/keeper/start.h"
#include "fuse/base/mount_point.h"
#include "fuse/device/drain.h"
#include "fuse/cached/truncate_probe.h"
#include "fuse/intake/line_buffer.h"
#include "fuse/ops/deferred_requests.h"
#include "fuse/plugin/feeder.h"

static int ring_open(struct k2i_mount_lane *lane)
{
	char path[32];
	struct k2hft_ring_options options = {.size = sizeof(options), .path = path};
	struct k2hft_ring_stats stats = K2HFT_RING_STATS_INIT;
	int status;

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", lane->ring_fd);
	status = k2hft_ring_open(&options, &lane->ring);
	if (status)
		return status;
	(void)k2hft_ring_stats(lane->ring, &stats);
	lane->streams_forgotten = stats.streams_forgotten != 0;
	return 0;
}

/*
 * All that the keeper keeps: which are the mount's lanes is known when the last step is settled, before anything is sent or
 * claimed.
 */
static int rings_settle(struct k2i_mount *mount)
{
	struct k2i_mount_lanes *lanes = &mount->lanes;
	const struct k2hft_ring *rings[K2I_LANE_COUNT_MAX] = {NULL};
	size_t chunk_bytes_max;
	int status = 0;

	for (unsigned at = 0; status == 0 && at < K2I_LANE_COUNT_MAX; at++) {
		if (lanes->lane[at].ring_fd < 0 || lanes->lane[at].state == K2I_LANE_ENDED)
			continue;
		status = ring_open(&lanes->lane[at]);
		rings[at] = lanes->lane[at].ring;
	}
	if (status)
		return status;
	k2i_journal_settle(rings);
	chunk_bytes_max = SIZE_MAX;
	for (unsigned at = 0; at < K2I_LANE_COUNT_MAX; at++) {
		struct k2i_mount_lane *lane = &lanes->lane[at];
		struct k2hft_ring_stats stats = K2HFT_RING_STATS_INIT;

		lane->ring = (struct k2hft_ring *)rings[at];
		if (lane->ring && !k2i_lane_used(lane)) {
			k2hft_ring_close(lane->ring);
			lane->ring = NULL;
		}
		if (lane->ring && k2hft_ring_stats(lane->ring, &stats) == 0 &&
		    stats.payload_bytes_max < chunk_bytes_max)
			chunk_bytes_max = stats.payload_bytes_max;
	}
	lanes->chunk_bytes_max = chunk_bytes_max;
	lanes->claimed = &lanes->lane[lanes->taker[0]];
	return 0;
}

static int rings_open(struct k2i_mount *mount)
{
	struct k2i_mount_lanes *lanes = &mount->lanes;
	int status = rings_settle(mount);

	for (unsigned at = 0; status == 0 && at < lanes->count; at++) {
		if (!lanes->lane[at].ring)
			continue;
		status = k2hft_producer_open(lanes->lane[at].ring, &lanes->lane[at].producer);
		if (status == 0)
			status = k2i_populated_create(lanes->lane[at].ring, &lanes->lane[at].populated);
	}
	if (status)
		return k2i_mount_fail("ring", status);
	k2i_lanes_aim(mount);
	k2i_lanes_name_files(mount);
	k2i_line_limits_set(mount);
	return 0;
}

/* Lanes that have one keep it. */
static int clients_open(struct k2i_mount *mount)
{
	struct k2i_mount_lanes *lanes = &mount->lanes;
	int status = 0;

	for (unsigned at = 0; status == 0 && at < lanes->count; at++) {
		struct k2i_mount_lane *lane = &lanes->lane[at];

		if (k2i_lane_used(lane) && !lane->plugin && !lane->client)
			status = k2i_lane_client_open(mount, &mount->config, lane);
	}
	/* With several, this thread would send for one of them what the others wait for. */
	if (lanes->takers == 1)
		mount->loop->lease.client = lanes->lane[lanes->taker[0]].client;
	/* The keeper says so, and not each time. */
	if (status == -EAGAIN && mount->keeper.begun)
		return status;
	return status ? k2i_mount_fail("client", status) : 0;
}

static int reload(struct k2i_mount *mount)
{
	uint64_t anew;
	int status;

	mount->loop->reloads = false;
	k2hft_lease_end(&mount->loop->lease);
	k2i_feeder_pause(mount);
	anew = k2i_reload_run(mount);
	mount->loop->lease = (struct k2hft_lease){.client = NULL};
	for (unsigned at = 0; at < mount->lanes.count; at++) {
		if (!(anew >> at & 1))
			continue;
		k2hft_client_close(mount->lanes.lane[at].client);
		mount->lanes.lane[at].client = NULL;
	}
	status = clients_open(mount) || k2i_feeder_start(mount, mount->loop->progress_fd) ? -EAGAIN : 0;
	k2i_line_limits_set(mount);
	(void)k2i_worker_say(mount, K2I_WORD_RELOADED);
	return status;
}

/* State that the last worker had for itself is not this one's. */
static void worker_begin(struct k2i_mount *mount)
{
	for (unsigned at = 0; at < K2I_LANE_COUNT_MAX; at++) {
		struct k2i_mount_lane *lane = &mount->lanes.lane[at];

		lane->away_ns = 0;
		lane->ring = NULL;
		lane->producer = NULL;
		lane->client = NULL;
		lane->populated = NULL;
	}
	mount->lanes.claimed = NULL;
	mount->kernel.swallowing = mount->queues->resuming = false;
	mount->deferred_writes = NULL;
	mount->feeder = NULL;
	mount->probes->first = NULL;
	mount->deferred_requests->first = NULL;
}

static int worker_start(struct k2i_mount *mount)
{
	int status = k2i_loop_open(mount);

	if (status == 0)
		status = rings_open(mount);
	if (status == 0)
		status = k2i_handles_inherit(mount);
	k2i_pull_inherit(mount);
	if (status == 0)
		status = k2i_loop_prepare(mount);
	if (status == 0)
		status = clients_open(mount);
	if (status)
		return status;
	status = k2i_feeder_start(mount, mount->loop->progress_fd);
	return status ? k2i_mount_fail("plug-ins", status) : 0;
}

static void worker_end(struct k2i_mount *mount)
{
	k2i_feeder_stop(mount);
	for (unsigned at = 0; at < mount->lanes.count; at++)
		k2hft_client_close(mount->lanes.lane[at].client);
	k2i_queue_abandon(mount, -ECONNABORTED);
	k2i_handles_free(mount);
	for (unsigned at = 0; at < mount->lanes.count; at++) {
		k2hft_producer_close(mount->lanes.lane[at].producer);
		k2i_populated_free(mount->lanes.lane[at].populated);
		k2hft_ring_close(mount->lanes.lane[at].ring);
	}
	k2i_loop_close(mount);
}

static void log_begin(const struct k2i_mount *mount)
{
	if (mount->lanes.takers == 1)
		k2i_log(K2HFT_LOG_INFO, "mount: %s, to %s", mount->options->mount_point, mount->lanes.homes[0]);
	else
		k2i_log(K2HFT_LOG_INFO, "mount: %s, to %u receivers", mount->options->mount_point, mount->lanes.takers);
}

int k2i_worker_run(struct k2i_mount *mount, const struct k2i_setup *setup)
{
	int status;

	/* A worker without its keeper changes nothing in the memory, which another keeper can have by now. */
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != mount->keeper.pid) {
		k2i_log(K2HFT_LOG_ERROR,
			"mount: the keeper has ended, or is in another namespace of pids: unshare(1) needs --fork");
		return K2I_STATUS_FAILED;
	}
	k2i_journal_have();
	k2i_setup_use(mount, setup);
	worker_begin(mount);
	status = worker_start(mount);
	if (status && mount->keeper.begun)
		return status == -EAGAIN ? K2I_STATUS_SHORT : K2I_STATUS_AGAIN;
	if (status)
		return K2I_STATUS_FAILED;
	if (!mount->keeper.begun)
		log_begin(mount);
	mount->keeper.begun = true;
	k2i_daemon_follow();
	(void)k2i_worker_say(mount, K2I_WORD_READY);
	while ((status = k2i_loop_run(mount)) == -ERESTART) {
		status = mount->loop->reloads ? reload(mount) : 0;
		if (status)
			break;
		k2i_lanes_end(mount);
	}
	/* As if it had been killed: who waits, waits for the next one. */
	if (status == -EMFILE || status == -EFAULT || status == -EAGAIN || status == -ECANCELED)
		return K2I_STATUS_AGAIN;
	worker_end(mount);
	return status ? K2I_STATUS_FAILED : EXIT_SUCCESS;
}
