/* SPDX-License-Identifier: MIT */
#ifndef K2I_NET_TRANSPORT_H
#define K2I_NET_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

/*
 * The connection of a client and its receiver as a pipe of bytes, with TLS or without. On the client's side only these
 * files call socket functions. All calls return at once.
 */
struct addrinfo;
struct k2i_tls;
struct k2i_tls_context;

struct k2i_transport {
	int descriptor;      /* -1: none */
	struct k2i_tls *tls; /* NULL: bytes go as they are */
};

/*
 * Finds the addresses of a host; a name is looked up on a thread of its own, since that can take long. When it is done,
 * `wake_descriptor` (an eventfd) is written. 0 or -errno.
 */
struct k2i_resolve;
int k2i_resolve_start(const char *host, const char *port, int wake_descriptor, struct k2i_resolve **resolve);

/* 0: `*addresses` is the caller's, for freeaddrinfo(3); -EINPROGRESS not yet; -ENOENT none: `*reason` says why. */
int k2i_resolve_take(struct k2i_resolve *resolve, struct addrinfo **addresses, const char **reason);

/* At any time; waits for nothing. NULL is allowed. */
void k2i_resolve_drop(struct k2i_resolve *resolve);

/* Begins to connect: 0 connected already, -EINPROGRESS wait until the descriptor is writable, others connect(2)'s. */
int k2i_transport_connect(struct k2i_transport *transport, const struct addrinfo *address);

/* How the attempt ended: 0 or -errno; to be called once, when the descriptor became writable or connect gave 0. */
int k2i_transport_connect_end(struct k2i_transport *transport);

/* Puts TLS in between, before the first byte; `host` as k2i_tls_open's. -ENOMEM */
int k2i_transport_secure(struct k2i_transport *transport, struct k2i_tls_context *context, const char *host);
/* 0 done; -EAGAIN wait for the socket (for room in it, too, if bytes wait); others failed. Without TLS always 0. */
int k2i_transport_handshake(struct k2i_transport *transport);

/* Bytes; 0 the peer closed; -EAGAIN nothing now; others recv(2)'s, or -EPROTO of TLS. */
ssize_t k2i_transport_read(struct k2i_transport *transport, void *bytes, size_t room);

/* TLS holds bytes for the next read, which no event of the socket tells. */
bool k2i_transport_more(const struct k2i_transport *transport);

/* Bytes taken, which can be fewer than given; -EAGAIN none now; others sendmsg(2)'s, or -EPROTO of TLS. */
ssize_t k2i_transport_write(struct k2i_transport *transport, const struct iovec *pieces, int piece_count);

/* Bytes that TLS took wait for room in the socket. flush sends them: 1 none are left, 0 the socket is full, -errno. */
bool k2i_transport_waiting(const struct k2i_transport *transport);
int k2i_transport_flush(struct k2i_transport *transport);

/* The text of an error of these functions, for a message. */
const char *k2i_transport_reason(const struct k2i_transport *transport, int error);

/* Bytes written that the peer's host did not confirm. */
uint64_t k2i_transport_unconfirmed_bytes(const struct k2i_transport *transport);
/* The part of them that the network has not even taken: it waits for its speed or for the peer to read. */
uint64_t k2i_transport_unsent_bytes(const struct k2i_transport *transport);

/* How long, since the connection began, the peer's full receive buffer (and not the network) held the bytes back. */
uint64_t k2i_transport_peer_limited_ns(const struct k2i_transport *transport);

/* Tells the peer that nothing more comes; its bytes can still be read. */
void k2i_transport_end(struct k2i_transport *transport);

void k2i_transport_close(struct k2i_transport *transport);

#endif
