/* SPDX-License-Identifier: MIT */
/* Senders with their client, against a small receiver in a thread of the test. */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include <k2hft/frame.h>
#include <k2hft/config.h>
#include <k2hft/sender.h>

#include "client/state.h"
#include "file_help.h"
#include "sender/sender.h"

#define STREAMS_MAX 16u
#define WINDOW_BYTES (64u * 1024 * 1024)
#define LONG_MS 60000

struct kept {
	char path[64];
	uint8_t *bytes;
	size_t byte_count, room;
};

/* A receiver; the fields below `lock` are shared with the test. */
struct receiver {
	int listener; /* -1: nobody is there */
	char port[8], folder[256], ring_path[300];
	pthread_t thread;
	atomic_int stop, silent; /* silent: takes data and acknowledges nothing */
	uint32_t stream_ids[STREAMS_MAX];
	unsigned stream_kept[STREAMS_MAX], stream_count;
	uint8_t uuid[16];
	pthread_mutex_t lock;
	uint64_t committed;
	struct kept kept[STREAMS_MAX];
	unsigned kept_count;
	uint64_t records, connections;
};

static int all_read(struct receiver *receiver, int socket, uint8_t *bytes, size_t byte_count)
{
	while (byte_count) {
		struct pollfd wanted = {.fd = socket, .events = POLLIN};
		ssize_t got;

		if (atomic_load(&receiver->stop))
			return -1;
		if (poll(&wanted, 1, 20) <= 0)
			continue;
		got = read(socket, bytes, byte_count);
		if (got <= 0)
			return -1;
		bytes += got;
		byte_count -= (size_t)got;
	}
	return 0;
}

static int all_write(int socket, const uint8_t *bytes, int byte_count)
{
	return byte_count > 0 && send(socket, bytes, (size_t)byte_count, MSG_NOSIGNAL) == byte_count ? 0 : -1;
}

static int hello_answer(struct receiver *receiver, int socket, const uint8_t *body, size_t body_bytes)
{
	uint8_t frame[K2HFT_FRAME_HEADER_BYTES + K2HFT_MESSAGE_BYTES_MAX];
	struct k2hft_welcome welcome = {.version = K2HFT_FRAME_VERSION,
					.frame_bytes_max = K2HFT_FRAME_BODY_BYTES_MAX,
					.receiver_uuid = {1},
					.software = "test"};
	struct k2hft_hello hello;

	if (k2hft_hello_decode(body, body_bytes, &hello))
		return -1;
	(void)pthread_mutex_lock(&receiver->lock);
	if (memcmp(receiver->uuid, hello.ring_uuid, sizeof(hello.ring_uuid)) == 0)
		welcome.flags = K2HFT_WELCOME_KNOWN;
	else
		receiver->committed = hello.acked;
	memcpy(receiver->uuid, hello.ring_uuid, sizeof(hello.ring_uuid));
	welcome.position = receiver->committed;
	receiver->connections++;
	(void)pthread_mutex_unlock(&receiver->lock);
	receiver->stream_count = 0;
	welcome.window_end = welcome.position + WINDOW_BYTES;
	welcome.level = hello.level;
	return all_write(socket, frame, k2hft_welcome_encode(&welcome, frame, sizeof(frame)));
}

static int stream_take(struct receiver *receiver, const uint8_t *body, size_t body_bytes)
{
	struct k2hft_stream_message stream;
	unsigned at = 0;

	if (k2hft_stream_decode(body, body_bytes, &stream) || receiver->stream_count == STREAMS_MAX)
		return -1;
	(void)pthread_mutex_lock(&receiver->lock);
	while (at < receiver->kept_count && strcmp(receiver->kept[at].path, stream.path) != 0)
		at++;
	if (at == receiver->kept_count)
		(void)snprintf(receiver->kept[receiver->kept_count++].path, sizeof(receiver->kept[0].path), "%.63s",
			       stream.path);
	(void)pthread_mutex_unlock(&receiver->lock);
	receiver->stream_ids[receiver->stream_count] = stream.stream_id;
	receiver->stream_kept[receiver->stream_count++] = at;
	return 0;
}

static int chunk_keep(struct receiver *receiver, const struct k2hft_chunk_view *view)
{
	struct kept *kept;
	unsigned at = receiver->stream_count;

	while (at > 0 && receiver->stream_ids[at - 1] != view->chunk.stream_id)
		at--;
	if (!at)
		return -1;
	kept = &receiver->kept[receiver->stream_kept[at - 1]];
	if (kept->byte_count + view->payload_bytes > kept->room) {
		kept->room = (kept->byte_count + view->payload_bytes) * 2;
		kept->bytes = realloc(kept->bytes, kept->room);
		if (!kept->bytes)
			return -1;
	}
	memcpy(kept->bytes + kept->byte_count, view->payload, view->payload_bytes);
	kept->byte_count += view->payload_bytes;
	receiver->records += view->chunk.record_count;
	return 0;
}

static int data_take(struct receiver *receiver, int socket, const struct k2hft_frame *frame, const uint8_t *body)
{
	uint8_t answer[K2HFT_FRAME_HEADER_BYTES + K2HFT_MESSAGE_BYTES_MAX];
	struct k2hft_chunk_view view;
	struct k2hft_ack ack = {.level = K2HFT_LEVEL_WRITTEN};
	size_t offset = 0;
	int status = 0, more;

	(void)pthread_mutex_lock(&receiver->lock);
	while (status == 0 && (more = k2hft_chunk_next(body, frame->raw_bytes, frame->position, &offset, &view)) == 1) {
		if (view.position < receiver->committed || atomic_load(&receiver->silent))
			continue;
		status = chunk_keep(receiver, &view);
		receiver->committed = view.end;
	}
	ack.position = receiver->committed;
	ack.window_end = ack.position + WINDOW_BYTES;
	(void)pthread_mutex_unlock(&receiver->lock);
	if (status || atomic_load(&receiver->silent))
		return status;
	return all_write(socket, answer, k2hft_ack_encode(&ack, answer, sizeof(answer)));
}

static int frame_take(struct receiver *receiver, int socket, uint8_t *body, uint8_t *raw)
{
	uint8_t header[K2HFT_FRAME_HEADER_BYTES], answer[K2HFT_FRAME_HEADER_BYTES + K2HFT_MESSAGE_BYTES_MAX];
	struct k2hft_frame frame;
	struct k2hft_ping ping;

	if (all_read(receiver, socket, header, sizeof(header)) ||
	    k2hft_frame_header_decode(header, sizeof(header), K2HFT_FRAME_BODY_BYTES_MAX, &frame) ||
	    all_read(receiver, socket, body, frame.body_bytes) || k2hft_frame_verify(header, &frame, body))
		return -1;
	switch (frame.type) {
	case K2HFT_FRAME_HELLO:
		return hello_answer(receiver, socket, body, frame.body_bytes);
	case K2HFT_FRAME_STREAM:
		return stream_take(receiver, body, frame.body_bytes);
	case K2HFT_FRAME_DATA:
		if (!(frame.flags & K2HFT_FRAME_LZ4))
			return data_take(receiver, socket, &frame, body);
		if (k2hft_frame_decompress(body, frame.body_bytes, raw, frame.raw_bytes))
			return -1;
		return data_take(receiver, socket, &frame, raw);
	case K2HFT_FRAME_PING:
		if (k2hft_ping_decode(body, frame.body_bytes, &ping))
			return -1;
		return all_write(socket, answer, k2hft_ping_encode(K2HFT_FRAME_PONG, &ping, answer, sizeof(answer)));
	default:
		return 0;
	}
}

static void *receiver_main(void *argument)
{
	struct receiver *receiver = argument;
	uint8_t *body = malloc(K2HFT_FRAME_BODY_BYTES_MAX), *raw = malloc(K2HFT_FRAME_BODY_BYTES_MAX);

	while (body && raw && !atomic_load(&receiver->stop)) {
		struct pollfd wanted = {.fd = receiver->listener, .events = POLLIN};
		int socket;

		if (poll(&wanted, 1, 20) <= 0)
			continue;
		socket = accept(receiver->listener, NULL, NULL);
		while (socket >= 0 && frame_take(receiver, socket, body, raw) == 0)
			;
		if (socket >= 0)
			(void)close(socket);
	}
	free(body);
	free(raw);
	return NULL;
}

static void receiver_listen(struct receiver *receiver)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t length = sizeof(address);

	receiver->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_true(receiver->listener >= 0);
	assert_int_equal(bind(receiver->listener, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(receiver->listener, 5), 0);
	assert_int_equal(getsockname(receiver->listener, (struct sockaddr *)&address, &length), 0);
	(void)snprintf(receiver->port, sizeof(receiver->port), "%u", ntohs(address.sin_port));
	assert_int_equal(pthread_mutex_init(&receiver->lock, NULL), 0);
}

/* The number of a port where nobody listens any more. */
static int receiver_missing(void **state)
{
	struct receiver *receiver = calloc(1, sizeof(*receiver));

	assert_non_null(receiver);
	*state = receiver;
	receiver_listen(receiver);
	(void)close(receiver->listener);
	receiver->listener = -1;
	return 0;
}

static int receiver_start(void **state)
{
	struct receiver *receiver = calloc(1, sizeof(*receiver));

	assert_non_null(receiver);
	*state = receiver;
	receiver_listen(receiver);
	folder_make(receiver->folder, sizeof(receiver->folder));
	(void)snprintf(receiver->ring_path, sizeof(receiver->ring_path), "%s/ring", receiver->folder);
	assert_int_equal(pthread_create(&receiver->thread, NULL, receiver_main, receiver), 0);
	return 0;
}

static int receiver_end(void **state)
{
	struct receiver *receiver = *state;

	if (receiver->listener >= 0) {
		atomic_store(&receiver->stop, 1);
		(void)pthread_join(receiver->thread, NULL);
		(void)close(receiver->listener);
		folder_remove(receiver->folder);
	}
	for (unsigned i = 0; i < receiver->kept_count; i++)
		free(receiver->kept[i].bytes);
	(void)pthread_mutex_destroy(&receiver->lock);
	free(receiver);
	return 0;
}

#define RECEIVER_TEST(name) cmocka_unit_test_setup_teardown(name, receiver_start, receiver_end)

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

static void records_arrive_and_close_waits_for_them(void **state)
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

static void an_idle_writers_record_arrives_without_a_flush(void **state)
{
	struct receiver *receiver = *state;
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

static void narrow_records_arrive_from_many_threads(void **state)
{
	many_threads_write_while_the_client_sends(*state, 1);
}

static void wide_records_arrive_from_many_threads(void **state)
{
	many_threads_write_while_the_client_sends(*state, 200);
}

static void connection_await(struct k2hft_sender *sender)
{
	for (unsigned time = 0; time < LONG_MS && client_stats(sender).state != K2HFT_CLIENT_CONNECTED; time++)
		(void)poll(NULL, 0, 1);
	assert_int_equal(client_stats(sender).state, K2HFT_CLIENT_CONNECTED);
}

static void who_writes_much_sends_it(void **state)
{
	struct receiver *receiver = *state;
	struct k2hft_sender *sender = sender_make(receiver, NULL, 1 << 20);
	struct k2hft_writer *writer = writer_make(sender);
	char record[100];
	unsigned count = 0;

	memset(record, 'x', sizeof(record));
	connection_await(sender);
	/* Only this thread writes lease_count. The client's thread can be at work now and then. */
	for (; count < 20000 || (sender->lane.client->lease.count == 0 && count < 1000000); count++)
		assert_int_equal(k2hft_writer_write(writer, record, sizeof(record)), 0);
	assert_true(sender->lane.client->lease.count > 0);
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
static void a_signal_ends_a_wait_for_room(void **state)
{
	struct receiver *receiver = *state;
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

static void nothing_listens_and_the_time_limit_holds(void **state)
{
	struct receiver *receiver = *state;
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

static void records_are_committed_while_nothing_listens(void **state)
{
	struct receiver *receiver = *state;
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

static void a_ring_file_keeps_what_was_not_acknowledged(void **state)
{
	struct receiver *receiver = *state;
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

static void another_process_writes_into_the_ring(void **state)
{
	struct receiver *receiver = *state;
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

static void bad_options_are_refused(void **state)
{
	struct k2hft_sender_options options = {.size = sizeof(options), .host = "127.0.0.1", .port = "1"};
	struct {
		struct k2hft_sender_options known;
		uint64_t newer;
	} larger = {.known = {.size = sizeof(larger), .host = "127.0.0.1", .port = "1"}, .newer = 1};
	struct k2hft_sender_stats stats = {.size = sizeof(stats.size) - 1};
	struct k2hft_sender *sender;
	struct k2hft_writer *writer;

	(void)state;
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

static void a_configuration_file_opens_a_sender(void **state)
{
	struct receiver *receiver = *state;
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		RECEIVER_TEST(records_arrive_and_close_waits_for_them),
		RECEIVER_TEST(an_idle_writers_record_arrives_without_a_flush),
		RECEIVER_TEST(narrow_records_arrive_from_many_threads),
		RECEIVER_TEST(wide_records_arrive_from_many_threads),
		RECEIVER_TEST(who_writes_much_sends_it),
		RECEIVER_TEST(a_signal_ends_a_wait_for_room),
		cmocka_unit_test_setup_teardown(nothing_listens_and_the_time_limit_holds, receiver_missing,
						receiver_end),
		cmocka_unit_test_setup_teardown(records_are_committed_while_nothing_listens, receiver_missing,
						receiver_end),
		RECEIVER_TEST(a_ring_file_keeps_what_was_not_acknowledged),
		RECEIVER_TEST(another_process_writes_into_the_ring),
		cmocka_unit_test(bad_options_are_refused),
		RECEIVER_TEST(a_configuration_file_opens_a_sender),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
