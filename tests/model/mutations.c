/* SPDX-License-Identifier: MIT */
#include "model.h"

/*
 * Faults that the explorer must find, else its silence on the ring as it is says nothing. Each changes one access of
 * the ring: a weaker order, or a store that is left out. A scenario and a memory in which it shows stand beside it.
 * That the mark is seq_cst does not show: the tail is, too, and behind a claim that it was told of the consumer looks
 * again by itself.
 */
const struct model_mutation model_mutations[] = {
	{"commit relaxed", "wrap", true, "mark_publish", "mark", MODEL_WEAKEN},
	{"read relaxed", "wrap", true, "entry_kind", "mark", MODEL_WEAKEN},
	{"look for a sleeper not seq_cst", "wrap", true, "mark_publish", "sleeping", MODEL_TO_RELEASE},
	{"sleep not seq_cst", "wrap", true, "k2hft_ring_sleep", "sleeping", MODEL_TO_RELEASE},
	{"sleep not told", "wrap", false, "k2hft_ring_sleep", "sleeping", MODEL_DROP},
	{"release relaxed", "full", true, "head_move", "head", MODEL_WEAKEN},
	{"room taken relaxed", "full", true, "area_turn", "head", MODEL_WEAKEN},
	{"tail claimed relaxed", "wrap", true, "tail_move", "tail", MODEL_WEAKEN},
	{"tail read relaxed", "wrap", true, "k2i_tail_place", "tail", MODEL_WEAKEN},
	{"claim not in its slot", "wrap", false, "tail_move", "claim", MODEL_DROP},
	{"switch not in its slot", "larger-killed", false, "tail_move", "claim", MODEL_DROP},
	{"switch: tail not before head", "larger", true, "area_turn", "header->tail", MODEL_WEAKEN},
	{"next claim relaxed", "two", true, "tail_move", "claim", MODEL_WEAKEN},
	{"owner read relaxed", "comers", true, "k2i_owner_find", "owner", MODEL_WEAKEN},
	{"end of a claim relaxed", "wrap", true, "claim_end", "claim", MODEL_WEAKEN},
	{"search relaxed", "wrap", true, "slot_claims", "claim", MODEL_WEAKEN},
	{"close relaxed", "comers", true, "k2i_slot_free", "owner", MODEL_WEAKEN},
	{"close's claim relaxed", "comers", true, "k2i_slot_free", "claim", MODEL_WEAKEN},
	{"place not told", "comers", false, "used_raise", "slots_used", MODEL_DROP},
	{"discard not told", "discard-second", false, "k2hft_producer_discard", "give_backs", MODEL_DROP},
	{"discard's mark left", "discard-both-killed", false, "mark_clear", "mark", MODEL_DROP},
	{"rear not in its slot", "middle-killed", false, "rear_give_back", "rear", MODEL_DROP},
	{"claim not shortened", "middle-killed", false, "rear_give_back", "mark", MODEL_DROP},
	{"room not told", "full-one", false, "k2i_space_wake", "space_sequence", MODEL_DROP},
	{"waiter not told", "full-one", false, "k2hft_ring_space_wait", "space_waiters", MODEL_DROP},
	{"waiter not seq_cst", "full-one", true, "k2hft_ring_space_wait", "space_waiters", MODEL_TO_RELEASE},
	{"look for waiters not seq_cst", "full-one", true, "head_move", "space_waiters", MODEL_TO_RELEASE},
	{"room given back not seq_cst", "full-one", true, "head_move", "head", MODEL_TO_RELEASE},
	{"waiter's look not seq_cst", "full-one", true, "k2i_ring_free_bytes", "head", MODEL_TO_RELEASE},
	{"stream released relaxed", "release", true, "references_drop", "references", MODEL_WEAKEN},
	{"stream found relaxed", "release", true, "stream_free", "references", MODEL_WEAKEN},
	{"tail's way back not seq_cst", "full-idle", true, "tail_back", "tail", MODEL_TO_RELEASE},
	{"waiter's look at tail not seq_cst", "full-idle", true, "k2i_ring_free_bytes", "tail", MODEL_TO_RELEASE},
};
const unsigned model_mutation_count = sizeof(model_mutations) / sizeof(*model_mutations);
