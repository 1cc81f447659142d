/* SPDX-License-Identifier: MIT */
#include "fuse/keeper/takeover.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <time.h>
#include <unistd.h>

#include <k2hft/version.h>

#include "app/program/daemon.h"
#include "base/crash.h"
#include "base/hash.h"
#include "fuse/base/journal.h"
#include "fuse/base/mount_point.h"
#include "fuse/base/options.h"
#include "fuse/keeper/parts.h"
#include "fuse/keeper/setup.h"
#include "fuse/keeper/start.h"
#include "fuse/tree/nodes.h"

#define NAME_JOURNAL "k2hft-journal"
#define NAME_KERNEL "k2hft-kernel"
#define NAME_RING "k2hft-ring-" /* and the lane's number */
#define NAMES_ROOM 4096u
/* A mount whose keepers die before their worker is ready, so many in a row, is not taken over once more. */
#define TRIES_MAX 5u
/* Fifteen seconds for a keeper to go: longer than it waits for its worker. */
#define LEAVE_TRIES 750u
#define LEAVE_PAUSE_NS 20000000L

/* Descriptors that systemd had for this process; -1. */
static struct {
	int journal, kernel, rings[K2I_LANE_COUNT_MAX];
} found;
/* systemd has copies of them. */
static struct {
	bool mount;
	uint64_t rings; /* by lane */
} offered;
static bool given; /* by systemd, to this process */

uint64_t k2i_takeover_layout(void)
{
	const uint64_t parts[] = {
		K2I_LAYOUT,
		K2HFT_VERSION_MAJOR,
		K2HFT_VERSION_MINOR,
		sizeof(struct k2i_mount),
		sizeof(struct k2i_mount_parts),
		sizeof(struct k2i_lane_plugin),
		sizeof(struct k2i_handle),
		sizeof(struct k2i_route),
		sizeof(struct k2i_route_stream),
		sizeof(struct k2i_queued),
		sizeof(struct k2i_queue),
		sizeof(struct k2i_cached_file),
		sizeof(struct k2i_node_entry),
	};

	return k2i_hash(parts, sizeof(parts)) | 1;
}

/* ---- what systemd has */

static int *found_named(const char *name)
{
	char *end;
	unsigned long at;

	if (strcmp(name, NAME_JOURNAL) == 0)
		return &found.journal;
	if (strcmp(name, NAME_KERNEL) == 0)
		return &found.kernel;
	if (strncmp(name, NAME_RING, strlen(NAME_RING)) != 0)
		return NULL;
	at = strtoul(name + strlen(NAME_RING), &end, 10);
	return *end || at >= K2I_LANE_COUNT_MAX ? NULL : &found.rings[at];
}

static void found_look(void)
{
	char names[NAMES_ROOM], *rest = names;
	int count = k2i_daemon_descriptors(names, sizeof(names));

	found.journal = found.kernel = -1;
	for (unsigned at = 0; at < K2I_LANE_COUNT_MAX; at++)
		found.rings[at] = -1;
	for (int fd = K2I_DAEMON_DESCRIPTORS_FIRST; count > 0 && rest; fd++, count--) {
		int *place = found_named(strsep(&rest, ":"));

		given = offered.mount = true;
		if (place && *place < 0)
			*place = fd;
		else
			(void)close(fd);
	}
	for (unsigned at = 0; at < K2I_LANE_COUNT_MAX; at++)
		offered.rings |= found.rings[at] >= 0 ? UINT64_C(1) << at : 0;
}

bool k2i_takeover_given(void)
{
	return given;
}

static void found_close(int *fd)
{
	if (*fd >= 0)
		(void)close(*fd);
	*fd = -1;
}

/* They are of another mount than this process is to have. */
static void found_give_up(void)
{
	k2i_takeover_withdraw();
	found_close(&found.journal);
	found_close(&found.kernel);
	for (unsigned at = 0; at < K2I_LANE_COUNT_MAX; at++)
		found_close(&found.rings[at]);
}

static void ring_name(unsigned lane, char name[32])
{
	(void)snprintf(name, 32, NAME_RING "%u", lane);
}

static int ring_offer(const struct k2i_mount_lane *lane)
{
	uint64_t bit = k2i_lane_bit(lane);
	char name[32];
	int status = 0;

	ring_name(lane->index, name);
	if (lane->ring_fd < 0 && offered.rings & bit) {
		(void)k2i_daemon_descriptor_drop(name);
		offered.rings &= ~bit;
	}
	if (lane->ring_fd >= 0 && !(offered.rings & bit)) {
		status = k2i_daemon_descriptor_keep(name, lane->ring_fd);
		offered.rings |= status == 0 ? bit : 0;
	}
	return status;
}

int k2i_takeover_offer(const struct k2i_mount *mount)
{
	int journal = k2i_journal_descriptor(), status = 0;

	if (!mount->kernel.init_bytes)
		return -EAGAIN;
	/* libfuse unmounts for a user, and only what it has mounted itself. */
	if (!mount->kernel.resends || journal < 0 || geteuid() != 0)
		return -ENOTSUP;
	if (!offered.mount) {
		status = k2i_daemon_descriptor_keep(NAME_JOURNAL, journal);
		if (status == 0)
			status = k2i_daemon_descriptor_keep(NAME_KERNEL, mount->kernel.fd);
		offered.mount = status == 0;
	}
	for (unsigned at = 0; status == 0 && at < K2I_LANE_COUNT_MAX; at++)
		status = ring_offer(&mount->lanes.lane[at]);
	return status == -ENOTCONN ? -ENOTSUP : status;
}

void k2i_takeover_offer_ring(const struct k2i_mount_lane *lane)
{
	if (offered.mount)
		(void)ring_offer(lane);
}

void k2i_takeover_withdraw(void)
{
	char name[32];
	int status;

	if (!offered.mount)
		return;
	status = k2i_daemon_descriptor_drop(NAME_JOURNAL);
	if (status == 0)
		status = k2i_daemon_descriptor_drop(NAME_KERNEL);
	for (unsigned at = 0; status == 0 && at < K2I_LANE_COUNT_MAX; at++) {
		ring_name(at, name);
		if (offered.rings >> at & 1)
			status = k2i_daemon_descriptor_drop(name);
	}
	offered.mount = false;
	offered.rings = 0;
}

/* ---- taking over */

/*
 * By the kernel, which unmounts without asking the mount's server. `kernel`: NULL, the mount is of the same unit, but it is not
 * known which one it is.
 */
static void mount_remove(const struct k2i_kernel *kernel, const char *mount_point, const char *why)
{
	dev_t device = 0;

	k2i_log(K2HFT_LOG_ERROR,
		"%s: the mount of the keeper before can't be taken over: %s: it is removed; files that are open there "
		"are to be opened again, and what was neither in a ring's file nor acknowledged is lost",
		mount_point, why);
	if (kernel)
		mount_point = kernel->mount_point;
	(void)k2i_mount_point_device(AT_FDCWD, mount_point, AT_NO_AUTOMOUNT, &device);
	if (!kernel || device == kernel->device)
		(void)umount2(mount_point, MNT_DETACH);
}

static bool kernel_has_mount(void)
{
	struct pollfd kernel = {.fd = found.kernel};

	return found.kernel >= 0 && poll(&kernel, 1, 0) == 0;
}

static const char *rings_lack(const struct k2i_mount *mount)
{
	for (unsigned at = 0; at < K2I_LANE_COUNT_MAX; at++) {
		const struct k2i_mount_lane *lane = &mount->lanes.lane[at];

		if (lane->ring_fd >= 0 && k2i_lane_used(lane) && found.rings[at] < 0)
			return "systemd did not have all of its rings yet";
	}
	return NULL;
}

/* Why it is not for this process; NULL: it is. */
static const char *mount_lacks(const struct k2i_mount *mount, const struct k2i_mount_options *options)
{
	char file[sizeof(mount->reload.told.file)];

	k2i_setup_name(options->config, file, sizeof(file));
	if (strcmp(mount->kernel.place, options->mount_point) != 0 || strcmp(mount->reload.told.file, file) != 0)
		return "it is another mount point or configuration";
	if (mount->keeper.tries >= TRIES_MAX)
		return "each keeper that has tried has died";
	return rings_lack(mount);
}

uint64_t k2i_takeover_options(const struct k2i_mount_options *options)
{
	const unsigned own[] = {options->umask_set,  options->umask_bits, options->uid_set,
				options->uid_number, options->gid_set,    options->gid_number};
	uint64_t sign = k2i_hash(own, sizeof(own));

	for (int at = 1; at < options->args.argc; at++)
		sign = k2i_hash_seeded(options->args.argv[at], strlen(options->args.argv[at]), sign);
	return sign;
}

/* All that the keeper before had for itself. */
static int mount_inherit(struct k2i_mount *mount, struct k2i_mount_options *options)
{
	char *resolved = strdup(mount->kernel.mount_point);

	if (!resolved)
		return -ENOMEM;
	free(options->mount_point);
	options->mount_point = resolved;
	mount->keeper.tries++;
	mount->keeper.pid = 0;
	mount->options = options;
	mount->config = (struct k2i_sender_config){.settings = NULL};
	mount->settings = NULL;
	mount->rules = NULL;
	mount->outputfiles = NULL;
	mount->kernel.session = NULL;
	mount->kernel.taken_over = true;
	mount->kernel.fd = found.kernel;
	mount->kernel.place_fd = -1;
	for (unsigned at = 0; at < K2I_LANE_COUNT_MAX; at++)
		mount->lanes.lane[at].ring_fd = found.rings[at];
	K2I_CRASH(mount_inherited);
	return 0;
}

/* `*mount`: NULL, it is not known. */
static const char *mount_take(struct k2i_mount_options *options, struct k2i_mount **mount)
{
	void *first;
	int status = found.journal < 0 ? -ENOENT : k2i_journal_take(found.journal, k2i_takeover_layout(), &first);
	const char *lack;

	if (status == -ENOENT)
		return "its keeper was about to end it";
	if (status)
		return status == -EINVAL ? "it is of another version" : strerror(-status);
	found.journal = -1; /* the journal's */
	*mount = first;
	lack = mount_lacks(*mount, options);
	if (!lack && mount_inherit(*mount, options))
		lack = strerror(ENOMEM);
	return lack;
}

struct k2i_mount *k2i_takeover_find(struct k2i_mount_options *options)
{
	struct k2i_mount *mount = NULL;
	const char *lack;

	found_look();
	if (!offered.mount)
		return NULL;
	if (kernel_has_mount()) {
		lack = mount_take(options, &mount);
		if (!lack)
			return mount;
		mount_remove(mount ? &mount->kernel : NULL, options->mount_point, lack);
	}
	k2i_journal_destroy();
	found_give_up();
	return NULL;
}

uint64_t k2i_takeover_sign(const struct k2i_mount *mount)
{
	const char *file = mount->reload.told.file;

	return *file ? k2i_setup_sign(mount->settings, file)
		     : k2i_hash(mount->options->config, strlen(mount->options->config));
}

void k2i_takeover_refuse(struct k2i_mount *mount, const char *why)
{
	mount_remove(&mount->kernel, mount->options->mount_point, why);
	mount->kernel.taken_over = false;
}

bool k2i_takeover_fits(struct k2i_mount *mount)
{
	if (k2i_takeover_sign(mount) != mount->reload.signature) {
		k2i_takeover_refuse(mount, "its configuration has changed since");
		return false;
	}
	if (k2i_takeover_options(mount->options) != mount->kernel.options)
		k2i_log(K2HFT_LOG_WARNING,
			"%s: options of the mount have changed: they count in full once it is stopped and started",
			mount->options->mount_point);
	return true;
}

bool k2i_takeover_waits(const struct k2i_mount *mount)
{
	if (mount)
		return mount->kernel.taken_over && !mount->keeper.pid;
	found_look();
	return found.journal >= 0 && kernel_has_mount();
}

/* ---- asking for it */

/* A descriptor of the journal's memory; -ENOENT: the process keeps no mount. */
static int keeper_journal(pid_t keeper)
{
	char path[PATH_MAX], target[64];
	DIR *directory;
	const struct dirent *entry;
	int fd = -ENOENT;

	(void)snprintf(path, sizeof(path), "/proc/%ld/fd", (long)keeper);
	directory = opendir(path);
	if (!directory)
		return -errno;
	while (fd == -ENOENT && (entry = readdir(directory)) != NULL) {
		ssize_t bytes = readlinkat(dirfd(directory), entry->d_name, target, sizeof(target) - 1);

		target[bytes > 0 ? bytes : 0] = '\0';
		if (strcmp(target, "/memfd:" K2I_JOURNAL_NAME " (deleted)") == 0)
			fd = openat(dirfd(directory), entry->d_name, O_RDONLY | O_CLOEXEC);
	}
	if (fd < 0 && fd != -ENOENT)
		fd = -errno;
	(void)closedir(directory);
	return fd;
}

static int ask_failed(pid_t keeper, const char *why)
{
	fprintf(stderr, "k2hftfuse: --leave=%ld: %s\n", (long)keeper, why);
	return K2I_STATUS_FAILED;
}

/* Until it has gone; false: it stays. */
static bool keeper_wait(pid_t keeper, int journal, uint64_t stays)
{
	const struct timespec pause = {.tv_nsec = LEAVE_PAUSE_NS};
	uint64_t stays_now = stays;

	for (unsigned tries = 0; kill(keeper, 0) == 0; tries++) {
		(void)k2i_journal_look(journal, k2i_takeover_layout(), &stays_now);
		if (stays_now != stays || tries == LEAVE_TRIES)
			return false;
		(void)nanosleep(&pause, NULL);
	}
	return true;
}

int k2i_takeover_ask(pid_t keeper)
{
	int journal = keeper_journal(keeper), status;
	uint64_t stays;

	if (journal == -ENOENT)
		return ask_failed(keeper, "it is no process that keeps a mount");
	if (journal < 0)
		return ask_failed(keeper, strerror(-journal));
	status = k2i_journal_look(journal, k2i_takeover_layout(), &stays);
	if (status)
		return ask_failed(keeper, status == -EINVAL
						  ? "its mount is of another version: it ends, and is made anew"
						  : "its mount has ended");
	if (kill(keeper, SIGUSR2))
		return ask_failed(keeper, strerror(errno));
	return keeper_wait(keeper, journal, stays) ? EXIT_SUCCESS : ask_failed(keeper, "it stays: its log says why");
}
