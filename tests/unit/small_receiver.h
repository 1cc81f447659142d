/* SPDX-License-Identifier: MIT */
#ifndef K2I_TESTS_UNIT_SMALL_RECEIVER_H
#define K2I_TESTS_UNIT_SMALL_RECEIVER_H

/* A small receiver in a thread of the test, which keeps what comes, for one sender at a time. */
#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include <k2hft/frame.h>

#include "file_help.h"

#define STREAMS_MAX 64u
#define WINDOW_BYTES (64u * 1024 * 1024)

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
	uint8_t uuid[16], name; /* of the ring that sends; its own begins so */
	pthread_mutex_t lock;
	uint64_t committed;
	struct kept kept[STREAMS_MAX];
	unsigned kept_count;
	uint64_t records, connections;
};

static inline int all_read(struct receiver *receiver, int socket, uint8_t *bytes, size_t byte_count)
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

static inline int all_write(int socket, const uint8_t *bytes, int byte_count)
{
	return byte_count > 0 && send(socket, bytes, (size_t)byte_count, MSG_NOSIGNAL) == byte_count ? 0 : -1;
}

static inline int hello_answer(struct receiver *receiver, int socket, const uint8_t *body, size_t body_bytes)
{
	uint8_t frame[K2HFT_FRAME_HEADER_BYTES + K2HFT_MESSAGE_BYTES_MAX];
	struct k2hft_welcome welcome = {.version = K2HFT_FRAME_VERSION,
					.frame_bytes_max = K2HFT_FRAME_BODY_BYTES_MAX,
					.receiver_uuid = {(uint8_t)(1 + receiver->name)},
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

static inline int stream_take(struct receiver *receiver, const uint8_t *body, size_t body_bytes)
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

static inline int chunk_keep(struct receiver *receiver, const struct k2hft_chunk_view *view)
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

static inline int data_take(struct receiver *receiver, int socket, const struct k2hft_frame *frame, const uint8_t *body)
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

static inline int frame_take(struct receiver *receiver, int socket, uint8_t *body, uint8_t *raw)
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

static inline void *receiver_main(void *argument)
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

static inline void receiver_listen(struct receiver *receiver)
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
static inline int receiver_missing(void **state)
{
	struct receiver *receiver = calloc(1, sizeof(*receiver));

	assert_non_null(receiver);
	*state = receiver;
	receiver_listen(receiver);
	(void)close(receiver->listener);
	receiver->listener = -1;
	return 0;
}

static inline struct receiver *receiver_make(uint8_t name)
{
	struct receiver *receiver = calloc(1, sizeof(*receiver));

	assert_non_null(receiver);
	receiver->name = name;
	receiver_listen(receiver);
	folder_make(receiver->folder, sizeof(receiver->folder));
	(void)snprintf(receiver->ring_path, sizeof(receiver->ring_path), "%s/ring", receiver->folder);
	assert_int_equal(pthread_create(&receiver->thread, NULL, receiver_main, receiver), 0);
	return receiver;
}

static inline int receiver_start(void **state)
{
	*state = receiver_make(0);
	return 0;
}

static inline int receiver_end(void **state)
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

#define RECEIVER_TEST(name) FIXTURE_TEST(name, struct receiver *receiver, receiver_start, receiver_end)

#endif
