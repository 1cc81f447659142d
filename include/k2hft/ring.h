/* SPDX-License-Identifier: MIT */
#ifndef K2HFT_RING_H
#define K2HFT_RING_H

#include <stddef.h>
#include <stdint.h>

#include <k2hft/chunk.h>
#include <k2hft/visibility.h>

#ifdef __cplusplus
extern "C" {
/* A structure has the name of the function that fills it, as with stat(2). */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
#endif

/*
 * A ring is a queue, a spool and a retransmission buffer in one, in memory that processes can share. It has many
 * producers and one consumer. Its entries are chunks in the form in which they go over the wire, so a run of them is
 * sent without being copied. k2hft-ring(7) describes the order of memory accesses, and lifetimes.
 *
 *      acked <= head <= read <= tail,   tail - head <= ring_bytes
 *
 * Positions are byte offsets that only grow; (uuid, position) names a chunk for ever.
 *
 * "Consumer only" means: one thread at a time, of the process that opened the ring. On a ring from k2hft_ring_attach
 * such a function does nothing and returns -EINVAL, if it returns anything. A ring that has a client is consumed by
 * that client, and by nobody else.
 *
 * After fork() a child must not use a ring of its parent, nor anything opened from it; it can attach to the ring.
 */
struct k2hft_ring;
struct k2hft_producer;

#define K2HFT_RING_BYTES_MIN (64u * 1024)
#define K2HFT_RING_BYTES_MAX (UINT64_C(1) << 40)
#define K2HFT_RING_BYTES_DEFAULT (64u * 1024 * 1024)

/* ---- a ring: made, found, and what all may ask it */

/* Flags of k2hft_ring_options. */
#define K2HFT_RING_FRESH 1u     /* replaces a ring that exists by an empty one with a new uuid */
#define K2HFT_RING_TEMPORARY 2u /* `path` is a directory; the file in it has no name and ends with the process */

struct k2hft_ring_options {
	size_t size;      /* sizeof(struct k2hft_ring_options) */
	const char *path; /* NULL: anonymous memory (memfd) */
	/* Rounded up to a power of two; 0: K2HFT_RING_BYTES_DEFAULT. A ring file that exists keeps its own size. */
	uint64_t ring_bytes;
	uint32_t flags;
	uint32_t reserved; /* 0 */
};

/* An initialiser with the size set and all else as 0. */
#define K2HFT_RING_OPTIONS_INIT                                                                                        \
	{                                                                                                              \
		sizeof(struct k2hft_ring_options), NULL, 0, 0, 0                                                       \
	}

#define K2HFT_RECEIVER_BYTES_MAX 303u /* of a client's HOST:PORT, as k2hft_client_observe tells it */

/* Fields that tell what a client did. */
#define K2HFT_CLIENT_COUNTS                                                                                            \
	uint64_t connects;         /* connections that were welcomed */                                                \
	uint64_t connect_failures; /* attempts that were not */                                                        \
	uint64_t refusals;         /* connections that the receiver ended with an ERROR */                             \
	uint64_t ledger_lost;      /* the receiver did not know a ring that it had acknowledged */                     \
	uint64_t discarded_ranges; /* given up (expired, damaged): DISCARDs; counted again when announced again */     \
	uint64_t sent_frames;      /* DATA */                                                                          \
	uint64_t sent_records;     /* in them; counted again when they are sent again */                               \
	uint64_t sent_bytes;       /* of those frames on the wire, with their headers */                               \
	uint64_t resent_frames;    /* that begin where something was sent before */                                    \
	uint64_t compressed_frames /* of sent_frames */

/*
 * Positions and counters of a ring. From dropped_records on they tell what became of records since the ring was made,
 * whichever processes wrote and sent them; a later version adds its own at the end.
 */
struct k2hft_ring_stats {
	size_t size; /* sizeof, set by the caller */
	uint8_t uuid[16];
	uint64_t epoch; /* how often a consumer has opened this ring, or went to another receiver */
	uint64_t ring_bytes;
	uint64_t payload_bytes_max; /* of one chunk of this ring; k2hft_producer_reserve takes no more */
	uint64_t tail, read, acked, head;
	uint64_t committed_records, committed_bytes; /* payload, since the ring was made */
	uint64_t acked_records;
	uint64_t unacked_records;   /* committed, not acknowledged, and not given up */
	uint64_t discarded_claims;  /* of producers that died before they committed them */
	uint64_t damaged_bytes;     /* skipped because no valid entry was there */
	uint32_t producers;         /* open now; those of a killed process count until the next one attaches */
	uint32_t streams;           /* declared now */
	uint64_t streams_forgotten; /* 1: when this handle opened it, declarations made before counted no longer */
	uint64_t dropped_records;   /* not accepted: the ring was full, and K2HFT_FULL_DROP */
	uint64_t expired_records;   /* given up: k2hft_client_options.expire_s */
	uint64_t unknown_records;   /* given up: their stream is not declared */
	uint64_t repaired_places;   /* that k2hft_ring_repair mended */
	K2HFT_CLIENT_COUNTS;        /* of all clients that the ring has had */
	uint64_t refused_writes;    /* calls of k2hft_writer_write and _lines that returned an error */
	uint64_t pieces; /* of records that were too long for one chunk; the last piece of each does not count */
	uint64_t moves, settled_records, retracted_records; /* as in struct k2hft_client_stats, of all clients */
	uint64_t unarchived_records; /* sent and not put into archive_path of struct k2hft_client_options: it failed */
	uint64_t waiting_producers;  /* in k2hft_ring_space_wait now; those of a killed process count on */
};

/* An initialiser with the size set and all else as 0. */
#define K2HFT_RING_STATS_INIT                                                                                          \
	{                                                                                                              \
		sizeof(struct k2hft_ring_stats), {0}, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,   \
			0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0                                                 \
	}

/*
 * Makes a ring, or opens the ring file at `path`, whose uuid, positions and streams it then keeps; claims of producers
 * that are gone are discarded, damaged entries are skipped and counted. A file that was copied gets another uuid. The
 * caller becomes the ring's one consumer. A new file has mode 0600 and is allocated as a whole. Free `*ring` with
 * k2hft_ring_close. Any thread.
 *
 * -EINVAL an option is out of range or not known; -EBUSY this process or another one is the consumer of the file now or
 * keeps it for the next one, or another process kept a lock on byte 1 of the file for a second; -ENOSPC there is no room
 * for the file; -EFBIG it would exceed RLIMIT_FSIZE; -EPROTO the file is not a ring, or has a layout that this version
 * does not know; -ELOOP `path` is a symbolic link, and not one of k2hft_ring_keep; -EPERM the file is another user's, and
 * others than its owner and root can rename files in its directory; -EMFILE no descriptors are left (a ring takes four);
 * -ENOMEM; others as open(2), mmap(2), memfd_create(2), posix_fallocate(3), fdatasync(2), link(2), rename(2), and fcntl(2)
 * for a lock on the file. Since 0.1.0.
 */
K2HFT_API int k2hft_ring_open(const struct k2hft_ring_options *options, struct k2hft_ring **ring);

/*
 * Attaches to a ring that another process consumes, in order to produce into it. `path` is the ring's file, or the
 * link .k2hft-ring in the root of a mount, which leads to the mount's ring; it must be readable and writable. Free
 * `*ring` with k2hft_ring_close. Any thread.
 *
 * -ENOTCONN the ring has no consumer now; -EPROTO the file is not a ring, or has another layout; -ENOSPC all 1024
 * places for producers and attached processes are taken; -EFBIG RLIMIT_FSIZE is less than 4096; -ENOMEM; others as
 * open(2) and mmap(2). Since 0.1.0.
 */
K2HFT_API int k2hft_ring_attach(const char *path, struct k2hft_ring **ring);

/*
 * Unmaps and frees the ring; a consumer also marks it clean and gives up the consumer's place. Its producers and its
 * client must be closed before, and no other thread may use it any more. NULL is allowed. Since 0.1.0.
 */
K2HFT_API void k2hft_ring_close(struct k2hft_ring *ring);

/*
 * Copies positions and counters, each at its own moment. Any thread. -EINVAL `stats` is NULL, or its size is not set.
 * Since 0.1.0.
 */
K2HFT_API int k2hft_ring_stats(const struct k2hft_ring *ring, struct k2hft_ring_stats *stats);

/* Returns the descriptor of the ring's memory or file. It belongs to the ring. Any thread. Since 0.1.0. */
K2HFT_API int k2hft_ring_descriptor(const struct k2hft_ring *ring);

/*
 * Returns the memory in which each address of k2hft_producer_reserve lies, for calls such as mlock(2) and madvise(2),
 * and its length in `*bytes`: twice ring_bytes and more, since the data are mapped twice in a row, and small areas behind
 * them. Any thread. Since 0.1.0.
 */
K2HFT_API void *k2hft_ring_memory(const struct k2hft_ring *ring, size_t *bytes);

/* ---- streams: declared by producers, found by the consumer */

#define K2HFT_STREAM_COUNT_MAX 4096u

struct k2hft_stream {
	const char *path;  /* relative, 1 to 1023 bytes; k2hft_stream_path_check has the rules */
	const char *host;  /* up to 255 bytes without control characters; "" or NULL: the sending host */
	uint32_t mode;     /* K2HFT_STREAM_TEXT: a record ends at LF; K2HFT_STREAM_BINARY: a chunk is a record */
	uint32_t reserved; /* 0 */
};

/*
 * Gives the stream a number, which is not 0, for chunks to carry. The same path, host and mode get the same number, in
 * every process. Release each declaration once; those of an attached process that has ended are taken back when the
 * table is full. Any thread; declarers wait for each other.
 *
 * -EINVAL the path is not allowed (see k2hft_stream_path_check), the host has more than 255 bytes or control
 * characters, the mode is neither of the two, or reserved is not 0; -ENOSPC K2HFT_STREAM_COUNT_MAX streams are in use;
 * -EBUSY an attached process that was stopped while it declared kept the table for 20 ms (asked from an attached
 * process: for 1 s). Since 0.1.0.
 */
K2HFT_API int k2hft_stream_declare(struct k2hft_ring *ring, const struct k2hft_stream *stream, uint32_t *stream_id);

/*
 * Takes back one declaration. After the last one no chunk can be committed with the number, and it can be given to
 * another stream once those that were are acknowledged. Any thread; waits for nobody. -EINVAL the number is not
 * declared. Since 0.1.0.
 */
K2HFT_API int k2hft_stream_release(struct k2hft_ring *ring, uint32_t stream_id);

/*
 * Takes back a declaration of a caller that has committed no chunk with the number: after the last one it waits only
 * for chunks of others. Any thread. -EINVAL the number is not declared. Since 0.1.0.
 */
K2HFT_API int k2hft_stream_withdraw(struct k2hft_ring *ring, uint32_t stream_id);

/*
 * Gives what was declared, as copies that other processes can't change. The strings live until the number is given to
 * another stream, or the ring is closed; `*generation` tells one stream of a number from the next. Consumer only.
 * -ENOENT the number is not declared, or the ring was attached to; -ENOMEM. Since 0.1.0.
 */
K2HFT_API int k2hft_stream_find(struct k2hft_ring *ring, uint32_t stream_id, struct k2hft_stream *stream,
				uint32_t *generation);

/* ---- producers */

/*
 * Opens a producer, through which one thread at a time writes into the ring. Any thread may open one; each has its
 * own. Free it with k2hft_producer_close. -ENOSPC all 1024 places for producers and attached processes are taken;
 * -ENOMEM. Since 0.1.0.
 */
K2HFT_API int k2hft_producer_open(struct k2hft_ring *ring, struct k2hft_producer **producer);

/* Discards what is reserved and frees the producer. NULL is allowed. Since 0.1.0. */
K2HFT_API void k2hft_producer_close(struct k2hft_producer *producer);

/*
 * Claims room for `bytes` bytes of payload and stores its address, a multiple of 8, in `*payload`. The address is
 * valid until the claim is committed or discarded. Do that soon: the consumer does not pass a claim. Takes no lock and
 * makes no system call.
 *
 * -EAGAIN there is no room now, see k2hft_ring_space_wait; -EMSGSIZE it never fits: with its header of 32 bytes a
 * chunk takes at most 2 MiB (K2HFT_CHUNK_BYTES_MAX) and a quarter of the ring; -EBUSY this producer has a claim
 * already. Since 0.1.0.
 */
K2HFT_API int k2hft_producer_reserve(struct k2hft_producer *producer, size_t bytes, void **payload);

/*
 * Publishes `bytes` bytes of the reserved payload, from `offset` on, as one chunk, and wakes the consumer if it
 * sleeps. The rest is given back: what lies behind them at once, if nobody has claimed room since; all else when the
 * consumer has passed it.
 *
 * -EINVAL nothing is reserved, `bytes` is 0, or the range is not within what is reserved; or in `chunk` record_count
 * is not 1 to `bytes`, stream_id is not declared, flags has an unknown bit, or reserved is not 0. The claim then
 * stays. Since 0.1.0.
 */
K2HFT_API int k2hft_producer_commit(struct k2hft_producer *producer, const struct k2hft_chunk *chunk, size_t offset,
				    size_t bytes);

/* Gives the whole claim back. -EINVAL nothing is reserved. Since 0.1.0. */
K2HFT_API int k2hft_producer_discard(struct k2hft_producer *producer);

/*
 * Reserves, copies and commits in one call. -EAGAIN, -EMSGSIZE and -EBUSY as k2hft_producer_reserve, -EINVAL as
 * k2hft_producer_commit; nothing is written then, and nothing more is reserved. Since 0.1.0.
 */
K2HFT_API int k2hft_producer_push(struct k2hft_producer *producer, const struct k2hft_chunk *chunk, const void *data,
				  size_t bytes);

/*
 * Returns the position at which the claim begins, or at which the last one began. A program that notes it before the
 * commit can find out after its own death, with k2hft_ring_committed, whether the commit took place. Since 0.1.0.
 */
K2HFT_API uint64_t k2hft_producer_position(const struct k2hft_producer *producer);

/* Adds to dropped_records: the program gave `record_count` records up, since the ring was full. Since 0.1.0. */
K2HFT_API void k2hft_producer_drop(struct k2hft_producer *producer, uint64_t record_count);

/*
 * Waits, at most `timeout_ms` milliseconds (-1: no limit; 0: only looks), until a reserve of `bytes` bytes of payload
 * would find room. Other producers can be faster: reserve again, and wait again. Any thread, also of a process that is
 * attached.
 *
 * -ETIMEDOUT; -EMSGSIZE a reserve of so much never finds room; -EINTR a signal handler ran, whether it was installed
 * with SA_RESTART or not; -EIO a filter of system calls refuses futex(2); -EPIPE the ring was attached to, its consumer
 * is gone and none can take its place: it is in memory, or its file was removed or replaced, and nobody keeps it
 * (k2hft_ring_keep). Since 0.1.0.
 */
K2HFT_API int k2hft_ring_space_wait(struct k2hft_ring *ring, size_t bytes, int timeout_ms);

/*
 * Returns how many bytes must be acknowledged until a reserve of `bytes` bytes of payload stays in the few MiB that a large
 * ring uses while its consumer keeps up, see "Areas" in k2hft-ring(7); 0: it would now. A reserve takes whatever the ring
 * has; a program that can wait for a moment while much is acknowledged spares memory and the processor's caches. Any
 * thread. Since 0.1.0.
 */
K2HFT_API uint64_t k2hft_ring_space_lack(const struct k2hft_ring *ring, size_t bytes);

/* ---- the consumer */

/* A run of committed chunks, contiguous in memory and without gaps; k2hft_chunk_next takes it apart. */
struct k2hft_span {
	const void *data;
	size_t bytes;
	uint64_t position;     /* of the first chunk */
	uint64_t record_count; /* the sum of the chunks' */
	uint32_t chunk_count;
	uint32_t gap_bytes; /* bytes of the ring just before `position` without records */
};

/*
 * Gives the next committed chunks as one span and moves the read position behind them. The span has at most
 * `bytes_max` bytes and `records_max` records (0: any number), but at least one chunk; its memory stays as it is until
 * it is released. Returns the number of chunks. If that is 0, `*claimed` (unless `claimed` is NULL) says whether a
 * producer's claim stands in the way (1) or the ring is empty (0). Consumer only. -EBADMSG the entry at the read
 * position is not valid, see k2hft_ring_repair. Since 0.1.0.
 */
K2HFT_API int k2hft_ring_read(struct k2hft_ring *ring, size_t bytes_max, uint64_t records_max, struct k2hft_span *span,
			      int *claimed);

/*
 * Moves the read position to `position`, where an entry between acked and tail begins: back, so that chunks are read
 * again, or forward over chunks that need not be read. Between acked and head there are only gaps; a position there
 * makes head the read position, and the next span's gap_bytes counts from acked. Consumer only. -EINVAL no entry
 * begins there. Since 0.1.0.
 */
K2HFT_API int k2hft_ring_rewind(struct k2hft_ring *ring, uint64_t position);

/*
 * Acknowledges everything below `position`, which is the end of a chunk that was read: its room becomes free, and
 * producers that wait are woken. Consumer only. -EINVAL the position is below acked, above the read position, or
 * inside an entry. Since 0.1.0.
 */
K2HFT_API int k2hft_ring_release(struct k2hft_ring *ring, uint64_t position);

/*
 * Discards the claim at the read position if the process of its producer is dead. Returns 1 if it did, else 0. Call it
 * when a claim has stood in the way for a while; it reads from /proc. Consumer only. Since 0.1.0.
 */
K2HFT_API int k2hft_ring_recover(struct k2hft_ring *ring);

/*
 * Returns 1 if the claim that a producer, dead since, had at `position` (k2hft_producer_position) was committed, else
 * 0. Consumer only, before it reads anything and before it opens producers: a position that was given back can become
 * that of another claim. Since 0.1.0.
 */
K2HFT_API int k2hft_ring_committed(const struct k2hft_ring *ring, uint64_t position);

/*
 * Keeps the consumer from what is at `position`, where a chunk begins or the ring ends, and behind it; UINT64_MAX: from
 * nothing. Producers of this process do not wake the consumer then, but the call does. For a program that notes elsewhere
 * what it has committed, and lets it go when that is done: set the limit to the tail before producers are opened, and never
 * back to where the consumer has been. Any thread of the consumer's process. -EINVAL the ring was attached to. Since 0.1.0.
 */
K2HFT_API int k2hft_ring_limit(struct k2hft_ring *ring, uint64_t position);

/*
 * Discards the chunks from `position` on, where a chunk begins or the ring ends. The consumer must not have read them, so
 * they are behind the limit, or the ring was just opened; nobody writes meanwhile. Any thread of the consumer's process.
 * -EINVAL the ring was attached to, or it is no position. Since 0.1.0.
 */
K2HFT_API int k2hft_ring_cut(struct k2hft_ring *ring, uint64_t position);

/*
 * Returns a descriptor that becomes readable (POLLIN) when something is committed after k2hft_ring_sleep. It stays the
 * same and belongs to the ring. Consumer only. Since 0.1.0.
 */
K2HFT_API int k2hft_ring_wake_descriptor(const struct k2hft_ring *ring);

/*
 * Call it before each wait on k2hft_ring_wake_descriptor. Returns 1 if there is nothing to read: wait. Returns 0 if
 * something has come, chunks or a claim that the last k2hft_ring_read did not report: read. Consumer only.
 * Since 0.1.0.
 */
K2HFT_API int k2hft_ring_sleep(struct k2hft_ring *ring);

/* Call it after each wait: the wake descriptor is not readable any more. Consumer only. Since 0.1.0. */
K2HFT_API void k2hft_ring_awake(struct k2hft_ring *ring);

/* ---- operators: what looks at a ring, keeps it and mends it */

/*
 * k2hft_ring_stats of a ring that is not open here, by its file or a link to it: needs the right to read it, changes
 * nothing, and takes no place. `*served` (unless `served` is NULL) is 1 if the ring has a consumer, else 0. Any thread.
 *
 * -EINVAL as k2hft_ring_stats; -EPROTO the file is not a ring, or has a layout that this version does not know;
 * -ENOMEM; others as open(2) and read(2). Since 0.1.0.
 */
K2HFT_API int k2hft_ring_observe(const char *path, struct k2hft_ring_stats *stats, int *served);

/* The records of one stream that are in a ring and not acknowledged. */
struct k2hft_backlog {
	const char *path, *host; /* of the stream, see struct k2hft_stream */
	uint64_t records, bytes; /* payload */
	uint64_t oldest_ns;      /* the time of its first chunk, in nanoseconds since 1970 */
};

/*
 * Calls `each` for every stream that has records in a ring which are committed and not acknowledged; the strings are
 * valid until it returns. The ring's file, or a link to it, is read as k2hft_ring_observe does. Chunks that the ring's
 * consumer releases meanwhile can be missing, with those behind them. Reads the headers of all chunks that wait. Any
 * thread.
 *
 * -EINVAL an argument is NULL; others as k2hft_ring_observe. Since 0.1.0.
 */
K2HFT_API int k2hft_ring_backlog(const char *path, void (*each)(void *argument, const struct k2hft_backlog *backlog),
				 void *argument);

/*
 * A look at the chunks of a ring as they pass, from a process that has nothing to do with it: the ring's file, or a link
 * to it, is read, and nobody waits for that. A chunk whose memory is taken again before it is read is left out.
 */
struct k2hft_tap;

struct k2hft_tapped {
	/* The stream, see struct k2hft_stream; path "": its number was given to another one before it was read. */
	const char *path, *host;
	uint32_t mode;   /* K2HFT_STREAM_* */
	uint32_t missed; /* 1: chunks before it were left out */
	struct k2hft_chunk chunk;
	const void *payload; /* its records */
	size_t payload_bytes;
	uint64_t position; /* of the chunk in the ring */
};

/*
 * Begins to look, with the next chunk that the ring's consumer reads. Free `*tap` with k2hft_tap_close. Any thread.
 *
 * -EINVAL an argument is NULL; -EPERM the file is another user's, and the caller is not root; -EPROTO the file is not a
 * ring, or has a layout that this version does not know; -ENOMEM; others as open(2) and read(2). Since 0.1.0.
 */
K2HFT_API int k2hft_tap_open(const char *path, struct k2hft_tap **tap);

/*
 * Gives the next chunk: 1; or 0 if there is none now: ask again in a while, the sooner the fewer are left out. Far behind
 * the ring's tail it passes over chunks. `tapped->missed` is set in both cases; all else is valid if there is a chunk, and
 * until the next call. A single thread at a time. -EINVAL an argument is NULL; -EPROTO the file was cut. Since 0.1.0.
 */
K2HFT_API int k2hft_tap_next(struct k2hft_tap *tap, struct k2hft_tapped *tapped);

/* Ends it. NULL is allowed. Since 0.1.0. */
K2HFT_API void k2hft_tap_close(struct k2hft_tap *tap);

/*
 * Returns a new descriptor of the ring's memory or file, which keeps the ring for its next consumer: as long as it, or
 * a copy that a child inherited, is open, attached processes wait for one, though the file may have no name. The next
 * consumer opens /proc/self/fd/NUMBER, and nobody the name of the file. The ring can be closed before. Close it with
 * close(2). Any thread.
 *
 * -ENOENT there is no /proc; others as open(2). Since 0.1.0.
 */
K2HFT_API int k2hft_ring_keep(const struct k2hft_ring *ring);

/*
 * Looks at the entries from head to tail without changing them. Returns the number of places without a valid entry; a
 * claim is valid, and nothing is looked at behind that of a live producer. Either the consumer calls it, or nobody
 * else uses the ring meanwhile. Since 0.1.0.
 */
K2HFT_API int k2hft_ring_validate(const struct k2hft_ring *ring);

/*
 * Turns each place that k2hft_ring_validate counts into a gap, and discards the claims of dead producers. Returns how
 * many places it mended, claims included; k2hft_ring_stats counts the bytes. Consumer only. Since 0.1.0.
 */
K2HFT_API int k2hft_ring_repair(struct k2hft_ring *ring);

#ifdef __cplusplus
#pragma GCC diagnostic pop
}
#endif

#endif
