/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/program/report.h"
#include "base/clock.h"
#include "base/crash.h"
#include "fuse/base/mount.h"
#include "fuse/copy/outputfile.h"
#include "fuse/intake/handles.h"
#include "fuse/intake/record_route.h"
#include "fuse/intake/write.h"
#include "fuse/plugin/feeder.h"
#include "fuse/plugin/internal.h"
#include "fuse/tree/nodes.h"
#include "fuse/tree/tree.h"

#define READ_BYTES ((size_t)65536)

/* The feeder's part -------------------------------------------------------------------------------------------------- */

/* A process has ended within a line: what the next one writes begins another. */
static void line_break(struct k2i_fed *fed)
{
	if (fed->broken && !fed->lane->feeder->binary)
		fed->written[fed->written_bytes++] = '\n';
	fed->broken = false;
}

bool k2i_fed_read(struct k2i_fed *fed)
{
	size_t before = fed->written_bytes;
	ssize_t got = 1;

	if (!fed->written)
		fed->written = malloc(K2I_FED_WRITTEN_MAX + READ_BYTES);
	while (fed->written && fed->reads >= 0 && got > 0 && fed->written_bytes < K2I_FED_WRITTEN_MAX) {
		char *to = fed->written + fed->written_bytes + 1;

		got = read(fed->reads, to, READ_BYTES - 1);
		if (got <= 0)
			break;
		line_break(fed);
		memmove(fed->written + fed->written_bytes, to, (size_t)got);
		fed->written_bytes += (size_t)got;
		fed->in_line = fed->written[fed->written_bytes - 1] != '\n';
	}
	if (fed->reads >= 0 && (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR))) {
		(void)close(fed->reads);
		fed->reads = -1;
		fed->broken = fed->in_line;
	}
	return fed->written_bytes > before;
}

/* The pipe of the former process can have something still. */
int k2i_fed_pipe(struct k2i_fed *fed)
{
	struct k2i_feeder *feeder = fed->lane->feeder;
	int ends[2];

	(void)pthread_mutex_lock(&feeder->mutex);
	if (fed->reads >= 0)
		(void)k2i_fed_read(fed);
	if (fed->reads >= 0 || pipe2(ends, O_CLOEXEC)) {
		ends[1] = fed->reads >= 0 ? -EAGAIN : -errno;
	} else {
		(void)fcntl(ends[0], F_SETFL, O_NONBLOCK);
		fed->reads = ends[0];
	}
	(void)pthread_mutex_unlock(&feeder->mutex);
	k2i_feeder_wake(feeder);
	return ends[1];
}

/* The loop's part ---------------------------------------------------------------------------------------------------- */

static int output_open(struct k2i_mount *mount, struct k2i_fed *fed)
{
	const struct k2i_rule *rule = &fed->lane->lane->plugin->rule;
	char inside[K2I_PATH_BYTES_MAX + 1];
	const char *path = rule->plugin_transfers ? fed->path : inside;
	struct k2i_route *route = NULL;
	struct k2i_handle *handle;
	uint32_t node;
	int status = 0;

	if (!rule->plugin_transfers)
		status = k2i_outputfile_lent_inside(mount, fed->lane->lane->plugin, fed->path, inside, sizeof(inside));
	if (status >= 0)
		status = k2i_tree_file(mount, path, &node);
	if (status == 0)
		status = rule->plugin_transfers ? k2i_route_open_written(mount, path, &route)
						: k2i_route_open(mount, path, &route);
	if (status == 0)
		status = k2i_handle_open(mount, node, path, route, NULL, &handle);
	if (status) {
		k2i_route_close(mount, route);
		return status;
	}
	handle->plugin = true;
	handle->written = rule->plugin_transfers;
	fed->handle = handle->number;
	fed->handle_open = true;
	return 0;
}

static void output_write(struct k2i_mount *mount, struct k2i_fed *fed)
{
	struct k2i_handle *handle = k2i_handle_at(mount, fed->handle);
	const struct k2i_node_entry *entry = k2i_node_at(mount->nodes, handle->node);
	bool own = handle->written;
	const struct k2i_write write = {
		.handle = fed->handle,
		/* The size of a file counts what its writers wrote. */
		.offset = own || !entry ? 0 : entry->size,
		.data = fed->written,
		.bytes = fed->written_bytes,
	};

	/* Beyond what waits already the plug-in waits. */
	if (handle->queued)
		return;
	K2I_CRASH(plugin_take_before);
	k2i_write_take(mount, &write, handle, false);
	K2I_CRASH(plugin_taken);
	fed->written_bytes = 0;
}

static void output_take(struct k2i_mount *mount, struct k2i_fed *fed)
{
	int status = 0;

	if (fed->written_bytes && !fed->handle_open)
		status = output_open(mount, fed);
	if (status && status != -EAGAIN)
		k2i_log_limited(&mount->log.output, k2i_clock_now_ns(), K2HFT_LOG_ERROR,
				"mount: what the plug-in of %s writes can't go on: %s; it waits", fed->path,
				strerror(-status));
	if (fed->written_bytes && fed->handle_open)
		output_write(mount, fed);
	if (fed->handle_open && fed->closed && fed->reads < 0 && fed->written_bytes == 0) {
		k2i_write_release(mount, k2i_handle_at(mount, fed->handle));
		fed->handle_open = false;
	}
}

void k2i_feeder_outputs_take(struct k2i_mount *mount)
{
	struct k2i_feeder *feeder = mount->feeder;

	if (!feeder)
		return;
	(void)pthread_mutex_lock(&feeder->mutex);
	for (const struct k2i_fed_lane *lane = feeder->lanes; lane; lane = lane->next) {
		for (struct k2i_fed *fed = lane->fed; fed; fed = fed->next) {
			size_t before = fed->written_bytes;

			if (!fed->piped)
				continue;
			output_take(mount, fed);
			if (fed->written_bytes < before || fed->closed)
				k2i_feeder_wake(feeder);
		}
	}
	(void)pthread_mutex_unlock(&feeder->mutex);
	k2i_mount_count(&mount->counts.plugin_starts, atomic_exchange(&feeder->starts, 0));
	k2i_mount_count(&mount->counts.plugin_deaths, atomic_exchange(&feeder->deaths, 0));
	k2i_mount_count(&mount->counts.plugin_refed_bytes, atomic_exchange(&feeder->refed_bytes, 0));
}

/* Status ------------------------------------------------------------------------------------------------------------- */

void k2i_feeder_counts(const struct k2i_mount *mount, struct k2i_mount_counts *counts)
{
	struct k2i_feeder *feeder = mount->feeder;
	uint64_t oldest_ns = 0, now_ns = k2i_clock_now_ns();
	struct k2i_plugin_shown shown;

	if (!feeder)
		return;
	counts->plugins_running = counts->plugin_waiting_bytes = 0;
	(void)pthread_mutex_lock(&feeder->mutex);
	for (const struct k2i_fed_lane *lane = feeder->lanes; lane; lane = lane->next) {
		for (struct k2i_fed *fed = lane->fed; fed; fed = fed->next) {
			if (fed->closed)
				continue;
			k2i_plugin_show(fed->plugin, now_ns, &shown);
			counts->plugins_running += shown.pid != 0;
			counts->plugin_waiting_bytes += shown.waiting_bytes;
			oldest_ns = shown.waiting_ns > oldest_ns ? shown.waiting_ns : oldest_ns;
		}
	}
	(void)pthread_mutex_unlock(&feeder->mutex);
	counts->plugin_waiting_seconds = oldest_ns / K2I_SECOND_NS;
}

static void fed_show(const struct k2i_fed *fed, struct k2i_report *report, uint64_t now_ns)
{
	struct k2i_plugin_shown shown;

	k2i_plugin_show(fed->plugin, now_ns, &shown);
	k2i_report_open(report, NULL, '{');
	k2i_report_text(report, "path", fed->path);
	k2i_report_number(report, "pid", (uint64_t)shown.pid);
	k2i_report_number(report, "restarts", shown.restarts);
	k2i_report_number(report, "waiting_bytes", shown.waiting_bytes);
	k2i_report_number(report, "waiting_s", shown.waiting_ns / K2I_SECOND_NS);
	k2i_report_text(report, "held", shown.error ? strerror(-shown.error) : "");
	k2i_report_close(report, '}');
}

void k2i_feeder_show(const struct k2i_mount *mount, struct k2i_report *report)
{
	struct k2i_feeder *feeder = mount->feeder;
	uint64_t now_ns = k2i_clock_now_ns();

	if (!feeder)
		return;
	k2i_report_open(report, "plugins", '[');
	(void)pthread_mutex_lock(&feeder->mutex);
	for (const struct k2i_fed_lane *lane = feeder->lanes; lane; lane = lane->next) {
		for (struct k2i_fed *fed = lane->fed; fed; fed = fed->next) {
			if (!fed->closed)
				fed_show(fed, report, now_ns);
		}
	}
	(void)pthread_mutex_unlock(&feeder->mutex);
	k2i_report_close(report, ']');
}
