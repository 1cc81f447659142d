/* SPDX-License-Identifier: MIT */
#ifndef K2I_RECEIVER_COMMIT_SETTLE_H
#define K2I_RECEIVER_COMMIT_SETTLE_H

#include "receiver/commit/commit.h"

/*
 * Settlement of a ring whose lane went on at another receiver: all that every sink, and the quarantine, has of it beyond
 * a position is taken back, or named in the list of retracted ranges, and the ledger's rows go back to the position. When
 * it is killed or fails in between, it is done again, from the ledger, and comes to the same.
 */
struct k2i_settlement {
	uint8_t ring[16];
	uint64_t epoch;    /* the ring's from now on */
	uint64_t position; /* behind what counts here */
	/* Found. */
	uint64_t cut_records, retracted_records;
};

/* Under the ring's lock. Survives a power cut when it returns. -ENOMEM; others of the disk: it is to be tried again. */
int k2i_settle(const struct k2i_destination *destination, struct k2i_settlement *settlement);

#endif
