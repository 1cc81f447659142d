/* SPDX-License-Identifier: MIT */
/*
 * crowd [-k FILE | -a FILE] [-f BYTES] [-d DEED] [-b BYTES] PORT COUNT BYTES: as many senders, each with its own ring, that
 * connect to 127.0.0.1:PORT, with TLS if there is a shared key (-k) or an authority to trust (-a), and ask for frames of
 * -f BYTES. Each sends BYTES as fast as they are taken, "there" is printed when all have begun, and then they go on until
 * they are killed. An ERROR instead of WELCOME is printed. Their records, and how they go on:
 *
 *	frame	(unless -d says else) greets, and announces the largest frame; a byte of it at a time, or -b BYTES
 *	whole	greets, and sends the largest frame again and again, as fast as it is taken; it brings nothing new
 *	record	greets, and announces the largest record of TLS; a byte of it at a time
 *	hello	instead of greeting announces a ClientHello of -f BYTES; a byte of it at a time
 *	answer	a whole ClientHello, and nothing any more
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <k2hft/frame.h>

#include "frame/wire.h"
#include "net/tls/tls.h"
#include "net/transport.h"
#include "base/byte_order.h"

#define COUNT_MAX 4096u
#define WAIT_MS 30000
#define DRIP_MS 100
#define GREETING_AT_ONCE 50
#define RECORD_BYTES 16384u

enum deed { DEED_FRAME, DEED_WHOLE, DEED_RECORD, DEED_HELLO, DEED_ANSWER };
static const char *const deed_names[] = {"frame", "whole", "record", "hello", "answer"};

struct peer {
	struct k2i_transport transport;
	size_t sent, at_once; /* of `frame_bytes`; where dripping begins */
};

static struct peer peers[COUNT_MAX];
static enum deed deed;
static struct k2i_tls_context *context;
static size_t drip_bytes = 1;
static uint32_t frame_bytes_wanted = K2HFT_FRAME_BODY_BYTES_DEFAULT;
static uint8_t frame_bytes[K2HFT_FRAME_HEADER_BYTES + K2HFT_FRAME_BODY_BYTES_MAX];

static _Noreturn void fail(const char *what, const char *detail)
{
	(void)fprintf(stderr, "crowd: %s: %s\n", what, detail);
	exit(1);
}

static void peer_wait(const struct peer *peer)
{
	bool blocked = k2i_transport_waiting(&peer->transport);
	struct pollfd entry = {.fd = peer->transport.descriptor, .events = (short)(POLLIN | (blocked ? POLLOUT : 0))};

	if (poll(&entry, 1, WAIT_MS) <= 0)
		fail("waiting", "nothing came");
}

static void peer_connect(struct peer *peer, uint16_t port)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
	int on = 1;

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	peer->transport.descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (peer->transport.descriptor < 0 ||
	    connect(peer->transport.descriptor, (struct sockaddr *)&address, sizeof(address)) < 0)
		fail("connect", strerror(errno));
	(void)setsockopt(peer->transport.descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (context && deed != DEED_HELLO && k2i_transport_secure(&peer->transport, context, "127.0.0.1"))
		fail("TLS", "no memory");
}

static void handshake(struct peer *peer)
{
	int error = k2i_transport_handshake(&peer->transport);

	while (error == -EAGAIN && deed != DEED_ANSWER) {
		peer_wait(peer);
		error = k2i_transport_handshake(&peer->transport);
	}
	if (error && error != -EAGAIN)
		fail("TLS", k2i_transport_reason(&peer->transport, error));
}

/* Sends as much as the connection takes now; 0 if nothing or it is over. */
static size_t peer_send(struct peer *peer, const void *bytes, size_t byte_count)
{
	struct iovec piece = {(void *)(uintptr_t)bytes, byte_count};
	ssize_t sent = k2i_transport_write(&peer->transport, &piece, 1);

	return sent > 0 ? (size_t)sent : 0;
}

static void hello_send(struct peer *peer, unsigned number)
{
	struct k2hft_hello hello = {.version_min = 1, .version_max = 1, .host = "crowd", .software = "crowd"};
	uint8_t bytes[1024];
	int length;

	memcpy(hello.ring_uuid, "crowd", 5);
	memcpy(hello.ring_uuid + 8, &number, sizeof(number));
	hello.epoch = 1;
	hello.level = K2HFT_LEVEL_WRITTEN;
	hello.frame_bytes_max = frame_bytes_wanted;
	length = k2hft_hello_encode(&hello, bytes, sizeof(bytes));
	if (length < 0 || peer_send(peer, bytes, (size_t)length) != (size_t)length)
		fail("HELLO", "is not taken");
}

/* False: the connection has ended. */
static bool receive(struct peer *peer, uint8_t *bytes, size_t byte_count)
{
	size_t taken = 0;
	ssize_t got;

	while (taken < byte_count) {
		got = k2i_transport_read(&peer->transport, bytes + taken, byte_count - taken);
		if (got == -EAGAIN)
			peer_wait(peer);
		else if (got <= 0)
			return false;
		else
			taken += (size_t)got;
	}
	return true;
}

/* The largest body, or 0: ERROR came, or the end. */
static uint32_t answer_take(struct peer *peer)
{
	uint8_t header[K2HFT_FRAME_HEADER_BYTES], body[K2HFT_MESSAGE_BYTES_MAX];
	struct k2hft_error_message error;
	struct k2hft_welcome welcome;
	struct k2hft_frame frame;

	if (!receive(peer, header, sizeof(header)) ||
	    k2hft_frame_header_decode(header, sizeof(header), sizeof(body), &frame) ||
	    !receive(peer, body, frame.body_bytes))
		return 0;
	if (frame.type == K2HFT_FRAME_ERROR && k2hft_error_decode(body, frame.body_bytes, &error) == 0)
		(void)printf("error %u %s\n", error.code, error.text);
	if (frame.type != K2HFT_FRAME_WELCOME || k2hft_welcome_decode(body, frame.body_bytes, &welcome))
		return 0;
	return welcome.frame_bytes_max;
}

/* More of `frame_bytes`, as far as it is taken. */
static void at_once(struct peer *peer)
{
	size_t sent = 1;

	while (peer->sent < peer->at_once && sent > 0) {
		sent = peer_send(peer, frame_bytes + peer->sent, peer->at_once - peer->sent);
		peer->sent += sent;
	}
}

static void frame_begin(struct peer *peer, uint32_t body_bytes, size_t byte_count)
{
	struct k2hft_frame frame = {.type = K2HFT_FRAME_DATA, .body_bytes = body_bytes, .raw_bytes = body_bytes};

	if (byte_count >= body_bytes ||
	    k2hft_frame_header_encode(&frame, frame_bytes + K2HFT_FRAME_HEADER_BYTES, frame_bytes))
		fail("BYTES", "are as many as the largest frame has");
	peer->at_once = K2HFT_FRAME_HEADER_BYTES + byte_count;
	at_once(peer);
}

/* TLS can't tell that it will not like it before it is whole. */
static void record_begin(struct peer *peer, size_t byte_count)
{
	static const uint8_t header[] = {0x17, 3, 3, RECORD_BYTES >> 8, 0};

	if (byte_count >= RECORD_BYTES)
		fail("BYTES", "are as many as the largest record has");
	(void)send(peer->transport.descriptor, header, sizeof(header), MSG_NOSIGNAL);
	(void)send(peer->transport.descriptor, frame_bytes, byte_count, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* In as many records as BYTES need; the last is not whole. */
static void client_hello_begin(struct peer *peer, size_t byte_count)
{
	static const uint8_t record[] = {0x16, 3, 1, RECORD_BYTES >> 8, 0};
	const uint8_t hello[] = {1, (uint8_t)(frame_bytes_wanted >> 16), (uint8_t)(frame_bytes_wanted >> 8),
				 (uint8_t)frame_bytes_wanted};
	size_t at = 0;

	if (byte_count < sizeof(hello) || byte_count >= frame_bytes_wanted)
		fail("BYTES", "must be some of the ClientHello, but not all");
	memset(frame_bytes, 0, byte_count);
	memcpy(frame_bytes, hello, sizeof(hello));
	while (at < byte_count) {
		size_t piece = byte_count - at < RECORD_BYTES ? byte_count - at : RECORD_BYTES;

		(void)send(peer->transport.descriptor, record, sizeof(record), MSG_NOSIGNAL);
		(void)send(peer->transport.descriptor, frame_bytes + at, piece, MSG_NOSIGNAL);
		at += piece;
	}
}

/* Declares a stream and gives up the positions of the frame that follows, so that all of it has been there already. */
static uint32_t whole_frame_make(uint32_t body_bytes)
{
	struct k2hft_frame frame = {.type = K2HFT_FRAME_DATA};
	uint8_t *chunk = frame_bytes + K2HFT_FRAME_HEADER_BYTES;

	while (frame.body_bytes + K2HFT_CHUNK_BYTES_MAX <= body_bytes) {
		memset(chunk, 'c', K2HFT_CHUNK_BYTES_MAX);
		memset(chunk, 0, K2HFT_CHUNK_HEADER_BYTES);
		k2i_wire_u64_put(chunk + K2I_CHUNK_MARK_AT,
				 K2HFT_CHUNK_BYTES_MAX | (uint64_t)K2I_KIND_CHUNK << K2I_MARK_KIND_SHIFT);
		k2i_wire_u32_put(chunk + K2I_CHUNK_STREAM_AT, 1);
		k2i_wire_u32_put(chunk + K2I_CHUNK_RECORDS_AT, 1);
		frame.body_bytes += K2HFT_CHUNK_BYTES_MAX;
		chunk += K2HFT_CHUNK_BYTES_MAX;
	}
	frame.raw_bytes = frame.body_bytes;
	if (k2hft_frame_header_encode(&frame, frame_bytes + K2HFT_FRAME_HEADER_BYTES, frame_bytes))
		fail("DATA", "can't be encoded");
	return frame.body_bytes;
}

static uint32_t whole_bytes; /* of the frame's body */

static void whole_begin(struct peer *peer, uint32_t body_bytes, size_t byte_count)
{
	struct k2hft_stream_message stream = {.stream_id = 1, .mode = K2HFT_STREAM_TEXT, .path = "crowd"};
	struct k2hft_discard discard = {.reason = K2HFT_DISCARD_EXPIRED};
	uint8_t bytes[4096];
	int length;

	if (!whole_bytes)
		whole_bytes = whole_frame_make(body_bytes);
	length = k2hft_stream_encode(&stream, bytes, sizeof(bytes));
	if (length < 0 || peer_send(peer, bytes, (size_t)length) != (size_t)length)
		fail("STREAM", "is not taken");
	discard.to = whole_bytes;
	length = k2hft_discard_encode(&discard, bytes, sizeof(bytes));
	if (length < 0 || peer_send(peer, bytes, (size_t)length) != (size_t)length)
		fail("DISCARD", "is not taken");
	peer->sent = peer_send(peer, frame_bytes, byte_count);
}

static void peer_greet(struct peer *peer, unsigned number, size_t byte_count)
{
	if (deed == DEED_HELLO) {
		client_hello_begin(peer, byte_count);
		return;
	}
	handshake(peer);
	if (deed == DEED_ANSWER)
		return;
	hello_send(peer, number);
}

static void peer_begin(struct peer *peer, size_t byte_count)
{
	uint32_t body_bytes = deed == DEED_HELLO || deed == DEED_ANSWER ? 0 : answer_take(peer);

	if (!body_bytes)
		return;
	if (deed == DEED_FRAME)
		frame_begin(peer, body_bytes, byte_count);
	else if (deed == DEED_RECORD)
		record_begin(peer, byte_count);
	else
		whole_begin(peer, body_bytes, byte_count);
}

static void drip_once(unsigned count)
{
	unsigned number;

	for (number = 0; number < count && deed != DEED_ANSWER && deed != DEED_WHOLE; number++) {
		if (deed == DEED_FRAME && peers[number].sent < peers[number].at_once)
			at_once(&peers[number]);
		else if (deed == DEED_FRAME)
			(void)peer_send(&peers[number], frame_bytes + K2HFT_FRAME_HEADER_BYTES, drip_bytes);
		else
			(void)send(peers[number].transport.descriptor, "", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
	}
}

static void drip(unsigned count)
{
	struct timespec pause = {0, DRIP_MS * 1000000};

	for (;;) {
		drip_once(count);
		(void)nanosleep(&pause, NULL);
	}
}

static void whole_go_on(struct peer *peer, struct pollfd *entry)
{
	size_t frame_end = K2HFT_FRAME_HEADER_BYTES + whole_bytes;
	uint8_t answers[4096];
	ssize_t got;

	if (entry->revents & (POLLIN | POLLERR | POLLHUP)) {
		got = k2i_transport_read(&peer->transport, answers, sizeof(answers));
		if (got <= 0 && got != -EAGAIN)
			entry->fd = -1;
	}
	if (entry->fd >= 0 && (entry->revents & POLLOUT))
		peer->sent =
			(peer->sent + peer_send(peer, frame_bytes + peer->sent, frame_end - peer->sent)) % frame_end;
}

static void whole_frames(unsigned count)
{
	static struct pollfd entries[COUNT_MAX];
	unsigned number;

	for (number = 0; number < count; number++)
		entries[number] = (struct pollfd){peers[number].transport.descriptor, POLLIN | POLLOUT, 0};
	while (poll(entries, count, -1) > 0) {
		for (number = 0; number < count; number++)
			whole_go_on(&peers[number], &entries[number]);
	}
}

static void context_open(const char *shared_key, const char *authority)
{
	struct k2i_tls_settings settings = {.shared_key = shared_key, .authority = authority};
	struct k2i_tls_problem problem;

	if (k2i_tls_context_open(&settings, &context, &problem))
		fail("TLS", problem.text);
}

static void option_take(int option)
{
	size_t number = 0;

	if (option == 'k' || option == 'a') {
		context_open(option == 'k' ? optarg : NULL, option == 'a' ? optarg : NULL);
	} else if (option == 'f') {
		frame_bytes_wanted = (uint32_t)strtoul(optarg, NULL, 10);
	} else if (option == 'b') {
		drip_bytes = strtoul(optarg, NULL, 10);
	} else if (option == 'd') {
		while (number < sizeof(deed_names) / sizeof(deed_names[0]) && strcmp(deed_names[number], optarg) != 0)
			number++;
		if (number == sizeof(deed_names) / sizeof(deed_names[0]))
			fail("no such deed", optarg);
		deed = (enum deed)number;
	} else {
		exit(2);
	}
}

int main(int argc, char **argv)
{
	unsigned count, number, begun = 0;
	struct rlimit limit;
	size_t byte_count;
	int option;

	while ((option = getopt(argc, argv, "k:a:f:d:b:")) != -1)
		option_take(option);
	if (argc - optind != 3 || (count = (unsigned)strtoul(argv[optind + 1], NULL, 10)) > COUNT_MAX)
		return 2;
	if (!context && (deed == DEED_RECORD || deed == DEED_ANSWER))
		fail("TLS", "-k or -a is missing");
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &limit);
	}
	byte_count = strtoul(argv[optind + 2], NULL, 10);
	/* Where many wait for a processor it takes long until all have begun. The first must not be silent until then. */
	for (number = 0; number < count; number++) {
		peer_connect(&peers[number], (uint16_t)strtoul(argv[optind], NULL, 10));
		peer_greet(&peers[number], number, byte_count);
		if ((number + 1) % GREETING_AT_ONCE && number + 1 < count)
			continue;
		drip_once(begun);
		while (begun <= number)
			peer_begin(&peers[begun++], byte_count);
	}
	(void)puts("there");
	(void)fflush(stdout);
	if (deed == DEED_WHOLE)
		whole_frames(count);
	else
		drip(count);
	return 0;
}
