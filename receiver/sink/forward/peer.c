/* SPDX-License-Identifier: MIT */
#include "receiver/sink/forward/peer.h"

#include <errno.h>
#include <inttypes.h>
#include <netdb.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "net/tls/tls.h"
#include "receiver/sink/forward/internal.h"

#define CONNECT_MS 10000u
#define STRANGE_MAX 1000u /* more than a server's late acknowledgements: it floods */

int k2i_forward_peer_failed(struct k2i_forward_peer *peer, int error, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(peer->reason, sizeof(peer->reason), format, arguments);
	va_end(arguments);
	return error;
}

static int transport_failed(struct k2i_forward_peer *peer, int error)
{
	return k2i_forward_peer_failed(peer, error, "%s", k2i_transport_reason(&peer->transport, error));
}

/* Waits for events of a descriptor, at most so long. 0; -ETIMEDOUT; -ECANCELED. */
static int events_wait(struct k2i_forward_peer *peer, int descriptor, short events, uint64_t until_ns)
{
	struct pollfd polled[2] = {{.fd = descriptor, .events = events}, {.fd = peer->stop, .events = POLLIN}};
	uint64_t now_ns = k2i_clock_now_ns();
	int count = 0;

	while (count <= 0 && now_ns < until_ns) {
		count = poll(polled, 2, (int)((until_ns - now_ns) / K2I_MILLISECOND_NS) + 1);
		now_ns = k2i_clock_now_ns();
	}
	if (polled[1].revents)
		return k2i_forward_peer_failed(peer, -ECANCELED, "the receiver ends");
	return count > 0 ? 0 : -ETIMEDOUT;
}

static uint64_t ms_from_now(uint64_t ms)
{
	return k2i_clock_now_ns() + ms * K2I_MILLISECOND_NS;
}

/* Bytes -------------------------------------------------------------------------------------------------------------- */

static int answer_missing(struct k2i_forward_peer *peer)
{
	return k2i_forward_peer_failed(peer, -ETIMEDOUT, "it has not answered for %" PRIu64 " ms",
				       peer->options->answer_ms);
}

int k2i_forward_peer_write(struct k2i_forward_peer *peer, const void *bytes, size_t count)
{
	struct iovec rest = {.iov_base = (void *)(uintptr_t)bytes, .iov_len = count};
	uint64_t until_ns = ms_from_now(peer->options->answer_ms);
	ssize_t written;
	int error = 0;

	while (rest.iov_len || k2i_transport_waiting(&peer->transport)) {
		written = rest.iov_len ? k2i_transport_write(&peer->transport, &rest, 1) : -EAGAIN;
		if (written > 0) {
			rest.iov_base = (char *)rest.iov_base + written;
			rest.iov_len -= (size_t)written;
			until_ns = ms_from_now(peer->options->answer_ms);
			continue;
		}
		if (written < 0 && written != -EAGAIN)
			return transport_failed(peer, (int)written);
		error = k2i_transport_flush(&peer->transport);
		if (error < 0)
			return transport_failed(peer, error);
		if (error == 0 || rest.iov_len)
			error = events_wait(peer, peer->transport.descriptor, POLLOUT, until_ns);
		if (error < 0)
			return error == -ETIMEDOUT ? answer_missing(peer) : error;
	}
	return 0;
}

/* More of the server's bytes. 1; 0 there are none now. */
static int input_read(struct k2i_forward_peer *peer, bool wait, uint64_t until_ns)
{
	ssize_t count;
	int error = 0;

	while (!error) {
		count = k2i_transport_read(&peer->transport, peer->input + peer->input_bytes,
					   sizeof(peer->input) - peer->input_bytes);
		if (count > 0) {
			peer->input_bytes += (size_t)count;
			return 1;
		}
		if (count == 0)
			return k2i_forward_peer_failed(peer, -ECONNRESET, "it has closed the connection");
		if (count != -EAGAIN)
			return transport_failed(peer, (int)count);
		if (!wait)
			return 0;
		error = events_wait(peer, peer->transport.descriptor, POLLIN, until_ns);
	}
	return error == -ETIMEDOUT ? answer_missing(peer) : error;
}

int k2i_forward_peer_next(struct k2i_forward_peer *peer, bool wait, size_t *bytes)
{
	uint64_t until_ns = ms_from_now(peer->options->answer_ms);
	int result;

	do {
		*bytes = 0;
		result = k2i_unpack_skip(peer->input, peer->input_bytes, bytes);
		if (result > 0)
			return 1;
		if (result < 0 || peer->input_bytes == sizeof(peer->input))
			return k2i_forward_peer_failed(peer, -EPROTO, "its answer is none of Forward");
		result = input_read(peer, wait, until_ns);
	} while (result > 0);
	return result;
}

void k2i_forward_peer_taken(struct k2i_forward_peer *peer, size_t bytes)
{
	peer->input_bytes -= bytes;
	memmove(peer->input, peer->input + bytes, peer->input_bytes);
}

/* Acknowledgements --------------------------------------------------------------------------------------------------- */

/* The value of "ack" in the map that the input begins with; false: there is none. */
static bool ack_find(const struct k2i_forward_peer *peer, size_t bytes, struct k2i_unpacked *value)
{
	struct k2i_unpacked map, key;
	size_t at = 0;

	if (k2i_unpack_next(peer->input, bytes, &at, &map) <= 0 || map.kind != K2I_UNPACKED_MAP)
		return false;
	while (map.count-- > 0) {
		if (k2i_unpack_next(peer->input, bytes, &at, &key) <= 0 || key.kind != K2I_UNPACKED_TEXT)
			return false;
		if (k2i_unpacked_is(&key, "ack"))
			return k2i_unpack_next(peer->input, bytes, &at, value) > 0 && value->kind == K2I_UNPACKED_TEXT;
		if (k2i_unpack_skip(peer->input, bytes, &at) <= 0)
			return false;
	}
	return false;
}

/* A server that wants a key begins with [HELO, ...], whoever connects. */
static bool greeting_begins(const struct k2i_forward_peer *peer, size_t bytes)
{
	struct k2i_unpacked array, word;
	size_t at = 0;

	return k2i_unpack_next(peer->input, bytes, &at, &array) > 0 && array.kind == K2I_UNPACKED_ARRAY &&
	       k2i_unpack_next(peer->input, bytes, &at, &word) > 0 && k2i_unpacked_is(&word, "HELO");
}

int k2i_forward_peer_acknowledged(struct k2i_forward_peer *peer, bool wait, const char **id, size_t *id_bytes)
{
	struct k2i_unpacked value;
	size_t bytes;
	bool found = false;
	int result;

	while (!found) {
		result = k2i_forward_peer_next(peer, wait, &bytes);
		if (result <= 0)
			return result;
		if (++peer->strange > STRANGE_MAX)
			return k2i_forward_peer_failed(peer, -EPROTO,
						       "it answers with much else than acknowledgements");
		if (greeting_begins(peer, bytes))
			return k2i_forward_peer_failed(peer, -EACCES,
						       "it wants a shared key: write FORWARD_SHARED_KEY_FILE");
		found = ack_find(peer, bytes, &value);
		if (found && value.count <= sizeof(peer->id)) {
			memcpy(peer->id, value.bytes, value.count);
			*id = peer->id;
			*id_bytes = value.count;
		} else {
			found = false;
		}
		k2i_forward_peer_taken(peer, bytes);
	}
	return 1;
}

/* Connecting --------------------------------------------------------------------------------------------------------- */

static int addresses_find(struct k2i_forward_peer *peer, struct addrinfo **addresses)
{
	uint64_t until_ns = ms_from_now(CONNECT_MS);
	struct k2i_resolve *resolve = NULL;
	const char *why = "no memory";
	int wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), error;

	error = wake < 0 ? -errno : k2i_resolve_start(peer->host, peer->port, wake, &resolve);
	while (!error && (error = k2i_resolve_take(resolve, addresses, &why)) == -EINPROGRESS)
		error = events_wait(peer, wake, POLLIN, until_ns);
	if (error == -ENOENT)
		(void)k2i_forward_peer_failed(peer, error, "its address is not known: %s", why);
	else if (error && error != -ECANCELED)
		(void)k2i_forward_peer_failed(peer, error, "its address is not known: %s", strerror(-error));
	k2i_resolve_drop(resolve);
	if (wake >= 0)
		(void)close(wake);
	return error;
}

static int address_connect(struct k2i_forward_peer *peer, const struct addrinfo *address)
{
	int error = k2i_transport_connect(&peer->transport, address);

	if (error == -EINPROGRESS)
		error = events_wait(peer, peer->transport.descriptor, POLLOUT, ms_from_now(CONNECT_MS));
	if (!error)
		error = k2i_transport_connect_end(&peer->transport);
	if (!error || error == -ECANCELED)
		return error;
	k2i_transport_close(&peer->transport);
	return k2i_forward_peer_failed(peer, error, "%s", strerror(-error));
}

static int peer_secure(struct k2i_forward_peer *peer)
{
	uint64_t until_ns = ms_from_now(CONNECT_MS);
	/* The file as it is now. */
	const struct k2i_tls_settings settings = {.version_min = K2HFT_TLS_1_2, .authority = peer->options->authority};
	struct k2i_tls_problem problem = {.text = "no memory"};
	struct k2i_tls_context *context;
	int error = k2i_tls_context_open(&settings, &context, &problem);

	if (error)
		return k2i_forward_peer_failed(peer, error, "%s", problem.text);
	error = k2i_transport_secure(&peer->transport, context, peer->host);
	k2i_tls_context_release(context);
	while (!error && (error = k2i_transport_handshake(&peer->transport)) == -EAGAIN)
		error = events_wait(peer, peer->transport.descriptor,
				    k2i_transport_waiting(&peer->transport) ? POLLOUT : POLLIN, until_ns);
	if (error == -ETIMEDOUT)
		return k2i_forward_peer_failed(peer, error, "it does not answer with TLS");
	return error && error != -ECANCELED ? transport_failed(peer, error) : error;
}

int k2i_forward_peer_open(struct k2i_forward_peer *peer)
{
	struct addrinfo *addresses, *address;
	int error;

	error = addresses_find(peer, &addresses);
	if (error)
		return error;
	error = -ENOENT;
	for (address = addresses; address && error && error != -ECANCELED; address = address->ai_next)
		error = address_connect(peer, address);
	freeaddrinfo(addresses);
	peer->input_bytes = 0;
	peer->once = false;
	peer->strange = 0;
	if (!error && peer->options->tls)
		error = peer_secure(peer);
	peer->open = !error;
	return error;
}

void k2i_forward_peer_close(struct k2i_forward_peer *peer)
{
	if (peer->open)
		k2i_transport_end(&peer->transport);
	k2i_transport_close(&peer->transport);
	peer->open = false;
}
