/* SPDX-License-Identifier: MIT */
#include "receiver/sink/carried.h"

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
#define COST_BYTES_MIN 4096u /* an inode is worth something */

/* Files ----------------------------------------------------------------------------------------------------------- */

void k2i_carried_name(const struct k2i_carried *record, char name[K2I_CARRIED_NAME_BYTES])
{
	(void)snprintf(name, K2I_CARRIED_NAME_BYTES, "%016" PRIx64 "-%016" PRIx64, record->writer, record->first);
}

static uint64_t entry_checksum(const struct k2i_carried_entry *entry, const void *data)
{
	return k2i_hash_pair((const uint8_t *)entry + sizeof(entry->checksum), sizeof(*entry) - sizeof(entry->checksum),
			     data, entry->bytes);
}

/* Behind what the record's file has. */
int k2i_carried_write(struct k2i_carry *carry, const struct k2i_carried *record, struct k2i_carried_entry *entry,
		      const char *data)
{
	const size_t name_bytes = entry->path_bytes + entry->host_bytes;
	struct iovec parts[3] = {{entry, sizeof(*entry)},
				 {(void *)(uintptr_t)record->origin.path, name_bytes},
				 {(void *)(uintptr_t)data, entry->bytes}};
	char name[K2I_CARRIED_NAME_BYTES];
	ssize_t written;
	int descriptor, error = 0;

	entry->names = k2i_hash(record->origin.path, name_bytes);
	entry->checksum = entry_checksum(entry, data);
	k2i_carried_name(record, name);
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
void k2i_carried_file_cut(const struct k2i_carry *carry, const struct k2i_carried *record)
{
	char name[K2I_CARRIED_NAME_BYTES];
	int descriptor;

	k2i_carried_name(record, name);
	descriptor = openat(carry->directory, name, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
	if (descriptor < 0)
		return;
	if (ftruncate(descriptor, (off_t)record->file_bytes) < 0)
		k2i_log(K2HFT_LOG_WARNING, "carried: %s can't be cut: %s", name, k2i_text_error(-errno));
	(void)close(descriptor);
}

void k2i_carried_file_remove(const struct k2i_carry *carry, const struct k2i_carried *record)
{
	char name[K2I_CARRIED_NAME_BYTES];

	k2i_carried_name(record, name);
	K2I_CRASH(carried_remove_before);
	if (unlinkat(carry->directory, name, 0) < 0 && errno != ENOENT)
		k2i_log(K2HFT_LOG_WARNING, "carried: %s can't be removed: %s", name, k2i_text_error(-errno));
}

/* Records --------------------------------------------------------------------------------------------------------- */

uint64_t k2i_carried_cost(uint64_t file_bytes)
{
	return file_bytes > COST_BYTES_MIN ? file_bytes : COST_BYTES_MIN;
}

struct k2i_carried *k2i_carried_make(const struct k2i_carried_entry *entry, const char *path, const char *host)
{
	struct k2i_carried *record = calloc(1, sizeof(*record) + entry->path_bytes + entry->host_bytes);
	char *names;

	if (!record)
		return NULL;
	names = (char *)(record + 1);
	record->writer = entry->writer;
	record->first = record->last = entry->position;
	memcpy(record->ring, entry->ring, sizeof(record->ring));
	record->binary = entry->binary != 0;
	record->origin = (struct k2i_format_origin){
		.path = memcpy(names, path, entry->path_bytes),
		.host = memcpy(names + entry->path_bytes, host, entry->host_bytes),
		.writer_pid = entry->writer_pid,
		.time_ns = entry->time_ns,
	};
	return record;
}

void k2i_carried_free(struct k2i_carried *record)
{
	free(record->data);
	free(record);
}

int k2i_carried_room(struct k2i_carried *record, size_t bytes)
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
void k2i_carried_append(struct k2i_carried *record, const char *data, size_t bytes)
{
	memcpy(record->data + record->bytes, data, bytes);
	record->bytes += bytes;
}

int k2i_carried_join(struct k2i_carried *record, const char *data, size_t bytes, size_t *joined, bool *terminated)
{
	int error = k2i_carried_room(record, bytes + 1);

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
int k2i_carried_insert(struct k2i_carry *carry, struct k2i_carried *record)
{
	int error = k2i_table_insert(&carry->records, &record->node, record->writer);

	if (error)
		return error;
	atomic_fetch_add(&carry->count, 1);
	carry->bytes += k2i_carried_cost(record->file_bytes);
	return 0;
}

void k2i_carried_remove(struct k2i_carry *carry, struct k2i_carried *record)
{
	k2i_table_remove(&carry->records, &record->node);
	atomic_fetch_sub(&carry->count, 1);
	carry->bytes -= k2i_carried_cost(record->file_bytes);
}

void k2i_carried_ended(struct k2i_carry *carry, struct k2i_carried *record)
{
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
	k2i_carried_free(K2I_TABLE_ENTRY(node, struct k2i_carried, node));
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
		k2i_carried_free(record);
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
static bool entry_counts(const struct k2i_carry *carry, const struct k2i_carried_entry *entry)
{
	struct k2i_ledger_ring row;

	return !k2i_ledger_find(carry->ledger, entry->ring, carry->sink->number, &row) ||
	       row.position > entry->position;
}

static bool entry_deferred(const struct k2i_carry *carry, const struct k2i_carried_entry *entry)
{
	struct k2i_ledger_ring row;

	return k2i_ledger_find(carry->ledger, entry->ring, carry->sink->number, &row) &&
	       row.flags & K2I_LEDGER_DEFERRED;
}

/* Whether nothing asks for the file of a record any more: its end is committed for good, and its sender knows that. */
bool k2i_carried_lasts(const struct k2i_carry *carry, const struct k2i_carried *record)
{
	bool own_end = memcmp(record->ring, record->end_ring, sizeof(record->ring)) == 0;
	struct k2i_ledger_ring row;

	if (k2i_ledger_find(carry->ledger, record->end_ring, carry->sink->number, &row) &&
	    (record->deferred ? row.synced : row.position) <= record->end)
		return false;
	return !k2i_ledger_find(carry->ledger, record->ring, carry->sink->number, &row) ||
	       row.proven > (own_end ? record->end : record->last);
}

/* The entry at `at`; 0: none that is whole. */
static size_t entry_read(const char *at, size_t bytes, struct k2i_carried_entry *entry)
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

static struct k2i_carried *record_first(const struct k2i_carried_entry *entry, const char *names)
{
	const char *host = names + entry->path_bytes;

	if (entry->path_bytes < 2 || entry->path_bytes > K2HFT_STREAM_PATH_BYTES_MAX + 1 || entry->host_bytes == 0 ||
	    entry->host_bytes > K2HFT_STREAM_HOST_BYTES_MAX + 1 || names[entry->path_bytes - 1] ||
	    host[entry->host_bytes - 1] || k2hft_stream_path_check(names, entry->path_bytes - 1))
		return NULL;
	return k2i_carried_make(entry, names, host);
}

/* The record that a file has, as far as it counts; NULL: none. */
static struct k2i_carried *record_read(const struct k2i_carry *carry, const char *bytes, size_t byte_count)
{
	struct k2i_carried *record = NULL;
	struct k2i_carried_entry entry;
	size_t at = 0, more;

	while ((more = entry_read(bytes + at, byte_count - at, &entry)) != 0 && entry_counts(carry, &entry)) {
		if (!record)
			record = record_first(&entry, bytes + sizeof(entry));
		if (!record)
			break;
		record->ended = entry.end != 0;
		if ((at == 0 || entry.position > record->last) && k2i_carried_room(record, entry.bytes) == 0)
			k2i_carried_append(record, bytes + at + more - entry.bytes, entry.bytes);
		if (!record->ended) {
			record->deferred = entry_deferred(carry, &entry);
			record->last = entry.position;
		} else {
			memcpy(record->end_ring, entry.ring, sizeof(record->end_ring));
			record->end = entry.position;
		}
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

void k2i_carried_file_load(struct k2i_carry *carry, const char *name)
{
	struct k2i_carried *record = NULL;
	char known[K2I_CARRIED_NAME_BYTES];
	size_t bytes;
	char *data = file_read(carry, name, &bytes);

	if (data)
		record = record_read(carry, data, bytes);
	free(data);
	if (record)
		k2i_carried_name(record, known);
	if (!data || (record && strcmp(name, known) != 0)) {
		k2i_log(K2HFT_LOG_ERROR, "carried: %s is not what a receiver left there", name);
		if (record)
			k2i_carried_free(record);
	} else if (!record || (record->ended && k2i_carried_lasts(carry, record))) {
		(void)unlinkat(carry->directory, name, 0);
		if (record)
			k2i_carried_free(record);
	} else if (record->ended) {
		k2i_carried_ended(carry, record);
	} else {
		record->touched_ns = k2i_clock_now_ns();
		k2i_carried_file_cut(carry, record);
		if (k2i_carried_insert(carry, record))
			k2i_carried_free(record);
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
			k2i_carried_file_load(carry, entry->d_name);
	}
	(void)closedir(directory);
}
