/* SPDX-License-Identifier: MIT */
#ifndef K2I_RECEIVER_SINK_FORWARD_INTERNAL_H
#define K2I_RECEIVER_SINK_FORWARD_INTERNAL_H

#include "receiver/sink/forward/peer.h"

/* Declarations that peer.c and greeting.c share. */

/* Returns the error. */
int k2i_forward_peer_failed(struct k2i_forward_peer *peer, int error, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* The bytes of the next message of the server, which k2i_forward_peer_taken takes away. 1; 0 there is none yet. */
int k2i_forward_peer_next(struct k2i_forward_peer *peer, bool wait, size_t *bytes);
void k2i_forward_peer_taken(struct k2i_forward_peer *peer, size_t bytes);

#endif
