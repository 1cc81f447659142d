/* SPDX-License-Identifier: MIT */
#include "receiver/daemon/temporary.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME "k2hftfusesvr-relay."
#define RANDOM_BYTES 6 /* of mkdtemp */
#define TRIES 10u

static int entry_remove(const char *path, const struct stat *status, int type, struct FTW *place)
{
	(void)status;
	(void)type;
	(void)place;
	return remove(path);
}

static void tree_remove(const char *path)
{
	(void)nftw(path, entry_remove, 16, FTW_DEPTH | FTW_PHYS);
}

/* A lock on what is at the path, if nobody else has one and the directory is this user's; else a negative number. */
static int tree_lock(const char *path)
{
	int lock = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat locked, there;

	if (lock < 0)
		return -1;
	if (flock(lock, LOCK_EX | LOCK_NB) == 0 && fstat(lock, &locked) == 0 && lstat(path, &there) == 0 &&
	    locked.st_ino == there.st_ino && locked.st_dev == there.st_dev && locked.st_uid == geteuid())
		return lock;
	(void)close(lock);
	return -1;
}

static void leftovers_remove(const char *template)
{
	char pattern[PATH_MAX];
	glob_t found;
	int lock;

	(void)snprintf(pattern, sizeof(pattern), "%.*s??????", (int)strlen(template) - RANDOM_BYTES, template);
	if (glob(pattern, GLOB_NOSORT, NULL, &found))
		return;
	for (size_t at = 0; at < found.gl_pathc; at++) {
		lock = tree_lock(found.gl_pathv[at]);
		if (lock < 0)
			continue;
		tree_remove(found.gl_pathv[at]);
		(void)close(lock);
	}
	globfree(&found);
}

int k2i_temporary_make(char path[PATH_MAX])
{
	const char *directory = getenv("TMPDIR");
	int length = snprintf(path, PATH_MAX, "%s/" NAME "XXXXXX", directory && *directory ? directory : "/tmp");
	int lock = -1;

	if (length >= PATH_MAX)
		return -ENAMETOOLONG;
	leftovers_remove(path);
	/* Another start can take one for a leftover before it has its lock. */
	for (unsigned tries = 0; lock < 0 && tries < TRIES; tries++) {
		memset(path + length - RANDOM_BYTES, 'X', RANDOM_BYTES);
		if (!mkdtemp(path))
			return -errno;
		lock = tree_lock(path);
		if (lock < 0)
			(void)rmdir(path);
	}
	return lock < 0 ? -EAGAIN : lock;
}

void k2i_temporary_remove(const char *path, int lock)
{
	tree_remove(path);
	(void)close(lock);
}
