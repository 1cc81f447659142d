/* SPDX-License-Identifier: MIT */
/*
 * Sends numbered lines in many streams to receivers that come and go, for the tests:
 *
 *	lanes_send STREAMS COUNT PORT PORT PORT PORT
 *
 * The streams s0, s1, ... get lines from 0 to COUNT - 1 each, by three threads. The first two receivers are there at first,
 * the third comes after a quarter, the fourth after a half, and the first goes after three quarters. Ends with 0 when
 * everything is acknowledged and the first one's lane is gone.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <k2hft/k2hft.h>

#define TIMEOUT_MS 60000
#define THREADS 3u
#define TARGETS 4u

static unsigned streams, count;
static struct k2hft_sender *sender;
static struct k2hft_target targets[TARGETS];
static atomic_uint written, failed;

static int all_write(unsigned thread)
{
	struct k2hft_writer *writers[1024];
	int status = 0;

	for (unsigned at = thread; at < streams && status == 0; at += THREADS) {
		char path[32];

		(void)snprintf(path, sizeof(path), "s%u", at);
		status = k2hft_writer_open(sender, path, &writers[at]);
	}
	for (unsigned number = 0; number < count && status == 0; number++) {
		char text[16];
		int bytes = snprintf(text, sizeof(text), "%u", number);

		for (unsigned at = thread; at < streams && status == 0; at += THREADS)
			status = k2hft_writer_write(writers[at], text, (size_t)bytes);
		atomic_fetch_add(&written, 1);
	}
	for (unsigned at = thread; at < streams && status == 0; at += THREADS)
		k2hft_writer_close(writers[at]);
	return status;
}

static void *thread_main(void *argument)
{
	if (all_write((unsigned)(size_t)argument))
		atomic_store(&failed, 1);
	return NULL;
}

static void written_wait(unsigned quarter)
{
	while (atomic_load(&written) < THREADS * (count / 4) * quarter && !atomic_load(&failed))
		(void)usleep(1000);
}

static int receivers_change(void)
{
	int status;

	written_wait(1);
	status = k2hft_sender_target_add(sender, &targets[2]);
	written_wait(2);
	if (status == 0)
		status = k2hft_sender_target_add(sender, &targets[3]);
	written_wait(3);
	return status ? status : k2hft_sender_target_remove(sender, targets[0].host, targets[0].port);
}

static int run(void)
{
	pthread_t threads[THREADS];
	int status;

	for (size_t at = 0; at < THREADS; at++)
		if (pthread_create(&threads[at], NULL, thread_main, (void *)at))
			return -EAGAIN;
	status = receivers_change();
	for (unsigned at = 0; at < THREADS; at++)
		(void)pthread_join(threads[at], NULL);
	for (unsigned look = 0; k2hft_sender_lane_count(sender) != 3 && look < 600; look++)
		(void)usleep(100000);
	if (k2hft_sender_lane_count(sender) != 3)
		return -ETIMEDOUT;
	return status ? status : atomic_load(&failed) ? -EIO : 0;
}

int main(int argc, char **argv)
{
	struct k2hft_sender_options options = K2HFT_SENDER_OPTIONS_INIT;
	int status, closed;

	if (argc != 3 + (int)TARGETS)
		return 2;
	streams = (unsigned)strtoul(argv[1], NULL, 10);
	count = (unsigned)strtoul(argv[2], NULL, 10);
	for (unsigned at = 0; at < TARGETS; at++)
		targets[at] = (struct k2hft_target){.host = "127.0.0.1", .port = argv[3 + at]};
	options.targets = targets;
	options.target_count = 2;
	options.ring_bytes = 4 << 20;
	status = k2hft_sender_open(&options, &sender);
	if (status == 0)
		status = run();
	closed = k2hft_sender_close(sender, TIMEOUT_MS);
	status = status ? status : closed;
	if (status)
		(void)fprintf(stderr, "lanes_send: %s\n", strerror(-status));
	return status ? 1 : 0;
}
