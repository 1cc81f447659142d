/* SPDX-License-Identifier: MIT */
#ifndef K2I_LEDGER_KNOWN_H
#define K2I_LEDGER_KNOWN_H

#include "ledger_log.h"
#include "table.h"

/* What a ledger says now, in memory. Zero-initialised; not locked. */
struct k2i_known_ring {
	struct k2i_table_node node;
	struct k2i_ledger_ring ring;
};

struct k2i_known_file {
	struct k2i_table_node node;
	struct k2i_ledger_file file; /* path: behind this structure */
};

struct k2i_known {
	struct k2i_table rings, files;
};

struct k2i_known_ring *k2i_known_ring_find(struct k2i_known *known, const uint8_t uuid[16]);
/* The place for a ring, made if it is new; NULL: no memory. */
struct k2i_known_ring *k2i_known_ring_place(struct k2i_known *known, const uint8_t uuid[16]);
void k2i_known_ring_forget(struct k2i_known *known, struct k2i_known_ring *ring);

struct k2i_known_file *k2i_known_file_find(struct k2i_known *known, uint64_t device, uint64_t inode);
/* In place of one of the same device and inode. -ENOMEM */
int k2i_known_file_add(struct k2i_known *known, const struct k2i_ledger_file *file);
void k2i_known_file_forget(struct k2i_known *known, struct k2i_known_file *file);
void k2i_known_files_forget(struct k2i_known *known);
/* New lengths; files that are not known are passed over. */
void k2i_known_files_update(struct k2i_known *known, const struct k2i_ledger_file *files, size_t file_count);

/* What a record of the log says. -ENOMEM */
int k2i_known_apply(struct k2i_known *known, const struct k2i_ledger_record *record);

void k2i_known_free(struct k2i_known *known);

#endif
