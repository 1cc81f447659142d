/* SPDX-License-Identifier: MIT */
/* A limit of memory for everything that is measured: a control group of its own, of either version. */
#include "tools/bench/bench.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/store/memory_limit.h"

#define PATH_ROOM 4096
#define TRIES 500
#define TRY_US 10000

static char home[PATH_ROOM], group[PATH_ROOM + 64]; /* "": none was made */

static int text_write(const char *folder, const char *name, const char *text)
{
	char path[2 * PATH_ROOM];
	int descriptor, error = 0;

	(void)snprintf(path, sizeof(path), "%s/%s", folder, name);
	descriptor = open(path, O_WRONLY | O_CLOEXEC);
	if (descriptor < 0)
		return -errno;
	if (write(descriptor, text, strlen(text)) < 0)
		error = -errno;
	(void)close(descriptor);
	return error;
}

static int process_move(const char *folder)
{
	char process[32];

	(void)snprintf(process, sizeof(process), "%ld", (long)getpid());
	return text_write(folder, "cgroup.procs", process);
}

static int group_enter(bool version_2, uint64_t bytes)
{
	char limit[32];
	int error;

	if (!k2i_memory_group(version_2, home, sizeof(home)))
		return -ENOENT;
	(void)snprintf(group, sizeof(group), "%s/k2hft-bench.%ld", home, (long)getpid());
	(void)snprintf(limit, sizeof(limit), "%" PRIu64, bytes);
	if (mkdir(group, 0755)) {
		error = -errno;
		group[0] = '\0';
		return error;
	}
	error = process_move(group);
	/* Refused while processes are in the group itself, as this one was: then its children can have no limits. */
	if (error == 0 && version_2)
		(void)text_write(home, "cgroup.subtree_control", "+memory");
	if (error == 0)
		error = text_write(group, version_2 ? "memory.max" : "memory.limit_in_bytes", limit);
	if (error)
		bench_memory_release();
	return error;
}

int bench_memory_limit(uint64_t bytes, char why[BENCH_TEXT_ROOM])
{
	int version_2 = group_enter(true, bytes), version_1 = version_2 ? group_enter(false, bytes) : 0;
	int error = version_1 == -ENOENT ? version_2 : version_1;

	if (error)
		(void)snprintf(
			why, BENCH_TEXT_ROOM,
			"no control group with a limit of memory can be made here (%s): start it in one of its own, "
			"\"systemd-run --scope -p Delegate=yes k2hft bench ...\", with --user if you are not root",
			strerror(-error));
	return error;
}

void bench_memory_release(void)
{
	unsigned number;

	if (!group[0])
		return;
	/* Where its children have limits, it takes no process; and they have since this one has left it. */
	if (process_move(home) == -EBUSY && text_write(home, "cgroup.subtree_control", "-memory") == 0)
		(void)process_move(home);
	/* A process that has ended is counted a moment longer. */
	for (number = 0; number < TRIES && rmdir(group) && errno == EBUSY; number++)
		(void)usleep(TRY_US);
	group[0] = '\0';
}
