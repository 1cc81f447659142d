/* SPDX-License-Identifier: MIT */
#include "receiver/sink/carry.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/crash.h"
#include "base/hash.h"
#include "base/log.h"
#include "receiver/base/directory.h"
#include "receiver/base/text.h"
#include "receiver/sink/sink.h"

#define DIRECTORY "carried"
#define NAME_BYTES 34u       /* writer and first position in hexadecimal */
#define COST_BYTES_MIN 4096u /* an inode is worth something */

struct k2i_carry {
	const struct k2i_sink *sink;
	struct k2i_ledger *ledger;
	int directory; /* -1: there is none */
	atomic_size_t count;
	atomic_bool dirty;
	pthread_mutex_t mutex; /* guards what follows, and who a record belongs to */
	struct k2i_table records;
	struct k2i_carried *ended; /* their files are to be removed */
	uint64_t bytes;
};

/* In a file, in this machine's byte order. Behind it: path and host with their zeros in the first, and the data. */
struct entry {
	uint64_t checksum; /* of the other fields and the data */
	uint64_t names;    /* the checksum of path and host */
	uint8_t ring[16];
	uint64_t position, writer, time_ns;
	uint32_t writer_pid;
	uint8_t binary, end, reserved[2];
	uint32_t path_bytes, host_bytes, bytes;
};

/* Files ----------------------------------------------------------------------------------------------------------- */

static void name_make(const struct k2i_carried *record, char name[NAME_BYTES])
{
	(void)snprintf(name, NAME_BYTES, "%016" PRIx64 "-%016" PRIx64, record->writer, record->first);
}

static uint64_t entry_checksum(const struct entry *entry, const void *data)
{
	return k2i_hash_pair((const uint8_t *)entry + sizeof(entry->checksum), sizeof(*entry) - sizeof(entry->checksum),
			     data, entry->bytes);
}

/* Behind what the record's file has. */
static int entry_write(struct k2i_carry *carry, const struct k2i_carried *record, struct entry *entry, const char *data)
{
	const size_t name_bytes = entry->path_bytes + entry->host_bytes;
	struct iovec parts[3] = {{entry, sizeof(*entry)},
				 {(void *)(uintptr_t)record->origin.path, name_bytes},
				 {(void *)(uintptr_t)data, entry->bytes}};
	char name[NAME_BYTES];
	ssize_t written;
	int descriptor, error = 0;

	entry->names = k2i_hash(record->origin.path, name_bytes);
	entry->checksum = entry_checksum(entry, data);
	name_make(record, name);
	descriptor = openat(carry->directory, name, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (descriptor < 0)
		return -errno;
	written = pwritev(descriptor, parts, 3, (off_t)record->file_bytes);
	/* It is not the output that has become too large. */
	if (written < 0)
		error = errno == EFBIG ? -ENOSPC : -errno;
	else if ((size_t)written < sizeof(*entry) + name_bytes + entry->bytes)
		error = -ENOSPC;
	(void)close(descriptor);
	atomic_store(&carry->dirty, true);
	K2I_CRASH(carried_written);
	return error;
}

/* The rest was not committed. */
static void file_cut(const struct k2i_carry *carry, const struct k2i_carried *record)
{
	char name[NAME_BYTES];
	int descriptor;

	name_make(record, name);
	descriptor = openat(carry->directory, name, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
	if (descriptor < 0)
		return;
	if (ftruncate(descriptor, (off_t)record->file_bytes) < 0)
		k2i_log(K2HFT_LOG_WARNING, "carried: %s can't be cut: %s", name, k2i_text_error(-errno));
	(void)close(descriptor);
}

static void file_remove(const struct k2i_carry *carry, const struct k2i_carried *record)
{
	char name[NAME_BYTES];

	name_make(record, name);
	K2I_CRASH(carried_remove_before);
	if (unlinkat(carry->directory, name, 0) < 0 && errno != ENOENT)
		k2i_log(K2HFT_LOG_WARNING, "carried: %s can't be removed: %s", name, k2i_text_error(-errno));
}

/* Records --------------------------------------------------------------------------------------------------------- */

static uint64_t cost(uint64_t file_bytes)
{
	return file_bytes > COST_BYTES_MIN ? file_bytes : COST_BYTES_MIN;
}

static struct k2i_carried *record_make(const struct entry *entry, const char *path, const char *host)
{
	struct k2i_carried *record = calloc(1, sizeof(*record) + entry->path_bytes + entry->host_bytes);
	char *names;

	if (!record)
		return NULL;
	names = (char *)(record + 1);
	record->writer = entry->writer;
	record->first = record->last = entry->position;
	record->binary = entry->binary != 0;
	record->origin = (struct k2i_format_origin){
		.path = memcpy(names, path, entry->path_bytes),
		.host = memcpy(names + entry->path_bytes, host, entry->host_bytes),
		.writer_pid = entry->writer_pid,
		.time_ns = entry->time_ns,
	};
	return record;
}

static void record_free(struct k2i_carried *record)
{
	free(record->data);
	free(record);
}

static int record_room(struct k2i_carried *record, size_t bytes)
{
	size_t room = record->room ? record->room : 4096;
	char *data;

	if (record->bytes + bytes <= record->room)
		return 0;
	while (room < record->bytes + bytes)
		room *= 2;
	data = realloc(record->data, room);
	if (!data)
		return -ENOMEM;
	record->data = data;
	record->room = room;
	return 0;
}

/* There is room. */
static void record_append(struct k2i_carried *record, const char *data, size_t bytes)
{
	memcpy(record->data + record->bytes, data, bytes);
	record->bytes += bytes;
}

int k2i_carried_join(struct k2i_carried *record, const char *data, size_t bytes, size_t *joined, bool *terminated)
{
	int error = record_room(record, bytes + 1);

	if (error)
		return error;
	if (bytes)
		memcpy(record->data + record->bytes, data, bytes);
	*joined = record->bytes + bytes;
	*terminated = !record->binary && record->data[*joined - 1] != '\n';
	if (*terminated)
		record->data[(*joined)++] = '\n';
	return 0;
}

/* With the lock. */
static int record_insert(struct k2i_carry *carry, struct k2i_carried *record)
{
	int error = k2i_table_insert(&carry->records, &record->node, record->writer);

	if (error)
		return error;
	atomic_fetch_add(&carry->count, 1);
	carry->bytes += cost(record->file_bytes);
	return 0;
}

static void record_remove(struct k2i_carry *carry, struct k2i_carried *record)
{
	k2i_table_remove(&carry->records, &record->node);
	atomic_fetch_sub(&carry->count, 1);
	carry->bytes -= cost(record->file_bytes);
}

/* With the lock: its file is removed when nobody can ask for it. */
static void record_end(struct k2i_carry *carry, struct k2i_carried *record)
{
	record_remove(carry, record);
	free(record->data);
	record->data = NULL;
	record->next = carry->ended;
	carry->ended = record;
}

/* Start and end --------------------------------------------------------------------------------------------------- */

int k2i_carry_make(struct k2i_carry *carry, const char *directory, bool make)
{
	char path[PATH_MAX];
	int error = 0;

	if (carry->directory >= 0)
		return 0;
	(void)snprintf(path, sizeof(path), "%s/" DIRECTORY, directory);
	if (make)
		error = k2i_directory_make(path, K2I_DIRECTORY_PRIVATE);
	carry->directory = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (error >= 0 && carry->directory < 0 && make)
		error = -errno;
	return error < 0 ? error : 0;
}

int k2i_carry_open(const char *directory, const struct k2i_sink *sink, struct k2i_ledger *ledger, bool make,
		   struct k2i_carry **carry)
{
	struct k2i_carry *opened = calloc(1, sizeof(*opened));
	int error;

	if (!opened)
		return -ENOMEM;
	opened->sink = sink;
	opened->ledger = ledger;
	opened->directory = -1;
	(void)pthread_mutex_init(&opened->mutex, NULL);
	error = k2i_carry_make(opened, directory, make);
	if (error)
		k2i_carry_free(opened);
	else
		*carry = opened;
	return error;
}

static void each_free(void *argument, struct k2i_table_node *node)
{
	(void)argument;
	record_free(K2I_TABLE_ENTRY(node, struct k2i_carried, node));
}

void k2i_carry_free(struct k2i_carry *carry)
{
	struct k2i_carried *record;

	if (!carry)
		return;
	k2i_table_each(&carry->records, each_free, NULL);
	k2i_table_free(&carry->records);
	while ((record = carry->ended) != NULL) {
		carry->ended = record->next;
		record_free(record);
	}
	if (carry->directory >= 0)
		(void)close(carry->directory);
	(void)pthread_mutex_destroy(&carry->mutex);
	free(carry);
}

/*
 * A ring that the ledger does not know has ended in order, and its records are nowhere else, or its first commit is
 * still to come: then they come again, and have their positions already.
 */
static bool entry_counts(const struct k2i_carry *carry, const struct entry *entry)
{
	struct k2i_ledger_ring row;

	return !k2i_ledger_find(carry->ledger, entry->ring, carry->sink->number, &row) ||
	       row.position > entry->position;
}

static bool entry_deferred(const struct k2i_carry *carry, const struct entry *entry)
{
	struct k2i_ledger_ring row;

	return k2i_ledger_find(carry->ledger, entry->ring, carry->sink->number, &row) &&
	       row.flags & K2I_LEDGER_DEFERRED;
}

/* The entry at `at`; 0: none that is whole. */
static size_t entry_read(const char *at, size_t bytes, struct entry *entry)
{
	uint64_t name_bytes;

	if (bytes < sizeof(*entry))
		return 0;
	memcpy(entry, at, sizeof(*entry));
	at += sizeof(*entry);
	bytes -= sizeof(*entry);
	name_bytes = (uint64_t)entry->path_bytes + entry->host_bytes;
	if (name_bytes + entry->bytes > bytes || entry->names != k2i_hash(at, (size_t)name_bytes) ||
	    entry->checksum != entry_checksum(entry, at + name_bytes))
		return 0;
	return sizeof(*entry) + (size_t)name_bytes + entry->bytes;
}

static struct k2i_carried *record_first(const struct entry *entry, const char *names)
{
	const char *host = names + entry->path_bytes;

	if (entry->path_bytes < 2 || entry->path_bytes > K2HFT_STREAM_PATH_BYTES_MAX + 1 || entry->host_bytes == 0 ||
	    entry->host_bytes > K2HFT_STREAM_HOST_BYTES_MAX + 1 || names[entry->path_bytes - 1] ||
	    host[entry->host_bytes - 1] || k2hft_stream_path_check(names, entry->path_bytes - 1))
		return NULL;
	return record_make(entry, names, host);
}

/* The record that a file has, as far as it counts; NULL: none. */
static struct k2i_carried *record_read(const struct k2i_carry *carry, const char *bytes, size_t byte_count)
{
	struct k2i_carried *record = NULL;
	struct entry entry;
	size_t at = 0, more;

	while ((more = entry_read(bytes + at, byte_count - at, &entry)) != 0 && entry_counts(carry, &entry)) {
		if (!record)
			record = record_first(&entry, bytes + sizeof(entry));
		if (!record)
			break;
		record->ended = entry.end != 0;
		record->deferred = entry_deferred(carry, &entry);
		if ((at == 0 || entry.position > record->last) && record_room(record, entry.bytes) == 0)
			record_append(record, bytes + at + more - entry.bytes, entry.bytes);
		record->last = entry.position;
		record->file_bytes = at += more;
	}
	return record;
}

static char *file_read(const struct k2i_carry *carry, const char *name, size_t *bytes)
{
	int descriptor = openat(carry->directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat status;
	char *data = NULL;
	ssize_t got = -1;

	if (descriptor >= 0 && fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) &&
	    status.st_size <= 2 * (off_t)K2I_CARRIED_BYTES_MAX)
		data = malloc((size_t)status.st_size + 1);
	if (data)
		got = pread(descriptor, data, (size_t)status.st_size, 0);
	if (descriptor >= 0)
		(void)close(descriptor);
	*bytes = got > 0 ? (size_t)got : 0;
	return data;
}

static void file_load(struct k2i_carry *carry, const char *name)
{
	struct k2i_carried *record = NULL;
	char known[NAME_BYTES];
	size_t bytes;
	char *data = file_read(carry, name, &bytes);

	if (data)
		record = record_read(carry, data, bytes);
	free(data);
	if (record)
		name_make(record, known);
	if (!data || (record && strcmp(name, known) != 0)) {
		k2i_log(K2HFT_LOG_ERROR, "carried: %s is not what a receiver left there", name);
		if (record)
			record_free(record);
	} else if (!record || record->ended) {
		(void)unlinkat(carry->directory, name, 0);
		if (record)
			record_free(record);
	} else {
		record->touched_ns = k2i_clock_now_ns();
		file_cut(carry, record);
		if (record_insert(carry, record))
			record_free(record);
	}
}

void k2i_carry_load(struct k2i_carry *carry)
{
	int descriptor = carry->directory < 0 ? -1 : openat(carry->directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *directory = descriptor < 0 ? NULL : fdopendir(descriptor);
	const struct dirent *entry;

	if (!directory && descriptor >= 0)
		(void)close(descriptor);
	if (!directory)
		return;
	while ((entry = readdir(directory)) != NULL) {
		if (entry->d_name[0] != '.')
			file_load(carry, entry->d_name);
	}
	(void)closedir(directory);
}

/* Commits --------------------------------------------------------------------------------------------------------- */

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
		carry->bytes += cost(bytes) - cost(record->file_bytes);
	(void)pthread_mutex_unlock(&carry->mutex);
	return taken;
}

static struct entry entry_of(const struct k2i_group_entry *from, size_t bytes)
{
	struct entry entry = {
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

static int record_begin(struct k2i_carry *carry, struct k2i_carry_changes *changes, struct entry *entry,
			const struct k2i_stream *stream, struct k2i_carried **record)
{
	int error;

	entry->path_bytes = (uint32_t)strlen(stream->path) + 1;
	entry->host_bytes = (uint32_t)strlen(stream->host) + 1;
	*record = record_make(entry, stream->path, stream->host);
	if (!*record)
		return -ENOMEM;
	(void)pthread_mutex_lock(&carry->mutex);
	error = record_insert(carry, *record);
	if (!error) {
		error = change_add(changes, *record, true);
		if (error)
			record_remove(carry, *record);
	}
	(void)pthread_mutex_unlock(&carry->mutex);
	if (error)
		record_free(*record);
	return error;
}

int k2i_carry_add(struct k2i_carry *carry, struct k2i_carry_changes *changes, struct k2i_carried *record,
		  const struct k2i_group_entry *from, const char *data, size_t bytes)
{
	struct entry entry = entry_of(from, bytes);
	bool made = !record;
	size_t more;
	int error = 0;

	if (record && entry.position <= record->last)
		return 0;
	if (made)
		error = record_begin(carry, changes, &entry, from->stream, &record);
	if (!error)
		error = record_room(record, bytes);
	if (error)
		return error;
	more = sizeof(entry) + entry.path_bytes + entry.host_bytes + bytes;
	if (!room_take(carry, record, more)) {
		if (made)
			k2i_carry_undo(carry, changes, changes->count - 1);
		return 1;
	}
	error = entry_write(carry, record, &entry, data);
	record_append(record, data, bytes);
	record->file_bytes += more;
	record->last = entry.position;
	return error;
}

int k2i_carry_finish(struct k2i_carry *carry, struct k2i_carried *record, const uint8_t ring[16], uint64_t position)
{
	struct entry entry = {.position = position, .writer = record->writer, .end = 1};
	int error;

	memcpy(entry.ring, ring, sizeof(entry.ring));
	error = entry_write(carry, record, &entry, "");
	memcpy(record->ring, ring, sizeof(record->ring));
	record->end = position;
	record->ended = true;
	return error;
}

static void change_undo(struct k2i_carry *carry, const struct k2i_carry_change *change)
{
	struct k2i_carried *record = change->record;
	bool written = record->ended || record->file_bytes != change->file_bytes;

	if (change->made) {
		file_remove(carry, record);
		record_remove(carry, record);
		record_free(record);
		return;
	}
	carry->bytes -= cost(record->file_bytes) - cost(change->file_bytes);
	record->bytes = change->bytes;
	record->last = change->last;
	record->file_bytes = change->file_bytes;
	record->ended = record->busy = false;
	if (written)
		file_cut(carry, record);
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

/* Whether the end of a record is committed for good. */
static bool end_lasts(const struct k2i_carry *carry, const struct k2i_carried *record)
{
	struct k2i_ledger_ring row;

	return !k2i_ledger_find(carry->ledger, record->ring, carry->sink->number, &row) ||
	       (record->deferred ? row.synced : row.position) > record->end;
}

void k2i_carry_clean(struct k2i_carry *carry)
{
	struct k2i_carried **place = &carry->ended, *record;

	(void)pthread_mutex_lock(&carry->mutex);
	while ((record = *place) != NULL) {
		if (!end_lasts(carry, record)) {
			place = &record->next;
			continue;
		}
		*place = record->next;
		file_remove(carry, record);
		record_free(record);
	}
	(void)pthread_mutex_unlock(&carry->mutex);
}
