/* SPDX-License-Identifier: MIT */
/* Figures that are no rates: the cost of a record for its writer, and the processor time of idle processes. */
#include "tools/bench/bench.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <k2hft/sender.h>

#define ROUNDS 48u
/* So much that to wake the thread that sends is little of it; in a ring of no more, some writes wait, which is counted. */
#define ROUND_BYTES (2u * 1024 * 1024)
#define FLUSH_MS 30000

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

/* The keeper of a mount has others that work, in the group that process_start gave it. */
static double group_cpu_ns(pid_t group)
{
	DIR *processes = opendir("/proc");
	struct dirent *entry;
	clockid_t clock;
	double used = 0;

	while (processes && (entry = readdir(processes))) {
		pid_t process = (pid_t)strtol(entry->d_name, NULL, 10);

		if (process > 0 && getpgid(process) == group && clock_getcpuclockid(process, &clock) == 0)
			used += cpu_ns(clock);
	}
	if (processes)
		(void)closedir(processes);
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
	receiver = group_cpu_ns(run->receivers[0].pid);
	mount = group_cpu_ns(run->mount.pid);
	(void)nanosleep(&pause, NULL);
	slot->idle_receiver = (group_cpu_ns(run->receivers[0].pid) - receiver) / 1e7 / (double)run->point.seconds;
	slot->idle_mount = (group_cpu_ns(run->mount.pid) - mount) / 1e7 / (double)run->point.seconds;
	(void)close(output);
	return error;
}
