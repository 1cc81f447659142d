/* SPDX-License-Identifier: MIT */
#ifndef K2I_RECEIVER_CONNECTION_STATE_H
#define K2I_RECEIVER_CONNECTION_STATE_H

#include "receiver/connection/connection.h"
#include "receiver/session/stall.h"
#include "net/transport.h"

/* The connection, for the files of this folder. */
struct event;
struct k2i_connection {
	struct k2i_link link;           /* in the loop's `connections` */
	struct k2i_link ungreeted_link; /* in its `ungreeted` */
	bool ungreeted;                 /* it has a place, has not greeted, and is there */
	struct k2i_loop *loop;
	struct k2i_transport transport;
	bool securing;  /* the TLS handshake is not done, or not begun */
	bool admitting; /* admission has not decided yet, and nothing is read */
	struct event *readable, *writable;
	struct k2i_buffer buffer;
	size_t wanted;
	bool stalled, lingering;
	bool starved;      /* the frame that is coming needs more memory than there is now */
	uint64_t frame_ns; /* the first frame in the buffer began to come */
	uint64_t moved_ns; /* its last STILL_BYTES had come */
	size_t moved_bytes;
	uint64_t proved_ns; /* records were written */
	uint64_t started_ns, heard_ns, pinged_ns, linger_end_ns;
	struct k2i_stall stall;
	char peer[K2I_PEER_BYTES_MAX];
	struct k2i_peer shown;
	struct k2i_session session;
};

#endif
