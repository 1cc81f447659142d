/* SPDX-License-Identifier: MIT */
#include "loop.h"

#include <errno.h>
#include <linux/fuse.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/uio.h>
#include <unistd.h>

#include "drain.h"
#include "fuse_api.h"
#include "mount.h"
#include "write.h"

/* Room and acknowledgements come with progress_fd; what a producer elsewhere gives up comes without. */
#define WAITING_MS 100

struct request {
	/* FUSE_WRITE's header; of other requests their first bytes. */
	struct {
		struct fuse_in_header in;
		struct fuse_write_in write;
	} head;
	size_t bytes; /* of the whole request */
	char *claim;  /* NULL: the rest is in mount->body */
	char *body;
};

_Static_assert(sizeof(((struct request *)0)->head) == K2I_REQUEST_HEAD_BYTES, "the kernel's header has no holes");

void k2i_loop_progress(void *argument, uint64_t acked)
{
	struct k2i_mount *mount = argument;
	uint64_t one = 1;

	(void)acked;
	/*
	 * Exchanges of one word have an order: if wait_for_work's came before, this sees it; if it comes later, the loop
	 * sees what was released before this.
	 */
	if (atomic_fetch_add_explicit(&mount->waiting, 0, memory_order_acq_rel))
		(void)!write(mount->progress_fd, &one, sizeof(one));
}

/* Memory for a request's data: in the ring, if there is room and nobody waits for it. */
static void place_body(struct k2i_mount *mount, struct request *request)
{
	void *claim;

	request->claim = NULL;
	request->body = mount->body;
	if (!mount->in_place || mount->park.first ||
	    k2hft_producer_reserve(mount->producer, K2I_HEADROOM_BYTES + K2I_WRITE_BYTES_MAX, &claim))
		return;
	request->claim = claim;
	request->body = request->claim + K2I_HEADROOM_BYTES;
}

static void give_back(struct k2i_mount *mount, struct request *request)
{
	if (request->claim)
		(void)k2hft_producer_discard(mount->producer);
	request->claim = NULL;
}

/* 1: a request; 0: none now; -errno: there will be none any more. */
static int receive(struct k2i_mount *mount, struct request *request)
{
	struct iovec parts[2];
	ssize_t bytes;

	place_body(mount, request);
	parts[0] = (struct iovec){.iov_base = &request->head, .iov_len = sizeof(request->head)};
	parts[1] = (struct iovec){.iov_base = request->body, .iov_len = K2I_WRITE_BYTES_MAX};
	bytes = readv(mount->device_fd, parts, 2);
	if (bytes >= (ssize_t)sizeof(request->head.in) && request->head.in.len == (size_t)bytes) {
		request->bytes = (size_t)bytes;
		return 1;
	}
	give_back(mount, request);
	if (bytes >= 0)
		return -EIO;
	/* ENOENT: the request was taken back while it was read. */
	return errno == EAGAIN || errno == EINTR || errno == ENOENT ? 0 : -errno;
}

static void serve_write(struct k2i_mount *mount, const struct request *request)
{
	struct k2i_write write = {
		.unique = request->head.in.unique,
		.handle = request->head.write.fh,
		.writer_pid = request->head.in.pid,
		.data = request->body,
		.bytes = request->bytes - sizeof(request->head),
		.claim = request->claim,
	};

	k2i_write_request(mount, &write);
}

/* All other requests, in one piece, for libfuse. */
static void serve_other(struct k2i_mount *mount, struct request *request)
{
	size_t in_head = request->bytes < sizeof(request->head) ? request->bytes : sizeof(request->head);
	struct fuse_buf buffer = {.size = request->bytes, .mem = mount->request};

	memcpy(mount->request, &request->head, in_head);
	/* mount->body lies just behind the head. */
	if (request->claim)
		memcpy(mount->body, request->body, request->bytes - in_head);
	give_back(mount, request);
	fuse_session_process_buf(mount->session, &buffer);
}

static void serve(struct k2i_mount *mount, struct request *request)
{
	const void *arguments = &request->head.write;
	uint64_t fields[1];

	switch (request->head.in.opcode) {
	case FUSE_WRITE:
		if (request->bytes >= sizeof(request->head) &&
		    request->head.write.size == request->bytes - sizeof(request->head)) {
			serve_write(mount, request);
			return;
		}
		break;
	case FUSE_FSYNC:     /* begins with the handle */
	case FUSE_INTERRUPT: /* is the other request's unique */
		if (request->bytes < sizeof(request->head.in) + sizeof(fields))
			break;
		give_back(mount, request);
		memcpy(fields, arguments, sizeof(fields));
		if (request->head.in.opcode == FUSE_FSYNC)
			k2i_write_sync(mount, request->head.in.unique, fields[0]);
		else
			k2i_park_interrupt(mount, fields[0]);
		return;
	}
	serve_other(mount, request);
}

/* 0, or -errno when the device is at its end. */
static int serve_one(struct k2i_mount *mount)
{
	struct request request;
	int status = receive(mount, &request);

	if (status > 0)
		serve(mount, &request);
	return status < 0 ? status : 0;
}

static void end_by_signal(struct k2i_mount *mount)
{
	struct signalfd_siginfo signal;

	if (read(mount->signal_fd, &signal, sizeof(signal)) != (ssize_t)sizeof(signal))
		return;
	if (mount->ending) { /* asked twice */
		k2i_log(K2HFT_LOG_WARNING, "mount: %s: not waiting any longer", strsignal((int)signal.ssi_signo));
		mount->deadline_ns = 0;
		return;
	}
	k2i_log(K2HFT_LOG_INFO, "mount: %s: ending", strsignal((int)signal.ssi_signo));
	k2i_drain_begin(mount);
}

/* Unmounted from outside, or the connection was aborted. */
static void end_by_kernel(struct k2i_mount *mount, int status)
{
	if (status != -ENODEV)
		k2i_log(K2HFT_LOG_WARNING, "mount: /dev/fuse: %s", strerror(-status));
	(void)close(mount->device_fd);
	mount->device_fd = -1;
	if (!mount->ending)
		k2i_drain_begin(mount);
}

static void wait_for_work(struct k2i_mount *mount, struct pollfd waits[3])
{
	bool waiting = !k2i_park_empty(mount) || mount->ending;
	uint64_t count;

	/* See k2i_loop_progress. */
	(void)atomic_exchange_explicit(&mount->waiting, waiting, memory_order_acq_rel);
	if (waiting)
		k2i_park_run(mount);
	waits[0] = (struct pollfd){.fd = mount->device_fd, .events = POLLIN};
	waits[1] = (struct pollfd){.fd = mount->progress_fd, .events = POLLIN};
	waits[2] = (struct pollfd){.fd = mount->signal_fd, .events = POLLIN};
	/* More would only be put beside what waits already. */
	if (mount->park.bytes > K2I_PARK_BYTES_MAX)
		waits[0].events = 0;
	/* With nothing parked at the end, k2i_drain_done waits. */
	if (poll(waits, 3, mount->ending && !mount->park.first ? 0 : waiting ? WAITING_MS : -1) < 0)
		waits[0].revents = waits[1].revents = waits[2].revents = 0;
	if (waits[1].revents)
		(void)!read(mount->progress_fd, &count, sizeof(count));
}

int k2i_loop_run(struct k2i_mount *mount)
{
	struct pollfd waits[3];
	int status;

	while (!mount->ending || !k2i_drain_done(mount)) {
		wait_for_work(mount, waits);
		if (waits[2].revents)
			end_by_signal(mount);
		if (!waits[0].revents)
			continue;
		status = serve_one(mount);
		if (status)
			end_by_kernel(mount, status);
	}
	return k2i_drain_report(mount);
}
