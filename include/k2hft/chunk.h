/* SPDX-License-Identifier: MIT */
#ifndef K2HFT_CHUNK_H
#define K2HFT_CHUNK_H

#include <stdint.h>

/*
 * The words that a ring and a frame share: a chunk is a run of records of one stream that share writer and time. It is
 * the entry of a ring, and goes over the wire as it is.
 */
#define K2HFT_CHUNK_BYTES_MAX (2u * 1024 * 1024) /* of an entry, with header and padding */
#define K2HFT_CHUNK_HEADER_BYTES 32u

/* Flags of k2hft_chunk. */
#define K2HFT_CHUNK_CONTINUES 1u /* the last record goes on in the next chunk of this stream and writer */
#define K2HFT_CHUNK_CONTINUED 2u /* the first record began in an earlier chunk of this stream and writer */

struct k2hft_chunk {
	uint32_t stream_id;    /* from k2hft_stream_declare */
	uint32_t record_count; /* records that end in this chunk, plus 1 if it CONTINUES */
	uint64_t time_ns;      /* when they were written; CLOCK_REALTIME */
	uint32_t writer_pid;   /* 0: not known */
	uint16_t flags;        /* K2HFT_CHUNK_* */
	uint16_t reserved;     /* 0 */
};

/* A stream: where records came from. Limits of its path and host, and its two modes. */
#define K2HFT_STREAM_PATH_BYTES_MAX 1023u
#define K2HFT_STREAM_HOST_BYTES_MAX 255u
#define K2HFT_STREAM_TEXT 0u
#define K2HFT_STREAM_BINARY 1u

#endif
