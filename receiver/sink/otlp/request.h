/* SPDX-License-Identifier: MIT */
#ifndef K2I_RECEIVER_SINK_OTLP_REQUEST_H
#define K2I_RECEIVER_SINK_OTLP_REQUEST_H

#include "receiver/sink/remote/remote.h"

/*
 * ExportLogsServiceRequest: records of several pieces, sorted by host. Each has the uuid of its ring and a position that no
 * other record of that ring has, so that a receiver can tell a repeated one.
 */
struct k2i_otlp_request {
	const uint8_t *body; /* one of the following */
	size_t body_bytes;
	uint8_t *raw, *compressed; /* memory that is used again */
	size_t raw_bytes, raw_room, compressed_room;
	size_t record_count;
	size_t ended; /* pieces whose last record it has */
	size_t rest;  /* where the next request begins in the piece behind these; 0: at its begin */
};

/*
 * Puts in the records of `pieces` from `offset` of the first on: one, and others as long as all are about `bytes_max` bytes
 * before compression. -ENOMEM; -EMSGSIZE they are more than 1 GiB.
 */
int k2i_otlp_request_make(struct k2i_otlp_request *request, struct k2i_remote_piece *const *pieces, size_t count,
			  size_t offset, size_t bytes_max, bool gzip);
void k2i_otlp_request_free(struct k2i_otlp_request *request);

#endif
