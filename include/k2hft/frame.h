/* SPDX-License-Identifier: MIT */
#ifndef K2HFT_FRAME_H
#define K2HFT_FRAME_H

#include <stddef.h>
#include <stdint.h>

#include <k2hft/chunk.h>
#include <k2hft/visibility.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The wire format of k2hft-protocol(7), as pure functions for programs that receive or inspect it. They work on
 * buffers of the caller; they do no input or output, and allocate nothing but what the LZ4 library does. Any thread
 * may call them, and a child after fork(). Everything that is read is checked before it is used; what the format
 * forbids is -EBADMSG. Pointers into a body are valid as long as the body. All of them since 0.1.0.
 */
#define K2HFT_FRAME_HEADER_BYTES 40u
#define K2HFT_FRAME_BODY_BYTES_MAX (16u * 1024 * 1024)    /* the largest that can be agreed on */
#define K2HFT_FRAME_BODY_BYTES_INITIAL (1024u * 1024)     /* of DATA, until WELCOME grants more */
#define K2HFT_FRAME_BODY_BYTES_MIN K2HFT_CHUNK_BYTES_MAX  /* the least that WELCOME may grant */
#define K2HFT_FRAME_BODY_BYTES_DEFAULT (4u * 1024 * 1024) /* what a client asks for */
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

/* When DATA is compressed. */
#define K2HFT_COMPRESS_AUTO 0u /* while the network is the bottleneck */
#define K2HFT_COMPRESS_NEVER 1u
#define K2HFT_COMPRESS_ALWAYS 2u

struct k2hft_frame {
	uint8_t type;        /* enum k2hft_frame_type */
	uint16_t flags;      /* DATA: K2HFT_FRAME_LZ4 or 0; others: 0 */
	uint32_t body_bytes; /* length of the body on the wire */
	uint32_t raw_bytes;  /* length after decompression; without compression equal to body_bytes */
	uint32_t gap_bytes;  /* DATA: bytes of the ring just before `position` without records; others: 0 */
	uint64_t position;   /* DATA: of the first chunk; others: 0 */
	uint64_t checksum;   /* set by k2hft_frame_header_encode and k2hft_frame_header_decode */
};

/*
 * Writes the 40 bytes of the header, with the checksum over header and body, of which it reads frame->body_bytes
 * bytes. -EINVAL a field has a value that the format forbids.
 */
K2HFT_API int k2hft_frame_header_encode(struct k2hft_frame *frame, const void *body,
					uint8_t header[K2HFT_FRAME_HEADER_BYTES]);

/*
 * Reads a header from the first of `byte_count` bytes. `body_bytes_max` bounds both of its lengths.
 *
 * -EAGAIN there are fewer than 40 bytes, and so far they are right; -EPROTO the first bytes are another protocol's, or
 * another version's; -EMSGSIZE a length is over the bound, or over K2HFT_MESSAGE_BYTES_MAX in a frame other than DATA;
 * -EBADMSG the format forbids something else in it.
 */
K2HFT_API int k2hft_frame_header_decode(const void *bytes, size_t byte_count, uint32_t body_bytes_max,
					struct k2hft_frame *frame);

/*
 * Checks the checksum of header and body; `frame` is what k2hft_frame_header_decode made of `header`. -EBADMSG it is
 * wrong.
 */
K2HFT_API int k2hft_frame_verify(const uint8_t header[K2HFT_FRAME_HEADER_BYTES], const struct k2hft_frame *frame,
				 const void *body);

/* Returns the room that is always enough for k2hft_frame_compress; 0 for more than K2HFT_FRAME_BODY_BYTES_MAX bytes. */
K2HFT_API size_t k2hft_frame_compress_bound(size_t raw_bytes);

/*
 * Compresses `raw` into `body` as one LZ4 block. Returns its length, or 0 if it would not be smaller than `raw`, or
 * does not fit into `body_room` bytes. -EINVAL `raw_bytes` is more than K2HFT_FRAME_BODY_BYTES_MAX.
 */
K2HFT_API int k2hft_frame_compress(const void *raw, size_t raw_bytes, void *body, size_t body_room);

/* Decompresses an LZ4 block. -EBADMSG it is none, or its contents are not exactly `raw_bytes` bytes. */
K2HFT_API int k2hft_frame_decompress(const void *body, size_t body_bytes, void *raw, size_t raw_bytes);

/* A chunk of a DATA frame's body. */
struct k2hft_chunk_view {
	struct k2hft_chunk chunk;
	const uint8_t *payload; /* its records, one behind the other */
	size_t payload_bytes;
	uint64_t position; /* of its first byte */
	uint64_t end;      /* the position behind it */
};

/*
 * Describes the chunk at `*offset` of a body that is not compressed and begins at `position`, and moves `*offset`
 * behind it. The body can be that of a DATA frame or the memory of a k2hft_span. Returns 1, or 0 at the end of the
 * body. -EBADMSG the chunk is not well formed; `*offset` is not moved then.
 */
K2HFT_API int k2hft_chunk_next(const void *body, size_t body_bytes, uint64_t position, size_t *offset,
			       struct k2hft_chunk_view *view);

/* Acknowledgement levels, see k2hft-delivery(7). In options 0 is the default; in a message it is not valid. */
#define K2HFT_LEVEL_RECEIVED 1u
#define K2HFT_LEVEL_WRITTEN 2u
#define K2HFT_LEVEL_SYNCED 3u

/* Status of an ACK: why the window does not grow. */
#define K2HFT_STATUS_OK 0u
#define K2HFT_STATUS_SLOW 1u
#define K2HFT_STATUS_FULL 2u   /* there is no room on the receiver's disk */
#define K2HFT_STATUS_FAILED 3u /* the receiver can't write for another reason */

/* Codes of an ERROR. */
#define K2HFT_ERROR_PROTOCOL 1u /* a rule of the format or of the order was broken */
#define K2HFT_ERROR_VERSION 2u  /* no common version, or a required feature is missing */
#define K2HFT_ERROR_CHECKSUM 3u /* a checksum was wrong */
#define K2HFT_ERROR_FENCED 4u   /* a newer epoch of this ring is or was connected */
#define K2HFT_ERROR_REFUSED 5u  /* not allowed to connect */
#define K2HFT_ERROR_LIMIT 6u    /* something was over a limit */
#define K2HFT_ERROR_POSITION 7u /* a hole between positions that nobody announced, or a position that can't be */

/* Flags of a WELCOME. */
#define K2HFT_WELCOME_KNOWN 1u  /* the receiver had this ring in its ledger */
#define K2HFT_WELCOME_COPIED 2u /* the last of it came from a copy that has the same chunks (K2HFT_HELLO_COPY) */

#define K2HFT_MESSAGE_BYTES_MAX 4096u /* body of any frame but DATA */
#define K2HFT_TEXT_BYTES_MAX 1023u    /* of the text of an ERROR */

/* A receiver that may have more of the ring than it has acknowledged: another one has gone on behind it. */
struct k2hft_unsettled {
	uint8_t receiver_uuid[16];
	uint64_t position; /* end of the last chunk that it has acknowledged */
};
#define K2HFT_UNSETTLED_MAX 8u

struct k2hft_hello {
	uint16_t version_min, version_max;             /* that the sender speaks; K2HFT_FRAME_VERSION */
	uint32_t features_required, features_optional; /* bits; version 1 defines none */
	uint8_t ring_uuid[16];
	uint64_t epoch;            /* how often the ring was opened */
	uint64_t acked;            /* end of the last chunk of this ring that was acknowledged */
	uint32_t frame_bytes_max;  /* wanted largest body of DATA */
	uint8_t level;             /* wanted; K2HFT_LEVEL_* */
	uint8_t flags;             /* K2HFT_HELLO_* */
	uint8_t receiver_uuid[16]; /* of the receiver that acknowledged last; all zero: none */
	uint64_t opening;          /* random, of this opening of the ring; 0: not told */
	uint32_t attempt;          /* counts the HELLOs of this opening; 0: not told */
	uint8_t unsettled_count;
	struct k2hft_unsettled unsettled[K2HFT_UNSETTLED_MAX];
	char host[K2HFT_STREAM_HOST_BYTES_MAX + 1]; /* the sending host */
	char software[64];                          /* name and version of the sender, for people */
};
/* Flags of a HELLO. */
#define K2HFT_HELLO_BEGINS 1u /* nothing up to `acked` was acknowledged under ring_uuid, which is new */
#define K2HFT_HELLO_COPY 2u   /* the ring is a copy of this one: it sends no other chunks than the original has */

struct k2hft_welcome {
	uint16_t version;           /* chosen: K2HFT_FRAME_VERSION */
	uint32_t features;          /* chosen: all that are required, and any of the optional ones */
	uint64_t position;          /* committed for this ring */
	uint64_t window_end;        /* position up to which the sender may send */
	uint32_t frame_bytes_max;   /* granted: K2HFT_FRAME_BODY_BYTES_MIN to K2HFT_FRAME_BODY_BYTES_MAX */
	uint8_t level;              /* of every ACK of this connection; K2HFT_LEVEL_* */
	uint8_t flags;              /* K2HFT_WELCOME_* */
	uint8_t receiver_uuid[16];  /* of this receiver, not all zero */
	uint64_t cut_records;       /* settled: it had them beyond its position in HELLO's list, and has cut them off */
	uint64_t retracted_records; /* settled: they stay where they are, and its list of retracted ranges names them */
	char software[64];          /* name and version of the receiver, for people */
};

struct k2hft_stream_message {
	uint32_t stream_id; /* that chunks of this connection carry from now on */
	uint32_t mode;      /* K2HFT_STREAM_TEXT or K2HFT_STREAM_BINARY */
	char path[K2HFT_STREAM_PATH_BYTES_MAX + 1];
	char host[K2HFT_STREAM_HOST_BYTES_MAX + 1]; /* "": that of HELLO */
};

struct k2hft_ack {
	uint64_t position;   /* everything below is committed at `level`; where a chunk or a gap ends */
	uint64_t window_end; /* position up to which the sender may send */
	uint8_t level;       /* that of WELCOME */
	uint8_t status;      /* K2HFT_STATUS_* */
};

struct k2hft_discard {
	uint64_t from, to;     /* positions: the range that never comes */
	uint64_t record_count; /* in it; 0: not known */
	uint8_t reason;        /* K2HFT_DISCARD_* */
};
#define K2HFT_DISCARD_REPAIRED 1u /* the ring was damaged */
#define K2HFT_DISCARD_FULL 2u     /* the ring was full */
#define K2HFT_DISCARD_EXPIRED 3u  /* the records were too old */

struct k2hft_ping {
	uint64_t token; /* PONG: that of the PING; BYE: 0, or the end of a ring that ends */
};

struct k2hft_error_message {
	uint16_t code; /* K2HFT_ERROR_*, not 0 */
	char text[K2HFT_TEXT_BYTES_MAX + 1];
};

/*
 * encode writes a message as a whole frame, header included, into `frame_room` bytes, of which
 * K2HFT_FRAME_HEADER_BYTES + K2HFT_MESSAGE_BYTES_MAX are always enough, and returns how many it has written. -EINVAL a
 * number is out of range, or a string is not terminated or not allowed; -ENOBUFS the frame does not fit.
 *
 * decode reads the body of a frame of that type that k2hft_frame_verify has found right. Strings come out terminated;
 * a path is checked by k2hft_stream_path_check. -EBADMSG the body is not what the format wants.
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
/* `type` is K2HFT_FRAME_PING, _PONG or _BYE; decode reads all three. The token of a BYE is 0 or a position. */
K2HFT_API int k2hft_ping_encode(uint8_t type, const struct k2hft_ping *ping, uint8_t *bytes, size_t frame_room);
K2HFT_API int k2hft_ping_decode(const void *body, size_t body_bytes, struct k2hft_ping *ping);
K2HFT_API int k2hft_error_encode(const struct k2hft_error_message *error, uint8_t *bytes, size_t frame_room);
K2HFT_API int k2hft_error_decode(const void *body, size_t body_bytes, struct k2hft_error_message *error);

/*
 * Returns 0 if `path`, which need not be terminated, may name a stream: it has 1 to 1023 bytes and none of them is
 * NUL; its parts between slashes have 1 to 255 bytes and are not "." or "..", so it does not begin or end with a
 * slash. -EINVAL it may not.
 */
K2HFT_API int k2hft_stream_path_check(const char *path, size_t path_bytes);

#ifdef __cplusplus
}
#endif

#endif
