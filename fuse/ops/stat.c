/* SPDX-License-Identifier: MIT */
#include "fuse/ops/stat.h"
#include "fuse/plugin/feeder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuse/base/mount.h"
#include "fuse/ops/deferred_requests.h"
#include "fuse/ops/ops.h"
#include "fuse/cached/writeback_pull.h"
#include "fuse/intake/handles.h"
#include "fuse/intake/queue.h"
#include "fuse/base/options.h"
#include "app/program/report.h"
#include "app/program/ring_stats.h"
#include "fuse/base/journal.h"

/* The kernel keeps its address, as that of the handle. */
struct stat_text {
	size_t bytes;
	char text[];
};

/* Requests that the kernel waits for an answer to, and with it a program. */
static uint64_t writers_waiting(const struct k2i_mount *mount)
{
	uint64_t count = k2i_deferred_requests_count(mount);

	for (const struct k2i_queue *queue = mount->queues->first; queue; queue = queue->next)
		for (const struct k2i_queued *item = queue->first; item; item = item->next)
			count += item->kind == K2I_QUEUED_WRITE && item->unique;
	return count;
}

/* In the order of the table. */
static void values_get(const struct k2i_mount *mount, uint64_t values[K2I_MOUNT_COUNTER_COUNT])
{
	struct k2i_mount_counts counts = mount->counts;
	size_t at = 0;

	counts.cache_questions = mount->pull->questions;
	/* The keeper counts those. */
	counts.worker_deaths = mount->keeper.workers ? mount->keeper.workers - 1 - mount->keeper.left : 0;
	counts.open_files = mount->handles->open_count - mount->pull->count;
	counts.names = k2i_nodes_used(mount->nodes);
	counts.held_bytes = mount->handles->held_bytes;
	counts.waiting_bytes = mount->queues->bytes + mount->queues->cached_bytes;
	counts.waiting_writers = writers_waiting(mount);
	k2i_feeder_counts(mount, &counts);
#define K2I_MOUNT_COUNTER(name, kind, loss, help) values[at++] = counts.name;
#include "app/program/counters.def"
#undef K2I_MOUNT_COUNTER
}

/* As it is now. */
struct lane_state {
	struct k2hft_ring_stats ring;
	struct k2hft_client_stats client;
	const struct k2hft_target *goes_to;
	const char *ring_file;
	char ring_link[64]; /* for a ring without a file that has a name */
};

static struct lane_state lane_state_get(const struct k2i_mount *mount, const struct k2i_mount_lane *lane)
{
	struct lane_state state = {
		.ring = k2i_ring_stats_get(lane->ring),
		.client = {.size = sizeof(state.client)},
		.goes_to = lane->target,
		.ring_file = mount->lanes.ring_files[lane->index],
	};

	(void)snprintf(state.ring_link, sizeof(state.ring_link), "/proc/%ld/fd/%d", (long)mount->keeper.pid,
		       lane->ring_fd);
	/* A successor answers what comes again before it has its clients. */
	if (lane->client)
		(void)k2hft_client_stats(lane->client, &state.client);
	if (state.client.target && state.client.target <= lane->others_count)
		state.goes_to = &lane->others[state.client.target - 1];
	return state;
}

static void lane_report(struct k2i_report *report, const char *home, const struct lane_state *state)
{
	char goes_to[K2I_SPREAD_HOME_BYTES];

	k2i_spread_home(state->goes_to->host, state->goes_to->port, goes_to);
	k2i_report_lane(report, home, goes_to, *state->ring_file ? state->ring_file : state->ring_link, &state->ring,
			&state->client);
}

/* Whether there is more to say of the one: its receiver is away, or more waits for it. */
static bool lane_is_worse(const struct lane_state *one, const struct lane_state *other)
{
	bool away = one->client.state != K2HFT_CLIENT_CONNECTED, others = other->client.state != K2HFT_CLIENT_CONNECTED;

	return away != others ? away : one->ring.tail - one->ring.head > other->ring.tail - other->ring.head;
}

/* The sooner of two times, 0 for never. */
static uint64_t sooner(uint64_t one_s, uint64_t other_s)
{
	return one_s == 0 || (other_s && other_s < one_s) ? other_s : one_s;
}

/* The counters of all rings; and the state of the lane of which there is most to say. */
static struct lane_state lanes_report(const struct k2i_mount *mount, struct k2i_report *report, uint64_t *expires_s)
{
	uint64_t sums[K2I_RING_COUNTER_COUNT] = {0}, values[K2I_RING_COUNTER_COUNT];
	struct lane_state worst = lane_state_get(mount, &mount->lanes.lane[mount->lanes.taker[0]]);
	bool several = k2i_lanes_used(&mount->lanes) > 1;

	if (several)
		k2i_report_open(report, "lanes", '[');
	for (unsigned at = 0; at < mount->lanes.count; at++) {
		struct lane_state state;

		if (mount->lanes.lane[at].plugin || !k2i_lane_used(&mount->lanes.lane[at]))
			continue;
		state = lane_state_get(mount, &mount->lanes.lane[at]);
		k2i_ring_counters_get(&state.ring, values);
		for (size_t counter = 0; counter < K2I_RING_COUNTER_COUNT; counter++)
			sums[counter] += values[counter];
		if (several)
			lane_report(report, mount->lanes.names[at], &state);
		*expires_s = sooner(*expires_s, state.client.certificate_expires_s);
		if (lane_is_worse(&state, &worst))
			worst = state;
	}
	if (several)
		k2i_report_close(report, ']');
	k2i_report_ring_state(report, &worst.ring);
	k2i_report_counters(report, "ring", &k2i_ring_counter_table, sums);
	return worst;
}

static void stat_report(const struct k2i_mount *mount, struct k2i_report *report)
{
	uint64_t values[K2I_MOUNT_COUNTER_COUNT], expires_s = 0;
	struct lane_state worst;

	values_get(mount, values);
	k2i_report_open(report, NULL, '{');
	k2i_report_begin(report, "k2hftfuse", k2i_clock_now_ns() - mount->keeper.started_ns);
	k2i_report_text(report, "mount_point", mount->options->mount_point);
	k2i_report_number(report, "keeper_pid", (uint64_t)mount->keeper.pid);
	k2i_reload_report(report, &mount->reload.told);
	k2i_report_counters(report, "mount", &k2i_mount_counter_table, values);
	worst = lanes_report(mount, report, &expires_s);
	if (expires_s)
		k2i_report_number(report, "certificate_expires_s", expires_s);
	k2i_report_client(report, worst.goes_to->host, worst.goes_to->port, &worst.client);
	k2i_feeder_show(mount, report);
	k2i_report_close(report, '}');
	k2i_report_add(report, "\n");
}

static int stat_open(struct k2i_mount *mount, uint64_t *handle)
{
	struct k2i_report report = {0};
	struct stat_text *opened;

	if (mount->stat->count >= K2I_STAT_OPEN_MAX)
		return -ENFILE;
	stat_report(mount, &report);
	opened = report.failed ? NULL : k2i_journal_alloc(sizeof(*opened) + report.bytes);
	if (opened) {
		opened->bytes = report.bytes;
		memcpy(opened->text, report.text, report.bytes);
	}
	free(report.text);
	if (!opened)
		return -ENOMEM;
	K2I_JOURNAL_KEEP(mount->stat);
	mount->stat->count++;
	*handle = (uintptr_t)opened;
	return 0;
}

void k2i_op_open_stat(fuse_req_t req, struct fuse_file_info *file)
{
	struct k2i_mount *mount = k2i_op_mount(req);
	int status = (file->flags & O_ACCMODE) == O_RDONLY ? stat_open(mount, &file->fh) : -EACCES;

	if (status) {
		(void)fuse_reply_err(req, -status);
		return;
	}
	/* Its length is known to nobody but its reader, at the end. */
	file->direct_io = 1;
	if (fuse_reply_open(req, file) == -ENOENT)
		k2i_stat_close(mount, file->fh);
}

void k2i_op_read_stat(fuse_req_t req, size_t size, off_t offset, const struct fuse_file_info *file)
{
	const struct stat_text *text = (const struct stat_text *)(uintptr_t)file->fh;

	if (offset < 0 || (uint64_t)offset >= text->bytes) {
		(void)fuse_reply_buf(req, NULL, 0);
		return;
	}
	if (size > text->bytes - (size_t)offset)
		size = text->bytes - (size_t)offset;
	(void)fuse_reply_buf(req, text->text + offset, size);
}

void k2i_stat_close(struct k2i_mount *mount, uint64_t handle)
{
	K2I_JOURNAL_KEEP(mount->stat);
	mount->stat->count--;
	k2i_journal_free((struct stat_text *)(uintptr_t)handle);
}
