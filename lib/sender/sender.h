/* SPDX-License-Identifier: MIT */
#ifndef K2I_SENDER_SENDER_H
#define K2I_SENDER_SENDER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <k2hft/sender.h>

#include "base/log.h"
#include "sender/lane.h"

/* The inside of a sender, for its writers and for who consumes its ring without a client. */
struct k2hft_sender {
	struct k2i_lane lane;
	bool attached;   /* another process consumes the ring: a call commits what it writes */
	uint32_t full;   /* K2HFT_FULL_* */
	bool asymmetric; /* membarrier(2) serves this process */

	/* Under the mutex, which whoever seals holds. */
	pthread_mutex_t mutex;
	pthread_cond_t sealed; /* a seal that had to wait for a call was done */
	struct k2hft_writer *writers;
	struct k2hft_writer *unended;                          /* closed, but for the end of a line; by `next` */
	uint64_t seal_ticket;                                  /* last given */
	uint64_t closed_records, closed_bytes, closed_dropped; /* of writers that are closed */

	/* Any thread. */
	_Atomic(uint64_t) refused_writes, pieces; /* of all writers */
	struct k2i_log_limit drop_limit, seal_limit, refused_limit, piece_limit;
};

/* A sender without a client, whose caller consumes the ring; and its end, with a client or not. */
int k2i_sender_create(const struct k2hft_ring_options *ring_options, uint32_t full, struct k2hft_sender **sender);
void k2i_sender_free(struct k2hft_sender *sender);

/* seal.c */

/* Whether the asymmetric handshake works in this process, which is asked for it here. */
bool k2i_seal_asymmetric(void);

/*
 * Commits the open chunks of all writers, but of those that are inside a call: these commit at its end. Returns the
 * ticket that k2i_sender_sealed_wait takes.
 */
uint64_t k2i_sender_seal(struct k2hft_sender *sender);

#define K2I_DEADLINE_NONE UINT64_MAX

/* Waits until nothing that was open at that ticket is. -ETIMEDOUT at `deadline_ns` of CLOCK_MONOTONIC. */
int k2i_sender_sealed_wait(struct k2hft_sender *sender, uint64_t ticket, uint64_t deadline_ns);

#endif
