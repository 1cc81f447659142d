/* SPDX-License-Identifier: MIT */
#include "start.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <time.h>
#include <unistd.h>

#include "daemon.h"
#include "handles.h"
#include "loop.h"
#include "ops.h"
#include "options.h"
#include "output.h"
#include "sender_config.h"
#include "tree.h"

uint64_t k2i_mount_clock_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* ---- checks */

static int fail(const char *what, int status)
{
	k2i_log(K2HFT_LOG_ERROR, "%s: %s", what, strerror(-status));
	return status;
}

/* The kernel remembers a dead mount's attributes for a while, but not how full it is. */
static bool mount_is_dead(const char *path)
{
	struct statfs info;

	return statfs(path, &info) && errno == ENOTCONN;
}

/* Makes the mount point's path absolute; it must be a directory with nothing mounted on it. */
static int check_mount_point(struct k2i_mount_options *options)
{
	char resolved[PATH_MAX], above[PATH_MAX + 4];
	struct stat info, parent;

	if (mount_is_dead(options->mount_point)) {
		k2i_log(K2HFT_LOG_ERROR, "%s: a mount without its server is there: fusermount3 -u -z %s, then again",
			options->mount_point, options->mount_point);
		return -ENOTCONN;
	}
	if (!realpath(options->mount_point, resolved) || stat(resolved, &info))
		return fail(options->mount_point, -errno);
	if (!S_ISDIR(info.st_mode))
		return fail(resolved, -ENOTDIR);
	(void)snprintf(above, sizeof(above), "%s/..", resolved);
	if (strcmp(resolved, "/") == 0 || (stat(above, &parent) == 0 && parent.st_dev != info.st_dev)) {
		k2i_log(K2HFT_LOG_ERROR, "%s: something is mounted there already", resolved);
		return -EBUSY;
	}
	free(options->mount_point);
	options->mount_point = strdup(resolved);
	return options->mount_point ? 0 : -ENOMEM;
}

/* Blocks are not looked into, so a rule that would have to is a mistake. */
static int check_binary(const struct k2i_settings *settings)
{
	for (size_t number = 0; settings->binary && number < settings->rule_count; number++) {
		const struct k2i_rule *rule = &settings->rules[number];

		if (rule->default_allow)
			continue;
		k2i_log(K2HFT_LOG_ERROR, "%s:%u: with BINTRANS = yes a rule needs DEFAULTALL = ALLOW", rule->file,
			rule->line);
		return -EINVAL;
	}
	return 0;
}

static int load(struct k2i_mount *mount, const struct k2i_mount_options *options)
{
	char message[1024] = "";
	int status = k2i_sender_config_load(options->config, &mount->config, message, sizeof(message));

	if (status == 0) {
		mount->settings = mount->config.settings;
		status = k2i_rules_compile(mount->settings, &mount->rules, message, sizeof(message));
	}
	if (status) {
		k2i_log(K2HFT_LOG_ERROR, "%s", message[0] ? message : strerror(-status));
		return status;
	}
	if (!mount->settings->fuse_present) {
		k2i_log(K2HFT_LOG_ERROR, "%s: no section K2HFTFUSE: nothing to mount", options->config);
		return -EINVAL;
	}
	if (mount->settings->rule_count == 0) {
		k2i_log(K2HFT_LOG_ERROR, "%s: no K2HFTFUSE_RULE and no K2HFTFUSE_RULE_DIR: no file could be written",
			options->config);
		return -EINVAL;
	}
	return check_binary(mount->settings);
}

static int open_log(const struct k2i_mount_options *options)
{
	const char *file = getenv("K2HFTDBGFILE");
	int status = k2i_daemon_log_open("k2hftfuse", options->level, file && *file ? file : NULL);

	if (status)
		fprintf(stderr, "k2hftfuse: %s: %s\n", file, strerror(-status));
	return status;
}

int k2i_start_check(struct k2i_mount_options *options, struct k2i_mount **mount)
{
	struct k2i_mount *made = calloc(1, sizeof(*made));
	char message[1024] = "";
	int status;

	if (!made || open_log(options))
		return free(made), K2I_STATUS_FAILED;
	*mount = made;
	made->options = options;
	made->device_fd = made->progress_fd = made->signal_fd = -1;
	if (load(made, options))
		return K2I_STATUS_USAGE;
	if (options->without_effect || options->ignored_text)
		k2i_log(K2HFT_LOG_INFO, "options for chmpx have no effect: there is none to run");
	if (check_mount_point(options))
		return K2I_STATUS_FAILED;
	status = k2i_outputs_open(made, message, sizeof(message));
	if (status) {
		k2i_log(K2HFT_LOG_ERROR, "%s", message[0] ? message : strerror(-status));
		return K2I_STATUS_FAILED;
	}
	return EXIT_SUCCESS;
}

/* ---- at work */

int k2i_start_background(struct k2i_mount *mount)
{
	int status = mount->options->foreground ? 0 : k2i_daemon_detach();

	return status ? fail("fork", status) : 0;
}

static int open_ring(struct k2i_mount *mount)
{
	const struct k2hft_sender_options *config = &mount->config.options;
	struct k2hft_ring_options options = {
		.size = sizeof(options),
		.path = config->ring_path,
		.ring_bytes = config->ring_bytes,
		.flags = config->ring_flags,
	};
	struct k2hft_ring_stats stats = {.size = sizeof(stats)};
	uint64_t most;
	int status = k2hft_ring_open(&options, &mount->ring);

	if (status == -EBUSY)
		k2i_log(K2HFT_LOG_ERROR, "%s: another process sends from this file", options.path);
	if (status == -EPROTO)
		k2i_log(K2HFT_LOG_ERROR, "%s: it is not a ring that this version knows, or its header is damaged",
			options.path);
	if (status == 0 && mount->settings->queue_type == K2I_QUEUE_FILE)
		mount->ring_file = realpath(options.path, NULL);
	if (status == 0)
		status = k2hft_producer_open(mount->ring, &mount->producer);
	if (status)
		return fail(options.path ? options.path : "ring in memory", status);
	(void)k2hft_ring_stats(mount->ring, &stats);
	most = stats.ring_bytes / 4 < K2HFT_CHUNK_BYTES_MAX ? stats.ring_bytes / 4 : K2HFT_CHUNK_BYTES_MAX;
	mount->chunk_bytes_max = (size_t)most - K2HFT_CHUNK_HEADER_BYTES;
	mount->in_place = mount->chunk_bytes_max >= K2I_HEADROOM_BYTES + K2I_WRITE_BYTES_MAX;
	mount->limits.record_bytes_max = mount->settings->record_bytes_limit;
	mount->limits.piece_bytes_max = mount->chunk_bytes_max;
	if (mount->settings->record_bytes_max < mount->chunk_bytes_max)
		mount->limits.piece_bytes_max = (size_t)mount->settings->record_bytes_max;
	return 0;
}

static int open_descriptors(struct k2i_mount *mount)
{
	sigset_t ends;

	(void)sigemptyset(&ends);
	(void)sigaddset(&ends, SIGINT);
	(void)sigaddset(&ends, SIGTERM);
	(void)sigaddset(&ends, SIGHUP);
	(void)sigprocmask(SIG_BLOCK, &ends, NULL);
	(void)signal(SIGPIPE, SIG_IGN);
	mount->signal_fd = signalfd(-1, &ends, SFD_CLOEXEC | SFD_NONBLOCK);
	mount->progress_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	mount->request = malloc(K2I_REQUEST_HEAD_BYTES + K2I_WRITE_BYTES_MAX);
	if (mount->signal_fd < 0 || mount->progress_fd < 0 || !mount->request)
		return fail("descriptors", errno ? -errno : -ENOMEM);
	mount->body = mount->request + K2I_REQUEST_HEAD_BYTES;
	return 0;
}

/* libfuse's own messages, some of which are in several pieces. */
static void take_fuse_log(enum fuse_log_level level, const char *format, va_list arguments)
{
	char text[512];
	int bytes = vsnprintf(text, sizeof(text), format, arguments);

	if (bytes <= 0)
		return;
	text[strcspn(text, "\n")] = '\0';
	if (text[0])
		k2i_log(level <= FUSE_LOG_ERR       ? K2HFT_LOG_ERROR
			: level <= FUSE_LOG_WARNING ? K2HFT_LOG_WARNING
						    : K2HFT_LOG_DEBUG,
			"%s", text);
}

static int mount_it(struct k2i_mount *mount)
{
	struct fuse_args *args = (struct fuse_args *)&mount->options->args;
	int flags;

	fuse_set_log_func(take_fuse_log);
	mount->session = fuse_session_new(args, &k2i_ops, sizeof(k2i_ops), mount);
	if (!mount->session) /* it has said why */
		return -EINVAL;
	if (access("/dev/fuse", F_OK))
		return fail("/dev/fuse", -errno);
	if (fuse_session_mount(mount->session, mount->options->mount_point)) {
		k2i_log(K2HFT_LOG_ERROR, "%s: can't be mounted", mount->options->mount_point);
		return -EIO;
	}
	mount->mounted = true;
	/* libfuse closes its descriptor before it unmounts; with ours the requests of open files still come. */
	mount->device_fd = fcntl(fuse_session_fd(mount->session), F_DUPFD_CLOEXEC, 0);
	if (mount->device_fd < 0)
		return fail("/dev/fuse", -errno);
	flags = fcntl(mount->device_fd, F_GETFL);
	return fcntl(mount->device_fd, F_SETFL, flags | O_NONBLOCK) ? fail("/dev/fuse", -errno) : 0;
}

static int open_client(struct k2i_mount *mount)
{
	const struct k2hft_sender_options *config = &mount->config.options;
	struct k2hft_client_options options = {
		.size = sizeof(options),
		.host = config->host,
		.port = config->port,
		.host_name = config->host_name,
		.level = config->level,
		.compress = config->compress,
		.batch_records_max = config->batch_records_max,
		.expire_s = config->expire_s,
		.tls = config->tls,
		.progress = k2i_loop_progress,
		.progress_argument = mount,
	};
	int status = k2hft_client_open(mount->ring, &options, &mount->client);

	return status ? fail("client", status) : 0;
}

int k2i_start_mount(struct k2i_mount *mount)
{
	int status = open_descriptors(mount);

	if (status == 0)
		status = open_ring(mount);
	if (status == 0)
		status = k2i_tree_make(mount);
	if (status == 0)
		status = open_client(mount);
	if (status == 0)
		status = mount_it(mount);
	if (status == 0) {
		status = k2hft_client_thread_start(mount->client);
		if (status)
			(void)fail("client", status);
	}
	if (status == 0)
		k2i_log(K2HFT_LOG_INFO, "mount: %s, to %s:%s", mount->options->mount_point, mount->config.options.host,
			mount->config.options.port);
	return status;
}

void k2i_start_undo(struct k2i_mount *mount)
{
	if (!mount)
		return;
	if (mount->mounted)
		fuse_session_unmount(mount->session);
	if (mount->device_fd >= 0)
		(void)close(mount->device_fd);
	if (mount->session)
		fuse_session_destroy(mount->session);
	k2hft_client_close(mount->client);
	mount->device_fd = -1;
	k2i_park_abandon(mount, -ECONNABORTED);
	k2i_handles_free(mount);
	k2i_nodes_free(mount->nodes);
	k2hft_producer_close(mount->producer);
	k2hft_ring_close(mount->ring);
	k2i_outputs_close(mount->outputs);
	k2i_rules_free(mount->rules);
	if (mount->settings)
		k2i_sender_config_free(&mount->config);
	if (mount->signal_fd >= 0)
		(void)close(mount->signal_fd);
	if (mount->progress_fd >= 0)
		(void)close(mount->progress_fd);
	free(mount->request);
	free(mount->ring_file);
	free(mount);
}
