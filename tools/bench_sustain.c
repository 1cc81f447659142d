/* SPDX-License-Identifier: MIT */
/*
 * A long run: what the receiver's files grow by in each second. What is old of them gives its blocks back, so the disk does
 * not fill, however long it takes; and it is on the disk already, so nobody waits for that. To remove whole files instead
 * stops this process, and at times all that write, for seconds, until the disk has what nobody wants any more.
 */
#include "bench.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "bits.h"

/* How often files are looked at: a disk that is told to forget a second's bytes at once does nothing else meanwhile. */
#define STEP_NS (K2I_SECOND_NS / 20)
#define GIVEN_BYTES (UINT64_C(64) << 20)
#define KEPT_BYTES (UINT64_C(512) << 20) /* of all files together: more than may wait for the disk */
/* How long senders may take for their last acknowledgements. */
#define END_LIMIT_NS UINT64_C(180000000000)

struct growing {
	int file;
	uint64_t given_back; /* bytes at its begin */
};

static int old_give_back(struct growing *growing, uint64_t length, uint64_t kept)
{
	const int hole = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
	uint64_t from = growing->given_back, to = length > kept ? k2i_align_down(length - kept, GIVEN_BYTES) : 0;

	if (to <= from)
		return 0;
	if (fallocate(growing->file, hole, (off_t)from, (off_t)(to - from)))
		return errno == EINTR ? 0 : -errno;
	growing->given_back = to;
	return 0;
}

/* -1 with the message. */
static int growing_look(struct bench_run *run, struct growing *growing, unsigned number, uint64_t *bytes)
{
	struct stat status;
	char path[BENCH_PATH_ROOM];
	int error;

	bench_received_path(run, number, path);
	if (growing->file < 0)
		growing->file = open(path, O_RDWR | O_CLOEXEC);
	if (growing->file < 0 || fstat(growing->file, &status))
		return 0;
	*bytes += (uint64_t)status.st_size;
	error = old_give_back(growing, (uint64_t)status.st_size, KEPT_BYTES / bench_received_count(run));
	if (error)
		bench_error("%s: no hole can be made in it: %s: --sustain would fill this file system, TMPDIR names "
			    "another",
			    path, strerror(-error));
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

/* For each second that has passed: several, if looking took so long. */
static void points_add(struct bench_run *run, uint64_t passed_ns, double rate)
{
	while (run->series_count < run->point.seconds && run->series_count < passed_ns / K2I_SECOND_NS)
		run->series[run->series_count++] = rate;
	progress(run, rate);
}

/* One point for each whole second in which senders write; what is committed after is in the total only. */
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
			points_add(run, now - begin, (double)(bytes - before) / 1e6 / ((double)(now - last) / 1e9));
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
		growing[number] = (struct growing){.file = -1};
	run->series_count = 0;
	run->series = calloc((size_t)run->point.seconds, sizeof(*run->series));
	if (!run->series)
		bench_error("out of memory");
	status = run->series ? series_take(run, growing) : -1;
	for (number = 0; number < BENCH_STREAMS_MAX; number++)
		if (growing[number].file >= 0)
			(void)close(growing[number].file);
	return status;
}
