/* SPDX-License-Identifier: MIT */
#ifndef K2I_TRANSPORT_H
#define K2I_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

/*
 * The connection of a client to its receiver as a pipe of bytes: the only file of the client that calls socket
 * functions, and the seam for what may lie between bytes and socket. All calls return at once.
 */
struct addrinfo;

struct k2i_transport {
	int descriptor; /* -1: none */
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

/* Bytes; 0 the peer closed; -EAGAIN nothing now; others recv(2)'s. */
ssize_t k2i_transport_read(struct k2i_transport *transport, void *bytes, size_t room);

/* Bytes taken, which can be fewer than given; -EAGAIN none now; others sendmsg(2)'s. */
ssize_t k2i_transport_write(struct k2i_transport *transport, const struct iovec *pieces, int piece_count);

/* Bytes written that the peer's host did not confirm. */
uint64_t k2i_transport_unconfirmed_bytes(const struct k2i_transport *transport);

/* How long, since the connection began, the peer's full receive buffer (and not the network) held the bytes back. */
uint64_t k2i_transport_peer_limited_ns(const struct k2i_transport *transport);

void k2i_transport_close(struct k2i_transport *transport);

#endif
