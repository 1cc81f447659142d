/* SPDX-License-Identifier: MIT */
#include "app/store/memory_limit.h"

#include <errno.h>
#include <mntent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATH_ROOM 4096

/* Where the hierarchy is mounted. */
static bool hierarchy_find(bool version_2, char *path, size_t room)
{
	FILE *mounts = setmntent("/proc/self/mounts", "re");
	char line[2 * PATH_ROOM]; /* of getmntent_r: the receiver's threads can ask at the same time */
	struct mntent entry;
	bool found = false;

	while (mounts && !found && getmntent_r(mounts, &entry, line, sizeof(line))) {
		found = version_2 ? strcmp(entry.mnt_type, "cgroup2") == 0
				  : strcmp(entry.mnt_type, "cgroup") == 0 && hasmntopt(&entry, "memory");
		if (found)
			(void)snprintf(path, room, "%s", entry.mnt_dir);
	}
	if (mounts)
		(void)endmntent(mounts);
	return found;
}

/*
 * The group's path in a line of /proc/self/cgroup, "0::/PATH", or "NUMBER:memory:/PATH", where memory can be one of
 * several; NULL: it is another hierarchy's.
 */
static char *group_path(char *line, bool version_2)
{
	char *name = strchr(line, ':'), *path = name ? strchr(name + 1, ':') : NULL;
	struct mntent controllers = {0}; /* they are listed as options of a mount are */

	if (!path)
		return NULL;
	*path++ = '\0';
	path[strcspn(path, "\n")] = '\0';
	controllers.mnt_opts = name + 1;
	if (version_2 ? name[1] != '\0' : !hasmntopt(&controllers, "memory"))
		return NULL;
	return strcmp(path, "/") == 0 ? path + 1 : path;
}

bool k2i_memory_group(bool version_2, char *path, size_t room)
{
	char root[PATH_ROOM / 2], line[PATH_ROOM / 2], *below = NULL;
	FILE *groups = hierarchy_find(version_2, root, sizeof(root)) ? fopen("/proc/self/cgroup", "re") : NULL;

	while (groups && !below && fgets(line, sizeof(line), groups))
		below = group_path(line, version_2);
	if (groups)
		(void)fclose(groups);
	if (!below || snprintf(path, room, "%s%s", root, below) >= (int)room)
		return false;
	/* A container can have its host's names of the groups, but see its own as the root. */
	return access(path, F_OK) == 0 || snprintf(path, room, "%s", root) < (int)room;
}

static uint64_t limit_read(const char *folder, const char *name)
{
	char path[PATH_ROOM + 64], text[32] = "", *end;
	uint64_t bytes;
	FILE *file;

	(void)snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "re");
	if (file && !fgets(text, sizeof(text), file))
		text[0] = '\0';
	if (file)
		(void)fclose(file);
	errno = 0;
	bytes = strtoull(text, &end, 10);
	return end == text || errno ? UINT64_MAX : bytes; /* "max" */
}

/* The least limit of the group and of all that it is in. Above the hierarchy there is no such file. */
static uint64_t group_limit(bool version_2)
{
	uint64_t bytes = UINT64_MAX, limit;
	char path[PATH_ROOM], *slash;

	if (!k2i_memory_group(version_2, path, sizeof(path)))
		return bytes;
	do {
		limit = limit_read(path, version_2 ? "memory.max" : "memory.limit_in_bytes");
		bytes = limit < bytes ? limit : bytes;
		slash = strrchr(path, '/');
		if (slash)
			*slash = '\0';
	} while (slash);
	return bytes;
}

uint64_t k2i_memory_bytes(void)
{
	long pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
	uint64_t bytes = pages > 0 && page_bytes > 0 ? (uint64_t)pages * (uint64_t)page_bytes : UINT64_MAX;
	uint64_t first = group_limit(false), second = group_limit(true);

	first = first < second ? first : second;
	return first < bytes ? first : bytes;
}
