/* SPDX-License-Identifier: MIT */
#include "tools/testio/testio.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/condition.h"
#include "base/thread.h"

#define BLOCK_BYTES UINT64_C(4096)
/*
 * Writes take their bytes from here, again and again: no multiple of a block, so that for 512 MiB each block is
 * another.
 */
#define DATA_BYTES (UINT64_C(1048576) + 8)
#define SHOW_NS UINT64_C(250000000)

struct run {
	const struct testio_cell *cell;
	struct k2i_store_options store;
	enum testio_way way;
	uint64_t deadline_ns;
	const uint8_t *data;
	pthread_mutex_t lock;
	pthread_cond_t ended;
	unsigned running;
	_Atomic(uint64_t) moved_bytes; /* only shown: no order is needed */
};

/* A thread's work: its share of a file, which it opens itself. */
struct job {
	struct run *run;
	pthread_t thread;
	int file;
	uint64_t from, to, at, end_ns;
	const char *failed; /* what did, with `error` */
	int error;
};

static atomic_int ended_by;

int testio_signal(void)
{
	return atomic_load_explicit(&ended_by, memory_order_relaxed);
}

static void on_signal(int number)
{
	atomic_store_explicit(&ended_by, number, memory_order_relaxed);
}

int testio_signals_catch(void)
{
	const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
	struct sigaction action = {.sa_handler = on_signal}, before;

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		/* A signal that nohup(1) has turned off stays so. */
		if (sigaction(numbers[i], NULL, &before) < 0 ||
		    (before.sa_handler != SIG_IGN && sigaction(numbers[i], &action, NULL) < 0))
			return -errno;
	}
	return 0;
}

void testio_files_close(struct testio_files *files)
{
	for (unsigned i = 0; i < files->count; i++)
		(void)close(files->descriptors[i]);
	files->count = files->threads = 0;
}

/*
 * A file loses its name as soon as it is made: however this ends, nothing is left of it. Threads open it by way of
 * /proc. A file that is there already is never touched.
 */
static int file_make(const char *directory, int *descriptor)
{
	char path[TESTIO_PATH_ROOM]; /* testio_directory_wrong has seen that it has room */

	(void)snprintf(path, sizeof(path), "%s/" TESTIO_FILE_NAME, directory);
	*descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (*descriptor < 0) {
		int error = -errno;

		testio_error("%s: %s", path,
			     error == -EEXIST ? "it is there already, and is not overwritten" : strerror(-error));
		return error;
	}
	(void)unlink(path);
	return 0;
}

static int files_make(const struct testio_cell *cell, struct testio_files *files)
{
	testio_files_close(files);
	for (files->threads = cell->threads; files->count < cell->files; files->count++) {
		int error = file_make(cell->options->directory, &files->descriptors[files->count]);

		if (error) {
			testio_files_close(files);
			return error;
		}
	}
	return 0;
}

static bool over(const struct run *run)
{
	return testio_signal() != 0 || k2i_clock_ns(CLOCK_MONOTONIC) >= run->deadline_ns;
}

static int failed(struct job *job, const char *what, int error)
{
	job->failed = what;
	return error;
}

static void moved(struct job *job, uint64_t bytes)
{
	job->at += bytes;
	atomic_fetch_add_explicit(&job->run->moved_bytes, bytes, memory_order_relaxed);
}

static int share_write(struct job *job, int descriptor)
{
	const struct k2i_store_options *store = &job->run->store;
	struct k2i_store_behind behind;
	struct k2i_store_writer writer;
	int error = lseek(descriptor, (off_t)job->from, SEEK_SET) < 0 ? -errno : 0;

	if (!error)
		error = k2i_store_writer_start(&writer, store);
	if (error)
		return failed(job, "memory", error);
	k2i_store_writer_begin(&writer, descriptor);
	k2i_store_behind_set(&behind, job->from);
	while (!error && job->at < job->to && !over(job->run)) {
		uint64_t left = job->to - job->at;
		size_t bytes = left < store->write_bytes ? (size_t)left : store->write_bytes;

		error = k2i_store_put(&writer, job->run->data + job->at % DATA_BYTES, bytes);
		if (!error)
			error = k2i_store_flush(&writer);
		if (error)
			break;
		moved(job, bytes);
		error = k2i_store_behind_advance(&behind, store, descriptor, job->at);
	}
	/* Bytes on their way to the disk count only when they are there. */
	if (!error && fdatasync(descriptor) < 0)
		error = -errno;
	k2i_store_writer_free(&writer);
	return error ? failed(job, "write", error) : 0;
}

static int share_read(struct job *job, int descriptor)
{
	void *buffer = k2i_store_buffer(job->run->store.write_bytes);
	ssize_t got = 1;

	if (!buffer)
		return failed(job, "memory", -ENOMEM);
	while (got > 0 && job->at < job->to && !over(job->run)) {
		uint64_t left = job->to - job->at;

		got = k2i_store_read(&job->run->store, descriptor, buffer, job->at);
		if (got > 0)
			moved(job, (uint64_t)got < left ? (uint64_t)got : left);
	}
	free(buffer);
	return got < 0 ? failed(job, "read", (int)got) : 0;
}

static void share_do(struct job *job)
{
	bool write = job->run->way == TESTIO_WRITE;
	char path[64];
	int descriptor;

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", job->file);
	descriptor = open(path, (write ? O_WRONLY : O_RDONLY) | O_CLOEXEC | k2i_store_flags(&job->run->store));
	if (descriptor < 0) {
		job->error = failed(job, "open", -errno);
		return;
	}
	job->error = write ? share_write(job, descriptor) : share_read(job, descriptor);
	job->end_ns = k2i_clock_ns(CLOCK_MONOTONIC);
	(void)close(descriptor);
}

static void *job_main(void *argument)
{
	struct job *job = argument;

	share_do(job);
	(void)pthread_mutex_lock(&job->run->lock);
	job->run->running--;
	(void)pthread_cond_signal(&job->run->ended);
	(void)pthread_mutex_unlock(&job->run->lock);
	return NULL;
}

static void run_show(const struct run *run, uint64_t started_ns)
{
	const struct testio_cell *cell = run->cell;
	uint64_t bytes = atomic_load_explicit(&run->moved_bytes, memory_order_relaxed);

	if (cell->options->quiet || !isatty(STDERR_FILENO))
		return;
	progress_show("%s, %zu KB, %u threads, run %llu of %llu: %.0f MB, %.0f MB/s",
		      run->way == TESTIO_WRITE ? "write" : "read", cell->write_bytes / 1024, cell->threads,
		      (unsigned long long)cell->number, (unsigned long long)cell->count, (double)bytes / 1e6,
		      (double)bytes * 1e3 / (double)(k2i_clock_ns(CLOCK_MONOTONIC) - started_ns + 1));
}

static void jobs_await(struct run *run, uint64_t started_ns)
{
	run_show(run, started_ns);
	(void)pthread_mutex_lock(&run->lock);
	while (run->running) {
		struct timespec until = k2i_timespec(k2i_clock_ns(CLOCK_MONOTONIC) + SHOW_NS);

		if (pthread_cond_timedwait(&run->ended, &run->lock, &until) == ETIMEDOUT)
			run_show(run, started_ns);
	}
	(void)pthread_mutex_unlock(&run->lock);
	progress_clear();
}

/* A file's share of a thread; all but the last end where a block does. */
static void share_set(struct job *job, const struct testio_files *files, const struct testio_cell *cell,
		      unsigned number)
{
	uint64_t bytes = cell->options->file_mb * 1000000;
	/* Thread n writes to file n modulo files: the first files have a thread more, if it does not come out even. */
	unsigned file = number % cell->files, in_file = number / cell->files;
	unsigned sharers = cell->threads / cell->files + (file < cell->threads % cell->files);
	uint64_t share = bytes / sharers / BLOCK_BYTES * BLOCK_BYTES;

	job->file = files->descriptors[file];
	job->from = job->at = share * in_file;
	job->to = in_file + 1 == sharers ? bytes : job->from + share;
}

/* How many were started; the first that could not be says why. */
static unsigned jobs_start(struct run *run, struct job *jobs, const struct testio_files *files)
{
	unsigned started = 0;

	run->running = run->cell->threads;
	for (; started < run->cell->threads; started++) {
		struct job *job = &jobs[started];
		int error;

		job->run = run;
		share_set(job, files, run->cell, started);
		if (run->way == TESTIO_READ)
			job->to = files->written_to[started];
		error = k2i_thread_start(&job->thread, job_main, job);
		if (error) {
			job->error = error;
			job->failed = "thread";
			break;
		}
	}
	(void)pthread_mutex_lock(&run->lock);
	run->running -= run->cell->threads - started;
	(void)pthread_mutex_unlock(&run->lock);
	return started;
}

/* 0, or the first error, printed. */
static int jobs_judge(const struct run *run, const struct job *jobs)
{
	const struct testio_options *options = run->cell->options;

	for (unsigned i = 0; i < run->cell->threads; i++) {
		if (!jobs[i].error)
			continue;
		testio_error("%s/" TESTIO_FILE_NAME ": %s: %s%s", options->directory, jobs[i].failed,
			     strerror(-jobs[i].error),
			     jobs[i].error == -EINVAL && options->store.direct
				     ? " (this file system may have no O_DIRECT)"
				     : "");
		return jobs[i].error;
	}
	return testio_signal() ? -EINTR : 0;
}

static int jobs_run(struct run *run, struct testio_files *files, double *rate)
{
	struct job jobs[TESTIO_THREADS_MAX];
	uint64_t started_ns = k2i_clock_ns(CLOCK_MONOTONIC), end_ns = started_ns + 1, bytes = 0;
	unsigned started;

	memset(jobs, 0, sizeof(jobs));
	run->deadline_ns = started_ns + run->cell->options->limit_s * K2I_SECOND_NS;
	started = jobs_start(run, jobs, files);
	jobs_await(run, started_ns);
	for (unsigned i = 0; i < started; i++) {
		(void)pthread_join(jobs[i].thread, NULL);
		bytes += jobs[i].at - jobs[i].from;
		if (jobs[i].end_ns > end_ns)
			end_ns = jobs[i].end_ns;
		if (run->way == TESTIO_WRITE)
			files->written_to[i] = jobs[i].at;
	}
	*rate = (double)bytes * 1e3 / (double)(end_ns - started_ns);
	return jobs_judge(run, jobs);
}

/* Not all zero, and no block like another: some disks make those small. */
static void data_fill(uint8_t *data, size_t bytes)
{
	uint64_t random = UINT64_C(0x9e3779b97f4a7c15);

	for (size_t at = 0; at + sizeof(random) <= bytes; at += sizeof(random)) {
		random ^= random << 13;
		random ^= random >> 7;
		random ^= random << 17;
		memcpy(data + at, &random, sizeof(random));
	}
}

int testio_run(const struct testio_cell *cell, enum testio_way way, struct testio_files *files, double *rate)
{
	struct run run = {.cell = cell, .store = cell->options->store, .way = way};
	uint8_t *data = k2i_store_buffer(DATA_BYTES + cell->write_bytes);
	int error = data ? 0 : -ENOMEM;

	run.store.write_bytes = cell->write_bytes;
	if (!data)
		testio_error("no memory");
	else
		data_fill(data, DATA_BYTES + cell->write_bytes);
	run.data = data;
	if (!error && way == TESTIO_WRITE)
		error = files_make(cell, files);
	for (unsigned i = 0; !error && way == TESTIO_READ && i < files->count; i++)
		(void)posix_fadvise(files->descriptors[i], 0, 0, POSIX_FADV_DONTNEED);
	(void)pthread_mutex_init(&run.lock, NULL);
	k2i_condition_init(&run.ended);
	if (!error)
		error = jobs_run(&run, files, rate);
	(void)pthread_cond_destroy(&run.ended);
	(void)pthread_mutex_destroy(&run.lock);
	free(data);
	return error;
}
