/* SPDX-License-Identifier: MIT */
/* Reads an input straight into the ring. */
#include "tools/push/push.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/clock.h"

/* Waits look around this often: for an interrupt, for progress to show. */
#define SLICE_MS 100
/* A wait for room with any of several receivers does so this often. */
#define ANY_ROOM_MS 2
/* Beside the outcomes of push_input. */
#define READ_MORE 100

struct input {
	int descriptor;
	bool is_file; /* which poll(2) always says can be read */
	const char *name;
};

/* Sends, if that is for this thread to do, and waits for the input or the receiver. True: there may be input. */
static bool lease_wait(struct push *push, int descriptor)
{
	struct pollfd waits[] = {{.fd = descriptor, .events = POLLIN}, {.events = POLLIN}};
	int lease_ms = k2hft_lease_send(&push->lease, k2i_clock_ns(CLOCK_MONOTONIC)), ready;

	waits[1].fd = k2hft_lease_descriptor(&push->lease);
	ready = poll(waits, 2, lease_ms < 0 ? SLICE_MS : lease_ms);
	k2hft_lease_waited(&push->lease);
	return ready < 0 ? errno != EINTR : waits[0].revents != 0;
}

/* A file has always something to read. */
static int file_step(struct push *push)
{
	(void)k2hft_lease_send(&push->lease, k2i_clock_ns(CLOCK_MONOTONIC));
	k2hft_lease_waited(&push->lease);
	return push_interrupts() ? -EINTR : 0;
}

/* Until there is something to read: a claim must not stand in the ring meanwhile. */
static int readable_wait(struct push *push, int descriptor)
{
	for (;;) {
		bool ready;

		if (push_interrupts())
			return -EINTR;
		ready = lease_wait(push, descriptor);
		push_progress(push);
		if (ready)
			return 0;
		if (push_connection_check(push))
			return STATUS_FAILED;
	}
}

/* The ring is full: something must be acknowledged first. */
static int room_wait(struct push *push)
{
	int lease_ms = push->lease.held ? k2hft_lease_send(&push->lease, k2i_clock_ns(CLOCK_MONOTONIC)) : -1;
	struct pollfd receiver = {.fd = k2hft_lease_descriptor(&push->lease), .events = POLLIN};
	struct k2hft_ring *ring = k2hft_sender_ring(push->sender);
	struct k2hft_ring_stats stats = K2HFT_RING_STATS_INIT;

	if (push->lease.held)
		(void)poll(&receiver, 1, lease_ms);
	else if (!push->lease.client)
		(void)poll(NULL, 0, ANY_ROOM_MS);
	else if (k2hft_ring_stats(ring, &stats) == 0)
		(void)k2hft_ring_space_wait(ring, stats.payload_bytes_max, SLICE_MS);
	k2hft_lease_waited(&push->lease);
	push_progress(push);
	return push_connection_check(push);
}

/*
 * Bytes of a file may have to come from a disk first, or from another machine, which can take any time. While this
 * thread has the lease, acknowledgements and the receiver's PING would wait for that, too.
 */
static ssize_t input_read(struct push *push, const struct input *input, void *memory, size_t room)
{
	struct iovec place = {.iov_base = memory, .iov_len = room};
	ssize_t got = -1;

	if (input->is_file && push->lease.held) {
		got = preadv2(input->descriptor, &place, 1, -1, RWF_NOWAIT);
		if (got <= 0)
			k2hft_lease_end(&push->lease);
	}
	/* 0 need not be the end: Linux 5.9 and 5.10 say it of what is not in memory, too. */
	return got <= 0 ? read(input->descriptor, memory, room) : got;
}

/* Reads once. READ_MORE; 0: the end; else as push_input's. */
static int block_read(struct push *push, struct k2hft_writer *writer, const struct input *input)
{
	void *memory;
	size_t room;
	ssize_t got;
	int status = k2hft_writer_reserve(writer, &memory, &room), saved_errno;

	if (status == -EAGAIN) {
		if (push_interrupts())
			return -EINTR;
		status = room_wait(push);
		return status ? status : READ_MORE;
	}
	if (status)
		return push_failed(STATUS_FAILED, "%s: %s", input->name, strerror(-status));
	got = input_read(push, input, memory, room);
	saved_errno = errno;
	status = k2hft_writer_commit(writer, got > 0 ? (size_t)got : 0);
	if (status)
		return push_failed(STATUS_FAILED, "%s: %s", input->name, strerror(-status));
	if (got > 0) {
		push->input_bytes += (uint64_t)got;
		if (push->lease.client)
			k2hft_lease_committed(&push->lease, (size_t)got, k2i_clock_ns(CLOCK_MONOTONIC));
		return READ_MORE;
	}
	if (got < 0 && saved_errno != EINTR && saved_errno != EAGAIN)
		return push_failed(STATUS_FAILED, "%s: %s", input->name, strerror(saved_errno));
	return got < 0 ? READ_MORE : 0;
}

/* A last line without its end. */
static int rest_send(struct push *push, struct k2hft_writer *writer)
{
	for (;;) {
		int status = k2hft_writer_lines_end(writer);

		if (status != -EAGAIN)
			return 0;
		if (room_wait(push) || push_stalled(push))
			return STATUS_FAILED;
	}
}

int push_input(struct push *push, int descriptor, const char *name, const char *path)
{
	struct k2hft_writer *writer;
	struct stat about;
	struct input input = {
		.descriptor = descriptor,
		.is_file = fstat(descriptor, &about) == 0 && S_ISREG(about.st_mode),
		.name = name,
	};
	int status = push->options.binary ? k2hft_writer_open_binary(push->sender, path, &writer)
					  : k2hft_writer_open(push->sender, path, &writer),
	    rest;

	if (status)
		return push_failed(STATUS_FAILED, "%s: stream %s: %s", name, path, strerror(-status));
	do {
		status = input.is_file ? file_step(push) : readable_wait(push, descriptor);
		if (status)
			break;
		status = block_read(push, writer, &input);
		push_progress(push);
	} while (status == READ_MORE);
	k2hft_lease_end(&push->lease);
	rest = rest_send(push, writer);
	k2hft_writer_close(writer);
	return status ? status : rest;
}
