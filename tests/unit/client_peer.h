/* SPDX-License-Identifier: MIT */
#ifndef K2I_TESTS_UNIT_CLIENT_PEER_H
#define K2I_TESTS_UNIT_CLIENT_PEER_H

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include <k2hft/client.h>
#include <k2hft/frame.h>
#include <k2hft/log.h>
#include <k2hft/ring.h>

/*
 * A receiver that does what the test says, and a client with made-up time: each round of waiting is a millisecond of
 * it, however long it takes.
 */
#define MS UINT64_C(1000000)
#define ROUNDS_MAX 20000 /* of about a millisecond when nothing happens */
#define PEER_BODY_BYTES (4u * 1024 * 1024)
#define PEER_WINDOW (64u * 1024 * 1024)

struct peer_frame {
	struct k2hft_frame frame;
	uint8_t *body; /* raw */
};

struct fixture {
	struct k2hft_ring *ring;
	struct k2hft_client *client;
	struct k2hft_client_options options;
	struct k2hft_producer *producer;
	uint32_t stream_id;
	uint64_t now_ns;
	int listener, peer;
	char port[8];
	uint8_t *input, *raw;
	size_t input_bytes;
	uint64_t end; /* of the last DATA */
	uint64_t progress;
	unsigned clients; /* that were opened */
	char log[65536];
	size_t log_bytes;
};

static inline void log_keep(void *argument, enum k2hft_log_level level, const char *text)
{
	struct fixture *f = argument;
	int bytes = snprintf(f->log + f->log_bytes, sizeof(f->log) - f->log_bytes, "%d %s\n", (int)level, text);

	if (bytes > 0 && (size_t)bytes < sizeof(f->log) - f->log_bytes)
		f->log_bytes += (size_t)bytes;
}

static inline void progress_keep(void *argument, uint64_t acked)
{
	((struct fixture *)argument)->progress = acked;
}

static inline int listen_at(uint16_t port, char text[8])
{
	struct sockaddr_in address = {
		.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t address_bytes = sizeof(address);
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), one = 1;

	assert_true(listener >= 0);
	assert_int_equal(setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)), 0);
	assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(listener, 8), 0);
	assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &address_bytes), 0);
	(void)snprintf(text, 8, "%u", (unsigned)ntohs(address.sin_port));
	return listener;
}

static inline uint32_t stream_declare(struct fixture *f, const char *path)
{
	struct k2hft_stream stream = {.path = path};
	uint32_t stream_id;

	assert_int_equal(k2hft_stream_declare(f->ring, &stream, &stream_id), 0);
	return stream_id;
}

static inline int fixture_open(void **state)
{
	struct k2hft_ring_options ring = {.size = sizeof(ring), .ring_bytes = 16u * 1024 * 1024};
	struct fixture *f = calloc(1, sizeof(*f));

	*state = f;
	f->now_ns = 1000 * MS;
	f->peer = -1;
	f->listener = listen_at(0, f->port);
	f->input = malloc(PEER_BODY_BYTES + K2HFT_FRAME_HEADER_BYTES);
	f->raw = malloc(PEER_BODY_BYTES);
	assert_int_equal(k2hft_ring_open(&ring, &f->ring), 0);
	assert_int_equal(k2hft_producer_open(f->ring, &f->producer), 0);
	f->stream_id = stream_declare(f, "a.log");
	f->options = (struct k2hft_client_options){.size = sizeof(f->options),
						   .host = "127.0.0.1",
						   .port = f->port,
						   .host_name = "here",
						   .compress = K2HFT_COMPRESS_NEVER,
						   .progress = progress_keep,
						   .progress_argument = f};
	k2hft_log_callback_set(log_keep, f, K2HFT_LOG_DEBUG);
	return 0;
}

static inline void client_open(struct fixture *f)
{
	assert_int_equal(k2hft_client_open(f->ring, &f->options, &f->client), 0);
	f->clients++;
}

static inline void peer_close(struct fixture *f)
{
	if (f->peer >= 0)
		(void)close(f->peer);
	f->peer = -1;
	f->input_bytes = 0;
}

static inline struct k2hft_client_stats stats_of(struct fixture *f)
{
	struct k2hft_client_stats stats = {.size = sizeof(stats)};

	assert_int_equal(k2hft_client_stats(f->client, &stats), 0);
	return stats;
}

static inline struct k2hft_ring_stats ring_stats_of(struct fixture *f)
{
	struct k2hft_ring_stats stats = {.size = sizeof(stats)};

	assert_int_equal(k2hft_ring_stats(f->ring, &stats), 0);
	return stats;
}

/* The ring has the client's counts, too. */
static inline void counts_compare(struct fixture *f)
{
	struct k2hft_client_stats client = stats_of(f);
	struct k2hft_ring_stats ring = ring_stats_of(f);

#define COUNT_COMPARE(name) assert_int_equal(ring.name, client.name);
	COUNT_COMPARE(connects)
	COUNT_COMPARE(connect_failures)
	COUNT_COMPARE(sent_frames)
	COUNT_COMPARE(sent_bytes)
	COUNT_COMPARE(sent_records)
	COUNT_COMPARE(resent_frames)
	COUNT_COMPARE(compressed_frames)
	COUNT_COMPARE(discarded_ranges)
	COUNT_COMPARE(expired_records)
	COUNT_COMPARE(unknown_records)
	COUNT_COMPARE(refusals)
	COUNT_COMPARE(ledger_lost)
	COUNT_COMPARE(moves)
	COUNT_COMPARE(settled_records)
	COUNT_COMPARE(retracted_records)
#undef COUNT_COMPARE
}

static inline int fixture_close(void **state)
{
	struct fixture *f = *state;

	if (f->client && f->clients == 1)
		counts_compare(f);
	k2hft_client_close(f->client);
	k2hft_producer_close(f->producer);
	k2hft_ring_close(f->ring);
	k2hft_log_callback_set(NULL, NULL, K2HFT_LOG_ERROR);
	peer_close(f);
	(void)close(f->listener);
	free(f->input);
	free(f->raw);
	free(f);
	return 0;
}

/* A round: the client does what it can, then a millisecond goes by. */
static inline void round_go(struct fixture *f)
{
	struct pollfd descriptors[2] = {{.fd = k2hft_client_descriptor(f->client), .events = POLLIN},
					{.fd = f->peer, .events = POLLIN}};
	int timeout_ms = k2hft_client_timeout_ms(f->client, f->now_ns);

	assert_true(poll(descriptors, 2, timeout_ms == 0 ? 0 : 1) >= 0);
	f->now_ns += MS;
	assert_int_equal(k2hft_client_process(f->client, f->now_ns), 0);
}

static inline void rounds_go(struct fixture *f, unsigned rounds)
{
	while (rounds-- > 0)
		round_go(f);
}

/* A round after so much time in which nothing happened. */
static inline void time_pass(struct fixture *f, uint64_t ms)
{
	f->now_ns += ms * MS;
	round_go(f);
}

static inline void state_await(struct fixture *f, uint32_t state)
{
	for (int round = 0; stats_of(f).state != state; round++) {
		assert_true(round < ROUNDS_MAX);
		round_go(f);
	}
}

static inline void peer_accept(struct fixture *f)
{
	peer_close(f);
	for (int round = 0; f->peer < 0; round++) {
		assert_true(round < ROUNDS_MAX);
		f->peer = accept4(f->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (f->peer < 0)
			round_go(f);
	}
}

static inline void peer_fill(struct fixture *f, size_t bytes)
{
	for (int round = 0; f->input_bytes < bytes; round++) {
		ssize_t count = recv(f->peer, f->input + f->input_bytes, bytes - f->input_bytes, 0);

		assert_true(round < ROUNDS_MAX);
		assert_true(count > 0 || (count < 0 && errno == EAGAIN));
		if (count > 0)
			f->input_bytes += (size_t)count;
		else
			round_go(f);
	}
}

/* The next frame of the client, checked. Its body stays until the next call. */
static inline struct peer_frame peer_frame_any(struct fixture *f)
{
	struct peer_frame got;

	f->input_bytes = 0;
	peer_fill(f, K2HFT_FRAME_HEADER_BYTES);
	assert_int_equal(k2hft_frame_header_decode(f->input, f->input_bytes, PEER_BODY_BYTES, &got.frame), 0);
	peer_fill(f, K2HFT_FRAME_HEADER_BYTES + got.frame.body_bytes);
	got.body = f->input + K2HFT_FRAME_HEADER_BYTES;
	assert_int_equal(k2hft_frame_verify(f->input, &got.frame, got.body), 0);
	if (got.frame.flags & K2HFT_FRAME_LZ4) {
		assert_int_equal(k2hft_frame_decompress(got.body, got.frame.body_bytes, f->raw, got.frame.raw_bytes),
				 0);
		got.body = f->raw;
	}
	if (got.frame.type == K2HFT_FRAME_DATA)
		f->end = got.frame.position + got.frame.raw_bytes;
	return got;
}

/* The next one but PING, which is answered, and must be of this type. */
static inline struct peer_frame peer_frame(struct fixture *f, uint8_t type)
{
	struct peer_frame got = peer_frame_any(f);

	while (got.frame.type == K2HFT_FRAME_PING && type != K2HFT_FRAME_PING) {
		struct k2hft_ping ping;
		uint8_t bytes[128];

		assert_int_equal(k2hft_ping_decode(got.body, got.frame.body_bytes, &ping), 0);
		int count = k2hft_ping_encode(K2HFT_FRAME_PONG, &ping, bytes, sizeof(bytes));
		assert_int_equal(send(f->peer, bytes, (size_t)count, MSG_NOSIGNAL), count);
		got = peer_frame_any(f);
	}
	assert_int_equal(got.frame.type, type);
	return got;
}

/* DATA, with the STREAM frames before it passed over. */
static inline struct peer_frame peer_data(struct fixture *f)
{
	struct peer_frame got = peer_frame_any(f);

	while (got.frame.type == K2HFT_FRAME_STREAM)
		got = peer_frame_any(f);
	assert_int_equal(got.frame.type, K2HFT_FRAME_DATA);
	return got;
}

/* DISCARD, likewise. */
static inline struct k2hft_discard peer_discard(struct fixture *f)
{
	struct peer_frame got = peer_frame_any(f);
	struct k2hft_discard discard;

	while (got.frame.type == K2HFT_FRAME_STREAM)
		got = peer_frame_any(f);
	assert_int_equal(got.frame.type, K2HFT_FRAME_DISCARD);
	assert_int_equal(k2hft_discard_decode(got.body, got.frame.body_bytes, &discard), 0);
	return discard;
}

/* Returns how many records that is. */
static inline uint64_t expect_discard(struct fixture *f, uint64_t from, uint64_t to, uint8_t reason)
{
	struct k2hft_discard discard = peer_discard(f);

	assert_int_equal(discard.from, from);
	assert_int_equal(discard.to, to);
	assert_int_equal(discard.reason, reason);
	return discard.record_count;
}

static inline struct k2hft_hello peer_hello(struct fixture *f)
{
	struct peer_frame got = peer_frame_any(f); /* the first word: nothing of a connection before may be left */
	struct k2hft_hello hello;

	assert_int_equal(got.frame.type, K2HFT_FRAME_HELLO);
	assert_int_equal(k2hft_hello_decode(got.body, got.frame.body_bytes, &hello), 0);
	return hello;
}

static inline void peer_send(struct fixture *f, const void *bytes, int count)
{
	assert_true(count > 0);
	assert_int_equal(send(f->peer, bytes, (size_t)count, MSG_NOSIGNAL), count);
}

static inline struct k2hft_welcome welcome_make(uint64_t position, uint64_t window_end)
{
	struct k2hft_welcome welcome = {.version = 1,
					.position = position,
					.window_end = window_end,
					.frame_bytes_max = PEER_BODY_BYTES,
					.level = K2HFT_LEVEL_WRITTEN,
					.flags = K2HFT_WELCOME_KNOWN,
					.receiver_uuid = "0123456789abcde",
					.software = "test"};

	return welcome;
}

static inline void peer_welcome(struct fixture *f, const struct k2hft_welcome *welcome)
{
	uint8_t bytes[512];

	peer_send(f, bytes, k2hft_welcome_encode(welcome, bytes, sizeof(bytes)));
}

static inline void peer_ack_window(struct fixture *f, uint64_t position, uint64_t window_end, uint8_t status)
{
	struct k2hft_ack ack = {
		.position = position, .window_end = window_end, .level = K2HFT_LEVEL_WRITTEN, .status = status};
	uint8_t bytes[128];

	peer_send(f, bytes, k2hft_ack_encode(&ack, bytes, sizeof(bytes)));
}

static inline void peer_ack(struct fixture *f, uint64_t position)
{
	peer_ack_window(f, position, position + PEER_WINDOW, K2HFT_STATUS_OK);
}

/* From nothing to a connection that goes on at `position`. */
static inline struct k2hft_hello peer_connect(struct fixture *f, uint64_t position, uint64_t window_end)
{
	struct k2hft_welcome welcome = welcome_make(position, window_end);

	peer_accept(f);
	struct k2hft_hello hello = peer_hello(f);
	peer_welcome(f, &welcome);
	state_await(f, K2HFT_CLIENT_CONNECTED);
	return hello;
}

/* The same, and the first DATA there. */
static inline struct peer_frame peer_connect_data(struct fixture *f, uint64_t position)
{
	(void)peer_connect(f, position, PEER_WINDOW);
	return peer_data(f);
}

/* The client has closed the connection. Its messages before that are passed over. */
static inline void peer_await_end(struct fixture *f)
{
	uint8_t bytes[4096];
	ssize_t count = 1;

	for (int round = 0; count > 0 || (count < 0 && errno == EAGAIN); round++) {
		assert_true(round < ROUNDS_MAX);
		round_go(f);
		count = recv(f->peer, bytes, sizeof(bytes), 0);
	}
	assert_true(count == 0 || errno == ECONNRESET);
}

static inline void acked_await(struct fixture *f, uint64_t position)
{
	for (int round = 0; stats_of(f).acked != position; round++) {
		assert_true(round < ROUNDS_MAX);
		round_go(f);
	}
}

/* The client has heard of it, too. */
static inline void peer_acks(struct fixture *f, uint64_t position)
{
	peer_ack(f, position);
	acked_await(f, position);
}

static inline void push_to(struct fixture *f, uint32_t stream_id, const void *data, size_t bytes)
{
	struct timespec now;
	struct k2hft_chunk chunk = {.stream_id = stream_id, .record_count = 1, .writer_pid = 7};

	(void)clock_gettime(CLOCK_REALTIME, &now);
	chunk.time_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
	assert_int_equal(k2hft_producer_push(f->producer, &chunk, data, bytes), 0);
}

static inline void push(struct fixture *f, const char *text)
{
	push_to(f, f->stream_id, text, strlen(text));
}

/* Three records; where the second begins and ends. */
static inline void push_three(struct fixture *f, uint64_t *from, uint64_t *to)
{
	push(f, "one\n");
	*from = ring_stats_of(f).tail;
	push(f, "two\n");
	*to = ring_stats_of(f).tail;
	push(f, "three\n");
}

/* Whether the client wants to be called. */
static inline bool readable(const struct fixture *f)
{
	struct pollfd descriptor = {.fd = k2hft_client_descriptor(f->client), .events = POLLIN};

	return poll(&descriptor, 1, 0) == 1;
}

/* Rounds in which nothing may come to the peer, and after which the client waits. */
static inline void peer_quiet(struct fixture *f, int rounds)
{
	uint8_t byte;

	for (int round = 0; round < rounds || readable(f); round++) {
		assert_true(round < ROUNDS_MAX);
		round_go(f);
	}
	assert_int_not_equal(k2hft_client_timeout_ms(f->client, f->now_ns), 0);
	assert_int_equal(recv(f->peer, &byte, 1, MSG_PEEK), -1);
	assert_int_equal(errno, EAGAIN);
}

/* Connected to one that does not read, with so many blocks to send: of twelve the socket does not take all. */
static inline void socket_fill(struct fixture *f, unsigned blocks, const uint8_t *block, size_t bytes)
{
	struct k2hft_welcome welcome = welcome_make(0, PEER_WINDOW);
	int small = 64 * 1024;

	client_open(f);
	peer_accept(f);
	(void)peer_hello(f);
	(void)setsockopt(f->peer, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
	peer_welcome(f, &welcome);
	for (unsigned chunk = 0; chunk < blocks; chunk++)
		push_to(f, f->stream_id, block, bytes);
	rounds_go(f, 50);
}

#define CLIENT_TEST(name) FIXTURE_TEST(name, struct fixture *f, fixture_open, fixture_close)

#endif
