/* SPDX-License-Identifier: MIT */
/* Senders with their client, against a small receiver in a thread of the test. */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <k2hft/frame.h>
#include <k2hft/config.h>
#include <k2hft/sender.h>

#include "unit.h"
#include "client/state.h"
#include "sender/sender.h"
#include "small_receiver.h"

#define LONG_MS 60000

static void expect_kept(const struct receiver *receiver, const char *text)
{
	assert_int_equal(receiver->kept_count, 1);
	assert_int_equal(receiver->kept[0].byte_count, strlen(text));
	assert_memory_equal(receiver->kept[0].bytes, text, strlen(text));
}

static struct k2hft_sender *sender_make(const struct receiver *receiver, const char *ring_path, uint64_t ring_bytes)
{
	struct k2hft_sender_options options = {.size = sizeof(options),
					       .host = "127.0.0.1",
					       .port = receiver->port,
					       .ring_path = ring_path,
					       .ring_bytes = ring_bytes};
	struct k2hft_sender *sender;

	assert_int_equal(k2hft_sender_open(&options, &sender), 0);
	return sender;
}

static struct k2hft_writer *writer_make(struct k2hft_sender *sender)
{
	struct k2hft_writer *writer;

	assert_int_equal(k2hft_writer_open(sender, "a.log", &writer), 0);
	return writer;
}

static struct k2hft_client_stats client_stats(struct k2hft_sender *sender)
{
	struct k2hft_client_stats stats = {.size = sizeof(stats)};

	assert_int_equal(k2hft_client_stats(k2hft_sender_client(sender), &stats), 0);
	return stats;
}

STATE_TEST(records_arrive_and_close_waits_for_them, receiver_start, receiver_end)
{
	struct receiver *receiver = *state;
	struct k2hft_sender *sender = sender_make(receiver, NULL, 0);
	struct k2hft_writer *writer = writer_make(sender);
	struct k2hft_sender_stats stats = {.size = sizeof(stats)};

	assert_non_null(k2hft_sender_ring(sender));
	assert_non_null(k2hft_sender_client(sender));
	assert_int_equal(k2hft_writer_write(writer, "first", 5), 0);
	assert_int_equal(k2hft_sender_flush(sender, LONG_MS), 0);
	assert_int_equal(k2hft_sender_stats(sender, &stats), 0);
	assert_int_equal(stats.written_records, 1);
	assert_int_equal(stats.written_bytes, 6);
	assert_int_equal(stats.unacked_records, 0);
	assert_int_equal(client_stats(sender).state, K2HFT_CLIENT_CONNECTED);
	assert_int_equal(k2hft_writer_write(writer, "second", 6), 0);
	k2hft_writer_close(writer);
	assert_int_equal(k2hft_sender_close(sender, LONG_MS), 0);
	expect_kept(receiver, "first\nsecond\n");
}

RECEIVER_TEST(an_idle_writers_record_arrives_without_a_flush)
{
	struct k2hft_sender *sender = sender_make(receiver, NULL, 0);
	struct k2hft_writer *writer = writer_make(sender);

	for (uint64_t i = 1; i <= 50; i++) {
		uint64_t records = 0;

		assert_int_equal(k2hft_writer_write(writer, "x", 1), 0);
		while (records < i) {
			(void)poll(NULL, 0, 1);
			(void)pthread_mutex_lock(&receiver->lock);
			records = receiver->records;
			(void)pthread_mutex_unlock(&receiver->lock);
		}
	}
	k2hft_writer_close(writer);
	assert_int_equal(k2hft_sender_close(sender, LONG_MS), 0);
}

struct worker {
	struct k2hft_sender *sender;
	unsigned number;
	int width; /* of a record at least */
	const char *failed;
};

#define WORKERS 4
#define WORKER_RECORDS 50000

static void *worker_main(void *argument)
{
	struct worker *worker = argument;
	struct k2hft_writer *writer;
	char record[256], path[16];

	(void)snprintf(path, sizeof(path), "w%u", worker->number);
	if (k2hft_writer_open(worker->sender, path, &writer)) {
		worker->failed = "open";
		return NULL;
	}
	for (unsigned i = 0; i < WORKER_RECORDS && !worker->failed; i++) {
		int bytes = snprintf(record, sizeof(record), "%*u", worker->width, i);

		if (k2hft_writer_write(writer, record, (size_t)bytes))
			worker->failed = "write";
		if (i % 10000 == 77 && k2hft_sender_flush(worker->sender, LONG_MS))
			worker->failed = "flush";
	}
	k2hft_writer_close(writer);
	return NULL;
}

/* Wide records are so much that the threads send them, take the turn from each other, and wait for room. */
static void many_threads_write_while_the_client_sends(struct receiver *receiver, int width)
{
	struct worker workers[WORKERS];
	pthread_t threads[WORKERS];
	struct k2hft_sender *sender = sender_make(receiver, NULL, 1 << 20);

	for (unsigned i = 0; i < WORKERS; i++) {
		workers[i] = (struct worker){.sender = sender, .number = i, .width = width};
		assert_int_equal(pthread_create(&threads[i], NULL, worker_main, &workers[i]), 0);
	}
	for (unsigned i = 0; i < WORKERS; i++) {
		(void)pthread_join(threads[i], NULL);
		assert_null(workers[i].failed);
	}
	assert_int_equal(k2hft_sender_close(sender, LONG_MS), 0);
	assert_int_equal(receiver->kept_count, WORKERS);
	for (unsigned i = 0; i < WORKERS; i++) {
		char *at = (char *)receiver->kept[i].bytes, *end = at + receiver->kept[i].byte_count;
		unsigned next = 0;

		for (; at < end; at++, next++)
			assert_int_equal(strtoul(at, &at, 10), next);
		assert_int_equal(next, WORKER_RECORDS);
	}
}

STATE_TEST(narrow_records_arrive_from_many_threads, receiver_start, receiver_end)
{
	many_threads_write_while_the_client_sends(*state, 1);
}

STATE_TEST(wide_records_arrive_from_many_threads, receiver_start, receiver_end)
{
	many_threads_write_while_the_client_sends(*state, 200);
}

static void connection_await(struct k2hft_sender *sender)
{
	for (unsigned time = 0; time < LONG_MS && client_stats(sender).state != K2HFT_CLIENT_CONNECTED; time++)
		(void)poll(NULL, 0, 1);
	assert_int_equal(client_stats(sender).state, K2HFT_CLIENT_CONNECTED);
}

RECEIVER_TEST(who_writes_much_sends_it)
{
	struct k2hft_sender *sender = sender_make(receiver, NULL, 1 << 20);
	struct k2hft_writer *writer = writer_make(sender);
	char record[100];
	unsigned count = 0;

	memset(record, 'x', sizeof(record));
	connection_await(sender);
	/* Only this thread writes lease_count. The client's thread can be at work now and then. */
	for (; count < 20000 || (sender->lanes[0]->client->lease.count == 0 && count < 1000000); count++)
		assert_int_equal(k2hft_writer_write(writer, record, sizeof(record)), 0);
	assert_true(sender->lanes[0]->client->lease.count > 0);
	k2hft_writer_close(writer);
	assert_int_equal(k2hft_sender_close(sender, LONG_MS), 0);
	assert_int_equal(receiver->kept_count, 1);
	assert_int_equal(receiver->kept[0].byte_count, count * (sizeof(record) + 1));
}

struct blocked {
	struct k2hft_writer *writer;
	int status;
};

static void *write_until_it_fails(void *argument)
{
	struct blocked *blocked = argument;
	char record[1000] = {'x'};

	do
		blocked->status = k2hft_writer_write(blocked->writer, record, sizeof(record));
	while (blocked->status == 0);
	return NULL;
}

static void on_signal(int number)
{
	(void)number;
}

/* Nothing is acknowledged: the writer that waits in its turn for room can be interrupted. */
RECEIVER_TEST(a_signal_ends_a_wait_for_room)
{
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
	struct k2hft_sender *sender;
	struct blocked blocked;
	pthread_t thread;

	assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
	atomic_store(&receiver->silent, 1);
	sender = sender_make(receiver, NULL, 1 << 20);
	blocked.writer = writer_make(sender);
	connection_await(sender);
	assert_int_equal(pthread_create(&thread, NULL, write_until_it_fails, &blocked), 0);
	do
		(void)poll(NULL, 0, 20);
	while (pthread_kill(thread, SIGUSR1) == 0 && pthread_tryjoin_np(thread, NULL) == EBUSY);
	assert_int_equal(blocked.status, -EINTR);
	k2hft_writer_close(blocked.writer);
	assert_int_equal(k2hft_sender_close(sender, 0), -ETIMEDOUT);
}

#define CASE(name) FIXTURE_TEST(name, struct receiver *receiver, receiver_missing, receiver_end)

CASE(nothing_listens_and_the_time_limit_holds)
{
	struct k2hft_sender *sender = sender_make(receiver, NULL, 0);
	struct k2hft_writer *writer = writer_make(sender);
	struct k2hft_sender_stats stats = {.size = sizeof(stats)};

	assert_int_equal(k2hft_sender_flush(sender, 0), 0);
	assert_int_equal(k2hft_writer_write(writer, "x", 1), 0);
	assert_int_equal(k2hft_sender_flush(sender, 50), -ETIMEDOUT);
	k2hft_writer_close(writer);
	assert_int_equal(k2hft_sender_stats(sender, &stats), 0);
	assert_int_equal(stats.unacked_records, 1);
	assert_int_equal(client_stats(sender).connects, 0);
	assert_int_equal(k2hft_sender_close(sender, 50), -ETIMEDOUT);
}

CASE(records_are_committed_while_nothing_listens)
{
	struct k2hft_ring_stats stats = {.size = sizeof(stats)};
	struct k2hft_sender *sender = sender_make(receiver, NULL, 0);
	struct k2hft_writer *writer = writer_make(sender);

	for (uint64_t i = 1; i <= 20; i++) {
		assert_int_equal(k2hft_writer_write(writer, "x", 1), 0);
		do {
			(void)poll(NULL, 0, 1);
			assert_int_equal(k2hft_ring_stats(k2hft_sender_ring(sender), &stats), 0);
		} while (stats.committed_records < i);
	}
	k2hft_writer_close(writer);
	assert_int_equal(k2hft_sender_close(sender, 0), -ETIMEDOUT);
}

RECEIVER_TEST(a_ring_file_keeps_what_was_not_acknowledged)
{
	struct k2hft_sender *sender;
	struct k2hft_writer *writer;
	struct k2hft_sender_stats stats = {.size = sizeof(stats)};

	atomic_store(&receiver->silent, 1);
	sender = sender_make(receiver, receiver->ring_path, 0);
	writer = writer_make(sender);
	assert_int_equal(k2hft_writer_write(writer, "kept", 4), 0);
	assert_int_equal(k2hft_sender_flush(sender, 100), -ETIMEDOUT);
	k2hft_writer_close(writer);
	assert_int_equal(k2hft_sender_close(sender, 0), -ETIMEDOUT);
	atomic_store(&receiver->silent, 0);
	sender = sender_make(receiver, receiver->ring_path, 0);
	assert_int_equal(k2hft_sender_stats(sender, &stats), 0);
	assert_int_equal(stats.written_records, 0);
	assert_int_equal(k2hft_sender_close(sender, LONG_MS), 0);
	expect_kept(receiver, "kept\n");
}

/* Runs in another process. Returns which step failed. */
static int attach_and_write(const char *path)
{
	struct k2hft_sender *sender;
	struct k2hft_writer *writer;

	if (k2hft_sender_attach(path, &sender))
		return 1;
	if (k2hft_sender_client(sender))
		return 2;
	if (k2hft_writer_open(sender, "attached.log", &writer))
		return 3;
	if (k2hft_writer_write(writer, "one", 3) || k2hft_writer_lines(writer, "two\nthree\nfo", 12, NULL) ||
	    k2hft_writer_lines(writer, "ur", 2, NULL))
		return 4;
	k2hft_writer_close(writer);
	return k2hft_sender_close(sender, LONG_MS) ? 5 : 0;
}

RECEIVER_TEST(another_process_writes_into_the_ring)
{
	struct k2hft_sender *sender = sender_make(receiver, receiver->ring_path, 0);
	int status;
	pid_t child;

	child = fork();
	if (child == 0)
		_exit(attach_and_write(receiver->ring_path));
	assert_true(child > 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	assert_int_equal(k2hft_sender_close(sender, LONG_MS), 0);
	expect_kept(receiver, "one\ntwo\nthree\nfour");
}

TEST(bad_options_are_refused)
{
	struct k2hft_sender_options options = {.size = sizeof(options), .host = "127.0.0.1", .port = "1"};
	struct {
		struct k2hft_sender_options known;
		uint64_t newer;
	} larger = {.known = {.size = sizeof(larger), .host = "127.0.0.1", .port = "1"}, .newer = 1};
	struct k2hft_sender_stats stats = {.size = sizeof(stats.size) - 1};
	struct k2hft_sender *sender;
	struct k2hft_writer *writer;

	assert_int_equal(k2hft_sender_open(NULL, &sender), -EINVAL);
	assert_int_equal(k2hft_sender_open(&larger.known, &sender), -EINVAL);
	options.host = NULL;
	assert_int_equal(k2hft_sender_open(&options, &sender), -EINVAL);
	options.host = "127.0.0.1";
	options.full = K2HFT_FULL_DROP + 1;
	assert_int_equal(k2hft_sender_open(&options, &sender), -EINVAL);
	options.full = 0;
	options.ring_path = "/nonexistent/ring";
	assert_int_equal(k2hft_sender_open(&options, &sender), -ENOENT);
	assert_int_equal(k2hft_sender_attach("/nonexistent/ring", &sender), -ENOENT);
	larger.newer = 0;
	assert_int_equal(k2hft_sender_open(&larger.known, &sender), 0);
	assert_int_equal(k2hft_sender_stats(sender, &stats), -EINVAL);
	assert_int_equal(k2hft_writer_open(sender, "/absolute", &writer), -EINVAL);
	assert_int_equal(k2hft_writer_open(sender, "a/../b", &writer), -EINVAL);
	assert_int_equal(k2hft_writer_open(sender, "", &writer), -EINVAL);
	k2hft_writer_close(NULL);
	assert_int_equal(k2hft_sender_close(sender, 0), 0);
	assert_int_equal(k2hft_sender_close(NULL, 0), 0);
}

static void config_write(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

RECEIVER_TEST(a_configuration_file_opens_a_sender)
{
	char path[300], text[512], message[512];
	struct k2hft_sender *sender;
	struct k2hft_writer *writer;

	(void)snprintf(path, sizeof(path), "%s/sender.ini", receiver->folder);
	(void)snprintf(text, sizeof(text),
		       "[GLOBAL]\nPORT = 1\n[SVRNODE]\nNAME = 127.0.0.1\nPORT = %s\n[K2HFTFUSE]\nK2HTYPE = mem\n",
		       receiver->port);
	config_write(path, text);
	assert_int_equal(k2hft_sender_open_config(path, &sender, message, sizeof(message)), 0);
	writer = writer_make(sender);
	assert_int_equal(k2hft_writer_write(writer, "x", 1), 0);
	k2hft_writer_close(writer);
	assert_int_equal(k2hft_sender_close(sender, LONG_MS), 0);
	assert_int_equal(receiver->records, 1);
	config_write(path, "[GLOBAL]\nPORT = many\n");
	assert_int_equal(k2hft_sender_open_config(path, &sender, message, sizeof(message)), -EINVAL);
	assert_non_null(strstr(message, ".ini:2:"));
	assert_int_equal(k2hft_sender_open_config(path, &sender, NULL, 0), -EINVAL);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(k2hft_sender_open_config(path, &sender, message, sizeof(message)), -ENOENT);
}
