/* SPDX-License-Identifier: MIT */
#include "fuse/keeper/start.h"
#include "fuse/keeper/keeper.h"
#include "fuse/keeper/lanes.h"
#include "fuse/keeper/left_rings.h"
#include "fuse/keeper/parts.h"
#include "fuse/keeper/setup.h"
#include "fuse/keeper/takeover.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/magic.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/crash.h"
#include "base/hash.h"
#include "app/program/daemon.h"
#include "app/program/findings.h"
#include "fuse/cached/truncate_probe.h"
#include "fuse/ops/ops.h"
#include "fuse/base/options.h"
#include "fuse/copy/outputfile.h"
#include "config/sender.h"
#include "fuse/base/journal.h"
#include "fuse/tree/tree.h"
#include "fuse/base/mount_point.h"
#include "fuse/device/loop.h"

/* ---- checks */

/* As of x-systemd.automount: whoever comes there waits until a mount covers it. */
static bool path_is_automount(const char *path)
{
	struct statfs info;

	return statfs(path, &info) == 0 && info.f_type == AUTOFS_SUPER_MAGIC;
}

/* Programs may have written there while nothing was mounted: nobody sends that, and from now on nobody sees it. */
static void path_warn_hidden(const char *path)
{
	DIR *directory = opendir(path);
	const struct dirent *entry = NULL;

	if (!directory)
		return;
	do
		entry = readdir(directory);
	while (entry && (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0));
	if (entry)
		k2i_log(K2HFT_LOG_WARNING, "%s is not empty: the mount hides what is there, and does not send it",
			path);
	(void)closedir(directory);
}

/* Something is mounted there, and is no automount. */
static bool path_is_mounted(const char *path)
{
	char above[PATH_MAX + 4];
	struct stat info, parent;

	(void)snprintf(above, sizeof(above), "%s/..", path);
	return strcmp(path, "/") == 0 || (stat(path, &info) == 0 && stat(above, &parent) == 0 &&
					  parent.st_dev != info.st_dev && !path_is_automount(path));
}

/* As a keeper that is killed leaves it: who may unmount is not kept from beginning anew. */
static int mount_point_clear(const char *path, bool *follows_dead)
{
	while (k2i_mount_point_is_dead(path)) {
		*follows_dead = true;
		if (umount2(path, MNT_DETACH)) {
			k2i_log(K2HFT_LOG_ERROR,
				"%s: a mount whose processes ended is there: fusermount3 -u -z %s, then again", path,
				path);
			return -ENOTCONN;
		}
		k2i_log(K2HFT_LOG_WARNING, "%s: a mount whose processes ended was there, and is removed", path);
	}
	return 0;
}

/* Makes the mount point's path absolute; it must be a directory with nothing mounted on it. */
static int mount_point_check(struct k2i_mount_options *options, struct k2i_kernel *kernel)
{
	char resolved[PATH_MAX];
	struct stat info;
	bool automount;
	int status;

	do {
		if (mount_point_clear(options->mount_point, &kernel->follows_dead))
			return -ENOTCONN;
		/* A mount that has died since is looked at again. */
		status = realpath(options->mount_point, resolved) && stat(resolved, &info) == 0 ? 0 : -errno;
	} while (k2i_mount_point_error_is_death(status));
	if (status)
		return k2i_mount_fail(options->mount_point, status);
	if (!S_ISDIR(info.st_mode))
		return k2i_mount_fail(resolved, -ENOTDIR);
	automount = path_is_automount(resolved);
	/* An automount that is opened wants to be mounted, and does that once at a time. */
	if (!automount && !path_is_mounted(resolved))
		kernel->place_fd = k2i_mount_point_lock(resolved);
	if (kernel->place_fd == -EBUSY)
		return -EBUSY;
	if (path_is_mounted(resolved)) {
		k2i_log(K2HFT_LOG_ERROR, "%s: something is mounted there already", resolved);
		return -EBUSY;
	}
	if (!automount)
		path_warn_hidden(resolved);
	free(options->mount_point);
	options->mount_point = strdup(resolved);
	return options->mount_point ? 0 : -ENOMEM;
}

static int config_load(struct k2i_mount *mount, const struct k2i_mount_options *options)
{
	struct k2i_settings *settings;
	char message[1024] = "";
	int status = k2i_findings_log(options->config, &settings, message, sizeof(message));

	if (status)
		return status;
	status = k2i_sender_config_make(settings, &mount->config, message, sizeof(message));
	if (status == 0) {
		mount->settings = mount->config.settings;
		status = k2i_rules_compile(mount->settings, &mount->rules, message, sizeof(message));
	}
	if (status) {
		k2i_log(K2HFT_LOG_ERROR, "%s", message[0] ? message : strerror(-status));
		return status;
	}
	if (!mount->settings->fuse_present) {
		k2i_log(K2HFT_LOG_ERROR, "%s: no section K2HFTFUSE: nothing to mount", mount->settings->file);
		return -EINVAL;
	}
	if (mount->settings->rule_count == 0) {
		k2i_log(K2HFT_LOG_ERROR, "%s: no K2HFTFUSE_RULE and no K2HFTFUSE_RULE_DIR: no file could be written",
			mount->settings->file);
		return -EINVAL;
	}
	return 0;
}

static int log_open(const struct k2i_mount_options *options)
{
	const char *file = getenv("K2HFTDBGFILE");

	return k2i_daemon_log_open("k2hftfuse", options->level, file && *file ? file : NULL);
}

/* In the journal's memory; NULL: there is none. */
static struct k2i_mount *mount_make(const struct k2i_mount_options *options)
{
	struct {
		struct k2i_mount mount;
		struct k2i_mount_parts parts;
	} * whole;
	struct k2i_mount *made;

	/* A process that may not write so large a file has memory that no other keeper can take over. */
	(void)signal(SIGXFSZ, SIG_IGN);
	whole = k2i_journal_create(k2i_takeover_layout()) ? NULL : k2i_journal_alloc(sizeof(*whole));
	if (!whole)
		return NULL;
	memset(whole, 0, sizeof(*whole));
	made = &whole->mount;
	k2i_mount_parts_join(made, &whole->parts);
	made->options = options;
	k2i_setup_name(options->config, made->reload.told.file, sizeof(made->reload.told.file));
	made->keeper.started_ns = k2i_clock_now_ns();
	made->kernel.fd = made->kernel.place_fd = -1;
	made->kernel.follows_dead = k2i_takeover_given();
	for (unsigned at = 0; at < K2I_LANE_COUNT_MAX; at++)
		made->lanes.lane[at] = (struct k2i_mount_lane){.index = at, .state = K2I_LANE_FREE, .ring_fd = -1};
	return made;
}

static int outputfiles_open(struct k2i_mount *mount)
{
	char message[1024] = "";
	int status = k2i_outputfiles_open(mount, message, sizeof(message));

	if (status == 0)
		return EXIT_SUCCESS;
	k2i_log(K2HFT_LOG_ERROR, "%s", message[0] ? message : strerror(-status));
	return status == -EINVAL ? K2I_STATUS_USAGE : K2I_STATUS_FAILED;
}

static int place_check(struct k2i_mount *mount, struct k2i_mount_options *options)
{
	const char *below;

	(void)snprintf(mount->kernel.place, sizeof(mount->kernel.place), "%s", options->mount_point);
	if (options->without_effect || options->ignored_text)
		k2i_log(K2HFT_LOG_INFO, "options for chmpx have no effect: there is none to run");
	if (mount_point_check(options, &mount->kernel))
		return K2I_STATUS_FAILED;
	(void)snprintf(mount->kernel.mount_point, sizeof(mount->kernel.mount_point), "%s", options->mount_point);
	below = k2i_settings_below(mount->settings, options->mount_point);
	if (below) {
		k2i_log(K2HFT_LOG_ERROR, "%s: " K2I_BELOW_TEXT, mount->settings->file, below);
		return K2I_STATUS_USAGE;
	}
	return EXIT_SUCCESS;
}

int k2i_start_check(struct k2i_mount_options *options, struct k2i_mount **mount)
{
	bool taken_over;
	sigset_t signals;
	int status;

	if (log_open(options))
		return K2I_STATUS_FAILED;
	*mount = k2i_takeover_find(options);
	taken_over = *mount != NULL;
	if (taken_over)
		k2i_keeper_signals_block(&signals); /* the mount is to end in order */
	else
		*mount = mount_make(options);
	if (!*mount) {
		(void)k2i_mount_fail("memory", -ENOMEM);
		return K2I_STATUS_FAILED;
	}
	status = config_load(*mount, options);
	if (status && status != -ENOMEM && taken_over)
		k2i_takeover_refuse(*mount, "its configuration is wrong");
	if (status == 0 && taken_over && !k2i_takeover_fits(*mount)) {
		k2i_start_undo(*mount);
		*mount = NULL;
		return k2i_start_check(options, mount);
	}
	if (status == 0 && !taken_over) {
		(*mount)->reload.signature = k2i_takeover_sign(*mount);
		status = k2i_lanes_make(*mount);
	}
	/* Memory can be there at the next start, and after the other status systemd does not try it. */
	if (status)
		return status == -ENOMEM ? K2I_STATUS_FAILED : K2I_STATUS_USAGE;
	if (!taken_over)
		status = place_check(*mount, options);
	return status ? status : outputfiles_open(*mount);
}

/* ---- at work */

int k2i_start_background(struct k2i_mount *mount)
{
	int status = mount->options->foreground ? 0 : k2i_daemon_detach();

	return status ? k2i_mount_fail("fork", status) : 0;
}

/* libfuse's own messages, some of which come in several pieces: a line ends with LF. */
static void log_take_fuse(enum fuse_log_level level, const char *format, va_list arguments)
{
	static _Thread_local char text[512];
	static _Thread_local size_t length;
	int bytes = vsnprintf(text + length, sizeof(text) - length, format, arguments);

	if (bytes <= 0)
		return;
	length = strlen(text);
	if (text[length - 1] != '\n' && length < sizeof(text) - 1)
		return;
	length = 0;
	text[strcspn(text, "\n")] = '\0';
	if (text[0])
		k2i_log(level <= FUSE_LOG_ERR       ? K2HFT_LOG_ERROR
			: level <= FUSE_LOG_WARNING ? K2HFT_LOG_WARNING
						    : K2HFT_LOG_DEBUG,
			"%s", text);
}

static int session_make(struct k2i_mount *mount)
{
	struct fuse_args *args = (struct fuse_args *)&mount->options->args;

	fuse_set_log_func(log_take_fuse);
	mount->kernel.session = fuse_session_new(args, &k2i_ops, sizeof(k2i_ops), mount);
	if (!mount->kernel.session) { /* it has said which option it does not know */
		if (mount->options->nearest[0])
			k2i_log(K2HFT_LOG_ERROR, "did you mean -o %s?", mount->options->nearest);
		return K2I_STATUS_USAGE;
	}
	return 0;
}

static int mount_point_mount(struct k2i_mount *mount)
{
	int flags, status;

	mount->kernel.options = k2i_takeover_options(mount->options);
	status = session_make(mount);
	if (status)
		return status;
	if (access("/dev/fuse", F_OK))
		return k2i_mount_fail(
			"/dev/fuse, which modprobe fuse makes, and a container has with --device /dev/fuse", -errno);
	if (fuse_session_mount(mount->kernel.session, mount->options->mount_point)) {
		k2i_log(K2HFT_LOG_ERROR, "%s: can't be mounted", mount->options->mount_point);
		return -EIO;
	}
	mount->kernel.mounted = true;
	/* libfuse closes its descriptor before it unmounts; with ours the requests of open files still come. */
	mount->kernel.fd = fcntl(fuse_session_fd(mount->kernel.session), F_DUPFD_CLOEXEC, 0);
	if (mount->kernel.fd < 0)
		return k2i_mount_fail("/dev/fuse", -errno);
	flags = fcntl(mount->kernel.fd, F_GETFL);
	if (fcntl(mount->kernel.fd, F_SETFL, flags | O_NONBLOCK))
		return k2i_mount_fail("/dev/fuse", -errno);
	status = k2i_mount_point_device(AT_FDCWD, mount->options->mount_point, 0, &mount->kernel.device);
	return status ? k2i_mount_fail(mount->options->mount_point, status) : 0;
}

/* A lock that the process which waits for this one has, too. */
static void place_give_back(struct k2i_mount *mount)
{
	if (mount->kernel.place_fd < 0)
		return;
	(void)flock(mount->kernel.place_fd, LOCK_UN);
	(void)close(mount->kernel.place_fd);
	mount->kernel.place_fd = -1;
}

/* libfuse knows such a name for a descriptor of what others have mounted, and closes it at the end. */
static int mount_take_over(struct k2i_mount *mount)
{
	char name[32];
	int status = session_make(mount), fd = fcntl(mount->kernel.fd, F_DUPFD_CLOEXEC, 0);

	if (status)
		return status;
	(void)snprintf(name, sizeof(name), "/dev/fd/%d", fd);
	if (fd < 0 || fuse_session_mount(mount->kernel.session, name))
		return k2i_mount_fail("/dev/fuse", -EBADF);
	k2i_log(K2HFT_LOG_INFO, "mount: %s goes on: it and the files that are open there are taken over",
		mount->options->mount_point);
	k2i_daemon_leave();
	K2I_CRASH(mount_taken_over);
	return 0;
}

int k2i_start_mount(struct k2i_mount *mount)
{
	unsigned own = mount->lanes.count;
	int status = 0;

	if (mount->kernel.taken_over)
		return mount_take_over(mount);
	for (unsigned at = 0; status == 0 && at < own; at++)
		status = k2i_lane_ring_keep(mount, &mount->lanes.lane[at]);
	if (status == 0)
		k2i_left_rings_find(mount);
	for (unsigned at = own; status == 0 && at < mount->lanes.count; at++)
		status = k2i_lane_ring_keep(mount, &mount->lanes.lane[at]);
	if (status == 0)
		status = k2i_tree_make(mount);
	if (status == 0)
		status = k2i_truncate_probe_prepare(mount);
	if (status == 0)
		status = mount_point_mount(mount);
	place_give_back(mount);
	/* Not before: an automount lets but its own process group get to the directory that is to be mounted. */
	k2i_daemon_leave();
	/* All of it stays: workers begin with it. */
	k2i_journal_step();
	return status;
}

static void mount_undo(struct k2i_mount *mount)
{
	k2i_takeover_withdraw();
	place_give_back(mount);
	if (mount->kernel.fd >= 0)
		(void)close(mount->kernel.fd);
	if (mount->kernel.session)
		k2i_mount_point_undo(mount);
	for (unsigned at = 0; at < K2I_LANE_COUNT_MAX; at++) {
		if (mount->lanes.lane[at].ring_fd >= 0)
			(void)close(mount->lanes.lane[at].ring_fd);
	}
	k2i_nodes_free(mount->nodes);
	k2i_journal_destroy();
}

void k2i_start_undo(struct k2i_mount *mount)
{
	if (!mount)
		return;
	k2i_outputfiles_close(mount->outputfiles);
	k2i_rules_free(mount->rules);
	if (mount->settings)
		k2i_sender_config_free(&mount->config);
	/* This keeper has not died, so its try does not count. */
	if (k2i_takeover_waits(mount))
		mount->keeper.tries--;
	else
		mount_undo(mount);
}
