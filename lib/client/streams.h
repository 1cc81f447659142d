/* SPDX-License-Identifier: MIT */
#ifndef K2I_CLIENT_STREAMS_H
#define K2I_CLIENT_STREAMS_H

#include <stdint.h>

#include <k2hft/ring.h>

/* Stream numbers, with their generation, that this connection has declared to the receiver. */
struct k2i_client_streams {
	uint32_t connection; /* counts connections, so that a new one forgets all at once; 0 before the first */
	struct k2i_client_stream {
		uint32_t connection, generation;
	} declared[K2HFT_STREAM_COUNT_MAX]; /* number 1 is the first */
};

void k2i_client_streams_reset(struct k2i_client_streams *streams);

struct k2hft_client;
struct k2hft_span;

/*
 * Queues a STREAM for each stream of `span` that the receiver does not know. Returns how many bytes of the span, from
 * its begin, can be sent: fewer if there is no room for another STREAM, or a chunk's stream can't be declared. 0: the
 * first chunk's can't, ever. It can't now: -ENOMEM, or -ENOBUFS until the queue is sent. -EBADMSG the span is not well
 * formed.
 */
int64_t k2i_client_streams_declare(struct k2hft_client *client, const struct k2hft_span *span);

#endif
