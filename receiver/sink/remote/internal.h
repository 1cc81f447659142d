/* SPDX-License-Identifier: MIT */
#ifndef K2I_RECEIVER_SINK_REMOTE_INTERNAL_H
#define K2I_RECEIVER_SINK_REMOTE_INTERNAL_H

#include <pthread.h>

#include "receiver/sink/carry.h"
#include "receiver/sink/remote/remote.h"
#include "receiver/sink/render.h"

/* Declarations that the files of the folder share. */

struct k2i_remote {
	struct k2i_sink sink;
	struct k2i_remote_kind kind;
	struct k2i_ledger *ledger;
	struct k2i_counters *counters;
	int (*quarantine)(void *argument, const uint8_t ring[16], const struct k2i_group *group,
			  const struct k2i_group_target *target);
	void *quarantine_argument;
	struct k2i_pending pending;
	struct k2i_carry *carry; /* NULL: the receiver has no state */
	void *thread;            /* for the beginnings whose rest has not come */
	struct k2i_log_limit limit;
	pthread_t worker;
	bool working;
	int stop; /* an eventfd */
	atomic_bool renew;
	/* The worker's. */
	struct k2i_remote_batch batch;
	unsigned failures; /* in a row */
	/* Guards what follows. */
	pthread_mutex_t mutex;
	pthread_cond_t condition;
	bool stopping;
	struct k2i_remote_piece *first, **last; /* the queue */
	uint64_t pieces;                        /* of it, and of the batch */
	uint64_t oldest_ns;                     /* of the batch; 0: there is none */
	uint64_t held_ns, doing_ns;             /* since when; 0: not */
	char held[K2I_REMOTE_REASON_BYTES], doing[K2I_REMOTE_REASON_BYTES];
	uint64_t retries, refused;
};

/* The queue of a remote without a sink's other parts. Errors as eventfd(2) and pthread_create(3). */
int k2i_remote_queue_start(struct k2i_remote *remote);
/* All that is left counts as not stored. */
void k2i_remote_queue_end(struct k2i_remote *remote);
/* Pieces up to NULL, whose group counts them. */
void k2i_remote_queue_push(struct k2i_remote *remote, struct k2i_remote_piece *first);
void k2i_remote_queue_show(struct k2i_remote *remote, struct k2i_report *report, uint64_t now_ns,
			   struct k2i_sink_state *state);
void k2i_remote_queue_tick(struct k2i_remote *remote, uint64_t now_ns);

/* How long the next try waits after so many failures in a row. `after_ms`: the peer's wish. */
uint64_t k2i_remote_delay_ms(unsigned failures, uint64_t after_ms);

#endif
