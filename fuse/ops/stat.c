/* SPDX-License-Identifier: MIT */
#include "fuse/ops/stat.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "fuse/base/mount.h"
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

/* In the order of the table. */
static void values_get(const struct k2i_mount *mount, uint64_t values[K2I_MOUNT_COUNTER_COUNT])
{
	struct k2i_mount_counts counts = mount->counts;
	size_t at = 0;

	counts.cache_questions = mount->pull->questions;
	/* The keeper counts those. */
	counts.worker_deaths = mount->keeper.workers ? mount->keeper.workers - 1 : 0;
	counts.open_files = mount->handles->open_count - mount->pull->count;
	counts.names = k2i_nodes_used(mount->nodes);
	counts.held_bytes = mount->handles->held_bytes;
	counts.waiting_bytes = mount->queues->bytes + mount->queues->cached_bytes;
#define K2I_MOUNT_COUNTER(name, kind, loss, help) values[at++] = counts.name;
#include "app/program/counters.def"
#undef K2I_MOUNT_COUNTER
}

static void stat_report(const struct k2i_mount *mount, struct k2i_report *report)
{
	struct k2hft_client_stats client = {.size = sizeof(client)};
	struct k2hft_ring_stats ring = k2i_ring_stats_get(mount->lanes.lane[0].ring);
	uint64_t values[K2I_MOUNT_COUNTER_COUNT];

	/* A successor answers what comes again before it has its client. */
	if (mount->lanes.lane[0].client)
		(void)k2hft_client_stats(mount->lanes.lane[0].client, &client);
	values_get(mount, values);
	k2i_report_open(report, NULL, '{');
	k2i_report_begin(report, "k2hftfuse", k2i_clock_now_ns() - mount->keeper.started_ns);
	k2i_report_text(report, "mount_point", mount->options->mount_point);
	if (client.certificate_expires_s)
		k2i_report_number(report, "certificate_expires_s", client.certificate_expires_s);
	k2i_report_counters(report, "mount", &k2i_mount_counter_table, values);
	k2i_report_ring(report, &ring);
	k2i_report_client(report, mount->config.options.host, mount->config.options.port, &client);
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
