/* SPDX-License-Identifier: MIT */
#ifndef K2HFT_FRAME_H
#define K2HFT_FRAME_H

#include <stddef.h>
#include <stdint.h>

#include <k2hft/ring.h>
#include <k2hft/visibility.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The wire format of k2hft-protocol(7) as pure functions: caller's buffers in and out, no allocation but that of the
 * LZ4 library, no I/O, any thread. Everything read is checked before it is used; whatever the format forbids is -EBADMSG.
 * Pointers into a body are valid as long as the body. All of them since 0.1.0.
 */
#define K2HFT_FRAME_HEADER_BYTES 40u
#define K2HFT_FRAME_BODY_BYTES_MAX (16u * 1024 * 1024)    /* ever */
#define K2HFT_FRAME_BODY_BYTES_INITIAL (1024u * 1024)     /* before WELCOME; HELLO, WELCOME: 4 KiB */
#define K2HFT_FRAME_BODY_BYTES_MIN K2HFT_CHUNK_BYTES_MAX  /* least that a WELCOME may grant */
#define K2HFT_FRAME_BODY_BYTES_DEFAULT (4u * 1024 * 1024) /* that a client asks for */
#define K2HFT_FRAME_VERSION 1u

enum k2hft_frame_type {
	K2HFT_FRAME_HELLO = 1,
	K2HFT_FRAME_WELCOME = 2,
	K2HFT_FRAME_STREAM = 3, /* declares a stream for this connection */
	K2HFT_FRAME_DATA = 4,
	K2HFT_FRAME_ACK = 5,
	K2HFT_FRAME_PING = 6,
	K2HFT_FRAME_PONG = 7,
	K2HFT_FRAME_DISCARD = 8,
	K2HFT_FRAME_BYE = 9,
	K2HFT_FRAME_ERROR = 10,
};

#define K2HFT_FRAME_LZ4 1u /* flag of DATA: the body is one LZ4 block */

struct k2hft_frame {
	uint8_t type;
	uint16_t flags;
	uint32_t body_bytes; /* on the wire */
	uint32_t raw_bytes;  /* after decompression; equal to body_bytes without it */
	uint32_t gap_bytes;  /* DATA: ring bytes before `position` without records */
	uint64_t position;   /* DATA: of the first chunk; others 0 */
	uint64_t checksum;   /* set by header_encode and header_decode */
};

/* Writes the 40 header bytes, checksum over header and body included. -EINVAL a field that the format forbids. */
K2HFT_API int k2hft_frame_header_encode(struct k2hft_frame *frame, const void *body,
					uint8_t header[K2HFT_FRAME_HEADER_BYTES]);

/*
 * Reads a header. `body_bytes_max` bounds body and raw length. -EPROTO magic or version are another protocol's, which
 * the first bytes can show; -EAGAIN fewer than 40 bytes; -EMSGSIZE a length over the bound, or over
 * K2HFT_MESSAGE_BYTES_MAX if not DATA; -EBADMSG anything else that the format forbids.
 */
K2HFT_API int k2hft_frame_header_decode(const void *bytes, size_t byte_count, uint32_t body_bytes_max,
					struct k2hft_frame *frame);

/* Checks the checksum of header and body. -EBADMSG it differs. */
K2HFT_API int k2hft_frame_verify(const uint8_t header[K2HFT_FRAME_HEADER_BYTES], const struct k2hft_frame *frame,
				 const void *body);

/* Room that k2hft_frame_compress needs at most. */
K2HFT_API size_t k2hft_frame_compress_bound(size_t raw_bytes);

/* LZ4. Returns the compressed length, 0 if it would not be smaller; -EINVAL over K2HFT_FRAME_BODY_BYTES_MAX. */
K2HFT_API int k2hft_frame_compress(const void *raw, size_t raw_bytes, void *body, size_t body_room);

/* Exactly raw_bytes come out, or -EBADMSG. */
K2HFT_API int k2hft_frame_decompress(const void *body, size_t body_bytes, void *raw, size_t raw_bytes);

/* One chunk of a DATA frame's body. */
struct k2hft_chunk_view {
	struct k2hft_chunk chunk;
	const uint8_t *payload;
	size_t payload_bytes;
	uint64_t position; /* of its first byte */
	uint64_t end;      /* position behind it */
};

/*
 * The chunk at `*offset` of a raw body, which begins at `position`; moves `*offset` behind it. 1: a chunk; 0: the body
 * ended; -EBADMSG: it is not well formed (nothing is moved).
 */
K2HFT_API int k2hft_chunk_next(const void *body, size_t body_bytes, uint64_t position, size_t *offset,
			       struct k2hft_chunk_view *view);

/* Acknowledgement levels, k2hft-delivery(7). 0 is none: the default in options, not valid in a message. */
#define K2HFT_LEVEL_RECEIVED 1u
#define K2HFT_LEVEL_WRITTEN 2u
#define K2HFT_LEVEL_SYNCED 3u

/* ACK status: why the window does not grow. */
#define K2HFT_STATUS_OK 0u
#define K2HFT_STATUS_SLOW 1u
#define K2HFT_STATUS_FULL 2u   /* no room on the receiver's disk */
#define K2HFT_STATUS_FAILED 3u /* its output can't be written for another reason */

/* Codes of ERROR. */
#define K2HFT_ERROR_PROTOCOL 1u /* a rule of the format or of the order was broken */
#define K2HFT_ERROR_VERSION 2u  /* no common version or a required feature is missing */
#define K2HFT_ERROR_CHECKSUM 3u
#define K2HFT_ERROR_FENCED 4u  /* a newer epoch of this ring is or was connected */
#define K2HFT_ERROR_REFUSED 5u /* not allowed to connect */
#define K2HFT_ERROR_LIMIT 6u
#define K2HFT_ERROR_POSITION 7u /* a gap between chunks that nobody announced */

#define K2HFT_WELCOME_KNOWN 1u /* flag: the receiver had this ring in its ledger */

#define K2HFT_MESSAGE_BYTES_MAX 4096u /* body of any frame but DATA */
#define K2HFT_TEXT_BYTES_MAX 1023u

struct k2hft_hello {
	uint16_t version_min, version_max;
	uint32_t features_required, features_optional;
	uint8_t ring_uuid[16];
	uint64_t epoch;
	uint64_t acked;            /* end of the last chunk that was acknowledged to this ring */
	uint32_t frame_bytes_max;  /* that the sender would like */
	uint8_t level;             /* wanted */
	uint8_t receiver_uuid[16]; /* of the receiver that acknowledged last; zero: none */
	char host[K2HFT_STREAM_HOST_BYTES_MAX + 1];
	char software[64];
};

struct k2hft_welcome {
	uint16_t version;
	uint32_t features;
	uint64_t position; /* committed for this ring */
	uint64_t window_end;
	uint32_t frame_bytes_max;
	uint8_t level;
	uint8_t flags;
	uint8_t receiver_uuid[16];
	char software[64];
};

struct k2hft_stream_message {
	uint32_t stream_id;
	uint32_t mode;
	char path[K2HFT_STREAM_PATH_BYTES_MAX + 1];
	char host[K2HFT_STREAM_HOST_BYTES_MAX + 1]; /* "": HELLO's */
};

struct k2hft_ack {
	uint64_t position;   /* everything below is committed at `level` */
	uint64_t window_end; /* position up to which the sender may send */
	uint8_t level;
	uint8_t status;
};

struct k2hft_discard {
	uint64_t from, to;     /* positions */
	uint64_t record_count; /* 0: not known */
	uint8_t reason;
};
#define K2HFT_DISCARD_REPAIRED 1u
#define K2HFT_DISCARD_FULL 2u
#define K2HFT_DISCARD_EXPIRED 3u

struct k2hft_ping {
	uint64_t token;
};

struct k2hft_error_message {
	uint16_t code;
	char text[K2HFT_TEXT_BYTES_MAX + 1];
};

/*
 * Each message is written as a whole frame, header included, into `frame_room` bytes (header + K2HFT_MESSAGE_BYTES_MAX
 * is always enough), and read from a body that was verified. encode returns the bytes written: -EINVAL a string or
 * number is out of range, -ENOBUFS no room. decode: -EBADMSG. Strings come out terminated; a path is checked as
 * k2hft_stream_declare checks it.
 */
K2HFT_API int k2hft_hello_encode(const struct k2hft_hello *hello, uint8_t *bytes, size_t frame_room);
K2HFT_API int k2hft_hello_decode(const void *body, size_t body_bytes, struct k2hft_hello *hello);
K2HFT_API int k2hft_welcome_encode(const struct k2hft_welcome *welcome, uint8_t *bytes, size_t frame_room);
K2HFT_API int k2hft_welcome_decode(const void *body, size_t body_bytes, struct k2hft_welcome *welcome);
K2HFT_API int k2hft_stream_encode(const struct k2hft_stream_message *stream, uint8_t *bytes, size_t frame_room);
K2HFT_API int k2hft_stream_decode(const void *body, size_t body_bytes, struct k2hft_stream_message *stream);
K2HFT_API int k2hft_ack_encode(const struct k2hft_ack *ack, uint8_t *bytes, size_t frame_room);
K2HFT_API int k2hft_ack_decode(const void *body, size_t body_bytes, struct k2hft_ack *ack);
K2HFT_API int k2hft_discard_encode(const struct k2hft_discard *discard, uint8_t *bytes, size_t frame_room);
K2HFT_API int k2hft_discard_decode(const void *body, size_t body_bytes, struct k2hft_discard *discard);
/* `type` is PING, PONG or BYE (whose token is 0 or a position). */
K2HFT_API int k2hft_ping_encode(uint8_t type, const struct k2hft_ping *ping, uint8_t *bytes, size_t frame_room);
K2HFT_API int k2hft_ping_decode(const void *body, size_t body_bytes, struct k2hft_ping *ping);
K2HFT_API int k2hft_error_encode(const struct k2hft_error_message *error, uint8_t *bytes, size_t frame_room);
K2HFT_API int k2hft_error_decode(const void *body, size_t body_bytes, struct k2hft_error_message *error);

/* Whether `path` may name a stream: 0, or -EINVAL (rules at k2hft_stream_declare). */
K2HFT_API int k2hft_stream_path_check(const char *path, size_t path_bytes);

#ifdef __cplusplus
}
#endif

#endif
