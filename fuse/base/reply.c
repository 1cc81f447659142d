/* SPDX-License-Identifier: MIT */
#include "fuse/base/reply.h"

#include <errno.h>
#include <linux/fuse.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/crash.h"
#include "fuse/base/mount.h"
#include "fuse/base/journal.h"

/* By its number: writev(2) in this program is that of kernel.c. */
ssize_t k2i_reply_parts(struct k2i_mount *mount, const struct iovec *parts, int count)
{
	if (k2i_journal_answer(parts, count))
		k2i_journal_step_answered();
	else
		k2i_journal_step();
	if (mount->kernel.fd < 0) {
		errno = ENODEV;
		return -1;
	}
	return syscall(SYS_writev, mount->kernel.fd, parts, count);
}

static void device_check_taken(ssize_t status)
{
	/* ENOENT: the writer is gone and with it the request. The device can't be full. */
	if (status < 0 && errno != ENOENT && errno != ENODEV)
		k2i_log(K2HFT_LOG_WARNING, "mount: a reply was not taken: %s", strerror(errno));
}

static struct fuse_out_header answer_header(uint64_t unique, int status, size_t body_bytes)
{
	return (struct fuse_out_header){
		.len = (uint32_t)(sizeof(struct fuse_out_header) + body_bytes),
		.error = status,
		.unique = unique,
	};
}

bool k2i_reply_prepare_written(uint64_t unique, size_t bytes)
{
	struct fuse_write_out written = {.size = (uint32_t)bytes};
	struct fuse_out_header header = answer_header(unique, 0, sizeof(written));
	struct iovec parts[] = {
		{.iov_base = &header, .iov_len = sizeof(header)},
		{.iov_base = &written, .iov_len = sizeof(written)},
	};

	return unique && k2i_journal_answer(parts, 2);
}

void k2i_reply_prepared(struct k2i_mount *mount)
{
	size_t bytes;
	const void *answer = k2i_journal_last_answer(&bytes);

	K2I_CRASH(mount_answer_before);
	if (answer && mount->kernel.fd >= 0)
		device_check_taken(write(mount->kernel.fd, answer, bytes));
	K2I_CRASH(mount_answered);
}

void k2i_reply_written(struct k2i_mount *mount, uint64_t unique, size_t bytes)
{
	if (!k2i_reply_prepare_written(unique, bytes))
		return;
	k2i_journal_step_answered();
	k2i_reply_prepared(mount);
}

void k2i_reply_status(struct k2i_mount *mount, uint64_t unique, int status)
{
	struct fuse_out_header header = answer_header(unique, status, 0);
	struct iovec part = {.iov_base = &header, .iov_len = sizeof(header)};

	if (unique)
		device_check_taken(k2i_reply_parts(mount, &part, 1));
}

void k2i_reply_count_refused(struct k2i_mount *mount, int status)
{
	k2i_mount_count(&mount->counts.refused_writes, 1);
	k2i_log_limited(&mount->log.refused, k2i_clock_now_ns(), K2HFT_LOG_WARNING, "mount: a write is refused: %s",
			strerror(-status));
}

void k2i_reply_refused(struct k2i_mount *mount, uint64_t unique, int status)
{
	if (unique == 0)
		return;
	k2i_reply_count_refused(mount, status);
	k2i_reply_status(mount, unique, status);
}

bool k2i_reply_notify(int device_fd, int code, const struct iovec *body, const struct iovec *data)
{
	struct fuse_out_header header = {
		.len = (uint32_t)(sizeof(header) + body->iov_len + (data ? data->iov_len : 0)),
		.error = code,
	};
	struct iovec parts[3] = {{.iov_base = &header, .iov_len = sizeof(header)}, *body};

	if (data)
		parts[2] = *data;
	return device_fd >= 0 && syscall(SYS_writev, device_fd, parts, data ? 3 : 2) == (ssize_t)header.len;
}
