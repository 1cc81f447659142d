/* SPDX-License-Identifier: MIT */
/*
 * A program with a poll loop of its own and no other thread: it puts what comes on standard input into a ring, and
 * drives the client that sends the ring.
 *
 *	cc poll_loop_sender.c $(pkg-config --cflags --libs k2hft) -o poll_loop_sender
 *	./poll_loop_sender HOST PORT STREAM < FILE
 */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <k2hft/k2hft.h>

#define LINE_BYTES_MAX 65536

/* A program: its ring, the client that sends it, and the line that is being read. */
struct program {
	struct k2hft_ring *ring;
	struct k2hft_client *client;
	struct k2hft_producer *producer;
	uint32_t stream_id;
	char text[LINE_BYTES_MAX];
	size_t text_bytes;
	int input_ended;
};

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static int program_open(struct program *program, const char *host, const char *port, const char *path)
{
	struct k2hft_ring_options ring_options = {.size = sizeof(ring_options)};
	struct k2hft_client_options client_options = {.size = sizeof(client_options), .host = host, .port = port};
	struct k2hft_stream stream = {.path = path, .mode = K2HFT_STREAM_TEXT};
	int status = k2hft_ring_open(&ring_options, &program->ring);

	if (status == 0)
		status = k2hft_stream_declare(program->ring, &stream, &program->stream_id);
	if (status == 0)
		status = k2hft_producer_open(program->ring, &program->producer);
	if (status == 0)
		status = k2hft_client_open(program->ring, &client_options, &program->client);
	return status;
}

static void program_close(struct program *program)
{
	k2hft_client_close(program->client);
	k2hft_producer_close(program->producer);
	k2hft_ring_close(program->ring);
}

/* Makes a chunk of the first `bytes` of the text, which are `records` lines. -EAGAIN: the ring is full. */
static int chunk_push(struct program *program, size_t bytes, uint32_t records)
{
	struct k2hft_chunk chunk = {
		.stream_id = program->stream_id,
		.record_count = records,
		.time_ns = clock_ns(CLOCK_REALTIME),
		.writer_pid = (uint32_t)getpid(),
	};
	int status = k2hft_producer_push(program->producer, &chunk, program->text, bytes);

	if (status == 0) {
		program->text_bytes -= bytes;
		memmove(program->text, program->text + bytes, program->text_bytes);
	}
	return status;
}

/* Pushes whole lines, or all that is there if no more comes or fits. */
static int lines_push(struct program *program)
{
	size_t bytes = program->text_bytes;
	uint32_t records = 0;

	while (bytes > 0 && program->text[bytes - 1] != '\n')
		bytes--;
	if (bytes == 0 && (program->input_ended || program->text_bytes == sizeof(program->text)))
		bytes = program->text_bytes;
	for (size_t at = 0; at < bytes; at++)
		records += program->text[at] == '\n' || at + 1 == bytes;
	return bytes ? chunk_push(program, bytes, records) : 0;
}

static int input_read(struct program *program)
{
	ssize_t bytes =
		read(STDIN_FILENO, program->text + program->text_bytes, sizeof(program->text) - program->text_bytes);

	if (bytes < 0)
		return errno == EINTR ? 0 : -errno;
	program->input_ended = bytes == 0;
	program->text_bytes += (size_t)bytes;
	return 0;
}

static int all_acknowledged(const struct program *program)
{
	struct k2hft_ring_stats stats = {.size = sizeof(stats)};

	return k2hft_ring_stats(program->ring, &stats) == 0 && stats.head == stats.tail;
}

static int program_run(struct program *program)
{
	int status = 0;

	while (status == 0 && !(program->input_ended && program->text_bytes == 0 && all_acknowledged(program))) {
		int room = program->text_bytes < sizeof(program->text);
		struct pollfd wanted[2] = {
			{.fd = k2hft_client_descriptor(program->client), .events = POLLIN},
			{.fd = program->input_ended || !room ? -1 : STDIN_FILENO, .events = POLLIN},
		};
		uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);

		if (poll(wanted, 2, k2hft_client_timeout_ms(program->client, now_ns)) < 0 && errno != EINTR)
			return -errno;
		if (wanted[1].revents)
			status = input_read(program);
		/* A full ring is no error: the text stays, and goes when the client has sent some. */
		if (status == 0)
			status = lines_push(program);
		if (status == -EAGAIN)
			status = 0;
		if (status == 0)
			status = k2hft_client_process(program->client, clock_ns(CLOCK_MONOTONIC));
	}
	return status;
}

int main(int argc, char **argv)
{
	static struct program program;
	int status;

	if (argc != 4) {
		fprintf(stderr, "usage: %s HOST PORT STREAM\n", argv[0]);
		return 2;
	}
	status = program_open(&program, argv[1], argv[2], argv[3]);
	if (status == 0)
		status = program_run(&program);
	if (status)
		fprintf(stderr, "%s: %s\n", argv[0], strerror(-status));
	program_close(&program);
	return status ? 1 : 0;
}
