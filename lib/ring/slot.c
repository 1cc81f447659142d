/* SPDX-License-Identifier: MIT */
#include "ring/handle.h"

unsigned k2i_slots_used(const struct k2hft_ring *ring)
{
	/* relaxed: raised before a slot's first claim, so whoever may see the claim (A2) sees it too. */
	uint32_t used = atomic_load_explicit(&ring->header->slots_used, memory_order_relaxed);

	return used < K2I_SLOT_COUNT ? used : K2I_SLOT_COUNT;
}

static void used_raise(struct k2hft_ring *ring, const struct k2i_slot *slot)
{
	uint32_t used = (uint32_t)(slot - ring->slots) + 1;
	/* relaxed: the claim that needs it is published by R2. */
	uint32_t seen = atomic_load_explicit(&ring->header->slots_used, memory_order_relaxed);

	while (seen < used && !atomic_compare_exchange_weak_explicit(&ring->header->slots_used, &seen, used,
								     memory_order_relaxed, memory_order_relaxed))
		continue;
}

static bool slot_alive(const struct k2hft_ring *ring, struct k2i_slot *slot, uint64_t owner)
{
	/*
	 * relaxed: A8 of the owner shows what the one before has left, and that is 0 until this one has written its own, or,
	 * for a moment, where k2i_slots_inherit has set it free, what the dead one had. A process that is killed in
	 * between counts as alive for ever: one place less, until the machine boots.
	 */
	struct k2i_process process = {
		.owner = owner,
		.namespace = atomic_load_explicit(&slot->owner_namespace, memory_order_relaxed),
	};

	return k2i_process_alive(&ring->process, &process);
}

/* Whether a dead producer's claim at `word` needs nobody any more: it is behind, was never made, or is settled. */
static bool claim_settled(const struct k2hft_ring *ring, uint64_t word)
{
	uint64_t place = word & ~UINT64_C(1), position = k2i_position(place), mark, size;
	unsigned kind;

	/* A4, A2 */
	if (word == 0 || !k2i_area_of(ring, place)->bytes ||
	    position < k2i_position(atomic_load_explicit(&ring->header->head, memory_order_acquire)) ||
	    position >= k2i_position(atomic_load_explicit(&ring->header->tail, memory_order_acquire)))
		return true;
	/* A1 */
	mark = atomic_load_explicit(&k2i_entry_at(ring, place)->mark, memory_order_acquire);
	kind = k2i_mark_read(ring, place, mark, &size);
	return kind != 0 && kind != K2I_KIND_CLAIMED;
}

void k2i_slot_free(struct k2i_slot *slot)
{
	/* R3: as at the end of a claim. */
	atomic_store_explicit(&slot->claim, 0, memory_order_release);
	/* relaxed: R8 below makes all of it visible together. */
	atomic_store_explicit(&slot->rear, 0, memory_order_relaxed);
	atomic_store_explicit(&slot->attachment, 0, memory_order_relaxed);
	atomic_store_explicit(&slot->owner_namespace, 0, memory_order_relaxed);
	/* R8 */
	atomic_store_explicit(&slot->owner, 0, memory_order_release);
}

/* Makes this process the owner in place of `owner`, who is nobody or dead. Another may be faster. */
static bool slot_take_over(struct k2hft_ring *ring, struct k2i_slot *slot, uint64_t owner)
{
	/* A8: the counters go on where the last owner left them. relaxed on failure: nothing is read then. */
	if (!atomic_compare_exchange_strong_explicit(&slot->owner, &owner, ring->process.owner, memory_order_acquire,
						     memory_order_relaxed))
		return false;
	/* relaxed: until it is seen, nobody judges this owner. */
	atomic_store_explicit(&slot->owner_namespace, ring->process.namespace, memory_order_relaxed);
	/* R5: a dead one's claim can have gone back into the free room without its having said so, see ring.c. */
	if (atomic_load_explicit(&slot->claim, memory_order_relaxed))
		(void)atomic_fetch_add_explicit(&ring->header->give_backs, 1, memory_order_release);
	/* R3: who finds it empty finds that, too. */
	atomic_store_explicit(&slot->claim, 0, memory_order_release);
	/* relaxed: nobody judges by them before a claim is made, and R2 publishes that. */
	atomic_store_explicit(&slot->rear, 0, memory_order_relaxed);
	atomic_store_explicit(&slot->attachment, 0, memory_order_relaxed);
	/* Also of a dead one, which may not have come to it. */
	used_raise(ring, slot);
	return true;
}

/* The same in place of one who is dead and left nothing to settle. */
static bool slot_take_back(struct k2hft_ring *ring, struct k2i_slot *slot)
{
	/*
	 * A8: for the namespace. A dead owner's words from before it was found dead are there; a live one is left
	 * alone.
	 */
	uint64_t owner = atomic_load_explicit(&slot->owner, memory_order_acquire);

	if (owner == 0 || slot_alive(ring, slot, owner))
		return false;
	/* A3 */
	return claim_settled(ring, atomic_load_explicit(&slot->claim, memory_order_acquire)) &&
	       claim_settled(ring, atomic_load_explicit(&slot->rear, memory_order_acquire)) &&
	       slot_take_over(ring, slot, owner);
}

struct k2i_slot *k2i_slot_take(struct k2hft_ring *ring)
{
	for (unsigned at = 0; at < K2I_SLOT_COUNT; at++) {
		if (slot_take_over(ring, &ring->slots[at], 0))
			return &ring->slots[at];
	}
	for (unsigned at = 0; at < K2I_SLOT_COUNT; at++) {
		if (slot_take_back(ring, &ring->slots[at]))
			return &ring->slots[at];
	}
	return NULL;
}

void k2i_slots_sweep(struct k2hft_ring *ring)
{
	unsigned used = k2i_slots_used(ring);

	for (unsigned at = 0; at < used; at++) {
		if (slot_take_back(ring, &ring->slots[at]))
			k2i_slot_free(&ring->slots[at]);
	}
}

void k2i_slots_inherit(struct k2hft_ring *ring, const struct k2i_process *before, bool rebooted)
{
	unsigned used = k2i_slots_used(ring);

	for (unsigned at = 0; at < used; at++) {
		struct k2i_slot *slot = &ring->slots[at];
		/* A8: as in slot_take_back. */
		uint64_t owner = atomic_load_explicit(&slot->owner, memory_order_acquire);
		uint64_t namespace = atomic_load_explicit(&slot->owner_namespace, memory_order_relaxed);
		bool is_before = owner == before->owner && namespace == before->namespace;

		/* relaxed: as above. Not if somebody who is attached has taken the place since. */
		if (owner && (rebooted || is_before || !slot_alive(ring, slot, owner)))
			(void)atomic_compare_exchange_strong_explicit(&slot->owner, &owner, K2I_OWNER_GONE,
								      memory_order_relaxed, memory_order_relaxed);
	}
}

unsigned k2i_slots_live(const struct k2hft_ring *ring)
{
	unsigned live = 0, used = k2i_slots_used(ring);

	for (unsigned at = 0; at < used; at++) {
		/* A8: as in slot_take_back. The count is old when it is returned in any case. */
		uint64_t owner = atomic_load_explicit(&ring->slots[at].owner, memory_order_acquire);

		live += owner != 0 && slot_alive(ring, &ring->slots[at], owner);
	}
	return live;
}

bool k2i_slot_held_by(const struct k2hft_ring *ring, uint64_t owner)
{
	unsigned used = k2i_slots_used(ring);

	for (unsigned at = 0; at < used; at++) {
		/* A8: as in slot_take_back. */
		if (atomic_load_explicit(&ring->slots[at].owner, memory_order_acquire) == owner &&
		    slot_alive(ring, &ring->slots[at], owner))
			return true;
	}
	return false;
}

static bool slot_claims(struct k2i_slot *slot, uint64_t position)
{
	/* A3: a slot that no longer says so shows what became of the claim. The area does not matter: there is one. */
	return (atomic_load_explicit(&slot->claim, memory_order_acquire) & ~K2I_PLACE_AREA) == (position | 1) ||
	       (atomic_load_explicit(&slot->rear, memory_order_acquire) & ~K2I_PLACE_AREA) == (position | 1);
}

bool k2i_position_claimed(const struct k2hft_ring *ring, uint64_t position)
{
	unsigned used = k2i_slots_used(ring);

	for (unsigned at = 0; at < used; at++) {
		if (slot_claims(&ring->slots[at], position))
			return true;
	}
	return false;
}

enum k2i_owner k2i_owner_find(const struct k2hft_ring *ring, uint64_t position, uint64_t *dead)
{
	enum k2i_owner found = K2I_OWNER_NONE;
	unsigned used = k2i_slots_used(ring);

	*dead = 0;
	for (unsigned at = 0; at < used; at++) {
		struct k2i_slot *slot = &ring->slots[at];
		uint64_t owner;

		if (!slot_claims(slot, position))
			continue;
		/*
		 * A8: that nobody is there any more is read together with the mark that the claim has ended with. A later
		 * owner than that of the claim is alive, and the caller then looks again later.
		 */
		owner = atomic_load_explicit(&slot->owner, memory_order_acquire);
		if (owner && slot_alive(ring, slot, owner))
			return K2I_OWNER_LIVE;
		found = K2I_OWNER_DEAD;
		*dead += (owner + 1) * (at + 1);
	}
	return found;
}

static uint64_t place_nearer(const struct k2hft_ring *ring, uint64_t head, uint64_t word, uint64_t place,
			     uint64_t limit)
{
	uint64_t claim = word & ~UINT64_C(1), position = k2i_position(claim);

	return word && position > k2i_position(place) && position < k2i_position(limit) &&
			       k2i_place_valid(ring, head, claim)
		       ? claim
		       : limit;
}

uint64_t k2i_live_claim_next(const struct k2hft_ring *ring, uint64_t head, uint64_t place, uint64_t limit)
{
	unsigned used = k2i_slots_used(ring);

	for (unsigned at = 0; at < used; at++) {
		struct k2i_slot *slot = &ring->slots[at];
		/* A3 */
		uint64_t claim = atomic_load_explicit(&slot->claim, memory_order_acquire);
		uint64_t rear = atomic_load_explicit(&slot->rear, memory_order_acquire);
		uint64_t nearest = place_nearer(ring, head, rear, place, place_nearer(ring, head, claim, place, limit));
		/* A8: as in k2i_owner_find. */
		uint64_t owner = atomic_load_explicit(&slot->owner, memory_order_acquire);

		if (nearest != limit && owner && slot_alive(ring, slot, owner))
			limit = nearest;
	}
	return limit;
}
