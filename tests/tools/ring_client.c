/* SPDX-License-Identifier: MIT */
/*
 * Attaches to a ring that another process sends, for the tests:
 *
 *	ring_client RING count		prints how many bytes were ever committed to it; also if nobody sends it
 *	ring_client RING hold STREAM	sends each line of standard input as a chunk of its own, reserves one more, writes
 *					into it, prints "held" and waits to be killed
 *	ring_client RING back		reserves, prints "held", and gives that back at the end of standard input
 *	ring_client RING spoiled	sends a record of a stream whose name is not whole, as if who wrote it had died
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <k2hft/ring.h>

#include "ring/layout.h"

#define HELD_BYTES 1000u
#define NS_PER_S UINT64_C(1000000000)

static int failed(const char *what, int status)
{
	fprintf(stderr, "ring_client: %s: %s\n", what, strerror(-status));
	return 1;
}

static int count_print(const struct k2hft_ring *ring)
{
	struct k2hft_ring_stats stats = {.size = sizeof(stats)};
	int status = k2hft_ring_stats(ring, &stats);

	if (status)
		return failed("statistics", status);
	printf("%" PRIu64 "\n", stats.committed_bytes);
	return 0;
}

static int line_push(struct k2hft_ring *ring, struct k2hft_producer *producer, uint32_t stream_id, const char *line)
{
	struct timespec now;
	struct k2hft_chunk chunk = {.stream_id = stream_id, .record_count = 1, .writer_pid = (uint32_t)getpid()};
	int status;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	chunk.time_ns = (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
	while ((status = k2hft_producer_push(producer, &chunk, line, strlen(line))) == -EAGAIN) {
		status = k2hft_ring_space_wait(ring, strlen(line), -1);
		if (status)
			return status;
	}
	return status;
}

static int lines_push(struct k2hft_ring *ring, struct k2hft_producer *producer, uint32_t stream_id)
{
	char line[65536];
	int status = 0;

	while (status == 0 && fgets(line, sizeof(line), stdin))
		status = line_push(ring, producer, stream_id, line);
	return status;
}

static int reserve(struct k2hft_ring *ring, struct k2hft_producer *producer)
{
	void *payload;
	int status;

	while ((status = k2hft_producer_reserve(producer, HELD_BYTES, &payload)) == -EAGAIN)
		(void)k2hft_ring_space_wait(ring, HELD_BYTES, -1);
	if (status)
		return failed("reserve", status);
	memset(payload, 'x', HELD_BYTES / 2);
	puts("held");
	(void)fflush(stdout);
	return 0;
}

static int back(struct k2hft_ring *ring)
{
	struct k2hft_producer *producer;
	int status = k2hft_producer_open(ring, &producer);

	if (status)
		return failed("producer", status);
	status = reserve(ring, producer);
	while (status == 0 && getchar() != EOF)
		continue;
	k2hft_producer_close(producer);
	return status;
}

static int hold(struct k2hft_ring *ring, const char *path)
{
	const struct k2hft_stream stream = {.path = path, .mode = K2HFT_STREAM_TEXT};
	struct k2hft_producer *producer;
	uint32_t stream_id;
	int status = k2hft_stream_declare(ring, &stream, &stream_id);

	if (status)
		return failed("stream", status);
	status = k2hft_producer_open(ring, &producer);
	if (status)
		return failed("producer", status);
	status = lines_push(ring, producer, stream_id);
	if (status)
		return failed("push", status);
	if (reserve(ring, producer))
		return 1;
	for (;;)
		(void)pause();
}

static int name_spoil(const char *path, uint32_t stream_id)
{
	const size_t at = K2I_STREAMS_AT + (stream_id - 1) * sizeof(struct k2i_stream);
	const uint32_t generation = 1; /* odd, as while it is written */
	int file = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t written;

	if (file < 0)
		return -errno;
	written = pwrite(file, &generation, sizeof(generation), (off_t)(at + offsetof(struct k2i_stream, generation)));
	(void)close(file);
	return written == sizeof(generation) ? 0 : -EIO;
}

static int spoiled(struct k2hft_ring *ring, const char *path)
{
	const struct k2hft_stream stream = {.path = "spoiled", .mode = K2HFT_STREAM_TEXT};
	struct k2hft_producer *producer;
	uint32_t stream_id;
	int status = k2hft_stream_declare(ring, &stream, &stream_id);

	if (status == 0)
		status = name_spoil(path, stream_id);
	if (status)
		return failed("stream", status);
	status = k2hft_producer_open(ring, &producer);
	if (status)
		return failed("producer", status);
	status = line_push(ring, producer, stream_id, "nobody's\n");
	k2hft_producer_close(producer);
	return status ? failed("push", status) : 0;
}

int main(int argc, char **argv)
{
	struct k2hft_ring *ring;
	int status;

	if (argc < 3)
		return 2;
	status = k2hft_ring_attach(argv[1], &ring);
	if (status == -ENOTCONN && strcmp(argv[2], "count") == 0)
		status = k2hft_ring_open(
			&(struct k2hft_ring_options){.size = sizeof(struct k2hft_ring_options), .path = argv[1]},
			&ring);
	if (status)
		return failed(argv[1], status);
	if (strcmp(argv[2], "hold") == 0 && argc == 4)
		return hold(ring, argv[3]);
	if (strcmp(argv[2], "back") == 0)
		status = back(ring);
	else if (strcmp(argv[2], "spoiled") == 0)
		status = spoiled(ring, argv[1]);
	else if (strcmp(argv[2], "count") == 0)
		status = count_print(ring);
	else
		return 2;
	k2hft_ring_close(ring);
	return status;
}
