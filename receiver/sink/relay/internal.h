/* SPDX-License-Identifier: MIT */
#ifndef K2I_RECEIVER_SINK_RELAY_INTERNAL_H
#define K2I_RECEIVER_SINK_RELAY_INTERNAL_H

#include <pthread.h>

#include <k2hft/client.h>
#include <k2hft/ring.h>
#include <k2hft/sender.h>

#include "app/program/ring_stats.h"
#include "base/spread.h"
#include "config/sender.h"
#include "receiver/base/table.h"
#include "receiver/sink/pending.h"
#include "receiver/sink/sink.h"

/* A commit has a mark for each. */
#define K2I_RELAY_LANES_MAX K2I_LEDGER_FILES_MAX

/* The ledger's rows of chunks that are in a ring, where the sink's own rows are of those that were acknowledged: ACKEND. */
#define K2I_RELAY_TAKEN 256u

enum k2i_relay_lane_state {
	K2I_RELAY_LANE_FREE,   /* no lane */
	K2I_RELAY_LANE_ADDED,  /* by a change that is prepared only */
	K2I_RELAY_LANE_TAKES,  /* one of `takers` */
	K2I_RELAY_LANE_LEAVES, /* a reload has removed it: the sender has its ring, until that is empty */
};

struct k2i_relay_lane {
	enum k2i_relay_lane_state state;
	/* The sender's, while it takes or is added. */
	struct k2hft_ring *ring;
	struct k2hft_client *client;
	struct k2hft_producer *producer;
	char home[K2I_SPREAD_HOME_BYTES];
	char *path; /* of the ring's file; NULL: it has none that outlives it */
	uint8_t uuid[16];
	bool told, told_deferred; /* to the ledger */
	/* The relay's mutex guards what follows. */
	uint64_t first;      /* where the group begins; UINT64_MAX: nothing of it is here */
	uint64_t tail;       /* behind the last chunk */
	uint64_t changed_at; /* what is below was there before the takers changed */
};

struct k2i_relay_stream { /* of one origin ring */
	struct k2i_table_node node;
	const char *path, *host;
	uint32_t mode, lane; /* of its last chunk, with DELIVERMODE = random */
	uint64_t used_ns;
	uint32_t ids[K2I_RELAY_LANES_MAX]; /* in each lane's ring; 0: not declared */
};

struct k2i_relay {
	struct k2i_sink sink;
	struct k2i_ledger *ledger;
	struct k2i_sender_config config;
	struct k2hft_sender *sender;
	struct k2i_relay_lane lanes[K2I_RELAY_LANES_MAX];
	/* Lanes in the order of TRANSCONF; a change has both mutexes. */
	uint32_t takers[K2I_RELAY_LANES_MAX], taker_count;
	bool marks;            /* the rings have files that outlive the relay */
	bool end_acknowledges; /* ACKEND */
	struct k2i_pending pending;
	pthread_t thread;
	bool started;
	/* Taken at begin, given back at end; guards what follows. */
	pthread_mutex_t mutex;
	struct k2i_table streams;
	struct k2i_relay_stream *stream; /* the last one */
	uint64_t random;
	bool deferred; /* the group's */
	/* The last change of the takers, until all is acknowledged that was there before: those of then. */
	bool changing;
	uint32_t formers[K2I_RELAY_LANES_MAX], former_count;
	/* A change that is prepared. */
	bool prepared;
	struct k2i_sender_config next;
	uint32_t added[K2I_RELAY_LANES_MAX], added_count;
	/* Guards what follows; taken last. */
	pthread_mutex_t wait_mutex;
	pthread_cond_t wake;
	bool stopping;
	struct k2i_relay_waiter *waiters;
	size_t waiter_count, waiter_room;
	struct k2i_relay_way *ways, **last_way;
};

struct k2i_relay_waiter { /* an owner that was told K2I_SINK_WAITS */
	struct k2i_owner owner;
	uint64_t bytes;    /* that it has */
	uint64_t since_ns; /* not before: streams that were given back are free a while later */
};

struct k2i_relay_way { /* ACKEND: chunks on their way through a lane */
	struct k2i_relay_way *next;
	struct k2i_pending_group *group;
	uint32_t lane;
	uint64_t position; /* behind the last */
};

static inline struct k2i_relay *k2i_relay(struct k2i_sink *sink)
{
	return (struct k2i_relay *)(void *)sink;
}

static inline struct k2i_relay_lane *k2i_relay_taker(struct k2i_relay *relay, uint32_t at)
{
	return &relay->lanes[relay->takers[at]];
}

/* change.c: reload of TRANSCONF, as the sink's prepare and change. */
int k2i_relay_prepare(struct k2i_sink *sink, const struct k2i_settings *settings, char *message, size_t message_room);
void k2i_relay_change(struct k2i_sink *sink, bool take);
/* Whether a stream's chunks before the last change, in another lane than this one, are not acknowledged yet; with the mutex. */
bool k2i_relay_stream_waits(const struct k2i_relay *relay, const struct k2i_relay_stream *stream, uint32_t lane);
/* Whether the sender has the ring of a lane that leaves still. */
bool k2i_relay_lane_leaves(const struct k2i_relay *relay, const struct k2i_relay_lane *lane);
/* Once a second, with both mutexes: ends what is over. */
void k2i_relay_change_tick(struct k2i_relay *relay);

/* lanes.c: opens them, with the rings as they were left. The error was logged. */
int k2i_relay_lanes_open(struct k2i_relay *relay);
/* The lane of a receiver of the sender, in a place that is free. -errno */
int k2i_relay_lane_open(struct k2i_relay *relay, const char *home, uint32_t place);
void k2i_relay_lane_close(struct k2i_relay_lane *lane);
/* Waits, if the rings end with it, until all is acknowledged, but not for ever. */
void k2i_relay_lanes_close(struct k2i_relay *relay);
bool k2i_relay_lane_behind(const struct k2i_ledger_file *mark);
void k2i_relay_lane_recover(const struct k2i_ledger_file *mark);
/* Room in the fullest. */
uint64_t k2i_relay_lanes_free(struct k2i_relay *relay);
/* The ledger knows the lane's ring. As k2i_ledger_file_opened. */
int k2i_relay_lane_tell(struct k2i_relay *relay, struct k2i_relay_lane *lane);
/* Its mark, as it is now. */
struct k2i_ledger_file k2i_relay_lane_mark(const struct k2i_relay *relay, const struct k2i_relay_lane *lane);
void k2i_relay_lanes_show(struct k2i_relay *relay, struct k2i_report *report, struct k2i_sink_state *state);

/* streams.c, under the mutex. The lanes that a chunk goes to; 0, or -ENOMEM. */
int k2i_relay_stream_get(struct k2i_relay *relay, const struct k2i_stream *stream, struct k2i_relay_stream **found);
uint32_t k2i_relay_stream_lanes(struct k2i_relay *relay, struct k2i_relay_stream *stream,
				const struct k2i_group_entry *entry, uint32_t chosen,
				uint32_t lanes[K2I_RELAY_LANES_MAX]);
/* The first `wanted` of these lanes in the hash order of a path. */
void k2i_relay_order(const struct k2i_relay *relay, const uint32_t *of, uint32_t count, const char *path,
		     uint32_t wanted, uint32_t *lanes);
/* A place has another lane, in whose ring no stream is declared. */
void k2i_relay_streams_leave(struct k2i_relay *relay, uint32_t lane);
/* The lane of a group's chunks where any would do. */
uint32_t k2i_relay_lane_choose(struct k2i_relay *relay);
/* The stream's number in a lane's ring. -EAGAIN: all numbers are in use now; others as k2hft_stream_declare. */
int k2i_relay_stream_declare(struct k2i_relay *relay, struct k2i_relay_stream *stream, uint32_t lane);
/* Gives back those that were not used since. */
void k2i_relay_streams_drop(struct k2i_relay *relay, uint64_t since_ns);
void k2i_relay_streams_free(struct k2i_relay *relay);

/* worker.c: the thread that looks whether those who wait can go on. -ENOMEM; errors as pthread_create(3). */
int k2i_relay_worker_start(struct k2i_relay *relay);
/* Chunks on their way will not be stored any more. */
void k2i_relay_worker_stop(struct k2i_relay *relay);
int k2i_relay_wait(struct k2i_relay *relay, const struct k2i_relay_waiter *waiter);
/* Has a part of the group done when the lane's ring is acknowledged so far; `way` is free(3)'d. */
void k2i_relay_way_add(struct k2i_relay *relay, struct k2i_relay_way *way);

#endif
