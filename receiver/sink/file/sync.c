/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/crash.h"
#include "receiver/base/directory.h"
#include "receiver/sink/file/internal.h"

/*
 * Files are synced side by side: file systems with a journal commit it once for all that come together, and a disk
 * sorts what it has to do.
 */
#define THREADS_MAX 8u

struct collection {
	struct k2i_outputs *outputs;
	struct k2i_output_internal *first; /* the first file whose turn is to come; the table's lock guards it */
	size_t count;
	atomic_int error;
};

static void file_collect(void *argument, struct k2i_table_node *node)
{
	struct k2i_output_internal *file = K2I_TABLE_ENTRY(node, struct k2i_output_internal, node);
	struct collection *collection = argument;

	if (!atomic_load(&file->dirty))
		return;
	k2i_output_refer(collection->outputs, file);
	file->collected = collection->first;
	collection->first = file;
	collection->count++;
}

/* Files that were written, each with a reference. To the others a sync is no use: they are closed when it is time. */
static void files_collect(struct k2i_outputs *outputs, struct collection *collection)
{
	memset(collection, 0, sizeof(*collection));
	collection->outputs = outputs;
	(void)pthread_mutex_lock(&outputs->mutex);
	k2i_table_each(&outputs->table, file_collect, collection);
	(void)pthread_mutex_unlock(&outputs->mutex);
}

static struct k2i_output_internal *collected_take(struct collection *collection)
{
	struct k2i_output_internal *file;

	(void)pthread_mutex_lock(&collection->outputs->mutex);
	file = collection->first;
	if (file)
		collection->first = file->collected;
	(void)pthread_mutex_unlock(&collection->outputs->mutex);
	return file;
}

static int directory_sync(int base, const char *path)
{
	int directory = openat(base, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), error;

	/* A directory that is gone has no names to keep. */
	if (directory < 0)
		return errno == ENOENT || errno == ENOTDIR || errno == ELOOP ? 0 : -errno;
	error = k2i_directory_sync(directory);
	(void)close(directory);
	return error;
}

/* The file's name, and those of all directories that may have been made for it. */
static int names_sync(struct k2i_outputs *outputs, const char *path)
{
	char *part = strdup(path), *slash;
	int error = part ? 0 : -ENOMEM;

	(void)pthread_rwlock_rdlock(&outputs->base_lock);
	while (!error && (slash = strrchr(part, '/')) != NULL) {
		*slash = '\0';
		error = directory_sync(outputs->base, part);
	}
	if (!error)
		error = directory_sync(outputs->base, ".");
	(void)pthread_rwlock_unlock(&outputs->base_lock);
	free(part);
	return error;
}

/*
 * The data of a file and, if it is fresh, its names. A round that fails makes records come again, so a lack of descriptors
 * or memory, or a directory that may be written and not read, is no reason to fail: all of the file's file system is synced
 * then.
 */
static int descriptor_sync(struct k2i_outputs *outputs, const char *path, int descriptor, bool fresh)
{
	int error;

	if (fdatasync(descriptor) < 0)
		return -errno;
	error = fresh ? names_sync(outputs, path) : 0;
	if (error == -EMFILE || error == -ENFILE || error == -ENOMEM || error == -EACCES)
		error = syncfs(descriptor) < 0 ? -errno : 0;
	return error;
}

/* A write that reported an error is committed when the file's lock is free again. */
static int sync_end(struct k2i_output_internal *file, int error)
{
	if (!error)
		error = file->lost;
	file->lost = 0;
	if (error) {
		/*
		 * A file that was closed meanwhile can't be synced again: this round has failed, and what it was for
		 * comes again.
		 */
		file->dirty = file->fresh = file->output.descriptor >= 0;
		file->output.error = error;
	}
	return error;
}

/* With the file's lock: a descriptor of its own, so that writing goes on while the disk is waited for. */
static int locked_sync(struct k2i_outputs *outputs, struct k2i_output_internal *file)
{
	int descriptor = fcntl(file->output.descriptor, F_DUPFD_CLOEXEC, 0), error;
	bool fresh = file->fresh;

	file->dirty = file->fresh = false;
	if (descriptor < 0)
		return descriptor_sync(outputs, file->output.path, file->output.descriptor, fresh);
	k2i_output_unlock(&file->output);
	K2I_CRASH(output_sync_before);
	error = descriptor_sync(outputs, file->output.path, descriptor, fresh);
	(void)close(descriptor);
	K2I_CRASH(output_synced);
	k2i_output_lock(&file->output);
	return error;
}

static int file_sync(struct k2i_outputs *outputs, struct k2i_output_internal *file)
{
	int error = 0;

	k2i_output_lock(&file->output);
	if (file->dirty)
		error = sync_end(file, locked_sync(outputs, file));
	k2i_output_unlock(&file->output);
	return error;
}

/* Files that were closed ----------------------------------------------------------------------------------------- */

/* False: there are too many. */
static bool mount_add(struct k2i_outputs *outputs, const struct k2i_output_mount *mount)
{
	struct k2i_output_mount *mounts = outputs->other_mounts;
	unsigned at = 0;

	(void)pthread_mutex_lock(&outputs->other_mounts_mutex);
	while (at < outputs->other_mount_count && mounts[at].device != mount->device)
		at++;
	if (at == outputs->other_mount_count && at < K2I_OUTPUT_MOUNTS_MAX)
		mounts[outputs->other_mount_count++] = *mount;
	(void)pthread_mutex_unlock(&outputs->other_mounts_mutex);
	return at < K2I_OUTPUT_MOUNTS_MAX;
}

void k2i_output_unsynced(struct k2i_outputs *outputs, const char *path, int descriptor, uint64_t device)
{
	const char *slash = strrchr(path, '/');
	struct k2i_output_mount mount = {.device = device};

	(void)snprintf(mount.directory, sizeof(mount.directory), "%.*s", slash ? (int)(slash - path) : 1,
		       slash ? path : ".");
	if (device != atomic_load(&outputs->base_device) && !mount_add(outputs, &mount))
		(void)syncfs(descriptor);
	atomic_store(&outputs->unsynced, true);
}

static int mount_sync(struct k2i_outputs *outputs, const struct k2i_output_mount *mount)
{
	struct stat status;
	int directory, error = 0;

	(void)pthread_rwlock_rdlock(&outputs->base_lock);
	directory = openat(outputs->base, mount->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	(void)pthread_rwlock_unlock(&outputs->base_lock);
	/* If it is not there any more, it is mounted elsewhere or not at all. */
	if (directory < 0 || fstat(directory, &status) < 0 || status.st_dev != mount->device)
		sync();
	else if (syncfs(directory) < 0)
		error = -errno;
	if (directory >= 0)
		(void)close(directory);
	return error;
}

static bool mount_take(struct k2i_outputs *outputs, struct k2i_output_mount *mount)
{
	bool any;

	(void)pthread_mutex_lock(&outputs->other_mounts_mutex);
	any = outputs->other_mount_count > 0;
	if (any)
		*mount = outputs->other_mounts[--outputs->other_mount_count];
	(void)pthread_mutex_unlock(&outputs->other_mounts_mutex);
	return any;
}

/* A mount that can't be synced is tried again in the next round, with all others that are left. */
static int other_mounts_sync(struct k2i_outputs *outputs)
{
	struct k2i_output_mount mount;
	int error = 0;

	while (!error && mount_take(outputs, &mount)) {
		error = mount_sync(outputs, &mount);
		if (error && !mount_add(outputs, &mount))
			sync();
	}
	return error;
}

static int base_sync(struct k2i_outputs *outputs)
{
	int base, error = 0;

	/* Not opened for it: a descriptor that is opened now does not report an error that any other has reported. */
	(void)pthread_rwlock_rdlock(&outputs->base_lock);
	base = fcntl(outputs->base, F_DUPFD_CLOEXEC, 0);
	if (base < 0 && syncfs(outputs->base) < 0)
		error = -errno;
	(void)pthread_rwlock_unlock(&outputs->base_lock);
	if (base < 0)
		return error;
	if (syncfs(base) < 0)
		error = -errno;
	(void)close(base);
	return error;
}

static void *files_sync(void *argument)
{
	struct collection *collection = argument;
	struct k2i_output_internal *file;
	int error;

	while ((file = collected_take(collection)) != NULL) {
		error = file_sync(collection->outputs, file);
		if (error)
			atomic_store(&collection->error, error);
		k2i_output_release(collection->outputs, &file->output);
	}
	return NULL;
}

int k2i_outputs_sync(struct k2i_outputs *outputs)
{
	struct collection collection;
	pthread_t threads[THREADS_MAX - 1];
	unsigned thread_count = 0;
	int error;

	files_collect(outputs, &collection);
	/* A thread that can't be made leaves its work to the others. */
	while (thread_count < THREADS_MAX - 1 && thread_count + 1 < collection.count &&
	       !pthread_create(&threads[thread_count], NULL, files_sync, &collection))
		thread_count++;
	(void)files_sync(&collection);
	while (thread_count > 0)
		(void)pthread_join(threads[--thread_count], NULL);
	error = atomic_load(&collection.error);
	/* Last: a file that was closed before its turn has said so here. */
	if (!error)
		error = atomic_exchange(&outputs->lost, 0);
	if (!error && atomic_exchange(&outputs->unsynced, false)) {
		error = base_sync(outputs);
		if (!error)
			error = other_mounts_sync(outputs);
		if (error)
			atomic_store(&outputs->unsynced, true);
	}
	return error;
}
