/* SPDX-License-Identifier: MIT */
#ifndef K2I_RECEIVER_LEDGER_SNAPSHOT_H
#define K2I_RECEIVER_LEDGER_SNAPSHOT_H

#include "receiver/ledger/known.h"

/* A log that says what is known and nothing else. Zero-initialised; to be freed also after an error. */
struct k2i_snapshot {
	struct k2i_ledger_record next;
	uint8_t *bytes;
	size_t used, room;
	int error;
};

/* -ENOMEM */
int k2i_snapshot_make(struct k2i_known *known, const struct k2i_ledger_header *header, struct k2i_snapshot *snapshot);

#endif
