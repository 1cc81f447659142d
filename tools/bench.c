/* SPDX-License-Identifier: MIT */
/* k2hft bench: how fast records go from here to a receiver, by each way, against a plain pipe. */
#include "bench.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "tools.h"

#define BLOCK_BYTES (8u * 1024 * 1024)

static atomic_int interrupts;

static void interrupted(int number)
{
	(void)number;
	atomic_fetch_add_explicit(&interrupts, 1, memory_order_relaxed);
}

bool bench_interrupted(void)
{
	return atomic_load_explicit(&interrupts, memory_order_relaxed) > 0;
}

uint64_t bench_clock_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void bench_error(const char *format, ...)
{
	va_list arguments;

	(void)fputs("k2hft bench: ", stderr);
	va_start(arguments, format);
	(void)vfprintf(stderr, format, arguments);
	va_end(arguments);
	(void)fputc('\n', stderr);
}

/* Digits that no two records of a block share, then letters that do not repeat either: nothing gains by sameness. */
static void record_make(char *record, uint64_t size, uint64_t number)
{
	uint64_t state = number * UINT64_C(0x9e3779b97f4a7c15) + 1, at;

	for (at = 0; at + 1 < size && at < 9; at++, number /= 10)
		record[size < 10 ? size - 2 - at : 8 - at] = (char)('0' + number % 10);
	for (; at + 1 < size; at++) {
		state ^= state << 13;
		state ^= state >> 7;
		state ^= state << 17;
		record[at] = (char)('a' + state % 26);
	}
	record[size - 1] = '\n';
}

/* The block is written, not mapped: this process stays small, as what it forks counts its memory too. */
static int block_make(struct bench_run *run)
{
	uint64_t count = BLOCK_BYTES / run->point.size, number;
	char path[4200], *record = malloc((size_t)run->point.size);
	FILE *block;

	(void)snprintf(path, sizeof(path), "%s/block", run->work);
	block = fopen(path, "we");
	for (number = 0; record && block && number < count; number++) {
		record_make(record, run->point.size, number);
		(void)fwrite(record, (size_t)run->point.size, 1, block);
	}
	free(record);
	run->block_bytes = count * run->point.size;
	if (run->block >= 0)
		(void)close(run->block);
	run->block = -1;
	if (record && block && fclose(block) == 0)
		run->block = open(path, O_RDONLY | O_CLOEXEC);
	if (run->block >= 0)
		return 0;
	bench_error("%s: %s", path, strerror(errno));
	return -1;
}

static uint64_t sender_records(const struct bench_options *options, const struct bench_point *point)
{
	uint64_t all = options->records;

	if (all == 0 && options->bytes)
		all = options->bytes / point->size;
	else if (all == 0 && options->rate)
		all = options->seconds * options->rate;
	else if (all == 0)
		return UINT64_MAX;
	all /= point->senders;
	return all ? all : 1;
}

static int number_compare(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

static double median(double *values, uint64_t count)
{
	if (isnan(values[0]))
		return values[0];
	qsort(values, count, sizeof(*values), number_compare);
	return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

static void progress(const struct bench_run *run, const struct bench_point *point, uint64_t number)
{
	if (run->options->quiet || !isatty(STDERR_FILENO))
		return;
	if (number == 0)
		(void)fputs("\r\033[K", stderr);
	else
		(void)fprintf(stderr, "\r\033[K%s, %llu bytes, %llu senders: run %llu of %llu",
			      bench_way_names[point->way], (unsigned long long)point->size,
			      (unsigned long long)point->senders, (unsigned long long)number,
			      (unsigned long long)run->options->runs);
	(void)fflush(stderr);
}

static int point_measure(struct bench_run *run, struct bench_result *result)
{
	double metrics[BENCH_METRICS], *values = calloc(BENCH_METRICS * run->options->runs, sizeof(*values));
	uint64_t runs = run->options->runs, number;
	unsigned metric;
	int status = values ? block_make(run) : -1;

	run->point = result->point;
	run->sender_records = sender_records(run->options, &run->point);
	for (number = 0; status == 0 && number < runs; number++) {
		progress(run, &result->point, number + 1);
		status = bench_run(run, metrics);
		for (metric = 0; status == 0 && metric < BENCH_METRICS; metric++)
			values[metric * runs + number] = metrics[metric];
	}
	progress(run, &result->point, 0);
	for (metric = 0; status == 0 && metric < BENCH_METRICS; metric++)
		result->medians[metric] = median(values + metric * runs, runs);
	free(values);
	return status;
}

static unsigned points_make(const struct bench_options *options, struct bench_result *results)
{
	unsigned way, size, per_write, senders, count = 0;

	for (way = 0; way < options->ways.count; way++)
		for (size = 0; size < options->sizes.count; size++)
			for (per_write = 0; per_write < options->per_write.count; per_write++)
				for (senders = 0; senders < options->senders.count; senders++)
					results[count++].point =
						(struct bench_point){.way = (enum bench_way)options->ways.values[way],
								     .size = options->sizes.values[size],
								     .per_write = options->per_write.values[per_write],
								     .senders = options->senders.values[senders]};
	return count;
}

static int measure_all(struct bench_run *run)
{
	const struct bench_options *options = run->options;
	size_t room =
		(size_t)options->ways.count * options->sizes.count * options->per_write.count * options->senders.count;
	struct bench_result *results = calloc(room, sizeof(*results));
	unsigned count, number;
	int status = 0;

	if (!results)
		return -1;
	count = points_make(options, results);
	bench_table_head(options);
	for (number = 0; status == 0 && number < count; number++) {
		run->point = results[number].point;
		status = point_measure(run, &results[number]);
		if (status == 0)
			bench_table_line(options, &results[number]);
	}
	if (status == 0) {
		bench_knees_print(options, results, count);
		status = bench_files_write(options, results, count);
	}
	free(results);
	return status;
}

static void work_remove(const char *work)
{
	static const char *const names[] = {"block", "server.ini", "slave.ini", "k2hftfusesvr.err", "k2hftfuse.err"};
	char path[4200];
	size_t number;

	for (number = 0; number < sizeof(names) / sizeof(names[0]); number++) {
		(void)snprintf(path, sizeof(path), "%s/%s", work, names[number]);
		(void)unlink(path);
	}
	(void)snprintf(path, sizeof(path), "%s/mnt", work);
	(void)rmdir(path);
	if (rmdir(work))
		bench_error("%s: %s", work, strerror(errno));
}

static int measure(const struct bench_options *options)
{
	const char *temporary = getenv("TMPDIR");
	struct sigaction action = {.sa_handler = interrupted};
	struct bench_run run = {.options = options, .block = -1};
	char work[4096];
	int status = -1;

	/* Not SA_RESTART: what waits is to end. A sender that is gone must not end this process. */
	(void)sigaction(SIGINT, &action, NULL);
	(void)sigaction(SIGTERM, &action, NULL);
	(void)signal(SIGPIPE, SIG_IGN);
	(void)snprintf(work, sizeof(work), "%s/k2hft-bench.XXXXXX", temporary && *temporary ? temporary : "/tmp");
	if (!mkdtemp(work)) {
		bench_error("%s: %s", work, strerror(errno));
		return BENCH_FAILED;
	}
	run.work = work;
	if (options->receiver[0]) {
		(void)snprintf(run.host, sizeof(run.host), "%s", options->host);
		(void)snprintf(run.port, sizeof(run.port), "%s", options->port);
	}
	run.shared = mmap(NULL, sizeof(*run.shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (run.shared != MAP_FAILED) {
		status = measure_all(&run);
		(void)munmap(run.shared, sizeof(*run.shared));
	}
	if (run.block >= 0)
		(void)close(run.block);
	work_remove(work);
	return status ? BENCH_FAILED : BENCH_OK;
}

int k2i_command_bench(int argc, char **argv)
{
	struct bench_options options = {0};
	int status = bench_options_parse(&options, argc, argv);

	if (status || options.help)
		return status;
	return measure(&options);
}
