/* SPDX-License-Identifier: MIT */
#ifndef K2I_SENDER_CALL_H
#define K2I_SENDER_CALL_H

#include "sender/writer.h"

/* The begin and the end of each call of a writer; seal.c has the steps and the edges. */

/* Commits the open chunk if a ticket was left for that. */
void k2i_writer_seal_own(struct k2hft_writer *writer);
/* Tells a client that sleeps of the chunk that was begun. */
void k2i_writer_announce(struct k2hft_writer *writer);

/* W1. `asymmetric` is the writer's own, for callers that know it. */
static inline void k2i_writer_busy(struct k2hft_writer *writer, bool asymmetric)
{
	if (asymmetric) {
		atomic_store_explicit(&writer->busy, 1, memory_order_relaxed);
		atomic_signal_fence(memory_order_seq_cst); /* edge S1, see seal.c */
	} else {
		atomic_store_explicit(&writer->busy, 1, memory_order_seq_cst);
	}
}

/* W4. */
static inline void k2i_writer_idle(struct k2hft_writer *writer, bool asymmetric)
{
	if (asymmetric) {
		atomic_store_explicit(&writer->busy, 0, memory_order_release); /* edge S2 */
		atomic_signal_fence(memory_order_seq_cst);
	} else {
		atomic_store_explicit(&writer->busy, 0, memory_order_seq_cst);
	}
}

/* W2 and W5. */
static inline bool k2i_writer_seal_asked(const struct k2hft_writer *writer)
{
	return atomic_load_explicit(&writer->seal_ticket, memory_order_seq_cst) != 0; /* edge S3 */
}

/*
 * Around every use of the open chunk by the writer's thread. In the middle of a call nobody else touches the chunk;
 * before and behind it the sealer may.
 */
static inline void k2i_writer_enter(struct k2hft_writer *writer)
{
	k2i_writer_busy(writer, writer->asymmetric);
	if (k2i_writer_seal_asked(writer))
		k2i_writer_seal_own(writer);
}

static inline void k2i_writer_leave(struct k2hft_writer *writer)
{
	k2i_writer_idle(writer, writer->asymmetric);
	if (k2i_writer_seal_asked(writer))
		k2i_writer_seal_own(writer);
	if (atomic_load_explicit(&writer->announce, memory_order_relaxed)) /* its own */
		k2i_writer_announce(writer);
}

#endif
