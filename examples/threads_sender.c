/* SPDX-License-Identifier: MIT */
/*
 * Several threads, one sender: each thread has a writer of its own, so that writing takes no lock. The
 * library's messages tell what happens to the connection; records that are not acknowledged yet survive in a ring file.
 *
 *	cc threads_sender.c $(pkg-config --cflags --libs k2hft) -pthread -o threads_sender
 *	./threads_sender HOST PORT RING_FILE
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include <k2hft/k2hft.h>

#define THREAD_COUNT 4
#define RECORD_COUNT 1000
#define TIMEOUT_MS 30000

struct work {
	struct k2hft_sender *sender;
	pthread_t thread;
	int number;
	int status;
};

static void message(void *argument, enum k2hft_log_level level, const char *text)
{
	(void)argument;
	(void)level;
	fprintf(stderr, "%s\n", text);
}

static void *work(void *argument)
{
	struct work *mine = argument;
	struct k2hft_writer *writer;

	/* All threads write to the same stream; the records of each arrive whole and in order. */
	mine->status = k2hft_writer_open(mine->sender, "examples/threads.log", &writer);
	if (mine->status)
		return NULL;
	for (int i = 0; i < RECORD_COUNT && mine->status == 0; i++) {
		char record[64];
		int bytes = snprintf(record, sizeof(record), "thread %d record %d", mine->number, i);

		mine->status = k2hft_writer_write(writer, record, (size_t)bytes);
	}
	k2hft_writer_close(writer);
	return NULL;
}

static int run(struct k2hft_sender *sender)
{
	struct work works[THREAD_COUNT];
	int started = 0, status = 0;

	for (; started < THREAD_COUNT && status == 0; started++) {
		works[started] = (struct work){.sender = sender, .number = started};
		status = -pthread_create(&works[started].thread, NULL, work, &works[started]);
	}
	if (status)
		started--;
	while (started-- > 0) {
		pthread_join(works[started].thread, NULL);
		if (status == 0)
			status = works[started].status;
	}
	return status;
}

int main(int argc, char **argv)
{
	struct k2hft_sender_options options = K2HFT_SENDER_OPTIONS_INIT;
	struct k2hft_sender_stats stats = K2HFT_SENDER_STATS_INIT;
	struct k2hft_client_stats client = {.size = sizeof(client)};
	struct k2hft_sender *sender;
	int status;

	if (argc != 4) {
		fprintf(stderr, "usage: %s HOST PORT RING_FILE\n", argv[0]);
		return 2;
	}
	k2hft_log_callback_set(message, NULL, K2HFT_LOG_INFO);
	options.host = argv[1];
	options.port = argv[2];
	options.ring_path = argv[3];
	status = k2hft_sender_open(&options, &sender);
	if (status) {
		fprintf(stderr, "%s: %s\n", argv[3], strerror(-status));
		return 1;
	}
	status = run(sender);
	if (status)
		fprintf(stderr, "a thread failed: %s\n", strerror(-status));
	if (k2hft_sender_flush(sender, TIMEOUT_MS) && k2hft_sender_stats(sender, &stats) == 0 &&
	    k2hft_client_stats(k2hft_sender_client(sender), &client) == 0) {
		fprintf(stderr, "%llu records remain in %s: %s\n", (unsigned long long)stats.unacked_records, argv[3],
			client.last_error);
		status = -1;
	}
	k2hft_sender_close(sender, 0);
	return status ? 1 : 0;
}
