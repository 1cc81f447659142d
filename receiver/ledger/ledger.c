/* SPDX-License-Identifier: MIT */
#include "receiver/ledger/ledger.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "receiver/base/file_identity.h"
#include "base/bits.h"
#include "base/crash.h"
#include "receiver/base/directory.h"
#include "receiver/ledger/snapshot.h"
#include "receiver/ledger/internal.h"

#define NEW_NAME "ledger.new"
#define LOCK_NAME "lock"

#define ALLOCATE_BYTES (UINT64_C(1) << 20)
#define REWRITE_BYTES (UINT64_C(16) << 20)

/* Writing ------------------------------------------------------------------------------------------------------- */

static int write_whole(int file, const uint8_t *bytes, size_t byte_count, uint64_t offset)
{
	ssize_t put;

	while (byte_count > 0) {
		put = pwrite(file, bytes, byte_count, (off_t)offset);
		if (put < 0 && errno == EINTR)
			continue;
		if (put <= 0)
			return put ? -errno : -EIO;
		bytes += put;
		byte_count -= (size_t)put;
		offset += (uint64_t)put;
	}
	return 0;
}

/*
 * Allocated ahead, so that a full disk does not come between data and its record; on a file system that can't, only
 * made longer. The zeros behind the last record tell a log that ends there from one that somebody cut.
 */
static int log_allocate(int file, uint64_t *allocated, uint64_t wanted)
{
	uint64_t more = k2i_align_up(wanted + 1, ALLOCATE_BYTES);

	if (wanted < *allocated)
		return 0;
	if (fallocate(file, 0, (off_t)*allocated, (off_t)(more - *allocated)) < 0) {
		if (errno != EOPNOTSUPP && errno != ENOSYS)
			return errno == EINTR ? -EAGAIN : -errno;
		if (ftruncate(file, (off_t)more) < 0)
			return -errno;
	}
	*allocated = more;
	return 0;
}

static int log_write_new(struct k2i_ledger *ledger, int file, const struct k2i_snapshot *snapshot, uint64_t *allocated)
{
	int error = log_allocate(file, allocated, snapshot->used + K2I_LEDGER_SYNC_BYTES);

	if (!error)
		error = write_whole(file, snapshot->bytes, snapshot->used, 0);
	K2I_CRASH(ledger_new_written);
	/* The new log must not take the old one's place before it is whole, not even after a power cut. */
	if (!error && fdatasync(file) < 0)
		error = -errno;
	K2I_CRASH(ledger_new_synced);
	if (!error && renameat(ledger->directory, NEW_NAME, ledger->directory, K2I_LEDGER_NAME) < 0)
		error = -errno;
	K2I_CRASH(ledger_renamed);
	return error;
}

static int log_rewrite(struct k2i_ledger *ledger)
{
	int file = openat(ledger->directory, NEW_NAME, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	struct k2i_snapshot snapshot = {0};
	uint64_t allocated = 0;
	struct stat status;
	int error = file < 0 || fstat(file, &status) < 0 ? -errno : 0;

	if (!error) {
		ledger->header.file = k2i_file_identity_hash(file, status.st_dev, status.st_ino);
		error = k2i_snapshot_make(&ledger->known, &ledger->header, &snapshot);
	}
	if (!error)
		error = log_write_new(ledger, file, &snapshot, &allocated);
	free(snapshot.bytes);
	if (error) {
		if (file >= 0)
			(void)close(file);
		return error;
	}
	if (ledger->log >= 0)
		(void)close(ledger->log);
	ledger->log = file;
	ledger->doubted = false;
	ledger->device = status.st_dev;
	ledger->inode = status.st_ino;
	ledger->end = ledger->synced_end = snapshot.used;
	ledger->allocated = allocated;
	ledger->rewrite_at = snapshot.used * 2 > REWRITE_BYTES ? snapshot.used * 2 : REWRITE_BYTES;
	/* The next start finds this log: later records have to be in it, whether the disk has its name yet or not. */
	error = k2i_directory_sync(ledger->directory);
	ledger->stale = error != 0;
	K2I_CRASH(ledger_named);
	return error;
}

/* A log that can't be rewritten now goes on growing; the next try comes with the next megabyte. */
static void log_trim(struct k2i_ledger *ledger)
{
	if (ledger->end > ledger->rewrite_at && log_rewrite(ledger) < 0)
		ledger->rewrite_at = ledger->end + ALLOCATE_BYTES;
}

/* A record that can't be written leaves nothing: its rest would stand behind a shorter one, as damage. */
static int record_write(struct k2i_ledger *ledger, size_t length)
{
	int error = write_whole(ledger->log, ledger->record, length, ledger->end);

	if (error) {
		memset(ledger->record, 0, length);
		(void)write_whole(ledger->log, ledger->record, length, ledger->end);
	}
	return error;
}

/* ledger->next becomes a record of this type. `spare` bytes more are allocated, for those behind it. */
static int record_append(struct k2i_ledger *ledger, enum k2i_ledger_record_type type, uint64_t spare)
{
	int length, error;

	ledger->next.type = type;
	length = k2i_ledger_record_encode(&ledger->next, ledger->record);
	if (length < 0)
		return length;
	error = log_allocate(ledger->log, &ledger->allocated, ledger->end + (uint64_t)length + spare);
	K2I_CRASH(ledger_append_before);
	if (!error)
		error = record_write(ledger, (size_t)length);
	K2I_CRASH(ledger_appended);
	if (!error)
		ledger->end += (uint64_t)length;
	return error;
}

/* Contract ------------------------------------------------------------------------------------------------------ */

static int directory_open(struct k2i_ledger *ledger)
{
	int error = k2i_directory_make(ledger->path, K2I_DIRECTORY_PRIVATE);

	if (error < 0)
		return error;
	ledger->directory = open(ledger->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (ledger->directory < 0)
		return -errno;
	ledger->lock = openat(ledger->directory, LOCK_NAME, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (ledger->lock < 0 || flock(ledger->lock, LOCK_EX | LOCK_NB) < 0)
		return -errno;
	return 0;
}

static int ledger_start(struct k2i_ledger *ledger, struct k2i_ledger_report *report)
{
	int error;

	if (!ledger->path)
		return -ENOMEM;
	if (getrandom(ledger->header.uuid, sizeof(ledger->header.uuid), 0) != sizeof(ledger->header.uuid))
		return -EIO;
	error = directory_open(ledger);
	return error ? error : k2i_ledger_load(ledger, report);
}

int k2i_ledger_open(const char *directory, const uint8_t boot_id[16], struct k2i_ledger **ledger,
		    struct k2i_ledger_report *report)
{
	struct k2i_ledger *opened = calloc(1, sizeof(*opened));
	int error;

	if (!opened)
		return -ENOMEM;
	memset(report, 0, sizeof(*report));
	opened->directory = opened->lock = opened->log = -1;
	opened->path = strdup(directory);
	opened->number = 1;
	memcpy(opened->header.boot_id, boot_id, sizeof(opened->header.boot_id));
	(void)pthread_mutex_init(&opened->mutex, NULL);
	error = ledger_start(opened, report);
	if (error)
		k2i_ledger_close(opened, false);
	else
		*ledger = opened;
	return error;
}

struct each_file {
	void (*each)(void *argument, const struct k2i_ledger_file *file);
	void *argument;
	bool unsynced;
};

static bool is_unsynced(const struct k2i_ledger_stages *stages)
{
	return stages->marks & K2I_LEDGER_MARK_DEFERRED && stages->now.at != stages->synced.at;
}

static void each_file_call(void *argument, struct k2i_table_node *node)
{
	struct each_file *call = argument;

	const struct k2i_known_file *known = K2I_TABLE_ENTRY(node, struct k2i_known_file, node);
	struct k2i_ledger_file file = k2i_known_file_shown(known);

	if (call->unsynced ? is_unsynced(&known->entry.stages) : known->entry.stages.marks & K2I_LEDGER_MARK_OPEN)
		call->each(call->argument, &file);
}

void k2i_ledger_files(struct k2i_ledger *ledger, void (*each)(void *argument, const struct k2i_ledger_file *file),
		      void *argument)
{
	struct each_file call = {each, argument, false};

	k2i_table_each(&ledger->known.files, each_file_call, &call);
}

void k2i_ledger_files_unsynced(struct k2i_ledger *ledger,
			       void (*each)(void *argument, const struct k2i_ledger_file *file), void *argument)
{
	struct each_file call = {each, argument, true};

	k2i_table_each(&ledger->known.files, each_file_call, &call);
}

/* The status reads it, and does not wait for a rewrite. */
static void rings_counted(struct k2i_ledger *ledger)
{
	atomic_store_explicit(&ledger->ring_count, ledger->known.ring_count, memory_order_relaxed);
}

void k2i_ledger_fall_back(struct k2i_ledger *ledger)
{
	(void)pthread_mutex_lock(&ledger->mutex);
	k2i_known_fall_back(&ledger->known, false);
	ledger->resumed = false;
	(void)pthread_mutex_unlock(&ledger->mutex);
}

int k2i_ledger_begin(struct k2i_ledger *ledger)
{
	int error;

	(void)pthread_mutex_lock(&ledger->mutex);
	if (ledger->resumed)
		k2i_known_files_closed(&ledger->known);
	else
		k2i_known_files_forget(&ledger->known);
	rings_counted(ledger);
	error = log_rewrite(ledger);
	(void)pthread_mutex_unlock(&ledger->mutex);
	return error;
}

size_t k2i_ledger_ring_count(const struct k2i_ledger *ledger)
{
	return atomic_load_explicit(&ledger->ring_count, memory_order_relaxed);
}

bool k2i_ledger_find(struct k2i_ledger *ledger, const uint8_t uuid[16], uint32_t sink, struct k2i_ledger_ring *ring)
{
	struct k2i_known_ring *found;

	(void)pthread_mutex_lock(&ledger->mutex);
	found = k2i_known_ring_find(&ledger->known, uuid, sink);
	if (found)
		*ring = k2i_known_ring_shown(found);
	(void)pthread_mutex_unlock(&ledger->mutex);
	return found != NULL;
}

int k2i_ledger_file_opened(struct k2i_ledger *ledger, const struct k2i_ledger_file *file)
{
	int result;

	(void)pthread_mutex_lock(&ledger->mutex);
	log_trim(ledger);
	ledger->next.files[0] = *file;
	ledger->next.stages.marks = file->deferred ? K2I_LEDGER_MARK_DEFERRED : 0;
	result = record_append(ledger, K2I_LEDGER_OPENED, K2I_LEDGER_SYNC_BYTES);
	if (!result)
		result = k2i_known_file_opened(&ledger->known, file);
	if (!result && ledger->stale)
		result = 1;
	(void)pthread_mutex_unlock(&ledger->mutex);
	return result;
}

bool k2i_ledger_file_deferred(struct k2i_ledger *ledger, uint64_t birth, uint64_t inode)
{
	const struct k2i_known_file *file;
	bool deferred;

	(void)pthread_mutex_lock(&ledger->mutex);
	file = k2i_known_file_find(&ledger->known, birth, inode);
	deferred = file && file->entry.stages.marks & K2I_LEDGER_MARK_DEFERRED &&
		   file->entry.stages.now.at != file->entry.stages.synced.at;
	(void)pthread_mutex_unlock(&ledger->mutex);
	return deferred;
}

void k2i_ledger_file_closed(struct k2i_ledger *ledger, uint64_t birth, uint64_t inode)
{
	struct k2i_known_file *file;

	(void)pthread_mutex_lock(&ledger->mutex);
	file = k2i_known_file_find(&ledger->known, birth, inode);
	if (file) {
		k2i_known_file_closed(&ledger->known, file);
		/* Without the record the next start looks at a file more. */
		ledger->next.files[0] = (struct k2i_ledger_file){.birth = birth, .inode = inode};
		(void)record_append(ledger, K2I_LEDGER_CLOSED, K2I_LEDGER_SYNC_BYTES);
	}
	(void)pthread_mutex_unlock(&ledger->mutex);
}

static int commit_locked(struct k2i_ledger *ledger, struct k2i_ledger_ring *ring, const struct k2i_ledger_file *files,
			 size_t file_count)
{
	bool known = k2i_known_ring_find(&ledger->known, ring->uuid, ring->sink) != NULL;
	struct k2i_known_ring *place = k2i_known_ring_place(&ledger->known, ring->uuid, ring->sink);
	size_t i;
	int error;

	/* Allocations come first: they can fail, and nothing is written then. */
	if (!place || k2i_known_commit_reserve(&ledger->known, file_count)) {
		if (place && !known)
			k2i_known_ring_forget(&ledger->known, place);
		return -ENOMEM;
	}
	/* A full disk must not keep what was committed from being acknowledged. */
	ledger->next.ring = *ring;
	ledger->next.file_count = file_count;
	for (i = 0; i < file_count; i++)
		ledger->next.files[i] = files[i];
	error = record_append(ledger, K2I_LEDGER_COMMIT, K2I_LEDGER_SYNC_BYTES);
	if (error) {
		if (!known)
			k2i_known_ring_forget(&ledger->known, place);
		return error;
	}
	ledger->doubted = false;
	ring->number = ++ledger->number;
	k2i_known_commit(&ledger->known, place, ring, files, file_count);
	rings_counted(ledger);
	return 0;
}

int k2i_ledger_commit(struct k2i_ledger *ledger, struct k2i_ledger_ring *ring, const struct k2i_ledger_file *files,
		      size_t file_count)
{
	int error;

	(void)pthread_mutex_lock(&ledger->mutex);
	log_trim(ledger);
	error = commit_locked(ledger, ring, files, file_count);
	(void)pthread_mutex_unlock(&ledger->mutex);
	return error;
}

void k2i_ledger_forget(struct k2i_ledger *ledger, const uint8_t uuid[16])
{
	(void)pthread_mutex_lock(&ledger->mutex);
	if (k2i_known_rows_forget(&ledger->known, uuid)) {
		rings_counted(ledger);
		/* Without the record the next start knows a ring more. */
		memcpy(ledger->next.ring.uuid, uuid, 16);
		(void)record_append(ledger, K2I_LEDGER_FORGOTTEN, K2I_LEDGER_SYNC_BYTES);
	}
	(void)pthread_mutex_unlock(&ledger->mutex);
}

void k2i_ledger_prove(struct k2i_ledger *ledger, const uint8_t uuid[16], uint64_t position)
{
	struct k2i_known_ring *row = NULL;

	(void)pthread_mutex_lock(&ledger->mutex);
	while ((row = k2i_known_row_next(&ledger->known, uuid, row)) != NULL)
		k2i_known_ring_prove(&ledger->known, row, position);
	(void)pthread_mutex_unlock(&ledger->mutex);
}

static struct k2i_known_range *range_behind(struct k2i_link *link, uint64_t position)
{
	struct k2i_known_range *range = K2I_LIST_ENTRY(link, struct k2i_known_range, link);

	return range && range->range.to > position ? range : NULL;
}

/* With their paths behind them. */
static struct k2i_ledger_range *ranges_copy(const struct k2i_known_ring *row, uint64_t position, size_t *count)
{
	struct k2i_known_range *range = range_behind(row->ranges.newest, position);
	struct k2i_ledger_range *copy;
	size_t path_bytes = 0, at = 0;
	char *paths;

	for (*count = 0; range; range = range_behind(range->link.older, position), ++*count)
		path_bytes += strlen(range->file->path) + 1;
	copy = malloc(*count * sizeof(*copy) + path_bytes + 1);
	if (!copy)
		return NULL;
	paths = (char *)(copy + *count);
	range = range_behind(row->ranges.newest, position);
	for (; range; range = range_behind(range->link.older, position)) {
		copy[at] = k2i_known_range_shown(range);
		path_bytes = strlen(range->file->path) + 1;
		copy[at++].path = memcpy(paths, range->file->path, path_bytes);
		paths += path_bytes;
	}
	return copy;
}

int k2i_ledger_ranges(struct k2i_ledger *ledger, const uint8_t uuid[16], uint32_t sink, uint64_t position,
		      struct k2i_ledger_range **ranges, size_t *count)
{
	struct k2i_known_ring *row;

	*ranges = NULL;
	*count = 0;
	(void)pthread_mutex_lock(&ledger->mutex);
	row = k2i_known_ring_find(&ledger->known, uuid, sink);
	if (row)
		*ranges = ranges_copy(row, position, count);
	(void)pthread_mutex_unlock(&ledger->mutex);
	return row && !*ranges ? -ENOMEM : 0;
}

int k2i_ledger_cut(struct k2i_ledger *ledger, const struct k2i_ledger_ring *row, const struct k2i_ledger_file *file)
{
	int error;

	(void)pthread_mutex_lock(&ledger->mutex);
	ledger->next.ring = *row;
	ledger->next.files[0] = *file;
	error = record_append(ledger, K2I_LEDGER_CUT, K2I_LEDGER_SYNC_BYTES);
	if (!error)
		k2i_known_cut(&ledger->known, row, file);
	(void)pthread_mutex_unlock(&ledger->mutex);
	return error ? error : k2i_ledger_sync(ledger);
}

int k2i_ledger_settle(struct k2i_ledger *ledger, const struct k2i_ledger_ring *row)
{
	int error;

	(void)pthread_mutex_lock(&ledger->mutex);
	ledger->next.ring = *row;
	ledger->next.file_count = 0;
	error = record_append(ledger, K2I_LEDGER_SETTLED, K2I_LEDGER_SYNC_BYTES);
	if (!error)
		k2i_known_settle(&ledger->known, row);
	(void)pthread_mutex_unlock(&ledger->mutex);
	return error;
}

uint64_t k2i_ledger_number(struct k2i_ledger *ledger)
{
	uint64_t number;

	(void)pthread_mutex_lock(&ledger->mutex);
	number = ledger->number;
	(void)pthread_mutex_unlock(&ledger->mutex);
	return number;
}

int k2i_ledger_mark(struct k2i_ledger *ledger, uint64_t *number)
{
	int error = 0;

	(void)pthread_mutex_lock(&ledger->mutex);
	*number = ledger->number;
	/* Not for what a failed sync has marked already: the log has room for one of each behind a commit. */
	if (ledger->known.lists[K2I_KNOWN_CHANGED].oldest && !ledger->stale)
		error = record_append(ledger, K2I_LEDGER_MARK, 0);
	if (!error)
		k2i_known_mark(&ledger->known);
	(void)pthread_mutex_unlock(&ledger->mutex);
	return error;
}

int k2i_ledger_checkpoint(struct k2i_ledger *ledger)
{
	int error = 0;

	(void)pthread_mutex_lock(&ledger->mutex);
	ledger->next.end = ledger->synced_end;
	if (!ledger->stale)
		error = record_append(ledger, K2I_LEDGER_CHECKPOINT, 0);
	if (!error)
		k2i_known_checkpoint(&ledger->known);
	(void)pthread_mutex_unlock(&ledger->mutex);
	K2I_CRASH(ledger_checkpoint);
	return error ? error : k2i_ledger_sync(ledger);
}

/* Clears the state of a sync whose `end` was brought to the disk in a log that may have been replaced since. */
static void log_synced(struct k2i_ledger *ledger, uint64_t inode, uint64_t end, int error)
{
	(void)pthread_mutex_lock(&ledger->mutex);
	/* The next fdatasync(2) can say that all is well, of pages that the kernel has thrown away. */
	if (error)
		ledger->stale = true;
	else if (ledger->inode == inode && ledger->synced_end < end)
		ledger->synced_end = end;
	(void)pthread_mutex_unlock(&ledger->mutex);
}

/*
 * Commits go on meanwhile. A log that is rewritten meanwhile is on the disk before it takes this one's place, with all
 * that this one has.
 */
int k2i_ledger_sync(struct k2i_ledger *ledger)
{
	uint64_t inode, end;
	int file, error = 0;

	(void)pthread_mutex_lock(&ledger->mutex);
	if (ledger->stale)
		error = log_rewrite(ledger);
	inode = ledger->inode;
	end = ledger->end;
	file = fcntl(ledger->log, F_DUPFD_CLOEXEC, 0);
	/* A lack of descriptors is no reason to fail: commits wait then. */
	if (file < 0 && !error && fdatasync(ledger->log) < 0)
		error = -errno;
	(void)pthread_mutex_unlock(&ledger->mutex);
	K2I_CRASH(ledger_sync_before);
	if (file >= 0 && !error && fdatasync(file) < 0)
		error = -errno;
	K2I_CRASH(ledger_synced);
	if (file >= 0)
		(void)close(file);
	log_synced(ledger, inode, end, error);
	return error;
}

void k2i_ledger_doubt(struct k2i_ledger *ledger)
{
	(void)pthread_mutex_lock(&ledger->mutex);
	k2i_known_doubt(&ledger->known);
	/*
	 * A disk that is full has no room for another log, but this one has some. Nobody else would tell a receiver that
	 * starts now, and it would take for written what nobody has.
	 */
	if (!ledger->doubted && !record_append(ledger, K2I_LEDGER_DOUBT, 0))
		ledger->doubted = true;
	ledger->stale = true;
	(void)log_rewrite(ledger);
	(void)pthread_mutex_unlock(&ledger->mutex);
}

bool k2i_ledger_doubt_tell(struct k2i_ledger *ledger, const uint8_t uuid[16], uint32_t sink)
{
	struct k2i_known_ring *ring;
	bool first;

	(void)pthread_mutex_lock(&ledger->mutex);
	ring = k2i_known_ring_find(&ledger->known, uuid, sink);
	first = ring && !ring->doubt_told;
	if (ring)
		ring->doubt_told = true;
	(void)pthread_mutex_unlock(&ledger->mutex);
	return first;
}

/* The directory itself may have been removed, or another file system mounted over it. */
static int directory_again(struct k2i_ledger *ledger)
{
	struct k2i_ledger fresh = {.path = ledger->path, .directory = -1, .lock = -1};
	struct stat old, now;
	int error;

	if (stat(ledger->path, &now) == 0 && fstat(ledger->directory, &old) == 0 && old.st_dev == now.st_dev &&
	    old.st_ino == now.st_ino)
		return 0;
	error = directory_open(&fresh);
	if (error) {
		if (fresh.lock >= 0)
			(void)close(fresh.lock);
		if (fresh.directory >= 0)
			(void)close(fresh.directory);
		return error;
	}
	(void)close(ledger->lock);
	(void)close(ledger->directory);
	ledger->lock = fresh.lock;
	ledger->directory = fresh.directory;
	return 0;
}

int k2i_ledger_check(struct k2i_ledger *ledger)
{
	struct stat status;
	int error;

	(void)pthread_mutex_lock(&ledger->mutex);
	error = directory_again(ledger);
	if (!error && (fstatat(ledger->directory, K2I_LEDGER_NAME, &status, AT_SYMLINK_NOFOLLOW) < 0 ||
		       status.st_dev != ledger->device || status.st_ino != ledger->inode ||
		       (uint64_t)status.st_size < ledger->allocated)) {
		error = log_rewrite(ledger);
		if (!error)
			error = 1;
	}
	(void)pthread_mutex_unlock(&ledger->mutex);
	return error;
}

const uint8_t *k2i_ledger_uuid(const struct k2i_ledger *ledger)
{
	return ledger->header.uuid;
}

void k2i_ledger_close(struct k2i_ledger *ledger, bool clean)
{
	if (!ledger)
		return;
	K2I_CRASH(ledger_clean_before);
	if (clean && ledger->log >= 0 && !ledger->stale && !record_append(ledger, K2I_LEDGER_CLEAN, 0))
		(void)fdatasync(ledger->log);
	K2I_CRASH(ledger_clean);
	k2i_known_free(&ledger->known);
	if (ledger->log >= 0)
		(void)close(ledger->log);
	if (ledger->lock >= 0)
		(void)close(ledger->lock);
	if (ledger->directory >= 0)
		(void)close(ledger->directory);
	(void)pthread_mutex_destroy(&ledger->mutex);
	free(ledger->path);
	free(ledger);
}
