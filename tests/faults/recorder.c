/* SPDX-License-Identifier: MIT */
/*
 * LD_PRELOAD: writes down what a process does to the files below $K2HFT_RECORD_ROOT, and what it sends over sockets, in
 * the file $K2HFT_RECORD, for tests/faults/power_cut.py. Calls that change files are done one after the other, so that
 * the order of the record is the order in which it happened; of a sync begin and end are recorded, and others go on
 * meanwhile.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* power_cut.py has the same. */
enum what {
	CREATE = 1,
	MAKE_DIRECTORY,
	WRITE,
	TRUNCATE,
	ALLOCATE,
	RENAME,
	LINK,
	UNLINK,
	SYNC_BEGIN,
	SYNC_END,
	SYNC_ALL_BEGIN,
	SYNC_ALL_END,
	SENT,
	CONNECTED,
};

struct event {
	uint32_t what;
	uint32_t path_bytes, other_bytes, data_bytes; /* they follow */
	uint64_t inode, offset, number;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static const char *root;
static size_t root_bytes;
static int record = -1;
static uint64_t sync_number;

#define REAL(name, ...) ((__typeof__(&name))real(#name))(__VA_ARGS__)

static void *real(const char *name)
{
	return dlsym(RTLD_NEXT, name);
}

static void start(void)
{
	const char *path = getenv("K2HFT_RECORD");

	root = getenv("K2HFT_RECORD_ROOT");
	if (!path || !root)
		abort();
	root_bytes = strlen(root);
	record = REAL(open, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (record < 0)
		abort();
}

static void lock(void)
{
	(void)pthread_once(&once, start);
	(void)pthread_mutex_lock(&mutex);
}

static void unlock(void)
{
	int kept = errno;

	(void)pthread_mutex_unlock(&mutex);
	errno = kept;
}

/* Below the root: the rest of the path, "" for the root itself; NULL: elsewhere. */
static const char *below(const char *path)
{
	if (strncmp(path, root, root_bytes) != 0)
		return NULL;
	return path[root_bytes] == '\0' ? path + root_bytes : path[root_bytes] == '/' ? path + root_bytes + 1 : NULL;
}

static bool path_of(int descriptor, char path[PATH_MAX])
{
	char link[32];
	ssize_t bytes;

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", descriptor);
	bytes = readlink(link, path, PATH_MAX - 1);
	if (bytes < 0)
		return false;
	path[bytes] = '\0';
	return true;
}

/* The path of a name below a directory that is open. */
static bool path_at(int directory, const char *name, char path[PATH_MAX])
{
	size_t bytes;

	if (name[0] == '/' || directory == AT_FDCWD) {
		(void)snprintf(path, PATH_MAX, "%s", name);
		return true;
	}
	if (!path_of(directory, path))
		return false;
	bytes = strlen(path);
	(void)snprintf(path + bytes, PATH_MAX - bytes, "/%s", name);
	return true;
}

static void put(const void *bytes, size_t byte_count)
{
	if (byte_count && REAL(write, record, bytes, byte_count) != (ssize_t)byte_count)
		abort();
}

static void note(struct event event, const char *path, const char *other, const struct iovec *data, int count)
{
	size_t left = event.data_bytes;

	event.path_bytes = path ? (uint32_t)strlen(path) : 0;
	event.other_bytes = other ? (uint32_t)strlen(other) : 0;
	put(&event, sizeof(event));
	put(path, event.path_bytes);
	put(other, event.other_bytes);
	for (int part = 0; part < count && left; part++) {
		size_t bytes = data[part].iov_len < left ? data[part].iov_len : left;

		put(data[part].iov_base, bytes);
		left -= bytes;
	}
}

/* Whether it is a file or directory that is recorded. */
static bool known(int descriptor, struct stat *status)
{
	char path[PATH_MAX];

	if (fstat(descriptor, status) || !(S_ISREG(status->st_mode) || S_ISDIR(status->st_mode)))
		return false;
	return path_of(descriptor, path) && (below(path) || strstr(path, " (deleted)"));
}

/* Opening -------------------------------------------------------------------------------------------------------- */

static bool there(int directory, const char *name, struct stat *status)
{
	return fstatat(directory, name, status, AT_SYMLINK_NOFOLLOW) == 0;
}

static void opened(int descriptor, int flags, bool before, const struct stat *old)
{
	char path[PATH_MAX];
	struct stat status;

	if (!path_of(descriptor, path) || !below(path) || fstat(descriptor, &status) || !S_ISREG(status.st_mode))
		return;
	if (!before)
		note((struct event){.what = CREATE, .inode = status.st_ino}, below(path), NULL, NULL, 0);
	else if (flags & O_TRUNC && old->st_size)
		note((struct event){.what = TRUNCATE, .inode = status.st_ino}, NULL, NULL, NULL, 0);
}

static int open_at(int directory, const char *name, int flags, mode_t mode)
{
	struct stat status;
	bool before;
	int descriptor;

	lock();
	before = there(directory, name, &status);
	descriptor = REAL(openat, directory, name, flags, mode);
	if (descriptor >= 0 && flags & (O_CREAT | O_TRUNC))
		opened(descriptor, flags, before, &status);
	unlock();
	return descriptor;
}

static mode_t mode_of(int flags, va_list arguments)
{
	return flags & O_CREAT ? va_arg(arguments, mode_t) : 0;
}

int open(const char *name, int flags, ...)
{
	va_list arguments;
	mode_t mode;

	va_start(arguments, flags);
	mode = mode_of(flags, arguments);
	va_end(arguments);
	return open_at(AT_FDCWD, name, flags, mode);
}

int openat(int directory, const char *name, int flags, ...)
{
	va_list arguments;
	mode_t mode;

	va_start(arguments, flags);
	mode = mode_of(flags, arguments);
	va_end(arguments);
	return open_at(directory, name, flags, mode);
}

/* Names ---------------------------------------------------------------------------------------------------------- */

static int make_directory(int directory, const char *name, mode_t mode)
{
	char path[PATH_MAX];
	struct stat status;
	int result;

	lock();
	result = REAL(mkdirat, directory, name, mode);
	if (result == 0 && path_at(directory, name, path) && below(path) && stat(path, &status) == 0)
		note((struct event){.what = MAKE_DIRECTORY, .inode = status.st_ino}, below(path), NULL, NULL, 0);
	unlock();
	return result;
}

int mkdir(const char *name, mode_t mode)
{
	return make_directory(AT_FDCWD, name, mode);
}

int mkdirat(int directory, const char *name, mode_t mode)
{
	return make_directory(directory, name, mode);
}

int renameat(int from, const char *old, int to, const char *new)
{
	char path[PATH_MAX], other[PATH_MAX];
	int result;

	lock();
	result = REAL(renameat, from, old, to, new);
	if (result == 0 && path_at(from, old, path) && path_at(to, new, other) && below(path) && below(other))
		note((struct event){.what = RENAME}, below(path), below(other), NULL, 0);
	unlock();
	return result;
}

int linkat(int from, const char *old, int to, const char *new, int flags)
{
	char path[PATH_MAX], other[PATH_MAX];
	int result;

	lock();
	result = REAL(linkat, from, old, to, new, flags);
	if (result == 0 && path_at(from, old, path) && path_at(to, new, other) && below(path) && below(other))
		note((struct event){.what = LINK}, below(path), below(other), NULL, 0);
	unlock();
	return result;
}

int unlinkat(int directory, const char *name, int flags)
{
	char path[PATH_MAX];
	int result;

	lock();
	result = REAL(unlinkat, directory, name, flags);
	if (result == 0 && path_at(directory, name, path) && below(path))
		note((struct event){.what = UNLINK}, below(path), NULL, NULL, 0);
	unlock();
	return result;
}

/* Contents ------------------------------------------------------------------------------------------------------- */

static ssize_t written(int descriptor, const struct iovec *parts, int count, off_t offset)
{
	bool positioned = offset >= 0, mine;
	struct stat status;
	ssize_t result;

	lock();
	mine = known(descriptor, &status);
	if (mine && !positioned)
		offset = fcntl(descriptor, F_GETFL) & O_APPEND ? status.st_size : lseek(descriptor, 0, SEEK_CUR);
	result = positioned ? REAL(pwritev, descriptor, parts, count, offset) : REAL(writev, descriptor, parts, count);
	if (mine && result > 0)
		note((struct event){.what = WRITE,
				    .inode = status.st_ino,
				    .offset = (uint64_t)offset,
				    .data_bytes = (uint32_t)result},
		     NULL, NULL, parts, count);
	unlock();
	return result;
}

ssize_t writev(int descriptor, const struct iovec *parts, int count)
{
	return written(descriptor, parts, count, -1);
}

ssize_t write(int descriptor, const void *bytes, size_t byte_count)
{
	return written(descriptor, &(struct iovec){(void *)(uintptr_t)bytes, byte_count}, 1, -1);
}

ssize_t pwrite(int descriptor, const void *bytes, size_t byte_count, off_t offset)
{
	return written(descriptor, &(struct iovec){(void *)(uintptr_t)bytes, byte_count}, 1, offset);
}

ssize_t pwritev(int descriptor, const struct iovec *parts, int count, off_t offset)
{
	return written(descriptor, parts, count, offset);
}

int ftruncate(int descriptor, off_t length)
{
	struct stat status;
	int result;

	lock();
	result = REAL(ftruncate, descriptor, length);
	if (result == 0 && known(descriptor, &status))
		note((struct event){.what = TRUNCATE, .inode = status.st_ino, .offset = (uint64_t)length}, NULL, NULL,
		     NULL, 0);
	unlock();
	return result;
}

int fallocate(int descriptor, int mode, off_t offset, off_t length)
{
	struct stat status;
	int result;

	lock();
	result = REAL(fallocate, descriptor, mode, offset, length);
	if (result == 0 && known(descriptor, &status))
		note((struct event){.what = ALLOCATE, .inode = status.st_ino, .offset = (uint64_t)(offset + length)},
		     NULL, NULL, NULL, 0);
	unlock();
	return result;
}

/* Syncs ---------------------------------------------------------------------------------------------------------- */

static uint64_t sync_begin(int descriptor, enum what what)
{
	uint64_t number = 0;
	struct stat status;

	lock();
	if (known(descriptor, &status)) {
		number = ++sync_number;
		note((struct event){.what = what, .inode = status.st_ino, .number = number}, NULL, NULL, NULL, 0);
	}
	unlock();
	return number;
}

static void sync_end(uint64_t number, enum what what, int result)
{
	if (!number || result)
		return;
	lock();
	note((struct event){.what = what, .number = number}, NULL, NULL, NULL, 0);
	unlock();
}

int fsync(int descriptor)
{
	uint64_t number = sync_begin(descriptor, SYNC_BEGIN);
	int result = REAL(fsync, descriptor);

	sync_end(number, SYNC_END, result);
	return result;
}

int fdatasync(int descriptor)
{
	uint64_t number = sync_begin(descriptor, SYNC_BEGIN);
	int result = REAL(fdatasync, descriptor);

	sync_end(number, SYNC_END, result);
	return result;
}

int syncfs(int descriptor)
{
	uint64_t number = sync_begin(descriptor, SYNC_ALL_BEGIN);
	int result = REAL(syncfs, descriptor);

	sync_end(number, SYNC_ALL_END, result);
	return result;
}

/* Answers: the next event comes after them ------------------------------------------------------------------------ */

int accept4(int listener, __SOCKADDR_ARG address, socklen_t *address_bytes, int flags)
{
	int descriptor = REAL(accept4, listener, address, address_bytes, flags);

	if (descriptor >= 0) {
		const struct sockaddr_in *peer = (const struct sockaddr_in *)(const void *)address.__sockaddr__;

		lock();
		note((struct event){.what = CONNECTED, .offset = ntohs(peer->sin_port), .number = (uint64_t)descriptor},
		     NULL, NULL, NULL, 0);
		unlock();
	}
	return descriptor;
}

ssize_t sendmsg(int descriptor, const struct msghdr *message, int flags)
{
	ssize_t result;

	lock();
	result = REAL(sendmsg, descriptor, message, flags);
	if (result > 0)
		note((struct event){.what = SENT, .number = (uint64_t)descriptor, .data_bytes = (uint32_t)result}, NULL,
		     NULL, message->msg_iov, (int)message->msg_iovlen);
	unlock();
	return result;
}
