/* SPDX-License-Identifier: MIT */
/*
 * A long run: what the receiver's files grow by in each second. A file that has become long is removed, and the receiver
 * makes it anew: so the disk does not fill, however long it takes.
 */
#include "bench.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TICK_NS UINT64_C(1000000000)
#define FILE_BYTES_MAX (UINT64_C(2) << 30) /* of all files together */
/* How long senders may take for their last acknowledgements. */
#define END_LIMIT_NS UINT64_C(180000000000)

struct growing {
	int file;
	uint64_t before; /* bytes of the files that were removed */
	bool removed;
};

static uint64_t growing_bytes(struct bench_run *run, struct growing *growing, unsigned number)
{
	uint64_t most = FILE_BYTES_MAX / bench_received_count(run);
	struct stat there, open_now = {0};
	char path[4200];

	bench_received_path(run, number, path);
	if (growing->file >= 0 && fstat(growing->file, &open_now))
		return growing->before;
	if (stat(path, &there) == 0 && (growing->file < 0 || there.st_ino != open_now.st_ino)) {
		if (growing->file >= 0) {
			growing->before += (uint64_t)open_now.st_size;
			(void)close(growing->file);
		}
		growing->removed = false;
		growing->file = open(path, O_RDONLY | O_CLOEXEC);
		if (growing->file < 0 || fstat(growing->file, &open_now))
			return growing->before;
	}
	if (!growing->removed && (uint64_t)open_now.st_size > most)
		growing->removed = unlink(path) == 0;
	return growing->before + (uint64_t)open_now.st_size;
}

static uint64_t all_bytes(struct bench_run *run, struct growing *growing)
{
	uint64_t bytes = 0;
	unsigned number;

	for (number = 0; number < bench_received_count(run); number++)
		bytes += growing_bytes(run, &growing[number], number);
	return bytes;
}

static bool senders_run(const struct bench_run *run)
{
	unsigned number;
	siginfo_t ended = {0};

	for (number = 0; number < run->point.senders; number++) {
		ended.si_pid = 0;
		if (waitid(P_PID, (id_t)run->senders[number], &ended, WEXITED | WNOHANG | WNOWAIT) == 0 &&
		    ended.si_pid == 0)
			return true;
	}
	return false;
}

static void tick_wait(uint64_t due)
{
	struct timespec until = {.tv_sec = (time_t)(due / TICK_NS), .tv_nsec = (long)(due % TICK_NS)};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR && !bench_interrupted())
		continue;
}

static void progress(const struct bench_run *run, double rate)
{
	if (!run->options->quiet && isatty(STDERR_FILENO))
		(void)fprintf(stderr, "\r\033[Ksecond %u of %llu: %.0f MB/s", run->series_count,
			      (unsigned long long)run->point.seconds, rate);
}

/* For each second that has passed: several, if looking took so long. */
static void points_add(struct bench_run *run, uint64_t passed_ns, double rate)
{
	while (run->series_count < run->point.seconds && run->series_count < passed_ns / TICK_NS)
		run->series[run->series_count++] = rate;
	progress(run, rate);
}

/* One point for each whole second in which senders write; what is committed after is in the total only. */
static int series_take(struct bench_run *run, struct growing *growing)
{
	uint64_t begin = run->shared->start_ns, before = 0, bytes, last = begin, now;

	while (senders_run(run)) {
		if (bench_interrupted())
			return -EINTR;
		tick_wait(last + TICK_NS - (last - begin) % TICK_NS);
		bytes = all_bytes(run, growing);
		now = k2i_clock_ns(CLOCK_MONOTONIC);
		points_add(run, now - begin, (double)(bytes - before) / 1e6 / ((double)(now - last) / 1e9));
		before = bytes;
		last = now;
		if (now - begin > run->point.seconds * TICK_NS + END_LIMIT_NS)
			return -ETIMEDOUT;
	}
	return 0;
}

int bench_sustain_watch(struct bench_run *run)
{
	struct growing growing[BENCH_SENDERS_MAX];
	unsigned number;
	int error;

	for (number = 0; number < BENCH_SENDERS_MAX; number++)
		growing[number] = (struct growing){.file = -1};
	run->series_count = 0;
	run->series = calloc((size_t)run->point.seconds, sizeof(*run->series));
	error = run->series ? series_take(run, growing) : -ENOMEM;
	run->received_bytes = error ? 0 : all_bytes(run, growing);
	for (number = 0; number < BENCH_SENDERS_MAX; number++)
		if (growing[number].file >= 0)
			(void)close(growing[number].file);
	if (error)
		bench_error("the records do not arrive: %s", strerror(-error));
	return error ? -1 : 0;
}
