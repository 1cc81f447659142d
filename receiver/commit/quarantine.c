/* SPDX-License-Identifier: MIT */
#include "receiver/commit/quarantine.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "receiver/base/directory.h"
#include "base/log.h"
#include "receiver/base/text.h"
#include "base/uuid.h"

#define INDEX_NAME "index"
#define NAME_ROOM 64u
#define SETTLED_S 2 /* a directory that has not changed for so long shows the next change in its time */

struct k2i_quarantine {
	char *path;
	struct k2i_counters *counters;
	atomic_bool dirty;
	pthread_mutex_t mutex; /* guards what follows */
	uint64_t bytes_max;
	struct k2i_log_limit limit, full_limit;
	/*
	 * The descriptor that is synced: open before anything is written there, since one that is opened later misses
	 * errors that others have got.
	 */
	int kept;       /* -1: it is not there, or can't be read */
	int refused;    /* the error of a disk that was there before; 0: none */
	uint64_t bytes; /* never too few; those that were removed are known when they are looked for */
	bool counted;   /* `bytes` holds what was there at start */
	/* The directory's time when it was counted; tv_sec 0: it may have changed since at the same time. */
	struct timespec changed;
};

static int directory_kept(const struct k2i_quarantine *quarantine)
{
	int directory = quarantine->kept < 0 ? open(quarantine->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
					     : fcntl(quarantine->kept, F_DUPFD_CLOEXEC, 0);

	return directory < 0 ? -errno : directory;
}

int k2i_quarantine_create(const char *directory, uint64_t bytes_max, struct k2i_counters *counters,
			  struct k2i_quarantine **quarantine)
{
	struct k2i_quarantine *made = calloc(1, sizeof(*made));

	if (made)
		made->path = strdup(directory);
	if (!made || !made->path) {
		free(made);
		return -ENOMEM;
	}
	made->kept = -1;
	made->kept = directory_kept(made);
	made->counters = counters;
	made->bytes_max = bytes_max;
	/* A receiver that was killed here may have left something that is not on the disk. */
	atomic_store(&made->dirty, true);
	(void)pthread_mutex_init(&made->mutex, NULL);
	*quarantine = made;
	return 0;
}

void k2i_quarantine_limit(struct k2i_quarantine *quarantine, uint64_t bytes_max)
{
	(void)pthread_mutex_lock(&quarantine->mutex);
	quarantine->bytes_max = bytes_max;
	(void)pthread_mutex_unlock(&quarantine->mutex);
}

void k2i_quarantine_free(struct k2i_quarantine *quarantine)
{
	if (!quarantine)
		return;
	if (quarantine->kept >= 0)
		(void)close(quarantine->kept);
	(void)pthread_mutex_destroy(&quarantine->mutex);
	free(quarantine->path);
	free(quarantine);
}

static int directory_open(const struct k2i_quarantine *quarantine)
{
	int directory = k2i_directory_make(quarantine->path, K2I_DIRECTORY_PRIVATE);

	if (directory < 0)
		return directory;
	directory = open(quarantine->path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return directory < 0 ? -errno : directory;
}

/* With the lock. Another file system can be mounted there now, or none. */
static void directory_leave(struct k2i_quarantine *quarantine)
{
	struct stat now, kept;

	if (quarantine->kept < 0 ||
	    (stat(quarantine->path, &now) == 0 && fstat(quarantine->kept, &kept) == 0 && now.st_dev == kept.st_dev))
		return;
	if (atomic_load(&quarantine->dirty) && syncfs(quarantine->kept) < 0)
		quarantine->refused = -errno;
	(void)close(quarantine->kept);
	quarantine->kept = -1;
}

static void directory_keep(struct k2i_quarantine *quarantine)
{
	(void)pthread_mutex_lock(&quarantine->mutex);
	directory_leave(quarantine);
	if (quarantine->kept < 0)
		quarantine->kept = directory_kept(quarantine);
	(void)pthread_mutex_unlock(&quarantine->mutex);
}

static int file_put(int directory, const char *name, int flags, const void *bytes, size_t byte_count)
{
	int file = openat(directory, name, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC | flags, 0600), error;
	ssize_t put;

	if (file < 0)
		return -errno;
	/* A part of it is all that a disk has room for; the chunk comes again. */
	put = write(file, bytes, byte_count);
	error = put == (ssize_t)byte_count ? 0 : put < 0 ? -errno : -ENOSPC;
	(void)close(file);
	return error;
}

/*
 * A chunk that a full disk or a crash has cut ends here, as far as it came: its chunk has a line of its own when it is
 * there.
 */
static int index_begin(int directory)
{
	int file = openat(directory, INDEX_NAME, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat status;
	char last = '\n';
	bool cut;

	if (file < 0)
		return 0;
	cut = fstat(file, &status) == 0 && status.st_size > 0 && pread(file, &last, 1, status.st_size - 1) == 1 &&
	      last != '\n';
	(void)close(file);
	return cut ? file_put(directory, INDEX_NAME, O_APPEND, "\n", 1) : 0;
}

static int index_put(int directory, const char *name, const struct k2i_group_entry *entry, const char *reason)
{
	char path[K2HFT_STREAM_PATH_BYTES_MAX + 1], line[2048];
	int length = snprintf(line, sizeof(line), "%s\t%" PRIu32 "\t%s\t%s\t%s\n", name, entry->payload_bytes, reason,
			      entry->stream->host, k2i_text_clean(entry->stream->path, path, sizeof(path)));
	int error = index_begin(directory);

	return error ? error : file_put(directory, INDEX_NAME, O_APPEND, line, (size_t)length);
}

static const char *target_reason(const struct k2i_group_target *target)
{
	return target->reason ? target->reason : k2i_text_error(target->error);
}

/* `error`: why it could not be put here either; 0: it was. */
static void put_log(struct k2i_quarantine *quarantine, const struct k2i_group_entry *entry, const char *reason,
		    int error)
{
	k2i_log_limited(&quarantine->limit, k2i_clock_ns(CLOCK_MONOTONIC_COARSE), K2HFT_LOG_ERROR,
			"quarantine: what %s sends to \"%.255s\" can't be stored there (%s) and %s %s%s%s",
			entry->stream->host, entry->stream->path, reason,
			error ? "is held, because it can't go to" : "goes to", quarantine->path, error ? ": " : "",
			error ? k2i_text_error(error) : "");
}

/* Room ----------------------------------------------------------------------------------------------------------- */

/* A directory that may be written and not read counts as empty; one that can't be read just now can later. */
static int directory_cost(const char *path, uint64_t *sum)
{
	DIR *directory = opendir(path);
	const struct dirent *entry;
	struct stat status;
	int error;

	*sum = 0;
	if (!directory)
		return errno == EACCES || errno == ENOENT ? 0 : -errno;
	for (errno = 0; (entry = readdir(directory)) != NULL; errno = 0)
		if (fstatat(dirfd(directory), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
		    S_ISREG(status.st_mode))
			*sum += k2i_group_cost((uint64_t)status.st_size);
	error = -errno;
	(void)closedir(directory);
	return error;
}

/*
 * A session that finds no room is held and asks every second, and to look at hundreds of thousands of files keeps all
 * that the thread serves waiting: files that were moved away changed the directory.
 */
static int directory_count(struct k2i_quarantine *quarantine)
{
	const struct timespec *counted = &quarantine->changed;
	struct stat status = {0};
	struct timespec now;
	uint64_t bytes;
	int error;

	(void)stat(quarantine->path, &status);
	if (counted->tv_sec && counted->tv_sec == status.st_mtim.tv_sec && counted->tv_nsec == status.st_mtim.tv_nsec)
		return 0;
	(void)clock_gettime(CLOCK_REALTIME, &now);
	error = directory_cost(quarantine->path, &bytes);
	if (error)
		return error;
	quarantine->bytes = bytes;
	quarantine->changed = status.st_mtim;
	if (now.tv_sec - SETTLED_S <= status.st_mtim.tv_sec)
		quarantine->changed.tv_sec = 0;
	quarantine->counted = true;
	return 0;
}

static int room_take(struct k2i_quarantine *quarantine, uint64_t bytes)
{
	int error = 0;

	(void)pthread_mutex_lock(&quarantine->mutex);
	if (!quarantine->counted || quarantine->bytes + bytes > quarantine->bytes_max)
		error = directory_count(quarantine);
	if (!error && quarantine->bytes + bytes > quarantine->bytes_max)
		error = -EDQUOT;
	if (!error)
		quarantine->bytes += bytes;
	(void)pthread_mutex_unlock(&quarantine->mutex);
	if (error != -EDQUOT)
		return error;
	k2i_count(&quarantine->counters->quarantine_full, 1);
	k2i_log_limited(&quarantine->full_limit, k2i_clock_ns(CLOCK_MONOTONIC_COARSE), K2HFT_LOG_ERROR,
			"quarantine: %s has QUARANTINEMAX; whose records belong there is held until you move files "
			"away or raise it",
			quarantine->path);
	return error;
}

/* Gives back the room of a chunk that could not be put there: it comes again and takes it again. */
static void room_give(struct k2i_quarantine *quarantine, uint64_t bytes)
{
	(void)pthread_mutex_lock(&quarantine->mutex);
	/* A count since then has not found it. */
	quarantine->bytes -= bytes < quarantine->bytes ? bytes : quarantine->bytes;
	(void)pthread_mutex_unlock(&quarantine->mutex);
}

/* A group that is held comes again, with what is here already: that has its name when all of it is there. */
static bool entry_name(int directory, const uint8_t ring_uuid[16], const struct k2i_group_entry *entry,
		       char name[NAME_ROOM])
{
	char uuid[K2I_UUID_TEXT_BYTES];

	(void)snprintf(name, NAME_ROOM, "%s-%020" PRIu64, k2i_uuid_text(ring_uuid, uuid), entry->position);
	return faccessat(directory, name, F_OK, 0) == 0;
}

/* The room for all chunks that are not there: a group is taken as a whole, or held. */
static uint64_t missing_cost(int directory, const uint8_t ring_uuid[16], const struct k2i_group *group,
			     const struct k2i_group_target *target)
{
	char name[NAME_ROOM];
	uint32_t index = target->first;
	uint64_t sum = 0;

	do {
		if (!entry_name(directory, ring_uuid, &group->entries[index], name))
			sum += k2i_group_cost(group->entries[index].payload_bytes);
		index = group->entries[index].next;
	} while (index);
	return sum;
}

static int entry_put(struct k2i_quarantine *quarantine, int directory, const uint8_t ring_uuid[16],
		     const struct k2i_group_entry *entry, const char *reason)
{
	char name[NAME_ROOM], part[NAME_ROOM + sizeof(".part")];
	int error;

	if (entry_name(directory, ring_uuid, entry, name))
		return 0;
	(void)snprintf(part, sizeof(part), "%s.part", name);
	error = file_put(directory, part, O_TRUNC, entry->payload, entry->payload_bytes);
	if (!error)
		error = index_put(directory, name, entry, reason);
	if (!error && renameat(directory, part, directory, name) < 0)
		error = -errno;
	if (error)
		return error;
	k2i_count(&quarantine->counters->quarantined_chunks, 1);
	k2i_count(&quarantine->counters->quarantined_bytes, entry->payload_bytes);
	return 0;
}

static int entries_put(struct k2i_quarantine *quarantine, int directory, const uint8_t ring_uuid[16],
		       const struct k2i_group *group, const struct k2i_group_target *target)
{
	uint32_t index = target->first;
	const char *reason = target_reason(target);
	int error;

	do {
		error = entry_put(quarantine, directory, ring_uuid, &group->entries[index], reason);
		index = group->entries[index].next;
	} while (!error && index);
	put_log(quarantine, &group->entries[target->first], reason, error);
	return error;
}

int k2i_quarantine_put(struct k2i_quarantine *quarantine, const uint8_t ring_uuid[16], const struct k2i_group *group,
		       const struct k2i_group_target *target)
{
	int directory = directory_open(quarantine), error;
	uint64_t cost;

	if (directory < 0) {
		put_log(quarantine, &group->entries[target->first], target_reason(target), directory);
		return directory;
	}
	directory_keep(quarantine);
	cost = missing_cost(directory, ring_uuid, group, target);
	error = cost ? room_take(quarantine, cost) : 0;
	if (!error) {
		error = entries_put(quarantine, directory, ring_uuid, group, target);
		if (error)
			room_give(quarantine, missing_cost(directory, ring_uuid, group, target));
	}
	/* Behind the writing: each sync from here on has it. */
	atomic_store(&quarantine->dirty, true);
	(void)close(directory);
	return error;
}

/* Its position, if the name is that of a chunk of the ring. */
static bool entry_position(const char *name, const char *uuid, uint64_t *position)
{
	size_t uuid_bytes = strlen(uuid);
	char *end;

	if (strncmp(name, uuid, uuid_bytes) != 0 || name[uuid_bytes] != '-')
		return false;
	*position = strtoull(name + uuid_bytes + 1, &end, 10);
	return *end == '\0';
}

/* A record for each line, and one at least: whether it was one of bytes, only its sender knew. */
static void entry_look(int directory, const char *name, struct k2i_retraction *retraction)
{
	int file = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat status;
	char *bytes = NULL;

	if (file >= 0 && fstat(file, &status) == 0 && status.st_size <= (off_t)K2HFT_CHUNK_BYTES_MAX) {
		retraction->bytes = (uint64_t)status.st_size;
		bytes = malloc(retraction->bytes + 1);
	}
	if (bytes && pread(file, bytes, retraction->bytes, 0) == (ssize_t)retraction->bytes) {
		for (uint64_t at = 0; at < retraction->bytes; at++)
			retraction->records += bytes[at] == '\n';
		retraction->hashed = true;
		retraction->checksum = k2i_hash(bytes, retraction->bytes);
	}
	if (!retraction->records)
		retraction->records = 1;
	free(bytes);
	if (file >= 0)
		(void)close(file);
}

int k2i_quarantine_settle(const struct k2i_quarantine *quarantine, const uint8_t ring_uuid[16], uint64_t position,
			  int (*retract)(void *argument, const struct k2i_retraction *retraction), void *argument)
{
	DIR *directory = opendir(quarantine->path);
	const struct dirent *entry;
	char uuid[K2I_UUID_TEXT_BYTES];
	uint64_t at;
	int error = 0;

	if (!directory)
		return errno == ENOENT ? 0 : -errno;
	(void)k2i_uuid_text(ring_uuid, uuid);
	while (!error && (entry = readdir(directory)) != NULL) {
		if (!entry_position(entry->d_name, uuid, &at) || at < position)
			continue;
		struct k2i_retraction retraction = {
			.base = quarantine->path, .path = entry->d_name, .from = at, .to = at + 8};

		entry_look(dirfd(directory), entry->d_name, &retraction);
		error = retract(argument, &retraction);
	}
	(void)closedir(directory);
	return error;
}

void k2i_quarantine_tick(struct k2i_quarantine *quarantine)
{
	(void)pthread_mutex_lock(&quarantine->mutex);
	directory_leave(quarantine);
	(void)pthread_mutex_unlock(&quarantine->mutex);
}

int k2i_quarantine_sync(struct k2i_quarantine *quarantine)
{
	int directory, error;

	if (!atomic_exchange(&quarantine->dirty, false))
		return 0;
	(void)pthread_mutex_lock(&quarantine->mutex);
	error = quarantine->refused;
	quarantine->refused = 0;
	directory = directory_kept(quarantine);
	/* Without a descriptor to be had nothing can be put there either: that waits, too. */
	if (!error && directory < 0 && quarantine->kept >= 0)
		error = syncfs(quarantine->kept) < 0 ? -errno : 0;
	else if (!error && directory < 0 && directory != -ENOENT && directory != -ENOTDIR && directory != -EACCES)
		error = directory;
	(void)pthread_mutex_unlock(&quarantine->mutex);
	/* Without the lock: it takes as long as the disk, and a thread that puts something there has connections to serve. */
	if (!error && directory >= 0)
		error = syncfs(directory) < 0 ? -errno : 0;
	else if (!error && directory == -EACCES) /* it may be written and not read */
		sync();
	if (directory >= 0)
		(void)close(directory);
	if (error)
		atomic_store(&quarantine->dirty, true);
	return error;
}
