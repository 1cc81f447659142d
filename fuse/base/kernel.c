/* SPDX-License-Identifier: MIT */
#include "fuse/base/kernel.h"

#include <errno.h>
#include <linux/fuse.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <k2hft/visibility.h>

#include "base/crash.h"
#include "fuse/base/fuse_api.h"
#include "fuse/base/reply.h"
#include "fuse/base/mount.h"

#define NOTIFY_RESEND 7 /* newer headers: FUSE_NOTIFY_RESEND */
#define MINOR_WITH_RESEND 40u

/* The mount whose libfuse answers. */
static struct k2i_mount *served;

void k2i_kernel_serve(struct k2i_mount *mount)
{
	served = mount;
}

/*
 * libfuse answers by writev(2) and calls this one, since a program's symbols go before those of its libraries: an answer ends
 * a step, and the one to a repeated INIT goes nowhere. fuse_session_custom_io is there for that, but libfuse refuses it since
 * 3.18.3 if it is built as it is by default.
 */
K2HFT_API ssize_t writev(int fd, const struct iovec *parts, int count)
{
	size_t bytes = 0;

	/* Once it has unmounted both are -1. */
	if (!served || fd != fuse_session_fd(served->kernel.session))
		return syscall(SYS_writev, fd, parts, count);
	if (!served->kernel.swallowing)
		return k2i_reply_parts(served, parts, count);
	for (int part = 0; part < count; part++)
		bytes += parts[part].iov_len;
	return (ssize_t)bytes;
}

void k2i_kernel_init_keep(struct k2i_mount *mount, const char *request, size_t bytes)
{
	struct k2i_kernel *kernel = &mount->kernel;
	const struct fuse_init_in *init = (const void *)(request + sizeof(struct fuse_in_header));

	if (bytes > sizeof(kernel->init) || bytes < sizeof(struct fuse_in_header) + 2 * sizeof(uint32_t))
		return;
	memcpy(kernel->init, request, bytes);
	kernel->resends = init->minor >= MINOR_WITH_RESEND;
	kernel->init_bytes = bytes;
	if (!kernel->resends)
		k2i_log(K2HFT_LOG_WARNING, "mount: this kernel can't send requests again (Linux 6.9 can): if the "
					   "worker dies, the mount ends");
}

void k2i_kernel_init_repeat(struct k2i_mount *mount, char *memory)
{
	struct k2i_kernel *kernel = &mount->kernel;
	struct fuse_buf buffer = {.size = kernel->init_bytes, .mem = memory};

	memcpy(memory, kernel->init, kernel->init_bytes);
	kernel->swallowing = true;
	fuse_session_process_buf(kernel->session, &buffer);
	kernel->swallowing = false;
}

/* Each request without an answer comes again, before anything new. */
int k2i_kernel_resend(struct k2i_mount *mount)
{
	struct fuse_out_header notification = {.len = sizeof(notification), .error = NOTIFY_RESEND};

	K2I_CRASH(mount_resend_before);
	if (write(mount->kernel.fd, &notification, sizeof(notification)) == (ssize_t)sizeof(notification)) {
		K2I_CRASH(mount_resend_asked);
		return 0;
	}
	if (errno == ENODEV)
		return 0;
	k2i_log(K2HFT_LOG_ERROR, "mount: the kernel can't send requests again: %s", strerror(errno));
	return -errno;
}
