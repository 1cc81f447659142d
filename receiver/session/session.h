/* SPDX-License-Identifier: MIT */
#ifndef K2I_RECEIVER_SESSION_SESSION_H
#define K2I_RECEIVER_SESSION_SESSION_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <k2hft/frame.h>

#include "receiver/commit/commit.h"
#include "receiver/base/counters.h"
#include "receiver/session/stall.h"
#include "base/log.h"
#include "receiver/base/peer_log.h"
#include "receiver/session/rings.h"
#include "receiver/base/table.h"

/*
 * The receiver's side of k2hft-protocol(7) for one connection, without the connection: bytes that came in, bytes that
 * are to go out, and commits.
 */
#define K2I_SESSION_STREAMS_MAX 4096u
#define K2I_SESSION_OUTPUT_BYTES 4096u
/* The bytes of the longest answer, an ERROR with its text. Input is only taken while there is room for it. */
#define K2I_SESSION_ANSWER_BYTES 512u

/* For the streams of all sessions: each takes about a hundred bytes, and the lengths of its path and its host. */
struct k2i_stream_room {
	atomic_size_t count;
	atomic_size_t count_max;
	struct k2i_flows flows;
};

struct k2i_peers;
struct k2i_session_shared { /* by all sessions of a thread */
	/*
	 * The thread holds it, but for the times that it can wait for a ring's lock or the disk: `wait_count` counts
	 * them. Then another thread may take it, and tell the peers of all its sessions that they are heard late.
	 */
	pthread_mutex_t serving;
	uint64_t wait_count;
	struct k2i_rings *rings;
	struct k2i_peers *peers;     /* shared by all threads; not needed without the next */
	size_t host_connections_max; /* 0: any number */
	struct k2i_committer *committer;
	struct k2i_syncer *syncer; /* NULL: none, so level written is the highest */
	bool sync_always;          /* every sender gets level synced */
	struct k2i_counters *counters;
	struct k2i_stream_room *streams;
	const uint8_t *receiver_uuid;
	uint64_t window_bytes;
	uint32_t frame_bytes_max;
	uint8_t *raw; /* a decompressed frame */
	size_t raw_room;
	struct k2i_log_limit discard_limit, duplicate_limit;
	struct k2i_peer_log peer_log;
};

enum k2i_session_result {
	K2I_SESSION_MORE,  /* go on when more has come */
	K2I_SESSION_STALL, /* the destination can't take it now: call again with the same bytes in a while */
	K2I_SESSION_CLOSE, /* send what is there, then close */
};

enum k2i_session_state {
	K2I_SESSION_NEW,
	K2I_SESSION_GREETED, /* WELCOME waits for the disk */
	K2I_SESSION_OPEN,
	K2I_SESSION_ENDED,
};

struct k2i_session_greeting {
	bool known;
	bool deferred, copied; /* as in k2i_ring_place */
	uint64_t cut_records, retracted_records;
	bool copy;                /* as in k2i_ring_greeting */
	uint32_t frame_bytes_max; /* as the peer wants it */
	uint64_t number;          /* the commit that has to be on the disk before, if it is known */
	uint64_t rounds_failed;   /* the syncer's, before the position was looked up */
};

struct k2i_session_range { /* a range of commits, by their numbers; the first is 0: none */
	uint64_t first, last;
	uint64_t position; /* behind the last */
};

struct k2i_session {
	struct k2i_session_shared *shared;
	struct k2i_owner owner;
	const char *peer; /* address, for messages; must outlive it */
	enum k2i_session_state state;
	bool crowded; /* there are too many: its HELLO is answered with ERROR */
	bool fenced;  /* another connection has its ring now */
	struct k2i_ring *ring;
	struct k2i_table streams;
	struct k2i_stream *stream; /* the last one that was used */
	char host[K2HFT_STREAM_HOST_BYTES_MAX + 1];
	uint64_t epoch;
	struct k2i_commit commit;
	uint64_t taken;     /* behind what all sinks have, or have a copy of */
	uint64_t committed; /* acknowledged or to be acknowledged */
	uint64_t durable;   /* level synced: what can be acknowledged now */
	uint64_t number;    /* its last commit's: the ring can be another's already */
	struct k2i_session_range syncing, waiting;
	struct k2i_session_greeting greeting;
	uint64_t expected;    /* end of what was received */
	uint64_t reread_end;  /* below it a stall can make bytes come again that were counted already */
	uint64_t window_end;  /* of the last WELCOME or ACK */
	uint64_t told;        /* likewise: its position */
	unsigned ack_count;   /* since the peer proved to know one */
	bool proving;         /* it is asked to */
	uint32_t frame_bytes; /* largest body of DATA now */
	uint8_t level, status;
	bool ack_due;
	bool reported;   /* sinks have stored what the ledger does not have yet */
	bool stalled;    /* its last try was in vain */
	int stall_error; /* why; 0: a sink waits */
	char stall_place[K2I_STALL_PLACE_BYTES];
	uint64_t duplicate_count;
	uint64_t pending_frames, pending_duplicates; /* not yet committed */
	uint8_t output[K2I_SESSION_OUTPUT_BYTES];
	size_t output_bytes; /* for the connection to send */
};

void k2i_session_start(struct k2i_session *session, struct k2i_session_shared *shared, struct k2i_owner owner,
		       const char *peer);
/* Gives the ring back and writes the line about what was received. */
void k2i_session_end(struct k2i_session *session);

/*
 * Takes complete frames from `bytes`; `*consumed` tells how many bytes are done with. `*wanted`: how many there must be
 * behind those for the next frame to be complete, or at least for its header; 0: it waits for output to be sent.
 */
enum k2i_session_result k2i_session_input(struct k2i_session *session, const uint8_t *bytes, size_t byte_count,
					  size_t *consumed, size_t *wanted);

/* Largest input that is ever wanted at once. */
size_t k2i_session_input_max(const struct k2i_session *session);

/* Asks whether the peer is there. */
void k2i_session_ping(struct k2i_session *session);
/* ACK: how far the peer is, and, as its status, whether its records can be written. */
void k2i_session_ack(struct k2i_session *session);
/* The same while the session's thread waits for the disk, from another one. */
void k2i_session_slow(struct k2i_session *session);
/* A sink that stores later has reported. The next k2i_session_input, of the same bytes, sees to it. */
void k2i_session_stored(struct k2i_session *session, const struct k2i_sink_report *report);
/* The syncer has done a round. Whether there is something to send, or to end. */
bool k2i_session_synced(struct k2i_session *session);
/* Level synced: waits for the disk. Whether more can be acknowledged then. */
bool k2i_session_sync_wait(struct k2i_session *session);
/* Ends from this side: BYE, or ERROR with a code, which is logged here or, of refuse, was before. */
void k2i_session_bye(struct k2i_session *session);
void k2i_session_refuse(struct k2i_session *session, uint16_t code, const char *text);
void k2i_session_fail(struct k2i_session *session, uint16_t code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
