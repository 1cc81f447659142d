/* SPDX-License-Identifier: MIT */
/*
 * crowd PORT COUNT BYTES: that many senders, each with a ring of its own, that greet 127.0.0.1:PORT and announce the largest
 * frame. Each sends BYTES of it as far as they are taken, says "there" when all have tried, and then a byte at a time until
 * it is killed. Each ERROR that comes is printed.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <k2hft/frame.h>

#define COUNT_MAX 4096u
#define WELCOME_S 30

static int peers[COUNT_MAX];

static int peer_connect(uint16_t port)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
	struct timeval limit = {WELCOME_S, 0};
	int peer = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (peer < 0 || connect(peer, (struct sockaddr *)&address, sizeof(address)) < 0) {
		perror("crowd: connect");
		exit(1);
	}
	(void)setsockopt(peer, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	return peer;
}

static void hello_send(int peer, unsigned number)
{
	struct k2hft_hello hello = {.version_min = 1, .version_max = 1, .host = "crowd", .software = "crowd"};
	uint8_t bytes[1024];
	int length;

	memcpy(hello.ring_uuid, "crowd", 5);
	memcpy(hello.ring_uuid + 8, &number, sizeof(number));
	hello.epoch = 1;
	hello.level = K2HFT_LEVEL_WRITTEN;
	hello.frame_bytes_max = K2HFT_FRAME_BODY_BYTES_DEFAULT;
	length = k2hft_hello_encode(&hello, bytes, sizeof(bytes));
	if (length < 0 || send(peer, bytes, (size_t)length, MSG_NOSIGNAL) != length)
		exit(1);
}

/* The largest body, or 0: ERROR came, or the end. */
static uint32_t answer_take(int peer)
{
	uint8_t header[K2HFT_FRAME_HEADER_BYTES], body[K2HFT_MESSAGE_BYTES_MAX];
	struct k2hft_error_message error;
	struct k2hft_welcome welcome;
	struct k2hft_frame frame;

	if (recv(peer, header, sizeof(header), MSG_WAITALL) != (ssize_t)sizeof(header) ||
	    k2hft_frame_header_decode(header, sizeof(header), sizeof(body), &frame) ||
	    recv(peer, body, frame.body_bytes, MSG_WAITALL) != (ssize_t)frame.body_bytes)
		return 0;
	if (frame.type == K2HFT_FRAME_ERROR && k2hft_error_decode(body, frame.body_bytes, &error) == 0)
		(void)printf("error %u %s\n", error.code, error.text);
	if (frame.type != K2HFT_FRAME_WELCOME || k2hft_welcome_decode(body, frame.body_bytes, &welcome))
		return 0;
	return welcome.frame_bytes_max;
}

static void body_begin(int peer, uint32_t body_bytes, size_t byte_count)
{
	static uint8_t body[K2HFT_FRAME_BODY_BYTES_DEFAULT];
	uint8_t header[K2HFT_FRAME_HEADER_BYTES];
	struct k2hft_frame frame = {.type = K2HFT_FRAME_DATA, .body_bytes = body_bytes, .raw_bytes = body_bytes};
	ssize_t sent = 1;

	if (body_bytes > sizeof(body) || byte_count >= body_bytes || k2hft_frame_header_encode(&frame, body, header) ||
	    send(peer, header, sizeof(header), MSG_NOSIGNAL) < 0)
		return;
	while (byte_count > 0 && sent > 0) {
		sent = send(peer, body, byte_count, MSG_NOSIGNAL | MSG_DONTWAIT);
		byte_count -= sent > 0 ? (size_t)sent : 0;
	}
}

int main(int argc, char **argv)
{
	struct timespec pause = {0, 100000000};
	struct rlimit limit;
	unsigned count, number;
	uint32_t body_bytes;

	if (argc != 4 || (count = (unsigned)strtoul(argv[2], NULL, 10)) > COUNT_MAX)
		return 2;
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &limit);
	}
	for (number = 0; number < count; number++) {
		peers[number] = peer_connect((uint16_t)strtoul(argv[1], NULL, 10));
		hello_send(peers[number], number);
		body_bytes = answer_take(peers[number]);
		if (body_bytes)
			body_begin(peers[number], body_bytes, strtoul(argv[3], NULL, 10));
	}
	(void)puts("there");
	(void)fflush(stdout);
	for (;;) {
		for (number = 0; number < count; number++)
			(void)send(peers[number], "", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
		(void)nanosleep(&pause, NULL);
	}
}
