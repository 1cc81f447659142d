/* SPDX-License-Identifier: MIT */
#include "reply.h"

#include <errno.h>
#include <linux/fuse.h>
#include <string.h>
#include <sys/uio.h>

#include "mount.h"

static void send_reply(struct k2i_mount *mount, uint64_t unique, int status, void *body, size_t body_bytes)
{
	struct fuse_out_header header = {
		.len = (uint32_t)(sizeof(header) + body_bytes),
		.error = status,
		.unique = unique,
	};
	struct iovec parts[] = {
		{.iov_base = &header, .iov_len = sizeof(header)},
		{.iov_base = body, .iov_len = body_bytes},
	};

	if (unique == 0 || mount->device_fd < 0)
		return;
	/* ENOENT: the writer is gone and with it the request. The device can't be full. */
	if (writev(mount->device_fd, parts, body_bytes ? 2 : 1) < 0 && errno != ENOENT && errno != ENODEV)
		k2i_log(K2HFT_LOG_WARNING, "mount: a reply was not taken: %s", strerror(errno));
}

void k2i_reply_written(struct k2i_mount *mount, uint64_t unique, size_t bytes)
{
	struct fuse_write_out written = {.size = (uint32_t)bytes};

	send_reply(mount, unique, 0, &written, sizeof(written));
}

void k2i_reply_status(struct k2i_mount *mount, uint64_t unique, int status)
{
	send_reply(mount, unique, status, NULL, 0);
}
