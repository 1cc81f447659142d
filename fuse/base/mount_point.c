/* SPDX-License-Identifier: MIT */
#include "fuse/base/mount_point.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "fuse/base/options.h"
#include "fuse/base/mount.h"

/* Ten seconds: a ring of many GiB is allocated meanwhile. */
#define LOCK_TRIES 1000u
#define LOCK_PAUSE_NS 10000000

int k2i_mount_fail(const char *what, int status)
{
	k2i_log(K2HFT_LOG_ERROR, "%s: %s", what, strerror(-status));
	return status;
}

int k2i_mount_point_device(int directory_fd, const char *path, int flags, dev_t *device)
{
	struct statx info;

	if (statx(directory_fd, path, flags | AT_STATX_DONT_SYNC, STATX_TYPE, &info))
		return -errno;
	*device = makedev(info.stx_dev_major, info.stx_dev_minor);
	return 0;
}

bool k2i_mount_point_error_is_death(int status)
{
	return status == -ENOTCONN || status == -ECONNABORTED;
}

/*
 * The kernel remembers a dead mount's attributes for a while, but not how full it is. By O_PATH, which no automount takes
 * for somebody who comes.
 */
bool k2i_mount_point_is_dead(const char *mount_point)
{
	int place = open(mount_point, O_PATH | O_CLOEXEC);
	struct statfs info;
	bool dead = place >= 0 && fstatfs(place, &info) && k2i_mount_point_error_is_death(-errno);

	if (place >= 0)
		(void)close(place);
	return dead;
}

int k2i_mount_point_lock(const char *path)
{
	const struct timespec pause = {.tv_nsec = LOCK_PAUSE_NS};
	int place = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), status = -1;

	for (unsigned tries = 0; place >= 0 && tries < LOCK_TRIES; tries++) {
		status = flock(place, LOCK_EX | LOCK_NB) ? -errno : place;
		if (status != -EWOULDBLOCK)
			break;
		(void)nanosleep(&pause, NULL);
	}
	if (status >= 0)
		return status;
	if (place >= 0)
		(void)close(place);
	if (status != -EWOULDBLOCK)
		return -1;
	k2i_log(K2HFT_LOG_ERROR, "%s: another process mounts there, or keeps a lock on it", path);
	return -EBUSY;
}

/*
 * A mount that its worker has unmounted must not be unmounted again, yet only so does libfuse free the name. It leaves
 * the mount point alone if its descriptor says that the other end is gone: a pipe's does.
 */
static void mount_forget(struct fuse_session *session)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		return;
	(void)close(ends[0]);
	if (dup2(ends[1], fuse_session_fd(session)) >= 0)
		fuse_session_unmount(session);
	(void)close(ends[1]);
}

/* At the mount point. */
static bool mount_is_there(const struct k2i_mount *mount)
{
	dev_t device = 0;

	(void)k2i_mount_point_device(AT_FDCWD, mount->options->mount_point, AT_NO_AUTOMOUNT, &device);
	return mount->kernel.device == 0 || device == mount->kernel.device;
}

/* libfuse unmounts whatever is at the mount point by now. */
void k2i_mount_point_unmount(struct k2i_mount *mount)
{
	struct pollfd kernel = {.fd = fuse_session_fd(mount->kernel.session)};

	if (mount_is_there(mount)) {
		/* libfuse only unmounts what it has mounted itself. */
		if (mount->kernel.taken_over)
			(void)umount2(mount->options->mount_point, MNT_DETACH);
		fuse_session_unmount(mount->kernel.session);
		return;
	}
	/* An error: the kernel has it nowhere any more. */
	if (poll(&kernel, 1, 0) == 0)
		k2i_log(K2HFT_LOG_WARNING,
			"mount: %s is not this mount any more, and what is there is left alone: where this mount still "
			"is, moved, covered or copied, umount(8) is to remove it",
			mount->options->mount_point);
	mount_forget(mount->kernel.session);
}

/* libfuse 3.17 can have umount(8) unmount, for which no process may be to be had: what is left then is dead by now. */
void k2i_mount_point_undo(struct k2i_mount *mount)
{
	const char *mount_point = mount->options->mount_point;

	if (mount->kernel.mounted)
		k2i_mount_point_unmount(mount);
	else if (mount->keeper.begun)
		mount_forget(mount->kernel.session);
	if ((mount->kernel.mounted || mount->keeper.begun) && mount_is_there(mount) &&
	    k2i_mount_point_is_dead(mount_point))
		(void)umount2(mount_point, MNT_DETACH);
	fuse_session_destroy(mount->kernel.session);
}
