/* SPDX-License-Identifier: MIT */
#ifndef K2I_RECEIVER_LEDGER_INTERNAL_H
#define K2I_RECEIVER_LEDGER_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "receiver/ledger/known.h"

/* Declarations that ledger.c and load.c share. */

#define K2I_LEDGER_NAME "ledger" /* the log, in its directory */

struct k2i_ledger {
	char *path; /* the directory's */
	int directory, lock, log;
	struct k2i_ledger_header header; /* the log's */
	atomic_size_t ring_count;        /* that are known */
	/* Guards everything below. */
	pthread_mutex_t mutex;
	struct k2i_known known;
	uint64_t device, inode; /* the log's */
	uint64_t end, allocated, rewrite_at;
	uint64_t synced_end; /* the log up to here is on the disk */
	bool stale;          /* the log differs from what is known: it has to be written anew before it is relied on */
	bool doubted;        /* so it says, and no commit has come since */
	bool resumed;        /* it was loaded from a process that died while the machine went on */
	uint64_t number;     /* the last commit's */
	struct k2i_ledger_record next; /* what record_append writes */
	uint8_t record[K2I_LEDGER_RECORD_BYTES_MAX];
};

/*
 * The log in the directory becomes the ledger's memory, as it was when its receiver ended; an empty one, if there is
 * none. As k2i_ledger_open.
 */
int k2i_ledger_load(struct k2i_ledger *ledger, struct k2i_ledger_report *report);

#endif
