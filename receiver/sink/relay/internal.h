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

struct k2i_relay_lane {
	struct k2hft_ring *ring;
	struct k2hft_client *client;
	struct k2hft_producer *producer;
	const char *host, *port;
	char home[K2I_SPREAD_HOME_BYTES];
	char *path; /* of the ring's file; NULL: it has none that outlives it */
	uint8_t uuid[16];
	bool told, told_deferred; /* to the ledger */
	/* The relay's mutex guards what follows. */
	uint64_t first; /* where the group begins; UINT64_MAX: nothing of it is here */
	uint64_t tail;  /* behind the last chunk */
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
	uint32_t lane_count;
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

/* lanes.c: opens them, with the rings as they were left. The error was logged. */
int k2i_relay_lanes_open(struct k2i_relay *relay);
/* Waits, if the rings end with it, until all is acknowledged, but not for ever. */
void k2i_relay_lanes_close(struct k2i_relay *relay);
bool k2i_relay_lane_behind(const struct k2i_ledger_file *mark);
void k2i_relay_lane_recover(const struct k2i_ledger_file *mark);
/* Room in the fullest. */
uint64_t k2i_relay_lanes_free(const struct k2i_relay *relay);
/* The ledger knows the lane's ring. As k2i_ledger_file_opened. */
int k2i_relay_lane_tell(struct k2i_relay *relay, struct k2i_relay_lane *lane);
/* Its mark, as it is now. */
struct k2i_ledger_file k2i_relay_lane_mark(const struct k2i_relay *relay, const struct k2i_relay_lane *lane);
void k2i_relay_lanes_show(const struct k2i_relay *relay, struct k2i_report *report, struct k2i_sink_state *state);

/* streams.c, under the mutex. The lanes that a chunk goes to; 0, or -ENOMEM. */
int k2i_relay_stream_get(struct k2i_relay *relay, const struct k2i_stream *stream, struct k2i_relay_stream **found);
uint32_t k2i_relay_stream_lanes(struct k2i_relay *relay, struct k2i_relay_stream *stream,
				const struct k2i_group_entry *entry, uint32_t chosen,
				uint32_t lanes[K2I_RELAY_LANES_MAX]);
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
