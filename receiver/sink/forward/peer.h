/* SPDX-License-Identifier: MIT */
#ifndef K2I_RECEIVER_SINK_FORWARD_PEER_H
#define K2I_RECEIVER_SINK_FORWARD_PEER_H

#include "net/transport.h"
#include "receiver/sink/forward/msgpack.h"

/* A connection to a server of Forward v1, of one thread, that waits for what the server has to do. */

#define K2I_FORWARD_REASON_BYTES 200u

struct k2i_forward_options {
	bool tls;
	const char *authority;                       /* FORWARD_CA; NULL: the system's */
	const char *key_file, *user, *password_file; /* FORWARD_SHARED_KEY_FILE and so on; NULL: none */
	uint64_t answer_ms;                          /* FORWARD_ACK_TIMEOUT_MS */
};

struct k2i_forward_peer {
	const struct k2i_forward_options *options;
	char *host, *port;
	int stop; /* readable: what waits ends with -ECANCELED */
	struct k2i_transport transport;
	bool open;
	bool once;        /* the server wants a connection for each batch */
	unsigned strange; /* answers since the last one that the caller had waited for */
	char reason[K2I_FORWARD_REASON_BYTES];
	char id[64]; /* of the last acknowledgement */
	uint8_t input[K2I_UNPACK_BYTES_MAX];
	size_t input_bytes;
};

/*
 * Connects, with TLS if the options want it. For all that follow: 0, or an
 * error, with peer->reason, after which the peer is to be closed.
 */
int k2i_forward_peer_open(struct k2i_forward_peer *peer);
/* Shows the server, and has it show, that both know the shared key: the first thing on a connection. */
int k2i_forward_greet(struct k2i_forward_peer *peer);
void k2i_forward_peer_close(struct k2i_forward_peer *peer);
int k2i_forward_peer_write(struct k2i_forward_peer *peer, const void *bytes, size_t count);
/*
 * The id of a chunk that the server acknowledges; `wait`: until there is one. 1; 0 none now. The text stays until the next
 * call, and is not terminated.
 */
int k2i_forward_peer_acknowledged(struct k2i_forward_peer *peer, bool wait, const char **id, size_t *id_bytes);

#endif
