/* SPDX-License-Identifier: MIT */
/*
 * The open chunk of a writer is written by the writer's thread without lock and without read-modify-write, and yet
 * another thread, the sealer (the client, when a claim stands in its way, or a flush), can commit it when the writer is
 * idle. Both go through two words, `busy` and `seal_ticket`:
 *
 *	writer                                  sealer, under the sender's mutex
 *	  W1  busy = 1                            L1  seal_ticket = ticket
 *	  S1  ---- light fence ----               S1  ---- heavy fence ----
 *	  W2  seal_ticket == 0 ?                  L2  busy == 0 ?
 *	  W3  fill the open chunk                 L3  commit the open chunk, seal_ticket = 0
 *	  W4  busy = 0 (S2 release)                   else leave the ticket to the writer
 *	  S1  ---- light fence ----
 *	  W5  seal_ticket == 0 ?
 *
 * The heavy fence is membarrier(2): each thread of the process passes a full fence between L1 and L2. The light fence
 * keeps the compiler from moving W1 behind W2 and W4 behind W5; the processor may. So for one pass of a writer, either
 * its thread is interrupted before W1 takes effect, then W2 comes after L1 and sees the ticket; or W1 has taken
 * effect, then L2 sees busy == 1, or what W4 stored later.
 *
 *	L2 reads 0 of an earlier W4: S2 makes all that the call wrote visible to the sealer, and no call can begin to fill
 *	that does not see the ticket at W2. It waits for the mutex, so L3 has the chunk alone; it sees L3's effects by
 *	the mutex, or, when L3's zero is what W2 reads, by edge S3: seal_ticket = 0 is a release store, W2 acquires.
 *	L2 reads 1: the ticket stays. W4 was not in effect at the fence, so W5 comes after L1 and sees the ticket: the
 *	writer commits at the end of the call, under the mutex. No sealer touches the chunk meanwhile: L2 and L3 need
 *	the mutex too.
 *
 * Where membarrier is refused, and under ThreadSanitizer, which does not know it, W1, W4, W2, W5, L1 and L2 are
 * sequentially consistent operations on both sides; the same cases follow from their total order.
 *
 * A chunk can also begin while the client goes to sleep. The client says so to the ring, then calls the sealer, then
 * waits; the writer stores `open` before its claim, and asks at the end of the call whether the client sleeps. All four
 * are sequentially consistent (edge S4), so that one of them sees the other.
 *
 * The writer's places in lanes go with the right to the open chunk: a sealer leaves lanes for an idle writer, too. But a
 * writer that announces its chunk still looks at its lane when the call is over: `announce` goes down when it is done with
 * that (S6, release), and a sealer that sees it up (acquire) leaves the places alone.
 *
 * For statistics sealed_records is stored last, by a release, and read first, by an acquire (edge S5): it is never ahead of
 * `records`. All other relaxed accesses of these files are to counters, to what the sender's mutex protects (seal_ticket is
 * stored under it alone), or to what the thread itself has stored.
 */
#include "sender/sender.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/caller.h"
#include "base/clock.h"
#include "client/client.h"
#include "ring/ring.h"
#include "sender/call.h"

#if defined(__SANITIZE_THREAD__)
#define UNDER_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define UNDER_THREAD_SANITIZER 1
#endif
#endif
#ifndef UNDER_THREAD_SANITIZER
#define UNDER_THREAD_SANITIZER 0
#endif

static int membarrier(int command)
{
	K2I_ERRNO_KEPT;

	return syscall(SYS_membarrier, command, 0, 0) < 0 ? -errno : 0;
}

bool k2i_seal_asymmetric(void)
{
	return !UNDER_THREAD_SANITIZER && membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0;
}

/* False: the kernel took back what it granted (a filter of system calls installed later): nobody may seal then. */
static bool heavy_fence(struct k2hft_sender *sender)
{
	int status = sender->asymmetric ? membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) : 0;

	if (status == 0)
		return true;
	k2i_log_limited(&sender->seal_limit, k2i_clock_ns(CLOCK_MONOTONIC), K2HFT_LOG_ERROR,
			"sender: membarrier: %s: records wait for the next call of their writer", strerror(-status));
	return false;
}

/* L2 and L3 of one writer. */
static void seal_one(struct k2hft_writer *writer)
{
	if (atomic_load_explicit(&writer->busy, memory_order_seq_cst)) /* edge S2 */
		return;
	k2i_writer_commit_open(writer, true);
	if (!atomic_load_explicit(&writer->announce, memory_order_acquire)) /* edge S6 */
		k2i_writer_places_renew(writer);
	atomic_store_explicit(&writer->seal_ticket, 0, memory_order_release); /* edge S3 */
	/* Another may wait for a ticket that was left to the writer, who finds none now between W4 and W5. */
	(void)pthread_cond_broadcast(&writer->sender->sealed);
}

/* Whether the writer has a chunk open in lane `number`, 0: in any, or has yet to follow the sender's lanes. */
static bool seal_needed(const struct k2hft_writer *writer, uint32_t number)
{
	uint32_t open = atomic_load_explicit(&writer->open, memory_order_seq_cst); /* edge S4 */

	if (open == K2I_OPEN_NONE)
		/* relaxed: stored with the mutex held, as the other two are. */
		return !number && (writer->behind_count ||
				   writer->lanes_version !=
					   atomic_load_explicit(&writer->sender->lanes_version, memory_order_relaxed));
	return !number || open == number || open == K2I_OPEN_ANY;
}

static uint64_t writers_seal(struct k2hft_sender *sender, uint32_t number)
{
	bool any = false;
	uint64_t ticket;

	(void)pthread_mutex_lock(&sender->mutex);
	ticket = ++sender->seal_ticket;
	for (struct k2hft_writer *writer = sender->writers; writer; writer = writer->next) {
		if (!seal_needed(writer, number))
			continue;
		any = true;
		if (!atomic_load_explicit(&writer->seal_ticket, memory_order_relaxed))
			atomic_store_explicit(&writer->seal_ticket, ticket, memory_order_seq_cst);
	}
	if (any && heavy_fence(sender)) {
		for (struct k2hft_writer *writer = sender->writers; writer; writer = writer->next) {
			if (atomic_load_explicit(&writer->seal_ticket, memory_order_relaxed))
				seal_one(writer);
		}
	}
	(void)pthread_mutex_unlock(&sender->mutex);
	return ticket;
}

uint64_t k2i_sender_seal(struct k2hft_sender *sender)
{
	return writers_seal(sender, 0);
}

void k2i_lane_seal(struct k2i_lane *lane)
{
	(void)writers_seal(lane->sender, lane->number);
}

void k2i_writer_seal_own(struct k2hft_writer *writer)
{
	struct k2hft_sender *sender = writer->sender;

	(void)pthread_mutex_lock(&sender->mutex);
	if (atomic_load_explicit(&writer->seal_ticket, memory_order_relaxed)) {
		k2i_writer_commit_open(writer, true);
		k2i_writer_places_renew(writer);
		/* Edge S3 is for sealers' zeros alone: this thread reads its own. The release costs nothing here. */
		atomic_store_explicit(&writer->seal_ticket, 0, memory_order_release);
		(void)pthread_cond_broadcast(&sender->sealed);
	}
	(void)pthread_mutex_unlock(&sender->mutex);
}

void k2i_writer_announce(struct k2hft_writer *writer)
{
	for (uint32_t at = 0; at < writer->copy_count; at++) {
		const struct k2i_lane *lane = writer->to[at].lane;

		k2i_consumer_wake_asleep(lane->ring); /* edge S4 */
		if (lane->client)
			k2i_client_claim_begun(lane->client);
	}
	atomic_store_explicit(&writer->announce, false, memory_order_release); /* edge S6 */
}

static bool ticket_pending(const struct k2hft_sender *sender, uint64_t ticket)
{
	for (const struct k2hft_writer *writer = sender->writers; writer; writer = writer->next) {
		uint64_t pending = atomic_load_explicit(&writer->seal_ticket, memory_order_relaxed);

		if (pending && pending <= ticket)
			return true;
	}
	return false;
}

static void seal_unlock(void *argument)
{
	struct k2hft_sender *sender = argument;

	(void)pthread_mutex_unlock(&sender->mutex);
}

int k2i_sender_sealed_wait(struct k2hft_sender *sender, uint64_t ticket, uint64_t deadline_ns)
{
	struct timespec deadline = k2i_timespec(deadline_ns);
	int status = 0;

	(void)pthread_mutex_lock(&sender->mutex);
	pthread_cleanup_push(seal_unlock, sender);
	while (ticket_pending(sender, ticket) && status == 0) {
		if (deadline_ns == K2I_DEADLINE_NONE)
			status = pthread_cond_wait(&sender->sealed, &sender->mutex);
		else
			status = pthread_cond_timedwait(&sender->sealed, &sender->mutex, &deadline);
	}
	pthread_cleanup_pop(1);
	return -status;
}
