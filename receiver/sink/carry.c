/* SPDX-License-Identifier: MIT */
#include "receiver/sink/carry.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "receiver/sink/carried.h"
#include "receiver/sink/sink.h"

/* Commits --------------------------------------------------------------------------------------------------------- */

/* With the lock: its file is removed when nobody can ask for it. */
static void record_end(struct k2i_carry *carry, struct k2i_carried *record)
{
	k2i_carried_remove(carry, record);
	k2i_carried_ended(carry, record);
}

static int change_add(struct k2i_carry_changes *changes, struct k2i_carried *record, bool made)
{
	if (changes->count == changes->room) {
		size_t room = changes->room ? changes->room * 2 : 16;
		struct k2i_carry_change *list = realloc(changes->list, room * sizeof(*list));

		if (!list)
			return -ENOMEM;
		changes->list = list;
		changes->room = room;
	}
	changes->list[changes->count++] =
		(struct k2i_carry_change){record, record->bytes, record->last, record->file_bytes, made};
	record->busy = true;
	record->deferred |= changes->deferred;
	return 0;
}

int k2i_carry_find(struct k2i_carry *carry, struct k2i_carry_changes *changes, const struct k2i_group_entry *entry,
		   struct k2i_carried **record)
{
	uint64_t writer;
	struct k2i_table_node *node = NULL;
	int error = 0;

	*record = NULL;
	/* A beginning of this ring was counted under its lock. */
	if (atomic_load(&carry->count) == 0)
		return 0;
	writer = k2i_group_writer(entry);
	(void)pthread_mutex_lock(&carry->mutex);
	while (!*record && (node = k2i_table_find(&carry->records, writer, node)) != NULL) {
		struct k2i_carried *found = K2I_TABLE_ENTRY(node, struct k2i_carried, node);

		if (!found->ended)
			*record = found;
	}
	if (*record)
		error = change_add(changes, *record, false);
	(void)pthread_mutex_unlock(&carry->mutex);
	return error;
}

/* Takes the room that its file will need more. */
static bool room_take(struct k2i_carry *carry, const struct k2i_carried *record, uint64_t more)
{
	uint64_t bytes = record->file_bytes + more;
	bool taken;

	(void)pthread_mutex_lock(&carry->mutex);
	taken = bytes <= K2I_CARRIED_BYTES_MAX && carry->bytes + more <= K2I_CARRY_BYTES_MAX;
	if (taken)
		carry->bytes += k2i_carried_cost(bytes) - k2i_carried_cost(record->file_bytes);
	(void)pthread_mutex_unlock(&carry->mutex);
	return taken;
}

static struct k2i_carried_entry entry_of(const struct k2i_group_entry *from, size_t bytes)
{
	struct k2i_carried_entry entry = {
		.position = from->position,
		.writer = k2i_group_writer(from),
		.time_ns = from->time_ns,
		.writer_pid = from->writer_pid,
		.binary = from->stream->mode == K2HFT_STREAM_BINARY,
		.bytes = (uint32_t)bytes,
	};

	memcpy(entry.ring, from->stream->ring, sizeof(entry.ring));
	return entry;
}

static int record_begin(struct k2i_carry *carry, struct k2i_carry_changes *changes, struct k2i_carried_entry *entry,
			const struct k2i_stream *stream, struct k2i_carried **record)
{
	int error;

	entry->path_bytes = (uint32_t)strlen(stream->path) + 1;
	entry->host_bytes = (uint32_t)strlen(stream->host) + 1;
	*record = k2i_carried_make(entry, stream->path, stream->host);
	if (!*record)
		return -ENOMEM;
	(void)pthread_mutex_lock(&carry->mutex);
	error = k2i_carried_insert(carry, *record);
	if (!error) {
		error = change_add(changes, *record, true);
		if (error)
			k2i_carried_remove(carry, *record);
	}
	(void)pthread_mutex_unlock(&carry->mutex);
	if (error)
		k2i_carried_free(*record);
	return error;
}

int k2i_carry_add(struct k2i_carry *carry, struct k2i_carry_changes *changes, struct k2i_carried *record,
		  const struct k2i_group_entry *from, const char *data, size_t bytes)
{
	struct k2i_carried_entry entry = entry_of(from, bytes);
	bool made = !record;
	size_t more;
	int error = 0;

	if (record && entry.position <= record->last)
		return 0;
	if (made)
		error = record_begin(carry, changes, &entry, from->stream, &record);
	if (!error)
		error = k2i_carried_room(record, bytes);
	if (error)
		return error;
	more = sizeof(entry) + entry.path_bytes + entry.host_bytes + bytes;
	if (!room_take(carry, record, more)) {
		if (made)
			k2i_carry_undo(carry, changes, changes->count - 1);
		return 1;
	}
	error = k2i_carried_write(carry, record, &entry, data);
	k2i_carried_append(record, data, bytes);
	record->file_bytes += more;
	record->last = entry.position;
	return error;
}

int k2i_carry_finish(struct k2i_carry *carry, struct k2i_carried *record, const uint8_t ring[16], uint64_t position)
{
	struct k2i_carried_entry entry = {.position = position, .writer = record->writer, .end = 1};
	int error;

	memcpy(entry.ring, ring, sizeof(entry.ring));
	error = k2i_carried_write(carry, record, &entry, "");
	memcpy(record->end_ring, ring, sizeof(record->end_ring));
	record->end = position;
	record->ended = true;
	return error;
}

static void change_undo(struct k2i_carry *carry, const struct k2i_carry_change *change)
{
	struct k2i_carried *record = change->record;
	bool written = record->ended || record->file_bytes != change->file_bytes;

	if (change->made) {
		k2i_carried_file_remove(carry, record);
		k2i_carried_remove(carry, record);
		k2i_carried_free(record);
		return;
	}
	carry->bytes -= k2i_carried_cost(record->file_bytes) - k2i_carried_cost(change->file_bytes);
	record->bytes = change->bytes;
	record->last = change->last;
	record->file_bytes = change->file_bytes;
	record->ended = record->busy = false;
	if (written)
		k2i_carried_file_cut(carry, record);
}

static void changes_undo(struct k2i_carry *carry, struct k2i_carry_changes *changes, size_t count)
{
	while (changes->count > count)
		change_undo(carry, &changes->list[--changes->count]);
	/* The changes before can be of the same records. */
	for (size_t i = 0; i < count; i++)
		changes->list[i].record->busy = true;
}

void k2i_carry_undo(struct k2i_carry *carry, struct k2i_carry_changes *changes, size_t count)
{
	if (changes->count == count)
		return;
	(void)pthread_mutex_lock(&carry->mutex);
	changes_undo(carry, changes, count);
	(void)pthread_mutex_unlock(&carry->mutex);
}

void k2i_carry_settle(struct k2i_carry *carry, struct k2i_carry_changes *changes, bool kept)
{
	uint64_t now_ns = k2i_clock_now_ns();
	bool any = false;

	if (changes->count == 0)
		return;
	(void)pthread_mutex_lock(&carry->mutex);
	if (!kept)
		changes_undo(carry, changes, 0);
	for (size_t i = 0; i < changes->count; i++) {
		struct k2i_carried *record = changes->list[i].record;

		if (record->ended && record->busy) {
			record_end(carry, record);
			any = true;
		}
		record->busy = false;
		record->touched_ns = now_ns;
	}
	(void)pthread_mutex_unlock(&carry->mutex);
	changes->count = 0;
	if (any)
		k2i_carry_clean(carry);
}

/* Housekeeping ---------------------------------------------------------------------------------------------------- */

struct search {
	uint64_t since_ns;
	const char *path;
	struct k2i_carried *found;
};

static void record_look(void *argument, struct k2i_table_node *node)
{
	struct search *search = argument;
	struct k2i_carried *record = K2I_TABLE_ENTRY(node, struct k2i_carried, node);

	if (!record->busy && record->touched_ns <= search->since_ns &&
	    (!search->path || strcmp(record->origin.path, search->path) == 0))
		search->found = record;
}

struct k2i_carried *k2i_carry_expired(struct k2i_carry *carry, uint64_t since_ns, const char *path)
{
	struct search search = {since_ns, path, NULL};

	if (atomic_load(&carry->count) == 0)
		return NULL;
	(void)pthread_mutex_lock(&carry->mutex);
	k2i_table_each(&carry->records, record_look, &search);
	if (!search.found)
		(void)pthread_mutex_unlock(&carry->mutex);
	return search.found;
}

void k2i_carry_unlock(struct k2i_carry *carry)
{
	(void)pthread_mutex_unlock(&carry->mutex);
}

void k2i_carry_settle_expired(struct k2i_carry *carry, struct k2i_carried *record, bool kept)
{
	record->touched_ns = k2i_clock_now_ns();
	record->ended &= kept;
	if (record->ended)
		record_end(carry, record);
	(void)pthread_mutex_unlock(&carry->mutex);
	k2i_carry_clean(carry);
}

int k2i_carry_sync(struct k2i_carry *carry)
{
	if (!atomic_exchange(&carry->dirty, false))
		return 0;
	return syncfs(carry->directory) < 0 ? -errno : 0;
}

void k2i_carry_clean(struct k2i_carry *carry)
{
	struct k2i_carried **place = &carry->ended, *record;

	(void)pthread_mutex_lock(&carry->mutex);
	while ((record = *place) != NULL) {
		if (!k2i_carried_lasts(carry, record)) {
			place = &record->next;
			continue;
		}
		*place = record->next;
		k2i_carried_file_remove(carry, record);
		k2i_carried_free(record);
	}
	(void)pthread_mutex_unlock(&carry->mutex);
}

/* Settlement ------------------------------------------------------------------------------------------------------ */

bool k2i_carry_ended_early(struct k2i_carry *carry, const uint8_t ring[16], uint64_t position, uint64_t *own,
			   uint64_t *from, uint64_t *to)
{
	const struct k2i_carried *record, *found = NULL;

	(void)pthread_mutex_lock(&carry->mutex);
	for (record = carry->ended; record; record = record->next) {
		if (memcmp(record->ring, ring, 16) == 0 && memcmp(record->end_ring, ring, 16) != 0 &&
		    record->last >= position && record->end < *own && (!found || record->end > found->end))
			found = record;
	}
	if (found) {
		*own = found->end;
		*from = found->first;
		*to = found->last;
	}
	(void)pthread_mutex_unlock(&carry->mutex);
	return found != NULL;
}

struct settling {
	struct k2i_carry *carry;
	struct k2i_ledger_ring row;
	struct k2i_carried *records;
};

/* Whether the row has gone back to before something of the record. */
static bool record_reaches(const struct settling *settling, const struct k2i_carried *record)
{
	return memcmp(record->ring, settling->row.uuid, 16) == 0 &&
	       (record->last >= settling->row.position ||
		(record->ended && memcmp(record->end_ring, record->ring, 16) == 0 &&
		 record->end >= settling->row.position));
}

static void record_take(void *argument, struct k2i_table_node *node)
{
	struct k2i_carried *record = K2I_TABLE_ENTRY(node, struct k2i_carried, node);
	struct settling *settling = argument;

	if (!record_reaches(settling, record))
		return;
	k2i_carried_remove(settling->carry, record);
	record->next = settling->records;
	settling->records = record;
}

static void ended_take(struct settling *settling)
{
	struct k2i_carried **place = &settling->carry->ended, *record;

	while ((record = *place) != NULL) {
		if (!record_reaches(settling, record)) {
			place = &record->next;
			continue;
		}
		*place = record->next;
		record->next = settling->records;
		settling->records = record;
	}
}

/* As a start does: of a file, what the ledger says counts. */
void k2i_carry_settled(struct k2i_carry *carry, const uint8_t ring[16])
{
	struct settling settling = {.carry = carry};
	struct k2i_carried *record;
	char name[K2I_CARRIED_NAME_BYTES];

	if (!k2i_ledger_find(carry->ledger, ring, carry->sink->number, &settling.row))
		return;
	(void)pthread_mutex_lock(&carry->mutex);
	k2i_table_each(&carry->records, record_take, &settling);
	ended_take(&settling);
	while ((record = settling.records) != NULL) {
		settling.records = record->next;
		k2i_carried_name(record, name);
		k2i_carried_free(record);
		k2i_carried_file_load(carry, name);
	}
	(void)pthread_mutex_unlock(&carry->mutex);
}
