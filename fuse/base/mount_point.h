/* SPDX-License-Identifier: MIT */
#ifndef K2I_FUSE_BASE_MOUNT_POINT_H
#define K2I_FUSE_BASE_MOUNT_POINT_H

#include <stdbool.h>
#include <sys/types.h>

struct k2i_mount;

/* Logs what is wrong with `what`, at the start of a mount or of a worker; returns `status`, which is -errno. */
int k2i_mount_fail(const char *what, int status);
/*
 * Whether `status`, -errno of a call on a mount, says that nothing serves the mount any more: -ENOTCONN, or -ECONNABORTED if its
 * server died while the call waited.
 */
bool k2i_mount_point_error_is_death(int status);
/* Whether a mount is there that has no server any more. */
bool k2i_mount_point_is_dead(const char *mount_point);
/*
 * Waits until no other start has the directory, and takes it: of starts at once a single one mounts. The lock is on the
 * directory itself, so that it needs no other place, and ends with its processes. The descriptor whose close gives it back;
 * -1: there is no lock of this directory to be had, as on NFS; -EBUSY with a message.
 */
int k2i_mount_point_lock(const char *path);
/*
 * The file system that is mounted at `path`, without asking its server, which may be this process; arguments as of
 * statx(2). 0 or -errno.
 */
int k2i_mount_point_device(int directory_fd, const char *path, int flags, dev_t *device);
/* Nothing but this mount: what others have mounted at its place since stays. */
void k2i_mount_point_unmount(struct k2i_mount *mount);
/* At the end: unmounts what is mounted still, and ends libfuse's session. */
void k2i_mount_point_undo(struct k2i_mount *mount);

#endif
