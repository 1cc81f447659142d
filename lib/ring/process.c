/* SPDX-License-Identifier: MIT */
#include "ring/handle.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/caller.h"

#define STAT_BYTES_MAX 1024

struct process_stat {
	long pid; /* as /proc has it */
	char state;
	unsigned long threads;
	unsigned long long start_ticks;
};

/* Fields 1, 3, 20 and 22 of a process; the name in field 2 can hold anything, so they count from the last ')'. */
static int stat_parse(char *text, struct process_stat *stat)
{
	char *field = strrchr(text, ')');

	if (!field || field[1] != ' ')
		return -EPROTO;
	stat->pid = strtol(text, NULL, 10);
	field += 2;
	stat->state = *field;
	for (unsigned number = 3; number < 22; number++) {
		field = strchr(field, ' ');
		if (!field)
			return -EPROTO;
		field++;
		if (number + 1 == 20)
			stat->threads = strtoul(field, NULL, 10);
	}
	stat->start_ticks = strtoull(field, NULL, 10);
	return 0;
}

static int stat_read(const char *path, struct process_stat *stat)
{
	char text[STAT_BYTES_MAX];
	ssize_t bytes;
	int descriptor = open(path, O_RDONLY | O_CLOEXEC), error;

	if (descriptor < 0)
		return -errno;
	bytes = read(descriptor, text, sizeof(text) - 1);
	error = bytes < 0 ? -errno : 0;
	(void)close(descriptor);
	if (error)
		return error;
	text[bytes] = '\0';
	return stat_parse(text, stat);
}

/* 0: there is none. That of the process is that of its first thread, which can have ended and has none then. */
static uint64_t namespace_number(const char *of_process, const char *of_thread)
{
	struct stat found;

	return stat(of_process, &found) && stat(of_thread, &found) ? 0 : found.st_ino;
}

/* The namespaces of pids and of the clock that dates their starts: another has other numbers for the same process. */
static uint64_t namespace_own(void)
{
	uint64_t pids = namespace_number("/proc/self/ns/pid", "/proc/thread-self/ns/pid");

	/* The second: Linux 5.6 or newer. */
	return pids ? pids ^ namespace_number("/proc/self/ns/time", "/proc/thread-self/ns/time") << 32 : 1;
}

int k2i_process_self(struct k2i_process *process)
{
	struct process_stat own = {0};
	int error = stat_read("/proc/self/stat", &own);

	/*
	 * Without /proc, and with one of other pids (of the host in a container, say), the pid alone has to do: a start of 0 is
	 * never compared.
	 */
	if (error && error != -ENOENT)
		return error;
	if (own.pid != (long)getpid())
		own.start_ticks = 0;
	process->owner = (uint64_t)(uint32_t)getpid() << 32 | (uint32_t)own.start_ticks;
	process->namespace = namespace_own();
	return 0;
}

/* A leader that has ended is a zombie too, but its process lives while it has other threads. */
static bool dead_state(const struct process_stat *stat)
{
	return (stat->state == 'Z' || stat->state == 'X') && stat->threads <= 1;
}

bool k2i_process_alive(const struct k2i_process *self, const struct k2i_process *other)
{
	pid_t pid = (pid_t)(other->owner >> 32);
	uint32_t start = (uint32_t)other->owner;
	struct process_stat stat;
	char path[64];
	int error = -ENOENT;
	/* The caller may have a lock, or a descriptor of /proc here. */
	K2I_CANCEL_DISABLED;
	K2I_ERRNO_KEPT;

	if (other->owner == self->owner && other->namespace == self->namespace)
		return true;
	if (pid <= 0)
		return false;
	/*
	 * Its pid says nothing here, and discarding a claim that is being written would be worse than waiting for it. A
	 * process that has not said yet where it is can be elsewhere, too.
	 */
	if (other->namespace != self->namespace)
		return true;
	(void)snprintf(path, sizeof(path), "/proc/%ld/stat", (long)pid);
	/* Where this process has no start, what /proc has by that number may be another one. */
	if ((uint32_t)self->owner)
		error = stat_read(path, &stat);
	if (error == -ENOENT || error == -ESRCH)
		return kill(pid, 0) == 0 || errno != ESRCH;
	if (error)
		return true;
	return !dead_state(&stat) && (start == 0 || start == (uint32_t)stat.start_ticks);
}
