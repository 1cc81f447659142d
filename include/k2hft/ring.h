/* SPDX-License-Identifier: MIT */
#ifndef K2HFT_RING_H
#define K2HFT_RING_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <k2hft/visibility.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A ring is queue, spool and retransmission buffer at once, in a memory mapping that processes can share: many
 * producers, one consumer. Its entries are chunks in the form in which they go over the wire, so a run of them is
 * sent without being copied. k2hft-ring(7) describes memory order and lifetimes.
 *
 *      acked <= head <= read <= tail,   tail - head <= ring_bytes
 *
 * Positions are byte offsets that only grow; (uuid, position) names a chunk for ever.
 *
 * "Consumer only": one thread at a time, of the process that opened the ring; -EINVAL for one that has attached to it.
 */
struct k2hft_ring;
struct k2hft_producer;

#define K2HFT_CHUNK_BYTES_MAX (2u * 1024 * 1024) /* an entry, header and padding included */
#define K2HFT_CHUNK_HEADER_BYTES 32u
#define K2HFT_RING_BYTES_MIN (64u * 1024)
#define K2HFT_RING_BYTES_MAX (UINT64_C(1) << 40)
#define K2HFT_RING_BYTES_DEFAULT (64u * 1024 * 1024)
#define K2HFT_STREAM_PATH_BYTES_MAX 1023u
#define K2HFT_STREAM_HOST_BYTES_MAX 255u

/* What k2hft_ring_options.flags takes. */
#define K2HFT_RING_FRESH 1u     /* a file that exists is started afresh: new uuid, empty */
#define K2HFT_RING_TEMPORARY 2u /* path names a directory: a file without a name there, gone with the process */

struct k2hft_ring_options {
	size_t size;      /* sizeof(struct k2hft_ring_options) */
	const char *path; /* NULL: anonymous memory (memfd) */
	uint64_t
		ring_bytes; /* rounded up to a power of two; 0: K2HFT_RING_BYTES_DEFAULT; of an existing file: its own */
	uint32_t flags;
	uint32_t reserved; /* 0 */
};

/* What a chunk says of its records. */
#define K2HFT_CHUNK_CONTINUES 1u /* the last record goes on in the next chunk of this stream and writer */
#define K2HFT_CHUNK_CONTINUED 2u /* the first record began in an earlier chunk of this stream and writer */

struct k2hft_chunk {
	uint32_t stream_id;    /* from k2hft_stream_declare */
	uint32_t record_count; /* records that end in this chunk, one more if it CONTINUES */
	uint64_t time_ns;      /* when they were written: CLOCK_REALTIME */
	uint32_t writer_pid;
	uint16_t flags;    /* K2HFT_CHUNK_* */
	uint16_t reserved; /* 0 */
};

#define K2HFT_STREAM_TEXT 0u
#define K2HFT_STREAM_BINARY 1u

struct k2hft_stream {
	const char *path;  /* relative, below the mount: no leading slash, no "..", 1..1023 bytes */
	const char *host;  /* "" or NULL: the host that sends */
	uint32_t mode;     /* K2HFT_STREAM_TEXT: records end at LF. K2HFT_STREAM_BINARY: a chunk is a record */
	uint32_t reserved; /* 0 */
};

/* A run of committed chunks, contiguous in memory, without padding between them. */
struct k2hft_span {
	const void *data;
	size_t bytes;
	uint64_t position;     /* of the first chunk */
	uint64_t record_count; /* as the chunks say */
	uint32_t chunk_count;
	uint32_t gap_bytes; /* ring bytes just before `position` that hold no records */
};

struct k2hft_ring_stats {
	size_t size; /* sizeof, set by the caller */
	uint8_t uuid[16];
	uint64_t epoch; /* how often this ring was opened by a consumer */
	uint64_t ring_bytes;
	uint64_t tail, read, acked, head;
	uint64_t committed_records, committed_bytes; /* payload, since the ring was made */
	uint64_t acked_records;
	uint64_t discarded_claims; /* of producers that died before they committed */
	uint64_t damaged_bytes;    /* skipped because an entry was not valid */
	uint32_t producers;        /* attached now */
	uint32_t streams;          /* declared now */
	/* What became of its records, whichever processes wrote and sent them; since the ring was made. */
	uint64_t dropped_records; /* not accepted: the ring was full, and K2HFT_FULL_DROP */
	uint64_t expired_records; /* given up: k2hft_client_options.expire_s */
	uint64_t unknown_records; /* given up: their stream is not declared */
	uint64_t repaired_places; /* as k2hft_ring_repair returns */
	uint64_t connects, connect_failures, refusals,
		ledger_lost; /* as in struct k2hft_client_stats, as what follows */
	uint64_t discarded_ranges, sent_frames, sent_records, sent_bytes, resent_frames, compressed_frames;
	uint64_t refused_writes; /* calls of k2hft_writer_* that took nothing, or not all, and said so */
	uint64_t pieces;         /* of records that writers cut since they were too long, but for the last of each */
};

/*
 * Makes a ring, or opens the file at `path` if it is a ring already (its uuid, positions and streams go on, claims of
 * producers that are gone are discarded, damaged entries are skipped and counted). The caller is its one consumer.
 * The file is created with mode 0600 and allocated whole. `*ring` is freed by k2hft_ring_close. Not in a signal
 * handler. After fork() the child must not use it, nor anything opened from it; it can attach.
 * -EINVAL an option is out of range; -EBUSY another process is the consumer of this file now; -ENOSPC no room for
 * it; -EFBIG it would be over RLIMIT_FSIZE; -EPROTO the file is not a ring, or of a layout that this version does not
 * know; others as open(2), mmap(2), memfd_create(2), posix_fallocate(3) and fdatasync(2) give them. Since 0.1.0.
 */
K2HFT_API int k2hft_ring_open(const struct k2hft_ring_options *options, struct k2hft_ring **ring);

/*
 * Attaches to a ring that another process consumes, to produce into it: `path` is its file, or the link
 * .k2hft-ring in the root of a mount, which leads to the mount's ring. Needs read and write permission on it.
 * -EPROTO not a ring, or another layout; -ENOTCONN it has no consumer now; -ENOSPC all places are taken; -EFBIG
 * RLIMIT_FSIZE is less than 4096; others as open(2) and mmap(2). Since 0.1.0.
 */
K2HFT_API int k2hft_ring_attach(const char *path, struct k2hft_ring **ring);

/*
 * Unmaps; a consumer also marks the ring clean and gives up its consumer's place. All producers opened from it must be
 * closed before. NULL is allowed. Since 0.1.0.
 */
K2HFT_API void k2hft_ring_close(struct k2hft_ring *ring);

/* A snapshot; any thread. -EINVAL: its size is not set. Since 0.1.0. */
K2HFT_API int k2hft_ring_stats(const struct k2hft_ring *ring, struct k2hft_ring_stats *stats);

/* Descriptor of the memory or file; it stays the ring's. Since 0.1.0. */
K2HFT_API int k2hft_ring_descriptor(const struct k2hft_ring *ring);

/*
 * Header and one line per entry, for people; any thread. The ring may be in use: what is written meanwhile can show as no
 * entry, and that both happen at once is a data race in the sense of C. -EIO: the output failed. Since 0.1.0.
 */
K2HFT_API int k2hft_ring_dump(const struct k2hft_ring *ring, FILE *output);

/*
 * Walks head .. tail without changing anything. 0: every entry is well formed; > 0: that many places are not (a
 * claim that is being written now is none). Consumer, or nobody else at work. Since 0.1.0.
 */
K2HFT_API int k2hft_ring_validate(const struct k2hft_ring *ring);

/*
 * Turns each place that k2hft_ring_validate counts into skipped bytes, and claims of dead producers into discarded
 * ones. Returns how many places it mended; k2hft_ring_stats counts the bytes. Consumer only. Since 0.1.0.
 */
K2HFT_API int k2hft_ring_repair(struct k2hft_ring *ring);

/*
 * Gives the stream a number that chunks can carry. The same path, host and mode give the same number again, from any
 * process. Each declare wants one k2hft_stream_release; what only an attached process that has ended had declared is taken
 * back when the table is full. Any thread; takes a short lock among declarers only.
 * -EINVAL a path that is empty, absolute, longer than 1023 bytes, or has a part that is empty, "." or "..", or longer than
 * 255 bytes; a host over 255 bytes or with control characters; another mode; -ENOSPC the table is full of streams in use;
 * others as fcntl(2) for a lock on the file. Since 0.1.0.
 */
K2HFT_API int k2hft_stream_declare(struct k2hft_ring *ring, const struct k2hft_stream *stream, uint32_t *stream_id);

/*
 * Takes one declare back: after the last one the number may be given to another stream once all its chunks are
 * acknowledged. -EINVAL not declared; others as k2hft_stream_declare's for its lock. Any thread. Since 0.1.0.
 */
K2HFT_API int k2hft_stream_release(struct k2hft_ring *ring, uint32_t stream_id);

/*
 * Copies of what was declared: strings live as long as the declaration. `*generation` changes when the number is given
 * to another stream. Consumer only. -ENOENT not declared, or not the consumer; -ENOMEM. Since 0.1.0.
 */
K2HFT_API int k2hft_stream_find(struct k2hft_ring *ring, uint32_t stream_id, struct k2hft_stream *stream,
				uint32_t *generation);

/*
 * One writer into the ring. Not for two threads at once: each thread opens its own. -ENOSPC: all places are taken;
 * -ENOMEM. Since 0.1.0.
 */
K2HFT_API int k2hft_producer_open(struct k2hft_ring *ring, struct k2hft_producer **producer);

/* Discards what is reserved. NULL is allowed. Since 0.1.0. */
K2HFT_API void k2hft_producer_close(struct k2hft_producer *producer);

/*
 * Claims room for `bytes` of payload and gives its address; lock-free, no system call. The claim must be committed or
 * discarded soon: the consumer does not pass it. `*payload` is aligned to 8.
 * -EAGAIN no room now; -EMSGSIZE never fits: over K2HFT_CHUNK_BYTES_MAX or a quarter of the ring with header;
 * -EBUSY this producer has one reserved already. Since 0.1.0.
 */
K2HFT_API int k2hft_producer_reserve(struct k2hft_producer *producer, size_t bytes, void **payload);

/*
 * Publishes `bytes` of the reserved payload beginning at `offset`; the rest before and behind is given back (behind:
 * if nobody claimed since, else it stays a gap until the consumer passes). Wakes the consumer if it sleeps. Errors
 * leave the claim as it is: -EINVAL nothing reserved, range outside of it, bytes = 0, or a field of `chunk` can't be:
 * record_count is 1 to `bytes`, stream_id was declared. Since 0.1.0.
 */
K2HFT_API int k2hft_producer_commit(struct k2hft_producer *producer, const struct k2hft_chunk *chunk, size_t offset,
				    size_t bytes);

/* Gives the claim back. -EINVAL nothing reserved. Since 0.1.0. */
K2HFT_API int k2hft_producer_discard(struct k2hft_producer *producer);

/* reserve, memcpy, commit. Errors as theirs; nothing was written then. Since 0.1.0. */
K2HFT_API int k2hft_producer_push(struct k2hft_producer *producer, const struct k2hft_chunk *chunk, const void *data,
				  size_t bytes);

/*
 * Waits until the consumer has freed room since a reserve of this thread (if none has, the last of this process) gave
 * -EAGAIN, or `timeout_ms` is over (-1: no limit).
 * -ETIMEDOUT; -EINTR a signal came; -EIO futex(2) is refused; -EPIPE the consumer of an attached ring is gone, and no
 * other can come, since no file has its name and no mount keeps it. Since 0.1.0.
 */
K2HFT_API int k2hft_ring_space_wait(struct k2hft_ring *ring, int timeout_ms);

/*
 * The next committed chunks from `read` on, up to `bytes_max` (at least one chunk, however large) and `records_max`
 * (0: any); moves `read` behind them. Returns how many chunks, 0 if none: then `*claimed` (if not NULL) tells whether
 * a claim stands in the way. The memory stays until k2hft_ring_release. -EBADMSG the entry at `read` is not valid: see
 * k2hft_ring_repair. Consumer only. Since 0.1.0.
 */
K2HFT_API int k2hft_ring_read(struct k2hft_ring *ring, size_t bytes_max, uint64_t records_max, struct k2hft_span *span,
			      int *claimed);

/*
 * Moves `read` back (or forward) to `position`, an entry's begin between acked and tail. Up to head there are gaps only:
 * `read` is then head, and the next span's gap_bytes counts from acked. -EINVAL else. Consumer only. Since 0.1.0.
 */
K2HFT_API int k2hft_ring_rewind(struct k2hft_ring *ring, uint64_t position);

/*
 * Everything below `position` (the end of a chunk that was read) is acknowledged: the room is free again, producers
 * that wait are woken. -EINVAL outside of acked .. read. Consumer only. Since 0.1.0.
 */
K2HFT_API int k2hft_ring_release(struct k2hft_ring *ring, uint64_t position);

/*
 * A claim at `read` whose producer is dead is discarded. Returns 1 if so, 0 if its producer lives. Consumer only; to
 * be called when a claim stands in the way for long. Since 0.1.0.
 */
K2HFT_API int k2hft_ring_recover(struct k2hft_ring *ring);

/*
 * Descriptor that becomes readable when k2hft_ring_sleep was called and something was committed since. It stays the
 * ring's. Consumer only. Since 0.1.0.
 */
K2HFT_API int k2hft_ring_wake_descriptor(const struct k2hft_ring *ring);

/*
 * To be called before waiting on k2hft_ring_wake_descriptor. 1: nothing is there, wait. 0: something came meanwhile,
 * don't: chunks, or a claim of which the last k2hft_ring_read did not tell. Consumer only. Since 0.1.0.
 */
K2HFT_API int k2hft_ring_sleep(struct k2hft_ring *ring);

/* Empties the wake descriptor after the wait. Consumer only. Since 0.1.0. */
K2HFT_API void k2hft_ring_awake(struct k2hft_ring *ring);

#ifdef __cplusplus
}
#endif

#endif
