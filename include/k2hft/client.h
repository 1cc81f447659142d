/* SPDX-License-Identifier: MIT */
#ifndef K2HFT_CLIENT_H
#define K2HFT_CLIENT_H

#include <stddef.h>
#include <stdint.h>

#include <k2hft/frame.h>
#include <k2hft/ring.h>
#include <k2hft/visibility.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The consumer of a ring: connects to a receiver, resumes where it left off, sends what is committed, takes
 * acknowledgements, connects again when the connection breaks, for ever. It owns no loop: the caller waits until the
 * descriptor is readable or the time-out is over and calls process; or lets k2hft_client_thread_start do so.
 */
struct k2hft_client;

enum k2hft_client_state {
	K2HFT_CLIENT_WAITING = 0,    /* for the next try to connect */
	K2HFT_CLIENT_CONNECTING = 1, /* TCP and TLS */
	K2HFT_CLIENT_GREETING = 2,   /* HELLO sent */
	K2HFT_CLIENT_CONNECTED = 3,
};

/*
 * Called from within process when positions moved: everything below `acked` is committed at the receiver. It must not call
 * functions of the client.
 */
typedef void k2hft_client_progress(void *argument, uint64_t acked);

/*
 * TLS to the receiver, whose certificate is always verified, its name (k2hft_client_options.host) included. The files
 * are PEM, and are read again for each connection; what is wrong with one then is logged, and the former is used.
 */
struct k2hft_tls_options {
	size_t size; /* sizeof(struct k2hft_tls_options) */
	const char
		*authority_path; /* certificates to trust: a file, or a directory of hashed names; NULL: the system's */
	const char *certificate_path; /* of this host, if the receiver wants one, with its chain; NULL: none */
	const char *private_key_path; /* of that certificate, without passphrase */
	const char *shared_key_path;  /* instead of all three: a line IDENTITY:KEY or KEY, which both sides have */
	uint32_t version_min;         /* K2HFT_TLS_* */
	uint32_t reserved;            /* 0 */
};
#define K2HFT_TLS_1_2 0u
#define K2HFT_TLS_1_3 1u

struct k2hft_client_options {
	size_t size;                     /* sizeof(struct k2hft_client_options) */
	const char *host;                /* of the receiver; name or address */
	const char *port;                /* number from 1 to 65535, or service name */
	const char *host_name;           /* what this host calls itself to the receiver; NULL: gethostname(2);
					 * 255 bytes without control characters */
	uint32_t level;                  /* K2HFT_LEVEL_*; 0: K2HFT_LEVEL_WRITTEN */
	uint32_t compress;               /* K2HFT_COMPRESS_* */
	uint64_t batch_records_max;      /* 0: any number in a frame */
	uint32_t frame_bytes_max;        /* 0: K2HFT_FRAME_BODY_BYTES_DEFAULT */
	uint32_t expire_s;               /* chunks older than this are given up and announced; 0: never */
	k2hft_client_progress *progress; /* may be NULL */
	void *progress_argument;
	const struct k2hft_tls_options *tls; /* NULL: no encryption */
};
#define K2HFT_COMPRESS_AUTO 0u
#define K2HFT_COMPRESS_NEVER 1u
#define K2HFT_COMPRESS_ALWAYS 2u

struct k2hft_client_stats {
	size_t size;     /* sizeof, set by the caller */
	uint32_t state;  /* enum k2hft_client_state */
	uint32_t status; /* K2HFT_STATUS_* of the last ACK */
	uint64_t acked, window_end;
	uint64_t connects; /* that reached WELCOME */
	uint64_t connect_failures;
	uint64_t sent_frames, sent_bytes, sent_records;
	uint64_t resent_frames; /* sent again after a reconnect */
	uint64_t compressed_frames;
	uint64_t discarded_ranges; /* announced with DISCARD */
	uint64_t expired_records;  /* given up: expire_s */
	uint64_t unknown_records;  /* given up: their stream is not declared */
	uint64_t refusals;         /* connections that the receiver ended with an ERROR */
	uint64_t ledger_lost;      /* the receiver did not know a ring that it had acknowledged */
	char last_error[256];      /* why it is not connected; "" if it is */
};

/*
 * `ring` must have been opened by this process with k2hft_ring_open and outlive the client. -EINVAL it is attached;
 * options, or a file of `tls` that can't be used, which is logged; -EBUSY it has a client; -ENOMEM; others as
 * epoll_create1(2) and eventfd(2). No connection is tried before the first process. Since 0.1.0.
 */
K2HFT_API int k2hft_client_open(struct k2hft_ring *ring, const struct k2hft_client_options *options,
				struct k2hft_client **client);

/* Stops the thread if one runs, closes the connection. Does not wait for anything. NULL is allowed. Since 0.1.0. */
K2HFT_API void k2hft_client_close(struct k2hft_client *client);

/* One descriptor for poll(2), POLLIN, that stays the same and the client's. Since 0.1.0. */
K2HFT_API int k2hft_client_descriptor(const struct k2hft_client *client);

/* Milliseconds until process wants to be called although the descriptor is quiet; -1: no limit. `now_ns` is
 * CLOCK_MONOTONIC. The caller must wait for at most this. Since 0.1.0. */
K2HFT_API int k2hft_client_timeout_ms(struct k2hft_client *client, uint64_t now_ns);

/*
 * Does what can be done without waiting (a host name that is not numeric is resolved on a short-lived thread). Errors
 * of the connection are handled, logged and counted, not returned. 0, or -EIO: the ring can't be used any more. One
 * thread at a time. Since 0.1.0.
 */
K2HFT_API int k2hft_client_process(struct k2hft_client *client, uint64_t now_ns);

/* A snapshot; any thread. -EINVAL its size is not set, or there is no client, as of an attached sender. Since 0.1.0. */
K2HFT_API int k2hft_client_stats(struct k2hft_client *client, struct k2hft_client_stats *stats);

/* Runs process on a thread of its own, all signals blocked. -EALREADY; others as pthread_create(3). Since 0.1.0. */
K2HFT_API int k2hft_client_thread_start(struct k2hft_client *client);

/*
 * Waits until everything that is committed to the ring now is acknowledged. For clients with a thread. -ETIMEDOUT after
 * `timeout_ms` (-1: no limit); -EINVAL no thread runs; -EIO the ring can't be used any more, or OpenSSL has
 * ended (see libk2hft(7)). Any thread. Since 0.1.0.
 */
K2HFT_API int k2hft_client_drain(struct k2hft_client *client, int timeout_ms);

#ifdef __cplusplus
}
#endif

#endif
