/* SPDX-License-Identifier: MIT */
#ifndef K2HFT_SENDER_H
#define K2HFT_SENDER_H

#include <stddef.h>
#include <stdint.h>

#include <k2hft/client.h>
#include <k2hft/ring.h>
#include <k2hft/visibility.h>

#ifdef __cplusplus
extern "C" {
/* A structure has the name of the function that fills it, as with stat(2). */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
#endif

/*
 * The interface that most applications need. A sender is a ring and a client that sends it on a thread; one in a
 * process is usually enough. A writer puts the records of one stream into it; each thread has its own. Without the
 * handling of errors:
 *
 *	struct k2hft_sender_options options = K2HFT_SENDER_OPTIONS_INIT;
 *	struct k2hft_sender *sender;
 *	struct k2hft_writer *writer;
 *	options.host = "logs.example";
 *	options.port = "8020";
 *	k2hft_sender_open(&options, &sender);
 *	k2hft_writer_open(sender, "app/access.log", &writer);
 *	k2hft_writer_write(writer, "hello", 5);
 *	k2hft_writer_close(writer);
 *	k2hft_sender_close(sender, 10000);
 */
struct k2hft_sender;
struct k2hft_writer;

struct k2hft_sender_options {
	size_t size; /* sizeof(struct k2hft_sender_options) */
	/* As in struct k2hft_client_options. host and port must be set. */
	const char *host, *port;
	const char *host_name;
	/* As path, ring_bytes and flags of struct k2hft_ring_options. NULL: a ring in memory, lost with the process. */
	const char *ring_path;
	uint64_t ring_bytes;
	uint32_t ring_flags;
	uint32_t full; /* K2HFT_FULL_* */
	/* As in struct k2hft_client_options. */
	uint32_t level;
	uint32_t compress;
	uint64_t batch_records_max;
	uint32_t expire_s;
	uint32_t reserved; /* 0 */
	const struct k2hft_tls_options *tls;
	/*
	 * Several receivers, in place of host, port and tls, which are NULL then: at most K2HFT_TARGETS_MAX, each once.
	 * Each has a ring of ring_bytes; with ring_path a file, named ring_path, a dot, HOST:PORT.
	 */
	const struct k2hft_target *targets;
	uint32_t target_count;
	uint32_t spread;      /* K2HFT_SPREAD_* */
	uint32_t copies;      /* with K2HFT_SPREAD_HASH: so many receivers get each record; 0 and 1: one */
	uint32_t replica;     /* so many of the others may take over from one, 0: all; K2HFT_REPLICA_NONE */
	uint32_t failover_ms; /* as in struct k2hft_client_options */
	/* Streams whose names begin with one of these texts are not sent: their records are taken and counted. */
	uint32_t except_count;
	const char *const *except;
	/* As in struct k2hft_client_options; of several receivers each has a file, named archive_path, a dot, HOST:PORT. */
	const char *archive_path;
};
#define K2HFT_SENDER_OPTIONS_INIT                                                                                      \
	{                                                                                                              \
		sizeof(struct k2hft_sender_options), NULL, NULL, NULL, NULL, 0, 0, 0, 0, 0, 0, 0, 0, NULL, NULL, 0, 0, \
			0, 0, 0, 0, NULL, NULL                                                                         \
	}
#define K2HFT_TARGETS_MAX 256u
#define K2HFT_REPLICA_NONE UINT32_MAX
/* The receiver of a record, of several. */
#define K2HFT_SPREAD_HASH 0u   /* by the name of its stream, which keeps its order */
#define K2HFT_SPREAD_RANDOM 1u /* the one that has the least to do */
#define K2HFT_SPREAD_ALL 2u    /* all of them get it */
/* The choice of a write that finds the ring full. */
#define K2HFT_FULL_BLOCK 0u /* it waits for room */
#define K2HFT_FULL_FAIL 1u  /* it writes nothing and returns -EAGAIN */
#define K2HFT_FULL_DROP 2u  /* it drops and counts the record, and returns 0 */

struct k2hft_sender_stats {
	size_t size;                             /* sizeof(struct k2hft_sender_stats), set by the caller */
	uint64_t written_records, written_bytes; /* taken from writers; the bytes include line ends */
	uint64_t dropped_records;                /* not taken, since the ring was full; of copies each counts */
	uint64_t unacked_records;                /* in the rings or in writers, and not acknowledged; likewise */
	uint64_t refused_writes;                 /* calls of k2hft_writer_write and _lines that returned an error */
	uint64_t pieces; /* of records that were too long for one chunk; the last piece of each does not count */
	uint64_t excepted_records; /* taken, and not sent, as `except` of the options says */
};
#define K2HFT_SENDER_STATS_INIT                                                                                        \
	{                                                                                                              \
		sizeof(struct k2hft_sender_stats), 0, 0, 0, 0, 0, 0, 0                                                 \
	}

/*
 * Opens a ring and starts a client for it on a thread, with all signals blocked. Does not wait for a connection. Free
 * `*sender` with k2hft_sender_close. Any thread, and any number of threads may use the sender; a child must not after
 * fork().
 *
 * -EINVAL an option is out of range or not known, or host or port is missing: the log says which; others as
 * k2hft_ring_open, k2hft_client_open and pthread_create(3). Since 0.1.0.
 */
K2HFT_API int k2hft_sender_open(const struct k2hft_sender_options *options, struct k2hft_sender **sender);

/*
 * Attaches to a ring that another process sends: `ring_path` is the ring's file, or the link .k2hft-ring in the root
 * of a mount. Each call of a writer then commits what it took. A full ring makes writes wait, also while that process
 * is away and another one can take its place; when none can, because the ring is in memory or its file was removed or
 * replaced, writes (within about a second), k2hft_sender_flush and k2hft_sender_close return -EPIPE. Free `*sender`
 * with k2hft_sender_close. Threads and fork() as with k2hft_sender_open.
 *
 * -EINVAL an argument is NULL; others as k2hft_ring_attach. Since 0.1.0.
 */
K2HFT_API int k2hft_sender_attach(const char *ring_path, struct k2hft_sender **sender);

/*
 * Waits as k2hft_sender_flush does, then ends the connection, closes the ring and frees the sender, whatever it
 * returns. Writers must be closed before, and no other thread may use the sender any more. NULL is allowed.
 *
 * -ETIMEDOUT some records are not acknowledged: a ring file keeps them, with a ring in memory they are lost;
 * k2hft_sender_stats just before tells how many; -EIO and -EPIPE as k2hft_sender_flush. Since 0.1.0.
 */
K2HFT_API int k2hft_sender_close(struct k2hft_sender *sender, int timeout_ms);

/*
 * Waits, at most `timeout_ms` milliseconds (-1: no limit, 0: not at all), until everything that writers took before
 * the call is acknowledged, or given up because of expire_s. Signals do not end the wait. Any thread.
 *
 * -ETIMEDOUT; -EINVAL `sender` is NULL; -EIO the ring can't be used any more, OpenSSL has ended, or the program has
 * closed the library's descriptors (see libk2hft(7)); -EPIPE the sender is attached to a ring from which nobody sends
 * any more. Since 0.1.0.
 */
K2HFT_API int k2hft_sender_flush(struct k2hft_sender *sender, int timeout_ms);

/*
 * Copies the counters of the sender, each at its own moment; for those of its ring and client see k2hft_sender_ring.
 * Any thread. -EINVAL an argument is NULL, or the size is not set. Since 0.1.0.
 */
K2HFT_API int k2hft_sender_stats(struct k2hft_sender *sender, struct k2hft_sender_stats *stats);

/*
 * Return the ring and the client of the sender, for k2hft_ring_stats and k2hft_client_stats; of several receivers those
 * of the first lane, see k2hft_sender_lane. They belong to the sender and end with it. The client is NULL if the sender is
 * attached. Any thread. Since 0.1.0.
 */
K2HFT_API struct k2hft_ring *k2hft_sender_ring(struct k2hft_sender *sender);
K2HFT_API struct k2hft_client *k2hft_sender_client(struct k2hft_sender *sender);

/*
 * The sender's way to one receiver. Ring and client belong to the sender, and end with it, or when a receiver is removed and
 * the lane is drained; the names end with the sender.
 */
struct k2hft_lane {
	size_t size; /* sizeof(struct k2hft_lane), set by the caller */
	struct k2hft_ring *ring;
	struct k2hft_client *client; /* NULL: the sender is attached, and so are the names */
	const char *host, *port;     /* the receiver whose share this is; the client's stats tell who has it now */
	uint32_t removed;            /* 1: it takes nothing more, and goes when it is drained */
	uint32_t reserved;
};
#define K2HFT_LANE_INIT                                                                                                \
	{                                                                                                              \
		sizeof(struct k2hft_lane), NULL, NULL, NULL, NULL, 0, 0                                                \
	}

/* Returns how many lanes the sender has now: one for each receiver, and those that drain. Any thread. Since 0.1.0. */
K2HFT_API uint32_t k2hft_sender_lane_count(struct k2hft_sender *sender);

/*
 * Fills in lane `index`, from 0 on; when one goes, those behind it move up. Any thread. -ENOENT there is none; -EINVAL an
 * argument is NULL, or the size is not set. Since 0.1.0.
 */
K2HFT_API int k2hft_sender_lane(struct k2hft_sender *sender, uint32_t index, struct k2hft_lane *lane);

/*
 * Adds a receiver while writers write. With K2HFT_SPREAD_HASH it takes over its share of the streams; a write to such a
 * stream waits until what was written before is acknowledged where that went, so that its order holds; with
 * K2HFT_FULL_DROP it does not wait. A copy is made of `target`. Any thread.
 *
 * -EEXIST it is there already; -EBUSY it was removed, and its lane still drains; -EMSGSIZE its ring's file was left by
 * another run and is smaller than the other rings; -ENOSPC there are K2HFT_TARGETS_MAX; -EINVAL as k2hft_sender_open, or
 * the sender is attached; others as k2hft_sender_open. Since 0.1.0.
 */
K2HFT_API int k2hft_sender_target_add(struct k2hft_sender *sender, const struct k2hft_target *target);

/*
 * Removes a receiver while writers write, and does not wait: nothing new goes to it, and what it has not acknowledged is
 * still sent to it, or, when it has not answered for failover_ms, to those that may take over. Then its lane is gone, and
 * the ring's file is removed. If nobody may take over, because the others have copies, the rest is given up and logged
 * then. Any thread.
 *
 * -ENOENT it is not there; -EINVAL an argument is NULL, the sender is attached, or it is the last receiver, or one of so
 * many as there are copies; others as pthread_create(3). Since 0.1.0.
 */
K2HFT_API int k2hft_sender_target_remove(struct k2hft_sender *sender, const char *host, const char *port);

/*
 * Fill in the options of the sender's ring, and of its client, for a program that opens both itself: it has a loop of
 * its own for the client, or writes with producers. Strings and `tls` are not copied. Any thread.
 *
 * -EINVAL an argument is NULL, the size of `options` is not set, or a field is set that this version does not know.
 * Since 0.1.0.
 */
K2HFT_API int k2hft_sender_ring_options(const struct k2hft_sender_options *options,
					struct k2hft_ring_options *ring_options);
K2HFT_API int k2hft_sender_client_options(const struct k2hft_sender_options *options,
					  struct k2hft_client_options *client_options);

/*
 * Opens a writer for the lines of the text stream `path`, see k2hft_stream_path_check. Any thread may open one, but
 * only one thread at a time use it. Any number of writers may have the same path: their records do not mix, but for
 * the pieces of long ones (see k2hft_writer_write) if the writers are in one process. Free it with k2hft_writer_close.
 *
 * -EINVAL the path is not allowed, or an argument is NULL; -ENOMEM; others as k2hft_stream_declare and
 * k2hft_producer_open. Since 0.1.0.
 */
K2HFT_API int k2hft_writer_open(struct k2hft_sender *sender, const char *path, struct k2hft_writer **writer);

/* The same for a stream of binary blocks: each write is one record. Since 0.1.0. */
K2HFT_API int k2hft_writer_open_binary(struct k2hft_sender *sender, const char *path, struct k2hft_writer **writer);

/*
 * Frees the writer. Records that the writer took are sent, also the one that k2hft_writer_lines has left without a line
 * end. If the ring has no room for that, the call waits for room as a write does, or drops and counts it where a write
 * would fail. The thread that uses the writer. NULL is allowed. Since 0.1.0.
 */
K2HFT_API void k2hft_writer_close(struct k2hft_writer *writer);

/*
 * Takes one record of `bytes` bytes: a line of text without its line end, which is added, or a binary block. It is
 * copied into the ring, without a lock, a system call or a look at the clock except when a chunk is begun; its time is
 * that of its chunk's first record. A record longer than 1 MiB, or than 3/16 of a ring under 8 MiB, goes in pieces,
 * which the receiver joins. A call that begins a chunk after much was written, or waits for room, also sends what the
 * connection takes at once. A single thread at a time.
 *
 * On failure nothing of the record is written, but for pieces of a long one before -EIO and -EPIPE. -EINVAL a text has
 * an LF inside, a binary block has no bytes, or a line of k2hft_writer_lines is out in pieces and has not ended;
 * -EBUSY room is reserved, see k2hft_writer_reserve; -EAGAIN the ring is full and the sender has K2HFT_FULL_FAIL;
 * -EMSGSIZE the sender must not wait and the record is longer than half of the ring; -EINTR a signal handler ran while
 * the call waited for room, whether it was installed with SA_RESTART or not; -EIO the call waited for room, and flush
 * would say -EIO, too, or a filter of system calls refuses futex(2); -EPIPE as with k2hft_sender_attach. Since 0.1.0.
 */
K2HFT_API int k2hft_writer_write(struct k2hft_writer *writer, const void *record, size_t bytes);

/*
 * Takes the next `bytes` bytes of a text, cut anywhere. Lines that are complete are sent; what is behind the last LF
 * waits in the writer for the next call or k2hft_writer_close. `*taken` (unless `taken` is NULL) is how many bytes
 * were taken: all of them on success; on failure those that need not be given again, which after -EAGAIN and -EINTR
 * are none if the text, with what waits in the writer, fits into one chunk (256 KiB, less for a ring under 8 MiB).
 * A single thread at a time.
 *
 * -EINVAL the writer is a binary one; -ENOMEM; -EBUSY, -EAGAIN, -EINTR, -EIO and -EPIPE as k2hft_writer_write.
 * Since 0.1.0.
 */
K2HFT_API int k2hft_writer_lines(struct k2hft_writer *writer, const void *text, size_t bytes, size_t *taken);

/*
 * Sends what waits in the writer behind the last LF, as k2hft_writer_close does, but tells when it can't. The thread
 * that uses the writer.
 *
 * -EAGAIN, -EINTR, -EIO and -EPIPE as k2hft_writer_write: the bytes wait still; -EBUSY room is reserved. Since 0.1.0.
 */
K2HFT_API int k2hft_writer_lines_end(struct k2hft_writer *writer);

/*
 * Reserves room in the ring to be filled in place, by read(2) say. `*memory` is where, `*bytes` how much: 4 KiB to
 * 256 KiB, less for a ring under 8 MiB. Commit it soon: the receiver gets nothing that comes behind it before. A
 * single thread at a time.
 *
 * -EAGAIN the ring is full, and the sender has K2HFT_FULL_FAIL or K2HFT_FULL_DROP; -EBUSY room is reserved already;
 * -EINTR, -EIO and -EPIPE as k2hft_writer_write. Since 0.1.0.
 */
K2HFT_API int k2hft_writer_reserve(struct k2hft_writer *writer, void **memory, size_t *bytes);

/*
 * Takes the first `bytes` bytes of what is reserved and gives the rest back: as k2hft_writer_lines takes a text, or as
 * one record of a binary writer; 0 gives all back. Until then other functions of the writer return -EBUSY, and
 * k2hft_writer_close gives all back. A single thread at a time.
 *
 * -EINVAL nothing is reserved, or not so much; -ENOMEM there is no memory for what waits behind the last LF: all stays
 * reserved. Since 0.1.0.
 */
K2HFT_API int k2hft_writer_commit(struct k2hft_writer *writer, size_t bytes);

#ifdef __cplusplus
#pragma GCC diagnostic pop
}
#endif

#endif
