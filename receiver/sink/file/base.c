/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <k2hft/frame.h>

#include "base/clock.h"
#include "receiver/base/directory.h"
#include "receiver/sink/file/internal.h"
#include "receiver/base/text.h"

int k2i_outputs_base_make(const char *base_directory, mode_t file_mode)
{
	char *path = strdup(base_directory), *slash = path;
	int error = path ? 0 : -ENOMEM;

	while (error >= 0 && slash) {
		slash = strchr(slash + 1, '/');
		if (slash)
			*slash = '\0';
		error = k2i_directory_make(path, k2i_directory_mode(file_mode));
		if (slash)
			*slash = '/';
	}
	free(path);
	return error < 0 ? error : 0;
}

static int directory_open(const struct k2i_outputs *outputs, int *base, struct stat *status)
{
	*base = open(outputs->base_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (*base < 0)
		return -errno;
	if (fstat(*base, status) == 0)
		return 0;
	(void)close(*base);
	*base = -1;
	return -EIO;
}

/* Another receiver that starts would cut off what this one has not yet entered in its own ledger. */
static int directory_lock(int base)
{
	return flock(base, LOCK_EX | LOCK_NB) < 0 ? -errno : 0;
}

/* Said once. A lack of descriptors or memory says nothing about it. */
static void base_missing(struct k2i_outputs *outputs, int error)
{
	if (outputs->base_missing || error == -EMFILE || error == -ENFILE || error == -ENOMEM)
		return;
	outputs->base_missing = true;
	k2i_log(K2HFT_LOG_WARNING, "output: %s can't be opened any more: %s; files stay in the directory that it was",
		outputs->base_path, k2i_text_error(error));
}

int k2i_output_base_open(struct k2i_outputs *outputs)
{
	struct stat status;
	int error = directory_open(outputs, &outputs->base, &status);

	if (!error)
		error = directory_lock(outputs->base);
	if (error)
		return error;
	atomic_store(&outputs->base_device, status.st_dev);
	outputs->base_inode = status.st_ino;
	return 0;
}

/* Files that were closed in the former one may not be on its disk, which can be another. */
static void base_replace(struct k2i_outputs *outputs, int base, const struct stat *status)
{
	uint64_t former_device = atomic_load(&outputs->base_device);
	int former = outputs->base;

	(void)pthread_rwlock_wrlock(&outputs->base_lock);
	outputs->base = base;
	atomic_store(&outputs->base_device, status->st_dev);
	outputs->base_inode = status->st_ino;
	/* With the lock: the next sync of the new directory is one of this, too. */
	k2i_output_unsynced(outputs, ".", former, former_device);
	(void)pthread_rwlock_unlock(&outputs->base_lock);
	(void)close(former);
	atomic_fetch_add(&outputs->generation, 1);
}

void k2i_output_base_check(struct k2i_outputs *outputs)
{
	struct stat status;
	int base, error = directory_open(outputs, &base, &status);

	if (error) {
		base_missing(outputs, error);
		return;
	}
	outputs->base_missing = false;
	if (status.st_dev == atomic_load(&outputs->base_device) && status.st_ino == outputs->base_inode) {
		(void)close(base);
		return;
	}
	error = directory_lock(base);
	if (error) {
		(void)close(base);
		k2i_log_limited(&outputs->base_limit, k2i_clock_ns(CLOCK_MONOTONIC_COARSE), K2HFT_LOG_ERROR,
				"output: %s is another directory now, and can't be used: %s", outputs->base_path,
				error == -EWOULDBLOCK ? "another receiver writes there" : k2i_text_error(error));
		return;
	}
	base_replace(outputs, base, &status);
	k2i_log(K2HFT_LOG_WARNING, "output: %s is another directory now, files are opened anew", outputs->base_path);
}

/* A file system can take .K2HFT for .k2hft, and a directory can be mounted in a second place. */
bool k2i_output_leads_to_state(const struct k2i_outputs *outputs, const char *path)
{
	char above[K2HFT_STREAM_PATH_BYTES_MAX + 1];
	struct stat own, status;
	const char *slash;

	if (!outputs->state_directory || stat(outputs->state_directory, &own) < 0)
		return false;
	for (slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
		(void)snprintf(above, sizeof(above), "%.*s", (int)(slash - path), path);
		if (fstatat(outputs->base, above, &status, AT_SYMLINK_NOFOLLOW) < 0)
			return false;
		if (status.st_dev == own.st_dev && status.st_ino == own.st_ino)
			return true;
	}
	return false;
}

int k2i_output_follow(const struct k2i_outputs *outputs, char path[K2HFT_STREAM_PATH_BYTES_MAX + 1])
{
	char whole[PATH_MAX], *base, *found;
	struct stat status;
	size_t base_bytes;
	int error = -EXDEV;

	if (fstatat(outputs->base, path, &status, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISLNK(status.st_mode))
		return 0;
	(void)snprintf(whole, sizeof(whole), "%s/%s", outputs->base_path, path);
	base = realpath(outputs->base_path, NULL);
	found = realpath(whole, NULL);
	base_bytes = base ? strlen(base) : 0;
	if (base && found && strncmp(found, base, base_bytes) == 0 && found[base_bytes] == '/' &&
	    strlen(found + base_bytes) <= K2HFT_STREAM_PATH_BYTES_MAX) {
		(void)snprintf(path, K2HFT_STREAM_PATH_BYTES_MAX + 1, "%s", found + base_bytes + 1);
		error = 0;
	}
	free(base);
	free(found);
	return error;
}
