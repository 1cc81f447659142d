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
#include "fuse/keeper/takeover.h"
#include "fuse/keeper/worker.h"

/* The keeper does next to nothing, so it has long answered by then. */
#define ANSWER_MS 10000
/* A text of one character says which lane's ring it is. */
#define LANE_FIRST 1

enum { KEEPER, WORKER };
static int ends[2] = {-1, -1};

int k2i_handover_open(void)
{
	return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) ? -errno : 0;
}

/* -1: there is none. */
static int descriptor_receive(unsigned char *lane)
{
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec data = {.iov_base = lane, .iov_len = 1};
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

void k2i_handover_take(struct k2i_mount *mount)
{
	unsigned char lane;
	int descriptor = descriptor_receive(&lane);

	/* systemd has it before the lane is used: from then on no keeper can go on without it. */
	if (descriptor >= 0) {
		mount->lanes.lane[lane - LANE_FIRST].ring_fd = descriptor;
		k2i_takeover_offer_ring(&mount->lanes.lane[lane - LANE_FIRST]);
	}
	(void)send(ends[KEEPER], &descriptor, sizeof(descriptor), 0);
}

void k2i_handover_reset(void)
{
	unsigned char lane;
	int descriptor;

	while ((descriptor = descriptor_receive(&lane)) >= 0)
		(void)close(descriptor);
	while (recv(ends[WORKER], &descriptor, sizeof(descriptor), 0) == (ssize_t)sizeof(descriptor))
		continue;
}

int k2i_worker_say(const struct k2i_mount *mount, enum k2i_worker_word word)
{
	return sigqueue(mount->keeper.pid, K2I_SIGNAL_WORD, (union sigval){.sival_int = (int)word}) ? -errno : 0;
}

int k2i_handover_give(const struct k2i_mount *mount, unsigned lane, int descriptor)
{
	const char text[] = {(char)(LANE_FIRST + lane), '\0'};
	struct pollfd answer = {.fd = ends[WORKER], .events = POLLIN};
	int status = k2i_daemon_descriptor_send(ends[WORKER], NULL, 0, text, descriptor), number;

	if (status == 0)
		status = k2i_worker_say(mount, K2I_WORD_RING);
	if (status)
		return status;
	if (poll(&answer, 1, ANSWER_MS) != 1 ||
	    recv(ends[WORKER], &number, sizeof(number), 0) != (ssize_t)sizeof(number))
		return -ETIMEDOUT;
	return number < 0 ? -EMFILE : 0;
}
