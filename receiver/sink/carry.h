/* SPDX-License-Identifier: MIT */
#ifndef K2I_RECEIVER_SINK_CARRY_H
#define K2I_RECEIVER_SINK_CARRY_H

#include "app/format/format.h"
#include "receiver/base/table.h"
#include "receiver/sink/group.h"

/*
 * Beginnings of records whose rest is still to come, of a sink that formats whole records. Their chunks are
 * acknowledged, so each beginning is in a file of the state directory, too, and a receiver that died goes on with it.
 *
 * A file has pieces with their ring and position, and at last an end. They count if the position is in front of the
 * ring's in the ledger, and not otherwise: so the ledger's one record commits the output, the position, and a piece
 * that was carried or a record that ended. A piece that comes twice has its position twice.
 *
 * The file of a record that has ended stays until its sender knows that: another receiver can go on in the middle of the
 * record, and then what was acknowledged of it is a beginning again.
 */
struct k2i_carry;

/* The file of one record is as long as this at most, all together are. Beyond it, pieces are records of their own. */
#define K2I_CARRIED_BYTES_MAX (8u * 1024 * 1024)
#define K2I_CARRY_BYTES_MAX (64u * 1024 * 1024)

struct k2i_carried {
	struct k2i_table_node node;
	struct k2i_carried *next; /* among those that have ended */
	uint64_t writer;
	uint64_t first, last; /* positions of its pieces */
	uint8_t ring[16];     /* theirs */
	uint8_t end_ring[16]; /* when it has ended: of the end, with its position */
	uint64_t end;
	struct k2i_format_origin origin; /* of the first piece; the strings stand behind this structure */
	bool binary, deferred, ended, busy;
	uint64_t touched_ns, file_bytes;
	char *data;
	size_t bytes, room;
};

/* Changes that a thread made to records and has not committed: each has the record as it was before. */
struct k2i_carry_change {
	struct k2i_carried *record;
	size_t bytes;
	uint64_t last, file_bytes;
	bool made;
};

struct k2i_carry_changes {
	struct k2i_carry_change *list;
	size_t count, room;
	bool deferred; /* the sender waits for the disk: a file is removed when its end is in a checkpoint */
};

/*
 * `directory`: the receiver's state; the sink's number is set before the first use. `make`: beginnings will come; else
 * there are only those of an earlier configuration. -ENOMEM; others as mkdir(2) and open(2).
 */
int k2i_carry_open(const char *directory, const struct k2i_sink *sink, struct k2i_ledger *ledger, bool make,
		   struct k2i_carry **carry);
/* The same later, for a FORMAT that makes beginnings where there were none. */
int k2i_carry_make(struct k2i_carry *carry, const char *directory, bool make);
/* Reads what an earlier receiver left; the ledger has begun. */
void k2i_carry_load(struct k2i_carry *carry);
void k2i_carry_free(struct k2i_carry *carry);

/*
 * The beginning that belongs to an entry's writer, NULL: none; under the ring's lock. It is the caller's until
 * k2i_carry_settle. -ENOMEM
 */
int k2i_carry_find(struct k2i_carry *carry, struct k2i_carry_changes *changes, const struct k2i_group_entry *entry,
		   struct k2i_carried **record);
/* Carries `bytes` of an entry behind `record`, NULL: as a new one. 1: that is too long. Errors as write(2). */
int k2i_carry_add(struct k2i_carry *carry, struct k2i_carry_changes *changes, struct k2i_carried *record,
		  const struct k2i_group_entry *entry, const char *data, size_t bytes);
/* The record ends with the chunk at `position` of `ring`. Errors as write(2). */
int k2i_carry_finish(struct k2i_carry *carry, struct k2i_carried *record, const uint8_t ring[16], uint64_t position);
/* Takes back all changes but the first `count`. */
void k2i_carry_undo(struct k2i_carry *carry, struct k2i_carry_changes *changes, size_t count);
/* The changes are committed, or `!kept` taken back. */
void k2i_carry_settle(struct k2i_carry *carry, struct k2i_carry_changes *changes, bool kept);

/* The record with `bytes` behind it, and with a line end if it is text and has none; `*joined` bytes. -ENOMEM */
int k2i_carried_join(struct k2i_carried *record, const char *data, size_t bytes, size_t *joined, bool *terminated);

/*
 * A beginning that nobody has touched since, of that path if it is not NULL; NULL: none. The caller has the lock then,
 * until k2i_carry_settle_expired or k2i_carry_unlock; outputs are locked before it.
 */
struct k2i_carried *k2i_carry_expired(struct k2i_carry *carry, uint64_t since_ns, const char *path);
void k2i_carry_unlock(struct k2i_carry *carry);
void k2i_carry_settle_expired(struct k2i_carry *carry, struct k2i_carried *record, bool kept);

/*
 * A record that the receiver has ended itself, though it has pieces of `ring` at `position` or behind: the last one whose
 * end has a position of the receiver's own ring below `*own`, which it then is; and the positions of its pieces. False:
 * none.
 */
bool k2i_carry_ended_early(struct k2i_carry *carry, const uint8_t ring[16], uint64_t position, uint64_t *own,
			   uint64_t *from, uint64_t *to);
/* The ledger's row of a ring has gone back, and the ring's lock is held: its records are what they were there. */
void k2i_carry_settled(struct k2i_carry *carry, const uint8_t ring[16]);

/* Pieces that were written before survive a power cut when it returns. Errors as syncfs(2). */
int k2i_carry_sync(struct k2i_carry *carry);
/* Removes files that no power cut can ask for. */
void k2i_carry_clean(struct k2i_carry *carry);

#endif
