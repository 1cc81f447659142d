/* SPDX-License-Identifier: MIT */
/* Receivers that have had chunks of the ring: of which the last one is asked next, and others can have too much. */
#include "ring/handle.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "base/hash.h"
#include "base/uuid.h"

/* The words of a copy in the header; `check` is the hash of all others. */
struct copy {
	uint64_t number; /* of the change; 0: none yet */
	uint8_t last[16];
	uint64_t last_target;
	uint64_t unsettled_count;
	struct k2hft_unsettled unsettled[K2HFT_UNSETTLED_MAX];
	uint64_t check;
};
static_assert(sizeof(struct copy) == K2I_RING_RECEIVERS_WORDS * sizeof(uint64_t), "layout 2");

/* relaxed, all of this file: words that the consumer alone reads and writes, and its successor after its end. */
static void copy_load(const struct k2hft_ring *ring, unsigned at, struct copy *copy)
{
	uint64_t words[K2I_RING_RECEIVERS_WORDS];

	for (unsigned word = 0; word < K2I_RING_RECEIVERS_WORDS; word++)
		words[word] = atomic_load_explicit(&ring->header->receivers[at].words[word], memory_order_relaxed);
	memcpy(copy, words, sizeof(words));
}

static bool unsettled_valid(const struct copy *copy)
{
	if (copy->unsettled_count > K2HFT_UNSETTLED_MAX)
		return false;
	for (uint64_t at = 0; at < copy->unsettled_count; at++) {
		const struct k2hft_unsettled *one = &copy->unsettled[at];

		if (k2i_uuid_zero(one->receiver_uuid) || one->position % 8 || one->position > UINT64_MAX / 2)
			return false;
		for (uint64_t before = 0; before < at; before++) {
			if (memcmp(copy->unsettled[before].receiver_uuid, one->receiver_uuid, 16) == 0)
				return false;
		}
	}
	return true;
}

static bool copy_valid(const struct copy *copy)
{
	return copy->number && k2i_hash(copy, offsetof(struct copy, check)) == copy->check && unsettled_valid(copy);
}

/*
 * A change is written over the older copy: a kill or a power cut in the middle of it leaves the state before. Returns which
 * copy counts; `now` is empty if there is none.
 */
static unsigned copy_find(const struct k2hft_ring *ring, struct copy *now)
{
	struct copy copies[2];
	bool valid[2];

	for (unsigned at = 0; at < 2; at++) {
		copy_load(ring, at, &copies[at]);
		valid[at] = copy_valid(&copies[at]);
	}
	unsigned at = valid[1] && (!valid[0] || copies[1].number > copies[0].number);
	*now = valid[at] ? copies[at] : (struct copy){0};
	return at;
}

void k2i_ring_receivers(const struct k2hft_ring *ring, struct k2i_ring_receivers *receivers)
{
	struct copy now;

	(void)copy_find(ring, &now);
	*receivers = (struct k2i_ring_receivers){.last_target = now.last_target,
						 .unsettled_count = (uint8_t)now.unsettled_count};
	memcpy(receivers->last, now.last, sizeof(receivers->last));
	memcpy(receivers->unsettled, now.unsettled, sizeof(receivers->unsettled));
}

int k2i_ring_receivers_set(struct k2hft_ring *ring, const struct k2i_ring_receivers *receivers)
{
	uint64_t words[K2I_RING_RECEIVERS_WORDS];
	struct copy now, next;
	unsigned at = 1 - copy_find(ring, &now);

	next = (struct copy){.number = now.number + 1,
			     .last_target = receivers->last_target,
			     .unsettled_count = receivers->unsettled_count};
	memcpy(next.last, receivers->last, sizeof(next.last));
	memcpy(next.unsettled, receivers->unsettled, receivers->unsettled_count * sizeof(next.unsettled[0]));
	next.check = k2i_hash(&next, offsetof(struct copy, check));
	memcpy(words, &next, sizeof(words));
	for (unsigned word = 0; word < K2I_RING_RECEIVERS_WORDS; word++)
		atomic_store_explicit(&ring->header->receivers[at].words[word], words[word], memory_order_relaxed);
	/* Memory has no disk, for which this is nothing. */
	return msync(ring->header, K2I_HEADER_BYTES, MS_SYNC) ? -errno : 0;
}

uint64_t k2i_ring_epoch_raise(struct k2hft_ring *ring)
{
	return atomic_fetch_add_explicit(&ring->header->epoch, 1, memory_order_relaxed) + 1;
}
