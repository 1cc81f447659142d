/* SPDX-License-Identifier: MIT */
#include "fuse/keeper/handover.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "app/program/daemon.h"
#include "fuse/base/mount.h"
#include "fuse/keeper/worker.h"

/* The keeper does next to nothing, so it has long answered by then. */
#define ANSWER_MS 10000

enum { KEEPER, WORKER };
static int ends[2] = {-1, -1};

int k2i_handover_open(void)
{
	return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) ? -errno : 0;
}

/* -1: there is none. */
static int descriptor_receive(void)
{
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int))];
	} control;
	char byte;
	struct iovec data = {.iov_base = &byte, .iov_len = 1};
	struct msghdr message = {
		.msg_iov = &data, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)};
	const struct cmsghdr *header;
	int descriptor = -1;

	if (recvmsg(ends[KEEPER], &message, MSG_CMSG_CLOEXEC) != 1)
		return -1;
	header = CMSG_FIRSTHDR(&message);
	if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS &&
	    header->cmsg_len == CMSG_LEN(sizeof(descriptor)))
		memcpy(&descriptor, CMSG_DATA(header), sizeof(descriptor));
	return descriptor;
}

void k2i_handover_take(void)
{
	int descriptor = descriptor_receive();

	if (send(ends[KEEPER], &descriptor, sizeof(descriptor), 0) != (ssize_t)sizeof(descriptor) && descriptor >= 0)
		(void)close(descriptor);
}

void k2i_handover_reset(void)
{
	int descriptor;

	while ((descriptor = descriptor_receive()) >= 0)
		(void)close(descriptor);
	/* An answer that nobody has read was told in vain. */
	while (recv(ends[WORKER], &descriptor, sizeof(descriptor), 0) == (ssize_t)sizeof(descriptor)) {
		if (descriptor >= 0)
			(void)close(descriptor);
	}
}

int k2i_worker_say(const struct k2i_mount *mount, enum k2i_worker_word word)
{
	return sigqueue(mount->keeper.pid, K2I_SIGNAL_WORD, (union sigval){.sival_int = (int)word}) ? -errno : 0;
}

int k2i_handover_give(const struct k2i_mount *mount, int descriptor)
{
	struct pollfd answer = {.fd = ends[WORKER], .events = POLLIN};
	int status = k2i_daemon_descriptor_send(ends[WORKER], NULL, 0, "-", descriptor), number;

	if (status == 0)
		status = k2i_worker_say(mount, K2I_WORD_RING);
	if (status)
		return status;
	if (poll(&answer, 1, ANSWER_MS) != 1 ||
	    recv(ends[WORKER], &number, sizeof(number), 0) != (ssize_t)sizeof(number))
		return -ETIMEDOUT;
	return number < 0 ? -EMFILE : number;
}
