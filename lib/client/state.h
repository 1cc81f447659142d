/* SPDX-License-Identifier: MIT */
#ifndef K2I_CLIENT_STATE_H
#define K2I_CLIENT_STATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <k2hft/client.h>
#include <k2hft/frame.h>
#include <k2hft/ring.h>

#include "batch/batch.h"
#include "client/client.h"
#include "client/dial.h"
#include "client/streams.h"
#include "base/log.h"
#include "net/transport.h"
#include "ring/ring.h"

/*
 * State that the files of the client share. All of it belongs to the thread that is in process (where the client has
 * one of its own: to the one that has `running`), but for the part at the end.
 */
#define K2I_CLIENT_CONTROL_BYTES (64u * 1024)
#define K2I_CLIENT_INPUT_BYTES (16u * 1024)
/* Bytes that a frame takes in the control buffer: any message, and one without text. */
#define K2I_CLIENT_MESSAGE_ROOM (K2HFT_FRAME_HEADER_BYTES + K2HFT_MESSAGE_BYTES_MAX)
#define K2I_CLIENT_SHORT_ROOM (K2HFT_FRAME_HEADER_BYTES + 64u)
#define K2I_CLIENT_SENT_MAX 1024u /* a power of two */

#define K2I_CLIENT_REPAIRS_MAX 3u /* of the ring in a row, without a chunk between them */

#define K2I_CLIENT_RETRY_MIN_NS UINT64_C(100000000)
#define K2I_CLIENT_RETRY_MAX_NS UINT64_C(5000000000)
#define K2I_CLIENT_HANDSHAKE_NS UINT64_C(10000000000)
#define K2I_CLIENT_PING_NS UINT64_C(5000000000)
#define K2I_CLIENT_DEAD_NS UINT64_C(15000000000)
#define K2I_CLIENT_SLOW_NS UINT64_C(2500000000) /* see k2i_client_patience_ns */

/*
 * The output to the socket: messages in `control`, and one DATA frame, header and ring memory. A frame is never
 * interrupted: messages go before it, or when it is out.
 */
struct k2i_client_output {
	uint8_t control[K2I_CLIENT_CONTROL_BYTES];
	size_t control_bytes, control_sent;
	uint8_t header[K2HFT_FRAME_HEADER_BYTES];
	const uint8_t *body;
	size_t body_bytes;
	size_t frame_sent;                    /* of header and body */
	bool frame;                           /* there is one */
	bool full;                            /* the socket took not everything */
	uint64_t position, end, record_count; /* of the frame */
};

/* Why nothing more is cut; tells what to wait for. */
enum k2i_client_pause {
	K2I_CLIENT_PAUSE_NONE,   /* the budget of this call is used up */
	K2I_CLIENT_PAUSE_SOCKET, /* full */
	K2I_CLIENT_PAUSE_RING,   /* empty */
	K2I_CLIENT_PAUSE_CLAIM,
	K2I_CLIENT_PAUSE_WINDOW, /* of bytes or of frames: an ACK must come */
	K2I_CLIENT_PAUSE_GATHER, /* small: more chunks, or K2I_BATCH_GATHER_NS */
	K2I_CLIENT_PAUSE_MEMORY, /* short for the declaration of a stream */
};

enum k2i_client_retry { K2I_CLIENT_RETRY_SOON, K2I_CLIENT_RETRY_LATE };

/* Each of these is written by the files that are named, and read by others. */

struct k2i_client_claims { /* claim.c */
	void (*hook)(void *argument);
	void *argument;
	const _Atomic(uint64_t) *busy_ns; /* NULL: never */
	bool begun;                       /* since the hook was last called for claims that wait */
	uint64_t due_ns;                  /* of the hook's next call */
	atomic_bool watched;              /* k2i_client_claim_begun is to interrupt */
};

struct k2i_client_wake { /* wake.c, open.c: descriptors */
	int epoll, interrupt;
};

struct k2i_client_targets {      /* open.c, others.c */
	struct k2i_target *list; /* the home, then the others */
	uint32_t count;
	struct k2i_client_tls *tls; /* of all of them */
	uint64_t look_ns;           /* tls.c: when the certificate's file is read again */
};

struct k2i_client_move {                     /* move.c; returning is side.c's */
	struct k2i_ring_receivers receivers; /* as the ring has them */
	uint64_t silent_ns;                  /* the target owes an answer since; 0: it has answered, or was not asked */
	uint32_t searched;                   /* targets without a pause */
	uint64_t answers;                    /* of targets of all clients, before this round */
	uint32_t searched_to;                /* the other that was tried last before the home; 0: none */
	bool searching;                      /* none of them has answered for failover_ms */
	bool returning;                      /* nothing more is cut: the home answers again, or the target is gone */
	bool going_home;
	struct k2i_log_limit search_limit;
};

struct k2i_client_side {               /* side.c */
	struct k2i_dial dial;          /* target NULL: none */
	enum k2hft_client_state state; /* WAITING: none */
	uint8_t input[K2I_CLIENT_MESSAGE_ROOM];
	size_t input_bytes;
	uint64_t welcomed_ns, asked_ns;
	bool ping_out;
	atomic_bool hurry; /* the client is about to end */
	struct k2i_log_limit limit;
};

struct k2i_client_failure { /* end.c */
	uint32_t count;     /* in a row */
	uint64_t random;    /* of the pauses */
	uint64_t retry_at_ns, connected_ns;
	char logged[256];
	uint64_t log_ns, pause_ns; /* the same is not logged again before; how long that was */
	bool answered_wrong;       /* at an address before this one of the list; why is in last_error */
	bool logged_last;          /* the log's last word on the connection is that there is none */
};

struct k2i_client_life {                    /* session.c, fed by send.c and receive.c */
	uint64_t received_ns;               /* when bytes last came */
	uint64_t expected_ns;               /* something must come since; 0: nothing */
	uint64_t written_bytes;             /* that a socket took */
	uint64_t confirmed_bytes;           /* of these, when it was last looked at */
	uint64_t sampled_ns, sampled_bytes; /* expected_ns then, and written_bytes */
	uint64_t ping_token;
	bool ping_out;
};

struct k2i_client_resume {         /* resume.c */
	struct k2i_ring_name name; /* of what this connection sends */
	uint64_t epoch;            /* of the opening */
	uint64_t opening;          /* random */
	uint32_t attempts;         /* HELLOs of it */
	uint64_t opened_at;        /* end of the positions that another process can have sent */
	bool ledger_lost_logged;
	struct k2i_log_limit connected_limit, resent_limit, copy_limit;
};

struct k2i_client_positions { /* the connection's state, shared by resume.c, data.c, send.c and receive.c */
	uint64_t acked;       /* by a receiver; the ring is told after all that came together was read */
	uint64_t released;    /* the ring was told */
	uint64_t window_end;  /* as granted */
	uint64_t announced;   /* the receiver was told of everything below, as records or as a hole */
	uint64_t sent_max;    /* nothing above was ever sent, or announced as a hole, by this client */
	uint64_t repaired_from, repaired_to; /* gaps in it are damage */
	uint32_t frame_bytes_max;
	uint8_t level; /* of this connection's ACKs */
};

struct k2i_client_sent {                    /* sent.c */
	uint64_t ends[K2I_CLIENT_SENT_MAX]; /* of DATA and DISCARD that are not acknowledged */
	size_t first, count;
	uint64_t floor; /* ACK's position may not be below: WELCOME's, then the last ACK's */
};

struct k2i_client_data { /* data.c */
	struct k2i_batch batch;
	uint8_t *compressed; /* NULL until it is needed */
	enum k2i_client_pause pause;
	uint64_t pause_until_ns;
	uint64_t cut_ns;                           /* when a frame was last cut */
	uint64_t claim_recover_ns, claim_retry_ns; /* of a claim in the way; 0: there is none */
	uint64_t expired, undeclared;              /* records below that were given up for that are counted */
	uint32_t repairs;                          /* in a row, without a chunk between them */
	struct k2i_log_limit expired_limit, repair_limit, claim_limit, memory_limit;
};

struct k2i_client_archive { /* archive.c */
	char *path;         /* NULL: none */
	int descriptor;     /* -1: it could not be opened */
	int error;          /* of that */
	uint64_t looked_ns; /* at its name */
	struct k2i_ring_archive file;
	struct k2i_log_limit limit;
};

struct k2i_client_input { /* receive.c */
	uint8_t bytes[K2I_CLIENT_INPUT_BYTES];
	size_t count;
	uint8_t status_logged;
	struct k2i_log_limit status_limit;
};

struct k2i_client_lease {        /* lease.c */
	pthread_mutex_t running; /* of the thread that runs the client; taken before that of `published` */
	uint64_t count;          /* of leases ever */
	bool yield_wanted;       /* the last lease was for one call: the thread is to yield */
	atomic_bool yields;      /* it does; only the thread stores true, with `running` */
};

struct k2i_client_published { /* publish.c: shared with other threads, under the lock */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct k2hft_client_stats stats;
	uint64_t drained_to;        /* nothing below this position is on its way */
	uint64_t drained_all_count; /* how often nothing at all was, seen while somebody waited for that */
	uint32_t drainers;
	bool ended;            /* nothing is sent any more */
	atomic_bool connected; /* also read without the lock */
};

struct k2i_client_thread { /* thread.c, for a thread that starts and closes, or ends OpenSSL meanwhile */
	pthread_t thread;
	atomic_bool runs; /* asked by drain; `ended` is set before it becomes false */
	atomic_bool stop;
};

struct k2hft_client {
	struct k2hft_ring *ring;
	char host_name[K2HFT_STREAM_HOST_BYTES_MAX + 1];
	struct k2hft_client_options options;
	enum k2hft_client_state state;
	bool broken;          /* the ring can't be used */
	uint64_t step_ns;     /* the latest time of a step */
	struct k2i_dial dial; /* to the target of now, and the connection */
	struct k2i_link link;
	struct k2hft_client_stats stats;
	struct k2hft_client *exit_next; /* exit.c */
	struct k2i_client_claims claims;
	struct k2i_client_wake wake;
	struct k2i_client_targets targets;
	struct k2i_client_move move;
	struct k2i_client_side side;
	struct k2i_client_failure failure;
	struct k2i_client_life life;
	struct k2i_client_resume resume;
	struct k2i_client_positions positions;
	struct k2i_client_data data;
	struct k2i_client_sent sent;
	struct k2i_client_streams streams;
	struct k2i_client_output output;
	struct k2i_client_archive archive;
	struct k2i_client_input input;
	struct k2i_client_lease lease;
	struct k2i_client_published published;
	struct k2i_client_thread thread;
};

/* session.c: states, time */
void k2i_client_session_step(struct k2hft_client *client, uint64_t now_ns);
void k2i_client_socket_event(struct k2hft_client *client, uint32_t events, uint64_t now_ns);
uint64_t k2i_client_deadline(const struct k2hft_client *client);

/* end.c */
/* Gives the connection up, says why, sets when to try again. */
void k2i_client_disconnect(struct k2hft_client *client, enum k2i_client_retry retry, uint64_t now_ns,
			   const char *format, ...) __attribute__((format(printf, 4, 5)));
/* The same for a peer that broke a rule: it is told with an ERROR of `code`. */
void k2i_client_refuse(struct k2hft_client *client, uint16_t code, enum k2i_client_retry retry, uint64_t now_ns,
		       const char *format, ...) __attribute__((format(printf, 5, 6)));
/* Ends the connection in good order, for ever. */
void k2i_client_bye(struct k2hft_client *client);
void k2i_client_retry_schedule(struct k2hft_client *client, enum k2i_client_retry retry, uint64_t now_ns);
uint64_t k2i_client_backoff_ns(uint32_t failures, uint64_t random);
uint64_t k2i_client_random(struct k2hft_client *client);

/* tls.c */
/* When it is time. */
void k2i_client_certificate_look(struct k2hft_client *client, uint64_t now_ns);

/* move.c */
void k2i_client_move_begin(struct k2hft_client *client);
/* Whether the ring may go to another target. */
bool k2i_client_movable(const struct k2hft_client *client);
/* So long is it silent before it is asked; and may not have answered, as long as it is connected. */
uint64_t k2i_client_ping_ns(const struct k2hft_client *client);
uint64_t k2i_client_patience_ns(const struct k2hft_client *client);
/* The target owes an answer since then, if it did not before; it has answered. */
void k2i_client_unanswered(struct k2hft_client *client, uint64_t since_ns);
void k2i_client_answered(struct k2hft_client *client);
/* When the next target is tried, UINT64_MAX: never; tries it. */
uint64_t k2i_client_failover_at(const struct k2hft_client *client);
void k2i_client_failover(struct k2hft_client *client, uint64_t now_ns);
/* After a failure: the next target, if no one has answered for long; else the same is tried again. */
void k2i_client_search_on(struct k2hft_client *client, uint64_t pause_ns, uint64_t now_ns);
/* Behind that of now, or that the search has come to, of those that are not gone. */
struct k2i_target *k2i_client_target_next(const struct k2hft_client *client);
/* others.c: those that may take over, which were checked. Before it is run, or with `running`. Errors as k2i_target_open's. */
int k2i_client_others_take(struct k2hft_client *client, const struct k2hft_target *others, uint32_t count);
void k2i_client_target_go(struct k2hft_client *client, struct k2i_target *target, uint64_t at_ns);
/* A receiver answered: if it was unsettled, it is not any more. false: it has not taken back what it was asked to. */
bool k2i_client_settle(struct k2hft_client *client, const struct k2hft_welcome *welcome, const char *peer);
/* It is the one that goes on, which the ring remembers. -ENOSPC there are too many unsettled ones. */
int k2i_client_move(struct k2hft_client *client, const struct k2hft_welcome *welcome);
/* At the end. */
void k2i_client_unsettled_log(const struct k2hft_client *client);

/* side.c */
void k2i_client_side_step(struct k2hft_client *client, uint64_t now_ns);
void k2i_client_side_event(struct k2hft_client *client, uint32_t events, uint64_t now_ns);
uint64_t k2i_client_side_deadline(const struct k2hft_client *client);
void k2i_client_side_end(struct k2hft_client *client);

/* resume.c: the ring as it is when the client is opened; WELCOME */
void k2i_client_ring_look(struct k2hft_client *client);
/* Returns how many bytes, or -errno. */
int k2i_client_hello_encode(struct k2hft_client *client, uint8_t *room, size_t bytes);
int k2i_client_hello_send(struct k2hft_client *client);
void k2i_client_welcome(struct k2hft_client *client, const struct k2hft_welcome *welcome, uint64_t now_ns);
/* Whether the connection sends chunks under the name that they had before their ring was copied, as the original may. */
static inline bool k2i_client_name_old(const struct k2hft_client *client)
{
	return client->resume.name.end < UINT64_MAX;
}

/* If all such chunks are acknowledged, ends the connection, and the next one begins with those behind them. */
void k2i_client_name_next(struct k2hft_client *client);
/* Ends the connection, since chunks have become a hole: the original can have them, so the rest goes by another name. */
void k2i_client_name_drop(struct k2hft_client *client, uint64_t now_ns);
/* The receiver does not take this ring, since it has had a newer epoch of it. */
void k2i_client_fenced(struct k2hft_client *client, uint64_t now_ns);

/* output.c */
/* Ends the connection, and what was on its way. */
void k2i_client_socket_close(struct k2hft_client *client);
void k2i_client_output_reset(struct k2hft_client *client);
/* Room for a message of `bytes` in the control buffer; NULL: none now. k2i_client_control_add makes it part of it. */
uint8_t *k2i_client_control_room(struct k2hft_client *client, size_t bytes);
void k2i_client_control_add(struct k2hft_client *client, size_t bytes);
/* Counts `bytes` that the socket took as sent, as far as they are the queue's; returns how many are. */
size_t k2i_client_control_taken(struct k2i_client_output *output, size_t bytes);
/* Cuts and writes until there is a reason to pause. 0, or -EIO the ring can't be used. */
int k2i_client_send(struct k2hft_client *client, uint64_t now_ns);

/* data.c: the next frame. 1: output holds one or a message; 0: client->pause says why not; -EIO. */
int k2i_client_frame_next(struct k2hft_client *client, uint64_t now_ns);
/* Nothing more is cut before the ring wakes the client, if it is the ring that is empty. 0, or -EIO. */
int k2i_client_ring_sleep(struct k2hft_client *client, uint64_t now_ns);

/*
 * archive.c: puts records that are about to be sent first into the archive; nothing that fails there keeps them from being
 * sent. At the opening: -ENOMEM; and at the end.
 */
void k2i_client_archive(struct k2hft_client *client, const struct k2hft_span *span, uint64_t now_ns);
int k2i_client_archive_begin(struct k2hft_client *client);
void k2i_client_archive_end(struct k2hft_client *client);

/* claim.c: from when on it is not too soon to ask the owners of claims by the hook; calls it. */
uint64_t k2i_client_claims_ask_at(const struct k2hft_client *client);
void k2i_client_claims_ask(struct k2hft_client *client);
/* When the hook is to be called although the ring is not looked at (UINT64_MAX: never); calls it. */
uint64_t k2i_client_claims_due(const struct k2hft_client *client);
void k2i_client_claims_seal(struct k2hft_client *client, uint64_t now_ns);

/* receive.c */
void k2i_client_receive(struct k2hft_client *client, uint64_t now_ns);

/* sent.c */
/* The peer is to answer something: an ACK or a PONG. */
bool k2i_client_answer_outstanding(const struct k2hft_client *client);
/*
 * Frames on their way, by the positions where they end. With more than K2I_CLIENT_SENT_MAX the newest count as one: a
 * destination that stalls can have a window of the frames of a slow writer, each with a record.
 */
void k2i_client_sent_add(struct k2hft_client *client, uint64_t end);
/* A new connection, whose receiver has all below `floor`. */
void k2i_client_sent_begin(struct k2hft_client *client, uint64_t floor);
/* 1: `position` is new and was sent, frames that end there or below are forgotten; 0: not new; -EBADMSG: never sent. */
int k2i_client_sent_acked(struct k2hft_client *client, uint64_t position);

/* client.c: process, with the events that epoll_wait(2) gave. */
#define K2I_CLIENT_EVENTS_MAX 4
struct epoll_event;
int k2i_client_step(struct k2hft_client *client, const struct epoll_event *events, int event_count, uint64_t now_ns);

/* lease.c: the thread's wait after a lease for one call, until that ends or it is interrupted. With `running`. */
void k2i_client_yield(struct k2hft_client *client);

/* exit.c: clients with TLS, which end before OpenSSL does; remove before the client's thread is stopped */
void k2i_client_exit_add(struct k2hft_client *client);
void k2i_client_exit_remove(struct k2hft_client *client);

/* thread.c */
void k2i_client_thread_stop(struct k2hft_client *client);
/* Threads that wait in drain are told that nothing is sent any more. */
void k2i_client_waits_end(struct k2hft_client *client);
/* The same, and process sends nothing any more. With `running`, or without a thread. */
void k2i_client_fail(struct k2hft_client *client);
void k2i_client_interrupt(struct k2hft_client *client);
/* Empties the descriptor that k2i_client_interrupt wrote. With `running`. */
void k2i_client_interrupted(struct k2hft_client *client);
/* Shows other threads how things stand, and tells those that wait in drain. */
void k2i_client_publish(struct k2hft_client *client);
/* The ring has how the client stands. */
void k2i_client_connection_tell(struct k2hft_client *client);
/* Waits, at most so long, until no receiver is unsettled. */
void k2i_client_settled_wait(struct k2hft_client *client, int timeout_ms);

#endif
