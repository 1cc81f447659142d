/* SPDX-License-Identifier: MIT */
#include "ring/map.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "base/crash.h"
#include "base/uuid.h"

#define OPEN_TRIES 100

int k2i_ring_limit_check(uint64_t bytes)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_FSIZE, &limit) == 0 && bytes > limit.rlim_cur ? -EFBIG : 0;
}

int k2i_ring_memory_create(uint64_t capacity)
{
	int error = k2i_ring_limit_check(K2I_DATA_AT + k2i_data_bytes(capacity)), descriptor;

	if (error)
		return error;
	descriptor = memfd_create("k2hft-ring", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (descriptor < 0)
		return -errno;
	/* Sealed: a process that is attached can't cut it short under the others. */
	if (ftruncate(descriptor, (off_t)(K2I_DATA_AT + k2i_data_bytes(capacity))) == 0 &&
	    fcntl(descriptor, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0)
		return descriptor;
	error = -errno;
	(void)close(descriptor);
	return error;
}

/*
 * A file system that never overwrites, as Btrfs, takes other room for each lap, and a full disk is a SIGBUS then, in spite of
 * what was allocated. It can be told to overwrite only while the file is empty, and when what its directory says of
 * compression (chattr +c, +m) was taken away; no other one has to be told.
 */
static void overwriting_ask(int descriptor)
{
	const int compression = FS_COMPR_FL | FS_NOCOMP_FL;
	int flags;

	if (ioctl(descriptor, FS_IOC_GETFLAGS, &flags) < 0 || flags & FS_NOCOW_FL)
		return;
	if (flags & compression) {
		flags &= ~compression;
		(void)ioctl(descriptor, FS_IOC_SETFLAGS, &flags);
	}
	flags |= FS_NOCOW_FL;
	(void)ioctl(descriptor, FS_IOC_SETFLAGS, &flags);
}

/* All of it now: a full disk shows here, and not as a signal when a page is first written. */
static int file_allocate(int descriptor, uint64_t capacity)
{
	int error = k2i_ring_limit_check(K2I_DATA_AT + k2i_data_bytes(capacity));

	if (error)
		return error;
	overwriting_ask(descriptor);
	do {
		error = posix_fallocate(descriptor, 0, (off_t)(K2I_DATA_AT + k2i_data_bytes(capacity)));
	} while (error == EINTR);
	return -error;
}

/*
 * A copy of the file has holes where the original was allocated and not written. posix_fallocate(3) could write there
 * while an attached process does: a file system that can't do better keeps the hole. Memory, which has no name, is
 * taken when it is used.
 */
static int holes_fill(int descriptor, const struct stat *file)
{
	int error = 0;

	if (file->st_nlink == 0 || file->st_blocks * 512 >= file->st_size)
		return 0;
	do {
		error = fallocate(descriptor, 0, 0, file->st_size) ? -errno : 0;
	} while (error == -EINTR);
	return error == -EOPNOTSUPP ? 0 : error;
}

static int temporary_open(const char *folder)
{
	char path[PATH_MAX];
	int descriptor = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC | O_EXCL, 0600);

	if (descriptor >= 0)
		return descriptor;
	if (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL)
		return -errno;
	if (snprintf(path, sizeof(path), "%s/.k2hft-ring.XXXXXX", folder) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	descriptor = mkostemp(path, O_CLOEXEC);
	if (descriptor < 0)
		return -errno;
	(void)unlink(path);
	return descriptor;
}

int k2i_ring_temporary_create(const char *folder, uint64_t capacity)
{
	int descriptor = temporary_open(folder), error;

	if (descriptor < 0)
		return descriptor;
	error = file_allocate(descriptor, capacity);
	if (!error)
		return descriptor;
	(void)close(descriptor);
	return error;
}

/* Gives the finished file its name. -EEXIST: there is one of that name, and it is not to be replaced. */
static int name_give(const char *from, const char *path, bool replace)
{
	if (replace)
		return rename(from, path) ? -errno : 0;
	if (link(from, path))
		return -errno;
	K2I_CRASH(ring_file_linked);
	(void)unlink(from);
	return 0;
}

static bool still_named(int descriptor, const char *path)
{
	struct stat opened, named;

	return fstat(descriptor, &opened) == 0 && stat(path, &named) == 0 && opened.st_dev == named.st_dev &&
	       opened.st_ino == named.st_ino;
}

/* The name that a ring has while it is made; whoever makes it has its lock. */
static int making_name(const char *path, char making[PATH_MAX])
{
	return snprintf(making, PATH_MAX, "%s.k2hft-new", path) >= PATH_MAX ? -ENAMETOOLONG : 0;
}

/*
 * Removes the file of a process that died while it made a ring. -EBUSY: a live one is making it, and `wait` is not set.
 */
static int leftover_remove(const char *making, bool wait)
{
	int descriptor = open(making, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK), error;
	struct stat file;

	if (descriptor < 0)
		return errno == ENOENT ? 0 : -errno;
	error = fstat(descriptor, &file) ? -errno : 0;
	if (!error && !S_ISREG(file.st_mode))
		error = -EEXIST;
	if (!error)
		error = wait ? k2i_ring_lock(descriptor, K2I_LOCK_OPEN, making)
			     : k2i_ring_lock_try(descriptor, K2I_LOCK_OPEN);
	if (!error && still_named(descriptor, making) && unlink(making))
		error = -errno;
	(void)close(descriptor);
	return error;
}

/* -EAGAIN, -EEXIST: another process was faster. */
static int making_open(const char *making)
{
	int error = leftover_remove(making, true), descriptor;

	if (error)
		return error;
	descriptor = open(making, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (descriptor < 0)
		return -errno;
	error = k2i_ring_lock(descriptor, K2I_LOCK_OPEN, making);
	/* A process that came before the lock may have taken the file for left behind. */
	if (!error && !still_named(descriptor, making))
		error = -EAGAIN;
	if (!error)
		return descriptor;
	(void)close(descriptor);
	return error;
}

/*
 * Under another name until it is whole: nobody finds a ring that is half made, and processes that are still attached to
 * a ring that is replaced keep theirs.
 */
static int file_create(const char *path, bool replace, struct k2i_ring_found *found)
{
	char making[PATH_MAX];
	int error = making_name(path, making), descriptor;

	/* A ring that could not be mapped would replace another for nothing. */
	if (!error)
		error = k2i_ring_map_check(found->capacity);
	if (error)
		return error;
	descriptor = making_open(making);
	if (descriptor < 0)
		return descriptor;
	error = file_allocate(descriptor, found->capacity);
	K2I_CRASH(ring_file_allocated);
	if (!error)
		error = k2i_ring_format(descriptor, found->capacity, &found->seed);
	if (!error)
		error = k2i_ring_lock_try(descriptor, K2I_LOCK_CONSUMER);
	/* A power cut could leave zeros under the name otherwise, which are no ring. */
	if (!error && fdatasync(descriptor))
		error = -errno;
	K2I_CRASH(ring_file_formatted);
	if (!error)
		error = name_give(making, path, replace);
	K2I_CRASH(ring_file_named);
	if (!error)
		return descriptor;
	(void)unlink(making);
	(void)close(descriptor);
	return error;
}

/*
 * Takes the consumer's place: the lock, or in spite of it if only a child of a dead consumer holds it. A ring that is kept
 * is between two consumers, and the next one comes by the link of the descriptor.
 */
static int place_take(int descriptor, const struct k2i_ring_header *header, bool header_valid, bool by_link)
{
	bool alive = header_valid && k2i_consumer_alive(descriptor, header);

	if (k2i_ring_lock_try(descriptor, K2I_LOCK_CONSUMER) && !header_valid)
		return -EBUSY;
	return alive || (!by_link && k2i_ring_locked(descriptor, K2I_LOCK_KEPT)) ? -EBUSY : 0;
}

/* Another user's ring is not taken where others than its owner and root can give files their names. */
static int owner_check(const struct stat *file, const char *path)
{
	const char *slash = strrchr(path, '/');
	char name[PATH_MAX];
	struct stat folder;

	if (file->st_uid == geteuid())
		return 0;
	(void)snprintf(name, sizeof(name), "%.*s", slash ? (int)(slash - path) + 1 : 1, slash ? path : ".");
	if (stat(name, &folder))
		return -errno;
	return (folder.st_uid && folder.st_uid != geteuid()) || folder.st_mode & (S_ISVTX | S_IWGRP | S_IWOTH) ? -EPERM
													       : 0;
}

/*
 * Removes the file that is left beside a ring: nothing else would give back its room on the disk. The second name of
 * the ring itself is nobody's: whoever made it had the lock that `descriptor` has.
 */
static void leftover_forget(int descriptor, const char *path)
{
	char making[PATH_MAX];

	if (making_name(path, making))
		return;
	if (still_named(descriptor, making))
		(void)unlink(making);
	else
		(void)leftover_remove(making, false);
}

/* 0: the place is taken and the ring can go on; 1: a new one is to be made; -EAGAIN: the name went to another file. */
static int existing_take(int descriptor, const char *path, bool by_link, bool fresh, struct k2i_ring_found *found)
{
	struct k2i_ring_header header = {.magic = 0};
	struct stat file;
	int known, error;
	bool cut;

	if (fstat(descriptor, &file))
		return -errno;
	if (!S_ISREG(file.st_mode))
		return -EPROTO;
	error = owner_check(&file, path);
	if (!error)
		error = k2i_ring_lock(descriptor, K2I_LOCK_OPEN, path);
	if (error)
		return error;
	known = k2i_ring_identify(descriptor, &header, &cut);
	error = place_take(descriptor, &header, known == 0 || cut, by_link);
	if (error)
		return error;
	if (!still_named(descriptor, path))
		return -EAGAIN;
	leftover_forget(descriptor, path);
	/* A ring of another version is one as well; nothing else is replaced. */
	if (file.st_size == 0 || (fresh && header.magic == K2I_RING_MAGIC))
		return 1;
	/* The end that was cut off comes back as zeros, which the ring takes for damage. */
	found->cut_bytes = cut ? (uint64_t)file.st_size : 0;
	if (cut)
		known = file_allocate(descriptor, header.capacity);
	else if (!known)
		known = holes_fill(descriptor, &file);
	if (known)
		return known;
	found->elsewhere = k2i_ring_elsewhere(descriptor, &header);
	found->capacity = header.capacity;
	found->seed = header.seed;
	/* Again: the consumer before may have been at work until its place was taken. */
	known = k2i_ring_identify(descriptor, &header, NULL);
	return known || k2i_ring_positions_valid(&header) ? known : -EPROTO;
}

static int existing_open(int descriptor, const char *path, bool by_link, bool fresh, struct k2i_ring_found *found)
{
	int status = existing_take(descriptor, path, by_link, fresh, found);

	if (status == 0)
		return descriptor;
	if (status == 1)
		status = file_create(path, true, found);
	(void)close(descriptor);
	return status;
}

/* Whether it is one that the kernel made in /proc: nobody can put another there. */
static bool link_is_kernels(const char *path)
{
	int link = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct statfs system;
	bool kernels = link >= 0 && fstatfs(link, &system) == 0 && system.f_type == PROC_SUPER_MAGIC;

	if (link >= 0)
		(void)close(link);
	return kernels;
}

/* A link that somebody has put in the place of the ring would have another file opened. */
static int named_open(const char *path, bool *by_link)
{
	const int flags = O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
	int descriptor = open(path, flags | O_NOFOLLOW);

	*by_link = descriptor < 0 && errno == ELOOP;
	if (*by_link && !link_is_kernels(path))
		return -ELOOP;
	if (*by_link)
		descriptor = open(path, flags);
	return descriptor < 0 ? -errno : descriptor;
}

int k2i_ring_file_open(const char *path, bool fresh, struct k2i_ring_found *found)
{
	for (unsigned tries = 0; tries < OPEN_TRIES; tries++) {
		bool by_link;
		int descriptor = named_open(path, &by_link), status = descriptor;

		if (descriptor >= 0)
			status = existing_open(descriptor, path, by_link, fresh, found);
		else if (status == -ENOENT)
			status = file_create(path, false, found);
		if (status != -EAGAIN && status != -EEXIST)
			return status;
	}
	return -EBUSY;
}
