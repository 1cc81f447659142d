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
#endif

/*
 * What an application needs. A sender is a ring with its client on a thread, one per process; a writer is one thread's
 * way to put records of one stream into it:
 *
 *	struct k2hft_sender_options options = {.size = sizeof(options), .host = "logs.example", .port = "8020"};
 *	struct k2hft_sender *sender;
 *	struct k2hft_writer *writer;
 *	k2hft_sender_open(&options, &sender);
 *	k2hft_writer_open(sender, "app/access.log", &writer);
 *	k2hft_writer_write(writer, "hello", 5);
 *	k2hft_writer_close(writer);
 *	k2hft_sender_close(sender, 10000);
 */
struct k2hft_sender;
struct k2hft_writer;

struct k2hft_sender_options {
	size_t size;             /* sizeof(struct k2hft_sender_options) */
	const char *host, *port; /* of the receiver */
	const char *host_name;   /* as k2hft_client_options.host_name */
	const char *ring_path;   /* as k2hft_ring_options; NULL: memory, lost with the process */
	uint64_t ring_bytes;
	uint32_t ring_flags;
	uint32_t full;     /* K2HFT_FULL_*: what a write does when the ring is full */
	uint32_t level;    /* as k2hft_client_options */
	uint32_t compress; /* as k2hft_client_options */
	uint64_t batch_records_max;
	uint32_t expire_s;
	uint32_t reserved;                   /* 0 */
	const struct k2hft_tls_options *tls; /* as k2hft_client_options */
};
#define K2HFT_FULL_BLOCK 0u /* waits for room */
#define K2HFT_FULL_FAIL 1u  /* -EAGAIN, nothing is written */
#define K2HFT_FULL_DROP 2u  /* is dropped and counted, 0 */

struct k2hft_sender_stats {
	size_t size;
	uint64_t written_records, written_bytes; /* accepted from writers */
	uint64_t dropped_records;
	uint64_t unacked_records; /* accepted, not yet acknowledged */
	uint64_t refused_writes;  /* calls of writers that took nothing, or not all, and said so */
	uint64_t pieces;          /* of records that were too long, but for the last of each */
};

/*
 * Opens the ring and starts the client; does not wait for a connection. After fork() the child must not use it.
 * Errors as k2hft_ring_open's, k2hft_client_open's and pthread_create(3)'s. Since 0.1.0.
 */
K2HFT_API int k2hft_sender_open(const struct k2hft_sender_options *options, struct k2hft_sender **sender);

/*
 * The same from a configuration file as k2hftfuse reads it (k2hft.conf(5)): receiver of SVRNODE, ring and batching of
 * K2HFTFUSE. -EINVAL it has an error: the text "FILE:LINE: ..." goes to `message` (if not NULL), cut to
 * `message_room`; others as open(2) for `file`, and as k2hft_sender_open's. Since 0.1.0.
 */
K2HFT_API int k2hft_sender_open_config(const char *file, struct k2hft_sender **sender, char *message,
				       size_t message_room);

/*
 * Attaches to a ring that another process sends: its file, or MOUNT/.k2hft-ring. Writers then commit each call at
 * once. When that process is gone and no other can take its place (memory, a file that is removed or replaced), writes,
 * flush and close return -EPIPE, writes within about a second; for one that can come they wait when the ring is full.
 * Errors as k2hft_ring_attach's. Since 0.1.0.
 */
K2HFT_API int k2hft_sender_attach(const char *ring_path, struct k2hft_sender **sender);

/*
 * Waits until all that was written is acknowledged (as k2hft_sender_flush), stops the client, closes the ring. Writers
 * must be closed before. `timeout_ms` as k2hft_sender_flush's; NULL is allowed. 0; -ETIMEDOUT: records remain, in the
 * ring file or lost with the memory: `k2hft_sender_stats` just before tells how many; -EIO and -EPIPE as
 * k2hft_sender_flush's. The sender is gone in every case. Since 0.1.0.
 */
K2HFT_API int k2hft_sender_close(struct k2hft_sender *sender, int timeout_ms);

/*
 * Waits until everything that writers wrote before is acknowledged, at most `timeout_ms` milliseconds (-1: no limit).
 * -ETIMEDOUT; -EIO the ring can't be used any more, or OpenSSL has ended (see libk2hft(7)); -EPIPE attached, and nobody
 * sends from the ring any more. Any thread. Since 0.1.0.
 */
K2HFT_API int k2hft_sender_flush(struct k2hft_sender *sender, int timeout_ms);

/*
 * A snapshot; any thread. What its ring and its client count is to be had by k2hft_ring_stats and k2hft_client_stats.
 * -EINVAL its size is not set. Since 0.1.0.
 */
K2HFT_API int k2hft_sender_stats(struct k2hft_sender *sender, struct k2hft_sender_stats *stats);

/*
 * The sender's ring and client, for their statistics; they stay the sender's and end with it. client: NULL if attached.
 * Any thread. Since 0.1.0.
 */
K2HFT_API struct k2hft_ring *k2hft_sender_ring(struct k2hft_sender *sender);
K2HFT_API struct k2hft_client *k2hft_sender_client(struct k2hft_sender *sender);

/*
 * A writer for text records to the stream `path`. For one thread at a time; any number of writers may have the same
 * path. Errors as k2hft_stream_declare's and k2hft_producer_open's. Since 0.1.0.
 */
K2HFT_API int k2hft_writer_open(struct k2hft_sender *sender, const char *path, struct k2hft_writer **writer);

/* The same for a stream of blocks: each write is one record. Since 0.1.0. */
K2HFT_API int k2hft_writer_open_binary(struct k2hft_sender *sender, const char *path, struct k2hft_writer **writer);

/*
 * What it wrote is sent; a text that k2hft_writer_lines left without LF too: for that it waits for room as a write does,
 * and drops and counts it where a write would fail. NULL is allowed. Since 0.1.0.
 */
K2HFT_API void k2hft_writer_close(struct k2hft_writer *writer);

/*
 * One record. Text: without its line end, which is added; a LF inside is -EINVAL, and so is a record while a line of
 * k2hft_writer_lines is out in pieces and has not ended. Longer than 1 MiB, or than 3/16 of a ring under 8 MiB, it goes
 * in marked pieces. No lock, no system call and no look at a clock, but when a chunk is begun: its time is that of its
 * first record. Who writes much sends what the connection takes at once in such a call, and while it waits for room.
 * 0; -EAGAIN full, and the sender has K2HFT_FULL_FAIL; -EMSGSIZE the sender must not wait and it is longer than half of
 * the ring; -EINTR a signal came while it waited: nothing of it was written; -EIO it waits for room, and the ring can't be
 * used any more, or futex(2) is refused; -EPIPE as k2hft_sender_attach says. Since 0.1.0.
 */
K2HFT_API int k2hft_writer_write(struct k2hft_writer *writer, const void *record, size_t bytes);

/*
 * Any piece of a text, lines with their ends: complete lines are sent, the rest waits for the next call or close.
 * Returns 0; errors as k2hft_writer_write's, -ENOMEM, and -EINVAL for a binary writer; on -EAGAIN and -EINTR nothing of
 * this call was taken if it fits into one chunk, else `*taken` (if not NULL) bytes were. Since 0.1.0.
 */
K2HFT_API int k2hft_writer_lines(struct k2hft_writer *writer, const void *text, size_t bytes, size_t *taken);

#ifdef __cplusplus
}
#endif

#endif
