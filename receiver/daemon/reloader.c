/* SPDX-License-Identifier: MIT */
#include "receiver/daemon/reloader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/program/daemon.h"
#include "app/program/findings.h"
#include "app/rules/hosts.h"
#include "base/clock.h"
#include "base/crash.h"
#include "base/log.h"
#include "receiver/base/text.h"
#include "receiver/commit/syncer.h"
#include "receiver/listen/admission.h"
#include "receiver/listen/secure.h"

/* Telling -------------------------------------------------------------------------------------------------------- */

/* For `k2hft reload STATEDIR`. A receiver goes on without the file. */
void k2i_reloader_tell(const struct k2i_reloader *reloader)
{
	struct k2i_report report = {0};
	char path[PATH_MAX + 16], made[sizeof(path) + 4];
	int descriptor;
	FILE *file;
	bool whole;

	(void)snprintf(path, sizeof(path), "%s/" K2I_RELOAD_NAME, reloader->state->path);
	(void)snprintf(made, sizeof(made), "%s.new", path);
	k2i_report_open(&report, NULL, '{');
	k2i_report_begin(&report, "k2hftfusesvr", 0);
	k2i_reload_report(&report, &reloader->reload);
	k2i_report_close(&report, '}');
	k2i_report_add(&report, "\n");
	(void)remove(made);
	/* For its owner, whatever the umask: it names files and keys. */
	descriptor = report.failed ? -1 : open(made, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	file = descriptor < 0 ? NULL : fdopen(descriptor, "w");
	whole = file && fputs(report.text, file) >= 0;
	if (file && fclose(file))
		whole = false;
	if (whole ? rename(made, path) : file ? remove(made) : -1)
		k2i_log(K2HFT_LOG_WARNING, "receiver: can't write %s: %s", path, k2i_text_error(-errno));
	free(report.text);
}

/* Reloading ------------------------------------------------------------------------------------------------------ */

struct change { /* a configuration that is about to be used */
	struct k2i_settings *settings;
	struct k2i_hosts *hosts;
	char error[1024], restart[512];
};

static void key_check(const struct k2i_reloader *reloader, struct change *change)
{
	char place[480];

	if (!change->settings->receiver_present)
		(void)snprintf(change->error, sizeof(change->error),
			       "%s: no section [K2HFTFUSESVR]: it is not for a receiver", change->settings->file);
	else if (k2i_settings_restart(reloader->settings, change->settings, K2I_RELOADS_RECEIVER, change->restart,
				      sizeof(change->restart), place, sizeof(place)))
		(void)snprintf(change->error, sizeof(change->error), "%s: %s changed, which needs a restart", place,
			       change->restart);
}

/* All that can fail. Without a text in `error` nothing has. */
static void change_prepare(struct k2i_reloader *reloader, struct change *change)
{
	int error = k2i_findings_log(reloader->config, &change->settings, change->error, sizeof(change->error));

	if (!error)
		key_check(reloader, change);
	if (change->error[0])
		return;
	error = k2i_hosts_compile(change->settings, NULL, NULL, &change->hosts);
	if (!error)
		error = k2i_secure_prepare(reloader->service->secure, change->settings, change->error,
					   sizeof(change->error));
	if (!error)
		error = k2i_state_prepare(reloader->state, change->settings, change->error, sizeof(change->error));
	if (!error)
		error = k2i_loops_limit(reloader->loops,
					&(struct k2i_loops_limits){
						.window_bytes = change->settings->window_bytes,
						.frame_bytes_max = (uint32_t)change->settings->frame_bytes_max,
						.host_connections_max = (size_t)change->settings->host_connections_max,
						.sync_always = change->settings->file_sync == K2I_FILE_SYNC_ALWAYS,
					});
	if (error && !change->error[0])
		(void)snprintf(change->error, sizeof(change->error), "%s: %s", change->settings->file,
			       k2i_text_error(error));
}

static void limits_change(struct k2i_reloader *reloader, const struct k2i_settings *settings)
{
	struct k2i_service *service = reloader->service;
	size_t connections = (size_t)settings->connections_max;

	if (connections > reloader->connections_max)
		k2i_log(K2HFT_LOG_WARNING,
			"receiver: the limit of open files allows %zu connections, fewer than CONNMAX",
			reloader->connections_max);
	atomic_store(&service->connections_max,
		     connections < reloader->connections_max ? connections : reloader->connections_max);
	atomic_store(&service->streams.count_max, (size_t)settings->streams_max);
	atomic_store(&service->budget.bytes_max,
		     settings->buffer_bytes < SIZE_MAX ? (size_t)settings->buffer_bytes : SIZE_MAX);
	k2i_quarantine_limit(reloader->state->destination.quarantine, settings->quarantine_bytes);
	k2i_syncer_interval(service->syncer,
			    settings->file_sync == K2I_FILE_SYNC_INTERVAL ? settings->file_sync_ms : 0);
}

static void change_take(struct k2i_reloader *reloader, struct change *change)
{
	k2i_log(K2HFT_LOG_INFO, "receiver: %s may make new connections",
		change->hosts ? "from now on hosts that match NAME of an [SLVNODE]" : "without [SLVNODE] any host");
	k2i_admission_change(reloader->service->admission, change->hosts);
	limits_change(reloader, change->settings);
	if (reloader->settings != reloader->first)
		k2i_settings_free(reloader->settings);
	reloader->settings = change->settings;
}

void k2i_reloader_run(struct k2i_reloader *reloader)
{
	struct change change = {.error = ""};
	bool take;

	k2i_daemon_reloading(false);
	(void)pthread_mutex_lock(&reloader->mutex);
	k2i_reload_begin(&reloader->reload);
	(void)pthread_mutex_unlock(&reloader->mutex);
	/* The file comes at the end only: a disk that hangs would keep the change from those who wait for it. */
	change_prepare(reloader, &change);
	K2I_CRASH(receiver_reload_prepared);
	take = !change.error[0];
	k2i_secure_change(reloader->service->secure, take);
	k2i_state_change(reloader->state, take);
	K2I_CRASH(receiver_reload_taken);
	if (take) {
		change_take(reloader, &change);
	} else {
		k2i_hosts_free(change.hosts);
		k2i_settings_free(change.settings);
	}
	/* A rotated file is to be let go, however the configuration is. */
	k2i_state_reopen(reloader->state);
	(void)pthread_mutex_lock(&reloader->mutex);
	memcpy(reloader->reload.error, change.error, sizeof(change.error));
	memcpy(reloader->reload.restart, change.restart, sizeof(change.restart));
	k2i_reload_end(&reloader->reload, "receiver");
	(void)pthread_mutex_unlock(&reloader->mutex);
	k2i_reloader_tell(reloader);
	k2i_daemon_reloading(true);
}

/* Contract ------------------------------------------------------------------------------------------------------- */

void k2i_reloader_start(struct k2i_reloader *reloader, const char *config, struct k2i_settings *settings)
{
	reloader->config = config;
	reloader->first = reloader->settings = settings;
	(void)pthread_mutex_init(&reloader->mutex, NULL);
	(void)snprintf(reloader->reload.file, sizeof(reloader->reload.file), "%s", settings->file);
}

void k2i_reloader_end(struct k2i_reloader *reloader)
{
	if (reloader->settings != reloader->first)
		k2i_settings_free(reloader->settings);
	k2i_settings_free(reloader->first);
	(void)pthread_mutex_destroy(&reloader->mutex);
}
