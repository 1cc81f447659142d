/* SPDX-License-Identifier: MIT */
/*
 * A sealed file and its compressed one: at each moment one of them is whole and has its name. The compressed file has no
 * name until it is whole, so a receiver that is killed leaves nothing.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/crash.h"
#include "receiver/base/directory.h"
#include "receiver/base/file_identity.h"
#include "receiver/sink/rotation/internal.h"

#define RETRY_NS (60 * K2I_SECOND_NS)

struct packing {
	struct k2i_rotation *rotation;
	struct k2i_sealed *sealed;
	enum k2i_rotate_compress packing;
	int directory, file, made;                                                                /* descriptors */
	char name[K2HFT_STREAM_PATH_BYTES_MAX + 1], packed_name[K2HFT_STREAM_PATH_BYTES_MAX + 1]; /* in it */
	uint64_t wanted, length, packed_bytes;
};

static int files_open(struct packing *packing)
{
	const struct k2i_sealed *sealed = packing->sealed;
	struct stat status;
	const char *name;

	packing->directory = k2i_sealed_directory(packing->rotation, sealed->path, &name);
	if (packing->directory < 0)
		return packing->directory;
	(void)snprintf(packing->name, sizeof(packing->name), "%s", name);
	(void)snprintf(packing->packed_name, sizeof(packing->packed_name), "%s%s", name,
		       k2i_packed_suffix(packing->packing));
	packing->file =
		k2i_sealed_open(packing->directory, packing->name, sealed->birth, sealed->inode, &packing->length);
	if (packing->file < 0)
		return packing->file;
	if (packing->length != packing->wanted)
		return -ESTALE;
	packing->made = openat(packing->directory, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
	if (packing->made < 0 || fstat(packing->file, &status) < 0 || fchmod(packing->made, status.st_mode & 0777) < 0)
		return -errno;
	/* As far as the receiver may. */
	(void)!fchown(packing->made, (uid_t)-1, status.st_gid);
	return 0;
}

static void files_close(struct packing *packing)
{
	if (packing->made >= 0)
		(void)close(packing->made);
	if (packing->file >= 0)
		(void)close(packing->file);
	if (packing->directory >= 0)
		(void)close(packing->directory);
}

/* With the mutex: whether the file is as it was read. Settlement can have cut it. */
static bool is_same(const struct packing *packing)
{
	struct stat status;

	return !packing->sealed->given && packing->sealed->length == packing->length &&
	       fstat(packing->file, &status) == 0 && (uint64_t)status.st_size == packing->length;
}

/* With the mutex. */
static int packed_name(struct packing *packing)
{
	struct k2i_sealed *sealed = packing->sealed;
	char made[64];
	struct stat status;
	int error;

	if (!is_same(packing))
		return -ESTALE;
	if (fstat(packing->made, &status) < 0)
		return -errno;
	sealed->packed_birth = k2i_file_birth_ns(packing->made, status.st_dev);
	sealed->packed_inode = status.st_ino;
	sealed->packed_bytes = packing->packed_bytes;
	sealed->packing = packing->packing;
	error = k2i_journal_pack(packing->rotation, sealed);
	K2I_CRASH(rotation_packed);
	(void)snprintf(made, sizeof(made), "/proc/self/fd/%d", packing->made);
	if (!error && linkat(AT_FDCWD, made, packing->directory, packing->packed_name, AT_SYMLINK_FOLLOW) < 0)
		error = -errno;
	K2I_CRASH(rotation_linked);
	if (error)
		sealed->packed_inode = 0;
	return error;
}

/* With the mutex. */
static int original_remove(struct packing *packing)
{
	if (!is_same(packing)) {
		(void)unlinkat(packing->directory, packing->packed_name, 0);
		packing->sealed->packed_inode = 0;
		return -ESTALE;
	}
	if (unlinkat(packing->directory, packing->name, 0) < 0)
		return -errno;
	K2I_CRASH(rotation_removed);
	packing->sealed->packed = true;
	return 0;
}

/* Without the mutex. The compressed file's name is on the disk before the other one goes. */
static int file_pack(struct packing *packing)
{
	struct k2i_rotation *rotation = packing->rotation;
	struct timespec times[2];
	struct stat status;
	uint64_t taken = 0;
	int error = files_open(packing);

	if (!error)
		error = k2i_pack(packing->file, packing->made, packing->packing, &rotation->stopping, &taken,
				 &packing->packed_bytes);
	if (!error && (taken != packing->length || fstat(packing->file, &status) < 0))
		error = -ESTALE;
	if (error)
		return error;
	times[0] = status.st_atim;
	times[1] = status.st_mtim;
	(void)futimens(packing->made, times);
	(void)pthread_mutex_lock(&rotation->mutex);
	error = packed_name(packing);
	(void)pthread_mutex_unlock(&rotation->mutex);
	if (error)
		return error;
	error = k2i_directory_sync(packing->directory);
	(void)pthread_mutex_lock(&rotation->mutex);
	if (!error)
		error = original_remove(packing);
	(void)pthread_mutex_unlock(&rotation->mutex);
	return error;
}

/* Whether another try can go better. */
static bool passes(int error)
{
	return error == -ENOSPC || error == -EDQUOT || error == -EIO || error == -ENOMEM || error == -EMFILE ||
	       error == -ENFILE || error == -EROFS;
}

void k2i_sealed_compress(struct k2i_rotation *rotation, struct k2i_sealed *sealed, enum k2i_rotate_compress packing)
{
	struct packing job = {.rotation = rotation,
			      .sealed = sealed,
			      .packing = packing,
			      .directory = -1,
			      .file = -1,
			      .made = -1,
			      .wanted = sealed->length};
	int error;

	(void)pthread_mutex_unlock(&rotation->mutex);
	error = file_pack(&job);
	files_close(&job);
	(void)pthread_mutex_lock(&rotation->mutex);
	if (!error || error == -ECANCELED || sealed->given)
		return;
	if (error == -ESTALE || error == -ENOENT || error == -ENOTDIR) {
		/* Settlement has cut it, or it is nobody's sealed file any more. */
		sealed->retry_ns = sealed->length != job.wanted;
		if (!sealed->retry_ns)
			k2i_sealed_forget(rotation, sealed);
		return;
	}
	sealed->retry_ns = passes(error) ? k2i_clock_now_ns() + RETRY_NS : 0;
	k2i_sealed_failed(rotation, sealed,
			  sealed->retry_ns ? "can't be compressed, which is tried again"
					   : "can't be compressed, and stays as it is",
			  error);
}
