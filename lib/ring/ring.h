/* SPDX-License-Identifier: MIT */
#ifndef K2I_RING_RING_H
#define K2I_RING_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <k2hft/frame.h>
#include <k2hft/ring.h>

/*
 * The ring as the other folders of the library see it, beside <k2hft/ring.h>. All other headers of this folder are its
 * own.
 */

/*
 * Counts in the ring's header of what became of its records: there they outlive the processes, and can be read by
 * others, whichever process feeds the ring and whichever empties it. They are the fields of struct k2hft_ring_stats
 * from dropped_records on, in that order, so a place is never given to another count, and new ones go to the end. K2I_RING_COUNT_CLIENT: the first of K2HFT_CLIENT_COUNTS.
 */
#define K2I_RING_COUNT_AT(name)                                                                                        \
	((unsigned)((offsetof(struct k2hft_ring_stats, name) - offsetof(struct k2hft_ring_stats, dropped_records)) /   \
		    sizeof(uint64_t)))
#define K2I_RING_COUNT_CLIENT K2I_RING_COUNT_AT(connects)
#define K2I_RING_COUNT_CLIENT_COUNT (K2I_RING_COUNT_AT(compressed_frames) + 1 - K2I_RING_COUNT_CLIENT)
#define K2I_RING_COUNT_COUNT (K2I_RING_COUNT_AT(unarchived_records) + 1)

/* Adds to the count that is called `name`. Any thread of any process. */
#define k2i_ring_count(ring, name, more) k2i_ring_count_at(ring, K2I_RING_COUNT_AT(name), more)
void k2i_ring_count_at(const struct k2hft_ring *ring, unsigned count, uint64_t more);

/* The structure has the right size in all that is built with the library, so k2hft_ring_stats can't fail. */
static inline struct k2hft_ring_stats k2i_ring_stats(const struct k2hft_ring *ring)
{
	struct k2hft_ring_stats stats = K2HFT_RING_STATS_INIT;

	(void)k2hft_ring_stats(ring, &stats);
	return stats;
}

/* Records that wait in a file which is about to be begun afresh, and are lost with that. 0: none that is known. */
uint64_t k2i_ring_waiting(const struct k2hft_ring_options *options);

uint64_t k2i_ring_bytes(const struct k2hft_ring *ring);
/* The same memory in the first of its two views, behind which a lap is contiguous. */
const void *k2i_ring_first_view(const struct k2hft_ring *ring, const void *data);

/* Room behind the tail, and whether a claim of `bytes` of payload would find it. */
uint64_t k2i_ring_free_bytes(const struct k2hft_ring *ring);
bool k2i_ring_room(const struct k2hft_ring *ring, size_t bytes);

/*
 * Whether the consumer of a ring that this process is attached to is gone, and none can follow: the memory or file has
 * no name, and nobody keeps it. `_known`: whether that was found before, without another look.
 */
bool k2i_ring_abandoned(struct k2hft_ring *ring);
bool k2i_ring_abandoned_known(const struct k2hft_ring *ring);

/* Whether this process is the one that opened the ring, and not a child of it. */
bool k2i_ring_own(const struct k2hft_ring *ring);

/* Wakes the consumer if it sleeps. A claim that was stored (seq_cst) before is seen by it, or it is seen asleep. */
void k2i_consumer_wake_asleep(struct k2hft_ring *ring);
/* Ends a sleep of the consumer, which reads before the next one. The consumer only. */
void k2i_consumer_sleep_end(struct k2hft_ring *ring);

/* Two clients would take the chunks from each other. false: there is one. */
bool k2i_ring_client_enter(struct k2hft_ring *ring);
void k2i_ring_client_leave(struct k2hft_ring *ring);

/*
 * Where the ring ended when it was opened; the consumer only. However often it is opened again, that stays as it is
 * until a receiver has heard of the ring: before that none can have anything behind it. `*introduced`: one has heard of
 * it, and the answer is where the ring ends now.
 */
uint64_t k2i_ring_opened_at(const struct k2hft_ring *ring, bool *introduced);
/* A receiver has heard of the ring. */
void k2i_ring_introduced(struct k2hft_ring *ring);

/*
 * The name that the next chunks have which are not acknowledged, up to position `end`. `begins`: none before them had
 * it. `epoch` goes with it.
 */
struct k2i_ring_name {
	uint8_t uuid[16];
	uint64_t epoch, end;
	bool begins;
};
void k2i_ring_name(const struct k2hft_ring *ring, struct k2i_ring_name *name);
/* They have the name of those that follow instead. */
void k2i_ring_name_drop(struct k2hft_ring *ring);

/*
 * Gives another uuid to a ring that is a copy: its positions name other chunks than the original's, and what receivers have
 * is of those. 0 or -EIO
 */
int k2i_ring_rename(struct k2hft_ring *ring);

/*
 * The receivers that have had chunks of the ring, as its consumer knows them; it survives the process. `_set` returns when
 * the change is on the disk, if the ring has one: 0 or -errno, with the change in memory all the same.
 */
struct k2i_ring_receivers {
	uint8_t last[16];     /* acknowledged last; all zero: none, or not known */
	uint64_t last_target; /* a hash of the name under which it was found */
	uint8_t unsettled_count;
	struct k2hft_unsettled unsettled[K2HFT_UNSETTLED_MAX];
};
void k2i_ring_receivers(const struct k2hft_ring *ring, struct k2i_ring_receivers *receivers);
int k2i_ring_receivers_set(struct k2hft_ring *ring, const struct k2i_ring_receivers *receivers);

/* Chunks below `position` are in an archive, or can't be any more; that file had so many bytes then. For the consumer. */
struct k2i_ring_archive {
	uint64_t position, device, inode, bytes;
};
void k2i_ring_archive(const struct k2hft_ring *ring, struct k2i_ring_archive *archive);
void k2i_ring_archive_set(struct k2hft_ring *ring, const struct k2i_ring_archive *archive);

/* How the consumer's client stands, for whoever looks at the ring from outside. */
struct k2i_ring_connection {
	uint32_t state, status;
	char receiver[K2HFT_RECEIVER_BYTES_MAX + 1]; /* HOST:PORT, cut if it is longer */
	char error[256];
};
void k2i_ring_connection_set(struct k2hft_ring *ring, const struct k2i_ring_connection *connection);
void k2i_ring_connection_acked(struct k2hft_ring *ring, uint64_t now_ns);
/*
 * As k2hft_ring_observe finds it; `*acked_ns`: when something was acknowledged last, CLOCK_MONOTONIC, 0: nothing was yet.
 * -ENODATA nobody is connected, or tells; others as k2hft_ring_observe.
 */
int k2i_ring_connection_observe(const char *path, struct k2i_ring_connection *connection, uint64_t *acked_ns);

/* For a move to another receiver. Returns the new epoch. */
uint64_t k2i_ring_epoch_raise(struct k2hft_ring *ring);

/*
 * Whether damage was mended, by this consumer or one before, that is not acknowledged yet, and around what: gaps between
 * `*from` and `*to` can be what was lost. Both 0 if not.
 */
bool k2i_ring_damage(const struct k2hft_ring *ring, uint64_t *from, uint64_t *to);

#endif
