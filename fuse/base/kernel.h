/* SPDX-License-Identifier: MIT */
#ifndef K2I_FUSE_BASE_KERNEL_H
#define K2I_FUSE_BASE_KERNEL_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct fuse_session;
struct k2i_mount;

#define K2I_INIT_BYTES_MAX 256u
/* The bit in a request's number with which the kernel says that it sends the request again. */
#define K2I_UNIQUE_RESENT (UINT64_C(1) << 63)

/* The kernel's side of a mount. */
struct k2i_kernel {
	struct fuse_session *session;
	int fd;       /* /dev/fuse; -1 when the kernel has ended the mount */
	int place_fd; /* the mount point while it is being mounted, see k2i_mount_point_lock; -1 */
	dev_t device; /* of the files below the mount */
	bool mounted;
	bool taken_over;            /* another keeper has mounted it */
	uint64_t options;           /* that it was mounted with, see k2i_takeover_options */
	char place[PATH_MAX];       /* the mount point as it was given */
	char mount_point[PATH_MAX]; /* its absolute path */
	bool follows_dead;          /* a mount whose processes ended was there: one of them can still be about to end */
	bool resends;               /* the kernel can send requests again */
	bool writeback;             /* the kernel caches written data */
	bool swallowing;            /* nobody waits for libfuse's answer to a repeated INIT */
	size_t init_bytes;
	char init[K2I_INIT_BYTES_MAX]; /* the kernel's first request */
};

/* From here on the answers of libfuse are those of this mount. */
void k2i_kernel_serve(struct k2i_mount *mount);
/* Keeps the kernel's INIT for the workers that come later: each tells its libfuse of it. */
void k2i_kernel_init_keep(struct k2i_mount *mount, const char *request, size_t bytes);
/* Hands the INIT that was kept to libfuse once more; `memory` has room for it. */
void k2i_kernel_init_repeat(struct k2i_mount *mount, char *memory);
/* Asks for each request that has no answer yet. 0 or -errno */
int k2i_kernel_resend(struct k2i_mount *mount);

#endif
