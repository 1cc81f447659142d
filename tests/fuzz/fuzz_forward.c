/* SPDX-License-Identifier: MIT */
/*
 * Answers of a server of Forward: HELO and PONG, then acknowledgements. The input: a byte, whether there is a greeting, and in
 * parts of which size the rest arrives; the rest.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include "receiver/sink/forward/peer.h"
#include "fuzz.h"

#define GREETED 1u
#define PARTS_MAX 64u /* that the socket holds */

static const char *key_file(void)
{
	static char path[300];
	int file;

	if (*path)
		return path;
	(void)snprintf(path, sizeof(path), "%s/key", fuzz_folder());
	file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	fuzz_check(file >= 0 && write(file, "secret\n", 7) == 7);
	fuzz_check(close(file) == 0);
	return path;
}

/* All that the server will ever say. */
static void server_say(int server, const uint8_t *data, size_t size, size_t part)
{
	size_t least = size / PARTS_MAX + 1;

	part = part < least ? least : part;
	for (; size > 0; data += part, size -= part) {
		part = part < size ? part : size;
		fuzz_check(send(server, data, part, MSG_NOSIGNAL) == (ssize_t)part);
	}
	fuzz_check(shutdown(server, SHUT_WR) == 0);
}

/* An identity is one that the server has said. */
static void acknowledgements_take(struct k2i_forward_peer *peer, const uint8_t *data, size_t size)
{
	const char *id;
	size_t bytes;
	int result;

	while ((result = k2i_forward_peer_acknowledged(peer, true, &id, &bytes)) > 0) {
		char *copy = fuzz_text(id, bytes);

		fuzz_check(bytes <= sizeof(peer->id) && (!bytes || memmem(data, size, copy, bytes)));
		free(copy);
	}
	fuzz_check(result < 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct k2i_forward_options options = {
		.key_file = key_file(), .user = "user", .password_file = key_file(), .answer_ms = 10000};
	struct k2i_forward_peer *peer = calloc(1, sizeof(*peer));
	int sockets[2], error = 0;

	fuzz_check(peer);
	if (size < 1) {
		free(peer);
		return 0;
	}
	/* A part that was sent is one that is read. */
	fuzz_check(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, sockets) == 0);
	peer->options = &options;
	peer->transport.descriptor = sockets[0];
	peer->open = true;
	peer->stop = eventfd(0, EFD_CLOEXEC);
	server_say(sockets[1], data + 1, size - 1, data[0] >> 1);
	if (data[0] & GREETED)
		error = k2i_forward_greet(peer);
	fuzz_check(error <= 0 && error != -ETIMEDOUT);
	if (!error)
		acknowledgements_take(peer, data + 1, size - 1);
	/* A reason is there, and it ends. */
	fuzz_check(*peer->reason && memchr(peer->reason, '\0', sizeof(peer->reason)));
	k2i_forward_peer_close(peer);
	(void)close(sockets[1]);
	(void)close(peer->stop);
	free(peer);
	return 0;
}
