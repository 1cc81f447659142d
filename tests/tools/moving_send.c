/* SPDX-License-Identifier: MIT */
/*
 * Sends lines through a client that has several receivers, for the tests:
 *
 *	moving_send [-h HOST] [-w] RING FAILOVER_MS PORT... <LINES
 *
 * RING is a file, or - for memory. The receivers are on this host, at the ports; the first is the home, which can have
 * another HOST. Each line is a chunk of the stream f. At the end of standard input moving_send waits for all
 * acknowledgements, with -w also until the ring is at home and nobody is unsettled. Then it prints "moves N settled N
 * retracted N unsettled N target N". The log goes to standard error, each line behind milliseconds of CLOCK_MONOTONIC.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <k2hft/k2hft.h>

#define TARGETS_MAX 8
#define WAIT_MS 60000

static uint64_t now_ms(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void log_print(void *argument, enum k2hft_log_level level, const char *text)
{
	(void)argument;
	(void)level;
	fprintf(stderr, "%" PRIu64 " %s\n", now_ms(), text);
}

static int failed(const char *what, int status)
{
	fprintf(stderr, "moving_send: %s: %s\n", what, strerror(-status));
	return 1;
}

static int line_push(struct k2hft_ring *ring, struct k2hft_producer *producer, uint32_t stream_id, const char *line)
{
	struct timespec now;
	struct k2hft_chunk chunk = {.stream_id = stream_id, .record_count = 1, .writer_pid = (uint32_t)getpid()};
	int status;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	chunk.time_ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
	while ((status = k2hft_producer_push(producer, &chunk, line, strlen(line))) == -EAGAIN) {
		status = k2hft_ring_space_wait(ring, strlen(line), WAIT_MS);
		if (status)
			return status;
	}
	return status;
}

static int lines_push(struct k2hft_ring *ring)
{
	struct k2hft_stream stream = {.path = "f"};
	struct k2hft_producer *producer;
	uint32_t stream_id;
	char line[256];
	int status = k2hft_stream_declare(ring, &stream, &stream_id);

	if (status)
		return status;
	status = k2hft_producer_open(ring, &producer);
	if (status)
		return status;
	while (status == 0 && fgets(line, sizeof(line), stdin))
		status = line_push(ring, producer, stream_id, line);
	k2hft_producer_close(producer);
	return status;
}

/* Returns whether all is as it is to be in the end. */
static bool stats_print(struct k2hft_client *client, bool wait)
{
	struct k2hft_client_stats stats = K2HFT_CLIENT_STATS_INIT;
	uint64_t until_ms = now_ms() + WAIT_MS;
	const struct timespec pause = {0, 10000000};

	while (k2hft_client_stats(client, &stats) == 0 && wait && (stats.target || stats.unsettled) &&
	       now_ms() < until_ms)
		(void)nanosleep(&pause, NULL);
	printf("moves %" PRIu64 " settled %" PRIu64 " retracted %" PRIu64 " unsettled %u target %u\n", stats.moves,
	       stats.settled_records, stats.retracted_records, stats.unsettled, stats.target);
	return !wait || (stats.target == 0 && stats.unsettled == 0);
}

static int send_all(const char *path, const struct k2hft_client_options *options, bool wait)
{
	struct k2hft_ring_options memory = {.size = sizeof(memory), .path = strcmp(path, "-") ? path : NULL};
	struct k2hft_client *client;
	struct k2hft_ring *ring;
	int status = k2hft_ring_open(&memory, &ring);

	if (status)
		return failed(path, status);
	status = k2hft_client_open(ring, options, &client);
	if (status)
		return failed("client", status);
	status = k2hft_client_thread_start(client);
	if (status == 0)
		status = lines_push(ring);
	if (status == 0)
		status = k2hft_client_drain(client, WAIT_MS);
	bool done = stats_print(client, wait);
	k2hft_client_close(client);
	k2hft_ring_close(ring);
	return status ? failed("sending", status) : !done;
}

int main(int argc, char **argv)
{
	struct k2hft_client_options options = K2HFT_CLIENT_OPTIONS_INIT;
	struct k2hft_target others[TARGETS_MAX];
	const char *host = "127.0.0.1";
	bool wait = false;
	int option;

	while ((option = getopt(argc, argv, "h:w")) != -1) {
		if (option == 'h')
			host = optarg;
		else if (option == 'w')
			wait = true;
		else
			return 2;
	}
	if (argc - optind < 3 || argc - optind > TARGETS_MAX + 3)
		return 2;
	k2hft_log_callback_set(log_print, NULL, K2HFT_LOG_INFO);
	options.host = host;
	options.port = argv[optind + 2];
	options.failover_ms = (uint32_t)strtoul(argv[optind + 1], NULL, 10);
	for (int at = optind + 3; at < argc; at++)
		others[options.others_count++] = (struct k2hft_target){"127.0.0.1", argv[at], NULL};
	options.others = others;
	options.flags = strcmp(argv[optind], "-") ? 0 : K2HFT_CLIENT_RING_ENDS;
	return send_all(argv[optind], &options, wait);
}
