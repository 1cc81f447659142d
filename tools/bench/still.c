/* SPDX-License-Identifier: MIT */
/* Figures that are no rates: the cost of a record for its writer, and the processor time of idle processes. */
#include "tools/bench/bench.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <k2hft/sender.h>

#define ROUNDS 48u
/* So much that to wake the thread that sends is little of it; in a ring of no more, some writes wait, which is counted. */
#define ROUND_BYTES (2u * 1024 * 1024)
#define FLUSH_MS 30000
#define PROCESSES_MAX 64u

static double cpu_ns(clockid_t clock)
{
	struct timespec used;

	if (clock_gettime(clock, &used))
		return 0;
	return (double)used.tv_sec * 1e9 + (double)used.tv_nsec;
}

static int round_write(struct k2hft_writer *writer, const char *block, uint64_t size, uint64_t count)
{
	uint64_t number;
	int error = 0;

	for (number = 0; number < count && error == 0; number++)
		error = k2hft_writer_write(writer, block + number * size, (size_t)size - 1);
	return error;
}

static int rounds_write(struct k2hft_sender *sender, struct k2hft_writer *writer, const char *block, uint64_t size,
			double rounds[ROUNDS])
{
	uint64_t count = ROUND_BYTES / size ? ROUND_BYTES / size : 1;
	unsigned number;
	double begin;
	int error = 0;

	for (number = 0; number < ROUNDS && error == 0; number++) {
		begin = cpu_ns(CLOCK_THREAD_CPUTIME_ID);
		error = round_write(writer, block, size, count);
		rounds[number] = (cpu_ns(CLOCK_THREAD_CPUTIME_ID) - begin) / (double)count;
		if (error == 0)
			error = k2hft_sender_flush(sender, FLUSH_MS);
	}
	return error;
}

int bench_record_cost(struct bench_run *run, const char *block, struct bench_slot *slot)
{
	struct k2hft_sender *sender;
	struct k2hft_writer *writer;
	double rounds[ROUNDS];
	int error = bench_library_open(run, &sender), closed;

	if (error)
		return error;
	error = k2hft_writer_open(sender, "bench/0", &writer);
	if (error == 0) {
		error = rounds_write(sender, writer, block, run->point.size, rounds);
		k2hft_writer_close(writer);
	}
	closed = k2hft_sender_close(sender, FLUSH_MS);
	slot->record_ns = error ? 0 : bench_median(rounds, ROUNDS);
	slot->bytes = ROUNDS * (ROUND_BYTES / run->point.size ? ROUND_BYTES / run->point.size : 1) * run->point.size;
	return error ? error : closed;
}

static pid_t parent_of(const char *process)
{
	char path[300], text[512];
	int descriptor, parent = 0;
	const char *end;
	ssize_t got;

	(void)snprintf(path, sizeof(path), "/proc/%s/stat", process);
	descriptor = open(path, O_RDONLY | O_CLOEXEC);
	if (descriptor < 0)
		return 0;
	got = read(descriptor, text, sizeof(text) - 1);
	(void)close(descriptor);
	text[got > 0 ? got : 0] = '\0';
	end = strrchr(text, ')'); /* a name can have anything in it */
	return end && sscanf(end, ") %*c %d", &parent) == 1 ? parent : 0;
}

/* A process and those below it: the mount's keeper has others that work. */
static unsigned family_find(pid_t first, pid_t family[PROCESSES_MAX])
{
	unsigned count = 1, before = 0, number;
	struct dirent *entry;
	DIR *processes;

	family[0] = first;
	while (before != count && (processes = opendir("/proc"))) {
		before = count;
		while ((entry = readdir(processes)) && count < PROCESSES_MAX) {
			pid_t process = (pid_t)strtol(entry->d_name, NULL, 10);
			pid_t parent = process > 0 ? parent_of(entry->d_name) : 0;
			bool wanted = false;

			for (number = 0; number < count; number++)
				wanted = (family[number] == parent || wanted) && family[number] != process;
			if (parent > 0 && wanted)
				family[count++] = process;
		}
		(void)closedir(processes);
	}
	return count;
}

static double family_cpu_ns(pid_t first)
{
	pid_t family[PROCESSES_MAX];
	unsigned count = family_find(first, family), number;
	clockid_t clock;
	double used = 0;

	for (number = 0; number < count; number++)
		if (clock_getcpuclockid(family[number], &clock) == 0)
			used += cpu_ns(clock);
	return used;
}

/* With a file open that was written to: idle is what they are between two records, not before the first. */
int bench_idle_use(struct bench_run *run, struct bench_slot *slot)
{
	struct timespec settle = {.tv_sec = 1}, pause = {.tv_sec = (time_t)run->point.seconds};
	char path[BENCH_PATH_ROOM];
	double receiver, mount;
	int output, error = 0;

	(void)snprintf(path, sizeof(path), "%s/mnt/bench/0", run->work);
	output = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	if (output < 0)
		return -errno;
	if (write(output, "idle\n", 5) != 5 || fsync(output))
		error = errno ? -errno : -EIO;
	slot->bytes = 5;
	slot->records = 1;
	(void)nanosleep(&settle, NULL);
	receiver = family_cpu_ns(run->receiver.pid);
	mount = family_cpu_ns(run->mount.pid);
	(void)nanosleep(&pause, NULL);
	slot->idle_receiver = (family_cpu_ns(run->receiver.pid) - receiver) / 1e7 / (double)run->point.seconds;
	slot->idle_mount = (family_cpu_ns(run->mount.pid) - mount) / 1e7 / (double)run->point.seconds;
	(void)close(output);
	return error;
}
