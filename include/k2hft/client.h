/* SPDX-License-Identifier: MIT */
#ifndef K2HFT_CLIENT_H
#define K2HFT_CLIENT_H

#include <stddef.h>
#include <stdint.h>

#include <k2hft/frame.h>
#include <k2hft/ring.h>
#include <k2hft/tls.h>
#include <k2hft/visibility.h>

#ifdef __cplusplus
extern "C" {
/* A structure has the name of the function that fills it, as with stat(2). */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
#endif

/*
 * A client is the consumer of a ring. It connects to a receiver, goes on where that left off, sends what is committed
 * to the ring, takes acknowledgements and frees the room of what is acknowledged. When the connection breaks it
 * connects again, for as long as it is open; with `others` it goes to the next receiver when one does not answer. It has
 * no loop of its own: either the caller waits until the descriptor is readable or the time-out is over, and then calls
 * k2hft_client_process; or k2hft_client_thread_start does that on a thread.
 */
struct k2hft_client;

enum k2hft_client_state {
	K2HFT_CLIENT_WAITING = 0,    /* until it is time to try again */
	K2HFT_CLIENT_CONNECTING = 1, /* resolving the name, TCP, TLS */
	K2HFT_CLIENT_GREETING = 2,   /* HELLO is sent, WELCOME has not come yet */
	K2HFT_CLIENT_CONNECTED = 3,
};

/*
 * Called by k2hft_client_process, on its thread, when more is acknowledged: everything below position `acked` is
 * committed at the receiver. It must not call functions of the client, nor those of the ring that are for its
 * consumer.
 */
typedef void k2hft_client_progress(void *argument, uint64_t acked);

/* A receiver: its name or address, its port, and TLS to it (NULL: none), as in struct k2hft_client_options. */
struct k2hft_target {
	const char *host, *port;
	const struct k2hft_tls_options *tls;
};

struct k2hft_client_options {
	size_t size;      /* sizeof(struct k2hft_client_options) */
	const char *host; /* name or address of the receiver; must be set */
	const char *port; /* its port, 1 to 65535, or a service name; must be set */
	/* The name of this host, at most 255 bytes without control characters; NULL: as gethostname(2) says. */
	const char *host_name;
	uint32_t level;                      /* K2HFT_LEVEL_*; 0: K2HFT_LEVEL_WRITTEN */
	uint32_t compress;                   /* K2HFT_COMPRESS_* */
	uint64_t batch_records_max;          /* in a frame, if no single chunk has more; 0: any number */
	uint32_t frame_bytes_max;            /* if no single chunk is larger; 0: K2HFT_FRAME_BODY_BYTES_DEFAULT */
	uint32_t expire_s;                   /* older records are given up when there is a connection; 0: never */
	uint32_t flags;                      /* K2HFT_CLIENT_RING_ENDS or 0 */
	uint32_t reserved;                   /* 0 */
	k2hft_client_progress *progress;     /* NULL: none */
	void *progress_argument;             /* its first argument */
	const struct k2hft_tls_options *tls; /* NULL: no encryption */
	/*
	 * Receivers that may take over, in this order, when the one above, which is the home, has not answered for
	 * failover_ms. NULL: none, and the client never leaves its home.
	 */
	const struct k2hft_target *others;
	uint32_t others_count;
	uint32_t failover_ms; /* 0: K2HFT_FAILOVER_MS_DEFAULT; at least K2HFT_FAILOVER_MS_MIN */
	/* A file that each record is appended to before it is sent first, see k2hft_client_open(3). NULL: none. */
	const char *archive_path;
};
#define K2HFT_FAILOVER_MS_DEFAULT 10000u
#define K2HFT_FAILOVER_MS_MIN 100u
#define K2HFT_CLIENT_OPTIONS_INIT                                                                                      \
	{                                                                                                              \
		sizeof(struct k2hft_client_options), NULL, NULL, NULL, 0, 0, 0, 0, 0, 0, 0, NULL, NULL, NULL, NULL, 0, \
			0, NULL                                                                                        \
	}
/* No other client will have the ring after this one: k2hft_client_close tells the receiver, which then forgets it. */
#define K2HFT_CLIENT_RING_ENDS 1u

struct k2hft_client_stats {
	size_t size;         /* sizeof(struct k2hft_client_stats), set by the caller */
	uint32_t state;      /* enum k2hft_client_state */
	uint32_t status;     /* K2HFT_STATUS_* of the last ACK */
	uint64_t acked;      /* position below which everything is acknowledged */
	uint64_t window_end; /* position up to which may be sent */
	K2HFT_CLIENT_COUNTS;
	uint64_t expired_records; /* given up: older than expire_s */
	uint64_t unknown_records; /* given up: their stream is not declared */
	/*
	 * When the certificate of the next connection expires, in seconds since 1970; 0: none. Read again every minute.
	 */
	uint64_t certificate_expires_s;
	uint64_t moves;             /* to another receiver than the one that acknowledged last */
	uint64_t settled_records;   /* that receivers took back, since another one has got them */
	uint64_t retracted_records; /* that they could not take back, and have named */
	uint32_t unsettled;         /* receivers that still can have such records */
	uint32_t target;            /* 0: the home; n: others[n - 1]; more: one that was taken out of them */
	char last_error[256];       /* why there is no connection; "" if there is one */
	uint64_t acked_ns;          /* when something was acknowledged last, CLOCK_MONOTONIC; 0: nothing was yet */
};
#define K2HFT_CLIENT_STATS_INIT                                                                                        \
	{                                                                                                              \
		sizeof(struct k2hft_client_stats), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,   \
			"", 0                                                                                          \
	}

/*
 * Makes a client of `ring`, which this process opened with k2hft_ring_open and which must outlive the client. Does not
 * connect: k2hft_client_process does. Free `*client` with k2hft_client_close. A single thread at a time for a ring.
 *
 * -EINVAL the ring was attached to; an option is out of range or not known, or host or port is missing; a file of
 * `tls` can't be used, and the log says why; -EBUSY the ring has a client already; -ENOMEM; others as epoll_create1(2),
 * epoll_ctl(2) and eventfd(2). Since 0.1.0.
 */
K2HFT_API int k2hft_client_open(struct k2hft_ring *ring, const struct k2hft_client_options *options,
				struct k2hft_client **client);

/*
 * Stops the thread, if there is one, ends the connection and frees the client. Does not wait for acknowledgements:
 * what is not acknowledged stays in the ring. With K2HFT_CLIENT_RING_ENDS and a thread it waits for up to a second for
 * unsettled receivers. No other thread may use the client any more. NULL is allowed.
 * Since 0.1.0.
 */
K2HFT_API void k2hft_client_close(struct k2hft_client *client);

/*
 * Returns a descriptor to wait for with poll(2) (POLLIN) or epoll(7). It stays the same and belongs to the client. Any
 * thread. Since 0.1.0.
 */
K2HFT_API int k2hft_client_descriptor(const struct k2hft_client *client);

/*
 * Returns for how many milliseconds, from `now_ns` on, the caller may wait for the descriptor before it calls
 * k2hft_client_process; 0: do not wait; -1: no limit, after k2hft_client_process has returned -EIO. It changes with
 * each call of that function. `now_ns` is nanoseconds of CLOCK_MONOTONIC. As k2hft_client_process, one thread at a
 * time. Since 0.1.0.
 */
K2HFT_API int k2hft_client_timeout_ms(struct k2hft_client *client, uint64_t now_ns);

/*
 * Does everything that can be done without waiting: connects, receives, sends. A host name is resolved by a
 * short-lived thread; only if none can be started, the call waits for that. `now_ns` is nanoseconds of
 * CLOCK_MONOTONIC and must not go back. Errors of the connection are not returned, but handled, logged and counted.
 * A single thread at a time, and not if k2hft_client_thread_start was called. -EIO the ring can't be used any more,
 * because it was damaged time and again; nothing is sent from now on. Since 0.1.0.
 */
K2HFT_API int k2hft_client_process(struct k2hft_client *client, uint64_t now_ns);

/*
 * Sets the receivers that may take over, in place of `others` of the options. The connection stays, unless it leads to one
 * that is not among them: that is left when it has acknowledged all that it was sent. A copy is made of `others`. Any
 * thread; it must not hold a lease. -EINVAL as k2hft_client_open, and then nothing has changed; -ENOMEM. Since 0.1.0.
 */
K2HFT_API int k2hft_client_others_set(struct k2hft_client *client, const struct k2hft_target *others, uint32_t count);

/*
 * Copies the counters as they were at the end of the last k2hft_client_process. Any thread. -EINVAL `stats` is NULL or
 * its size is not set; or `client` is NULL, as is that of an attached sender. Since 0.1.0.
 */
K2HFT_API int k2hft_client_stats(struct k2hft_client *client, struct k2hft_client_stats *stats);

/*
 * Tells how the client of another process stands. `path` is the file of its ring, or a link to it. `stats` gets the state,
 * the status, acked_ns and last_error; its other fields are 0. `receiver` gets the HOST:PORT to which the client is
 * connected, or which it tries, cut to `receiver_room` bytes with its terminator; K2HFT_RECEIVER_BYTES_MAX + 1 are always
 * enough. The ring does not change. Any thread.
 *
 * -EINVAL an argument is NULL, the size of `stats` is not set, or `receiver_room` is 0; -ENODATA no client has the ring, its
 * version does not tell, or it was writing this down; others as k2hft_ring_observe. Since 0.1.0.
 */
K2HFT_API int k2hft_client_observe(const char *path, struct k2hft_client_stats *stats, char *receiver,
				   size_t receiver_room);

/*
 * Starts a thread that calls k2hft_client_process whenever that is needed, until k2hft_client_close. It blocks all
 * signals. A single thread at a time. -EALREADY it was started before; others as pthread_create(3). Since 0.1.0.
 */
K2HFT_API int k2hft_client_thread_start(struct k2hft_client *client);

/*
 * Waits, at most `timeout_ms` milliseconds (-1: no limit), until everything that is in the ring at the time of the
 * call is acknowledged, or given up and announced. Only for a client with a thread. Any thread; all calls must have
 * returned before k2hft_client_close.
 *
 * -ETIMEDOUT; -EINVAL the client has no thread; -EIO the ring can't be used any more, OpenSSL has ended, or the program
 * has closed the library's descriptors (see libk2hft(7)). Since 0.1.0.
 */
K2HFT_API int k2hft_client_drain(struct k2hft_client *client, int timeout_ms);

/*
 * A lease has a producer's thread run the client of a ring in place of the client's own thread. Data that was just
 * committed is still in that processor's cache, so a thread that commits much at a time sends it fastest by itself. The
 * memory is the caller's, one lease for each such thread; set `client`, the rest 0, and only read it afterwards. The
 * loop of that thread: k2hft_lease_send, wait, k2hft_lease_waited, commit, k2hft_lease_committed.
 */
struct k2hft_lease {
	struct k2hft_client *client; /* one with a thread; must outlive the lease */
	uint64_t large_ns;           /* when the last commit was, if it was large; else 0 */
	uint32_t held;               /* 1: this thread runs the client, whose own thread sleeps */
	uint32_t reserved;
};

/*
 * Tells the lease that `bytes` were committed at once. 64 KiB or more are large: the next k2hft_lease_send tries to
 * take the lease. `now_ns`, here and below, is nanoseconds of CLOCK_MONOTONIC. Never waits. Since 0.1.0.
 */
K2HFT_API void k2hft_lease_committed(struct k2hft_lease *lease, size_t bytes, uint64_t now_ns);

/*
 * Sends what is committed, as k2hft_client_process does, if the thread has the lease or can take it: the last commit
 * was large and is at most 2 ms old, the client is connected, its own thread is not at work, and neither TLS nor
 * compression is in use, which are better done beside the producer's work. Returns for how many milliseconds the caller
 * may wait before the next call; -1: it does not have the lease, and the client's thread sends.
 *
 * While a thread has the lease, it must not call k2hft_client_drain, k2hft_sender_flush or any other function that
 * waits for acknowledgements, and its waits must end when k2hft_lease_descriptor is readable. The function `progress`
 * of the client's options is called on the thread that has the lease. Since 0.1.0.
 */
K2HFT_API int k2hft_lease_send(struct k2hft_lease *lease, uint64_t now_ns);

/*
 * Returns the descriptor to wait for with POLLIN beside the caller's own; -1: it does not have the lease. Since 0.1.0.
 */
K2HFT_API int k2hft_lease_descriptor(const struct k2hft_lease *lease);

/* To be called after each wait: until the next k2hft_lease_send, commits to the ring wake nobody. Since 0.1.0. */
K2HFT_API void k2hft_lease_waited(const struct k2hft_lease *lease);

/*
 * Gives the client back to its thread, which goes on at once; nothing happens without the lease. To be called before
 * the thread waits for anything else, ends, or closes the client. Since 0.1.0.
 */
K2HFT_API void k2hft_lease_end(struct k2hft_lease *lease);

#ifdef __cplusplus
#pragma GCC diagnostic pop
}
#endif

#endif
