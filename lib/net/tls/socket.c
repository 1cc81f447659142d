/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <openssl/bio.h>

#include "net/tls/state.h"

/*
 * Bytes that OpenSSL writes are gathered in memory and sent by k2i_tls_flush, many records by one call. So it never has
 * to try a write again with the very same bytes, which the client could not promise; and no SIGPIPE comes.
 */
#define OUTPUT_BYTES_MIN 4096u

/* Twice what k2i_tls_write takes. More is answers to a peer that asks for new keys, say, again and again and reads nothing. */
#define OUTPUT_BYTES_MAX ((size_t)512 * 1024)

/*
 * OpenSSL makes room for all of a message as soon as its length is announced, 128 KiB for a ClientHello, by whoever can
 * connect. Those that are in use have hundreds of bytes, and some kilobytes with keys that withstand quantum computers.
 */
#define HELLO_BYTES_MAX 16384u

static int output_grow(struct k2i_tls *tls, size_t bytes)
{
	size_t room = tls->output_room ? tls->output_room : OUTPUT_BYTES_MIN;
	unsigned char *output;

	while (room - tls->output_bytes < bytes)
		room *= 2;
	if (room == tls->output_room)
		return 0;
	if (room > OUTPUT_BYTES_MAX) {
		(void)snprintf(tls->reason, sizeof(tls->reason), "it makes TLS answer and does not read the answers");
		return -EPROTO;
	}
	output = realloc(tls->output, room);
	if (!output)
		return -ENOMEM;
	tls->output = output;
	tls->output_room = room;
	return 0;
}

static int socket_write(BIO *bio, const char *bytes, int byte_count)
{
	struct k2i_tls *tls = BIO_get_data(bio);
	int error;

	if (byte_count <= 0)
		return 0;
	error = output_grow(tls, (size_t)byte_count);
	if (error) {
		tls->error = error;
		return -1;
	}
	memcpy(tls->output + tls->output_bytes, bytes, (size_t)byte_count);
	tls->output_bytes += (size_t)byte_count;
	return byte_count;
}

/* Looks at the length of a ClientHello before OpenSSL does. False: it is not to be read. */
static bool hello_allowed(struct k2i_tls *tls, const char *bytes, size_t byte_count)
{
	const unsigned char *hello = tls->hello;
	size_t missing = sizeof(tls->hello) - tls->hello_bytes;

	if (!tls->context->server || missing == 0)
		return true;
	if (byte_count > missing)
		byte_count = missing;
	memcpy(tls->hello + tls->hello_bytes, bytes, byte_count);
	tls->hello_bytes += byte_count;
	if (byte_count < missing)
		return true;
	/* The message's header must be in one record, or these would not be its bytes. */
	if ((hello[3] != 0 || hello[4] >= 4) && (hello[6] << 16 | hello[7] << 8 | hello[8]) <= (int)HELLO_BYTES_MAX)
		return true;
	(void)snprintf(tls->reason, sizeof(tls->reason),
		       "its ClientHello is longer than 16 KiB, or comes in too small parts");
	tls->error = -EPROTO;
	return false;
}

static int socket_read(BIO *bio, char *bytes, int room)
{
	struct k2i_tls *tls = BIO_get_data(bio);
	ssize_t count;

	BIO_clear_retry_flags(bio);
	if (room <= 0)
		return 0;
	if ((size_t)room > tls->read_left)
		room = (int)tls->read_left;
	if (room == 0) {
		BIO_set_retry_read(bio);
		return -1;
	}
	do
		count = recv(tls->descriptor, bytes, (size_t)room, MSG_DONTWAIT);
	while (count < 0 && errno == EINTR);
	if (count > 0)
		tls->read_left -= (size_t)count;
	if (count == 0)
		tls->peer_closed = true;
	else if (count < 0 && errno == EAGAIN)
		BIO_set_retry_read(bio);
	else if (count < 0)
		tls->error = -errno;
	else if (!hello_allowed(tls, bytes, (size_t)count))
		return -1;
	return (int)count;
}

static long socket_control(BIO *bio, int command, long number, void *argument)
{
	const struct k2i_tls *tls = BIO_get_data(bio);

	(void)number;
	(void)argument;
	switch (command) {
	case BIO_CTRL_FLUSH:
		return 1; /* k2i_tls_flush does */
	case BIO_CTRL_EOF:
		return tls->peer_closed;
	default:
		return 0;
	}
}

static BIO_METHOD *socket_method;

static void socket_method_make(void)
{
	int type = BIO_get_new_index();

	socket_method = BIO_meth_new((type < 0 ? 0 : type) | BIO_TYPE_SOURCE_SINK, "k2hft socket");
	if (!socket_method)
		return;
	(void)BIO_meth_set_write(socket_method, socket_write);
	(void)BIO_meth_set_read(socket_method, socket_read);
	(void)BIO_meth_set_ctrl(socket_method, socket_control);
}

BIO *k2i_tls_socket(struct k2i_tls *tls)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	BIO *bio;

	(void)pthread_once(&once, socket_method_make);
	bio = socket_method ? BIO_new(socket_method) : NULL;
	if (!bio)
		return NULL;
	BIO_set_data(bio, tls);
	BIO_set_init(bio, 1);
	return bio;
}

size_t k2i_tls_waiting(const struct k2i_tls *tls)
{
	return tls->output_bytes - tls->output_sent;
}

int k2i_tls_flush(struct k2i_tls *tls)
{
	ssize_t count;

	while (k2i_tls_waiting(tls) > 0) {
		count = send(tls->descriptor, tls->output + tls->output_sent, k2i_tls_waiting(tls),
			     MSG_DONTWAIT | MSG_NOSIGNAL);
		if (count < 0 && errno == EINTR)
			continue;
		if (count < 0)
			return errno == EAGAIN ? 0 : -errno;
		tls->output_sent += (size_t)count;
	}
	tls->output_sent = tls->output_bytes = 0;
	return 1;
}
