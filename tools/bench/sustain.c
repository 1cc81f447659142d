/* SPDX-License-Identifier: MIT */
/*
 * A long run: what the receiver's files grow by in each second. So that the disk does not fill, however long it takes, a
 * file that has become long is renamed, as by logrotate(8), and gives its blocks back bit by bit: they are on the disk
 * already, so nobody waits for that. The one that is written to would keep the receiver waiting for its lock, for 20 ms
 * with 64 MiB where the file system tells the disk at once (mount -o discard). To remove a long file at once stops this
 * process, and at times all that write, for seconds, until the disk has what nobody wants any more.
 */
#include "tools/bench/bench.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <time.h>
#include <unistd.h>

#include "base/bits.h"

/* How often files are looked at: a disk that is told to forget a second's bytes at once does nothing else meanwhile. */
#define STEP_NS (K2I_SECOND_NS / 20)
/* Bytes of all files together, before they are renamed: more than may wait for the disk. */
#define KEPT_BYTES (UINT64_C(512) << 20)
#define KEPT_BYTES_MIN (UINT64_C(32) << 20) /* of one file */
#define BLOCK_BYTES ((size_t)4096)
/* How long senders may take for their last acknowledgements. */
#define END_LIMIT_NS UINT64_C(180000000000)

#define OLD_PATH_ROOM (BENCH_PATH_ROOM + sizeof(".old"))

struct growing {
	bool leaving;        /* it was renamed, and as long as there is no next one it is perhaps still written to */
	uint64_t length;     /* when it was looked at */
	uint64_t old_length; /* of the one before, in the end; 0: it is gone */
	uint64_t given_back; /* bytes at its begin */
	uint64_t renamed;    /* bytes of all before */
};

/* The receiver is done with the one before when there is the next. */
static void next_look(struct growing *growing, const char *path, const char *old)
{
	struct stat status;

	if (access(path, F_OK) || stat(old, &status))
		return;
	growing->leaving = false;
	growing->length = 0;
	growing->old_length = (uint64_t)status.st_size;
	growing->given_back = 0;
	growing->renamed += growing->old_length;
}

static int hole_make(const char *path, uint64_t from, uint64_t bytes)
{
	int file = open(path, O_WRONLY | O_CLOEXEC), error = 0;

	if (file < 0)
		return -errno;
	if (fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)from, (off_t)bytes))
		error = -errno;
	(void)close(file);
	return error;
}

/* Twice as much as the next one grew by: bit by bit, and yet in time. */
static int old_give_back(struct growing *growing, const char *old, uint64_t grown)
{
	uint64_t bytes = k2i_align_up(2 * grown, BLOCK_BYTES);
	int error;

	if (bytes >= growing->old_length - growing->given_back) {
		growing->old_length = 0;
		return unlink(old) ? -errno : 0;
	}
	error = bytes ? hole_make(old, growing->given_back, bytes) : 0;
	if (error == 0)
		growing->given_back += bytes;
	return error == -EINTR ? 0 : error;
}

static int room_keep(struct bench_run *run, struct growing *growing, const char *path, const char *old, uint64_t grown)
{
	uint64_t kept = KEPT_BYTES / bench_received_count(run);

	if (growing->old_length)
		return old_give_back(growing, old, grown);
	if (growing->length < (kept > KEPT_BYTES_MIN ? kept : KEPT_BYTES_MIN))
		return 0;
	if (rename(path, old))
		return -errno;
	growing->leaving = true;
	return 0;
}

/* -1 with the message. */
static int growing_look(struct bench_run *run, struct growing *growing, unsigned number, uint64_t *bytes)
{
	char path[BENCH_PATH_ROOM], old[OLD_PATH_ROOM];
	struct stat status;
	uint64_t grown;
	int error;

	bench_received_path(run, number, path);
	(void)snprintf(old, sizeof(old), "%s.old", path);
	if (growing->leaving)
		next_look(growing, path, old);
	*bytes += growing->renamed;
	if (stat(growing->leaving ? old : path, &status))
		return 0;
	*bytes += (uint64_t)status.st_size;
	grown = (uint64_t)status.st_size - growing->length;
	growing->length = (uint64_t)status.st_size;
	error = growing->leaving ? 0 : room_keep(run, growing, path, old, grown);
	if (error)
		bench_error("%s: it can't give its room back: %s: --sustain would fill this file system, TMPDIR names "
			    "another",
			    old, strerror(-error));
	return error ? -1 : 0;
}

static int all_look(struct bench_run *run, struct growing *growing, uint64_t *bytes)
{
	int status = 0;
	unsigned number;

	*bytes = 0;
	for (number = 0; status == 0 && number < bench_received_count(run); number++)
		status = growing_look(run, &growing[number], number, bytes);
	return status;
}

static void step_wait(uint64_t due)
{
	struct timespec until = k2i_timespec(due);

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR && !bench_interrupted())
		continue;
}

static void progress(const struct bench_run *run, double rate)
{
	if (!run->options->quiet && isatty(STDERR_FILENO))
		progress_show("second %u of %llu: %.0f MB/s", run->series_count, (unsigned long long)run->point.seconds,
			      rate);
}

static double free_mib(void)
{
	struct sysinfo information;

	return sysinfo(&information) ? (double)NAN
				     : (double)information.freeram * (double)information.mem_unit / (1024 * 1024);
}

/* Pages that are on their way to the disk can't be dropped, see proc_sys_vm(5). -1 with the message. */
static int caches_drop(void)
{
	int file = open(BENCH_DROP_CACHES, O_WRONLY | O_CLOEXEC), status = 0;

	sync();
	if (file < 0 || write(file, "3", 1) != 1)
		status = bench_failed(-1, "--drop-caches: " BENCH_DROP_CACHES ": %s", strerror(errno));
	if (file >= 0)
		(void)close(file);
	return status;
}

/* For each second that has passed: several, if looking took so long. */
static int points_add(struct bench_run *run, uint64_t passed_ns, double rate)
{
	unsigned before = run->series_count;

	for (; run->series_count < run->point.seconds && run->series_count < passed_ns / K2I_SECOND_NS;
	     run->series_count++) {
		run->series[run->series_count] = rate;
		run->free_mib[run->series_count] = free_mib();
	}
	progress(run, rate);
	return before < run->point.drop_caches && run->series_count >= run->point.drop_caches ? caches_drop() : 0;
}

/* A point for each whole second in which senders write; later commits are in the total only. */
static int series_take(struct bench_run *run, struct growing *growing)
{
	uint64_t begin = run->shared->start_ns, before = 0, bytes, last = begin, now = begin;
	bool running;

	/* Once more when they are done, for the last of their seconds. */
	do {
		running = bench_senders_run(run);
		if (bench_interrupted())
			return -1;
		step_wait(now + STEP_NS - (now - begin) % STEP_NS);
		if (all_look(run, growing, &bytes) || bench_trouble(run))
			return -1;
		now = k2i_clock_ns(CLOCK_MONOTONIC);
		if ((now - begin) / K2I_SECOND_NS > (last - begin) / K2I_SECOND_NS) {
			if (points_add(run, now - begin, (double)(bytes - before) / 1e6 / ((double)(now - last) / 1e9)))
				return -1;
			before = bytes;
			last = now;
		}
		if (now - begin > run->point.seconds * K2I_SECOND_NS + END_LIMIT_NS)
			return bench_failed(-1, "the records do not arrive");
	} while (running);
	return 0;
}

int bench_sustain_watch(struct bench_run *run)
{
	struct growing growing[BENCH_STREAMS_MAX];
	unsigned number;
	int status;

	for (number = 0; number < BENCH_STREAMS_MAX; number++)
		growing[number] = (struct growing){0};
	run->series_count = 0;
	run->series = calloc((size_t)run->point.seconds, sizeof(*run->series));
	run->free_mib = calloc((size_t)run->point.seconds, sizeof(*run->free_mib));
	status = run->series && run->free_mib ? series_take(run, growing) : bench_failed(-1, "out of memory");
	for (number = 0; number < BENCH_STREAMS_MAX; number++)
		run->renamed_bytes += growing[number].renamed + (growing[number].leaving ? growing[number].length : 0);
	return status;
}
