/* SPDX-License-Identifier: MIT */
/* k2hft bench: how fast records go from here to a receiver, by each way, against a plain pipe. */
#include "tools/bench/bench.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include "tools/base/terminal.h"
#include "tools/base/commands.h"

#define KEY_BYTES 32u

static uint64_t writer_records(const struct bench_run *run)
{
	const struct bench_point *point = &run->point;
	uint64_t size = point->size ? point->size : run->block_bytes / run->block_records, all = point->records;

	if (all == 0 && point->bytes)
		all = point->bytes / size;
	else if (all == 0 && point->rate)
		all = point->seconds * point->rate;
	else if (all == 0)
		return UINT64_MAX;
	all /= bench_stream_count(point);
	return all ? all : 1;
}

static void progress(const struct bench_report *report, const struct bench_result *result, uint64_t number,
		     const struct bench_options *options)
{
	char text[BENCH_TEXT_ROOM];

	if (options->quiet || !isatty(STDERR_FILENO))
		return;
	bench_point_text(&result->point, text, sizeof(text));
	/* The numbers that move come first: a narrow terminal cuts off the end of a line. */
	progress_show("[%u of %u] run %llu of %llu: %s", (unsigned)(result - report->results) + 1, report->count,
		      (unsigned long long)number, (unsigned long long)options->runs, text);
}

static int limited_run(struct bench_run *run, double metrics[BENCH_METRICS])
{
	char why[BENCH_TEXT_ROOM];
	int status;

	if (run->point.memory_limit == 0)
		return bench_run(run, metrics);
	if (bench_memory_limit(run->point.memory_limit, why))
		return bench_failed(-1, "--memory-limit: %s", why);
	status = bench_run(run, metrics);
	bench_memory_release();
	return status;
}

static int result_measure(struct bench_run *run, struct bench_result *result, uint64_t number)
{
	double metrics[BENCH_METRICS];
	unsigned metric;
	int status;

	run->point = result->point;
	status = bench_block_make(run);
	if (status == 0) {
		run->writer_records = writer_records(run);
		status = limited_run(run, metrics);
	}
	for (metric = 0; status == 0 && metric < BENCH_METRICS; metric++)
		result->values[metric * run->options->runs + number] = metrics[metric];
	if (run->series) {
		free(result->series);
		free(result->free_mib);
		result->series = run->series;
		result->free_mib = run->free_mib;
		result->series_count = run->series_count;
		run->series = run->free_mib = NULL;
	}
	return status;
}

/* Its members take turns, so that what others do on the machine meets all of them. */
static int group_measure(struct bench_run *run, struct bench_report *report, unsigned first, unsigned count)
{
	uint64_t runs = run->options->runs, turn;
	unsigned number;
	int status = 0;

	for (number = first; number < first + count; number++) {
		report->results[number].values = calloc(BENCH_METRICS * (size_t)runs, sizeof(double));
		if (!report->results[number].values)
			return -1;
	}
	for (turn = 0; status == 0 && turn < runs; turn++)
		for (number = first; status == 0 && number < first + count; number++) {
			progress(report, &report->results[number], turn + 1, run->options);
			status = result_measure(run, &report->results[number], turn);
		}
	progress_clear();
	for (number = first; status == 0 && number < first + count; number++) {
		report->results[number].runs = runs;
		bench_result_sum(&report->results[number]);
	}
	return status;
}

/* Takes the results of an earlier run of the same plan, if it has all of the group. */
static void group_resume(struct bench_report *report, struct bench_report *earlier, unsigned first, unsigned count,
			 uint64_t runs)
{
	unsigned number, other, found = 0;
	unsigned *places = calloc(count, sizeof(*places));

	for (number = 0; places && number < count; number++)
		for (other = 0; other < earlier->count; other++)
			if (earlier->results[other].runs >= runs && earlier->results[other].values &&
			    bench_point_equal(&earlier->results[other].point, &report->results[first + number].point)) {
				places[found++] = other;
				break;
			}
	/* Handed over, not copied; the same point can be in two groups, each with its own. */
	for (number = 0; found == count && number < count; number++) {
		struct bench_result *result = &report->results[first + number],
				    *known = &earlier->results[places[number]];

		known->group = result->group;
		*result = *known;
		*known = (struct bench_result){0};
	}
	free(places);
}

static unsigned group_count(const struct bench_report *report, unsigned first)
{
	unsigned next = first;

	while (next < report->count && report->results[next].group == report->results[first].group)
		next++;
	return next - first;
}

/* All of them before one is measured: the file is written after that one, and has to keep those behind it. */
static void groups_resume(struct bench_report *report, struct bench_report *earlier, uint64_t runs)
{
	unsigned first, count;

	for (first = 0; first < report->count; first += count) {
		count = group_count(report, first);
		group_resume(report, earlier, first, count, runs);
	}
}

static void group_print(struct bench_report *report, unsigned first, unsigned count)
{
	unsigned number;

	for (number = first; report->row_count == 0 && number < first + count; number++)
		bench_table_line(report, &report->results[number]);
	for (number = 0; number < report->row_count; number++)
		if (report->rows[number].result >= first && report->rows[number].result < first + count) {
			bench_row_sum(&report->rows[number], report->results);
			bench_row_print(&report->rows[number]);
		}
}

static int groups_measure(struct bench_run *run, struct bench_report *report)
{
	unsigned first, count;
	bool measured = false;
	int status = 0;

	bench_table_head(report);
	for (first = 0; status == 0 && first < report->count; first += count) {
		count = group_count(report, first);
		if (report->results[first].runs == 0) {
			measured = true;
			status = group_measure(run, report, first, count);
		}
		if (status)
			break;
		group_print(report, first, count);
		/* After each, so that an interrupt costs one group only. A reader that is gone has had enough. */
		if (bench_files_write(run->options, report, false) || ferror(stdout))
			status = -1;
	}
	if (bench_files_write(run->options, report, true))
		status = -1;
	if (status == 0 && measured)
		bench_short_warn(report);
	else if (status == 0)
		bench_error("--resume: %s had all of it, nothing was measured; without --resume or that file, all is",
			    run->options->json_file);
	return status;
}

/* For this run of the program only, readable by its user only. */
static int key_make(struct bench_run *run)
{
	unsigned char key[KEY_BYTES];
	char text[2 * KEY_BYTES + 1];
	unsigned number;
	int descriptor;

	if (run->options->shared_key) {
		/* Where this was called is not where those that are started look for it. */
		if (realpath(run->options->shared_key, run->shared_key))
			return 0;
		return bench_failed(-1, "--psk %s: %s", run->options->shared_key, strerror(errno));
	}
	(void)snprintf(run->shared_key, sizeof(run->shared_key), "%s/key", run->work);
	if (getrandom(key, sizeof(key), 0) != (ssize_t)sizeof(key))
		return -1;
	for (number = 0; number < KEY_BYTES; number++)
		(void)snprintf(text + 2 * (size_t)number, 3, "%02x", key[number]);
	descriptor = open(run->shared_key, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (descriptor < 0 || dprintf(descriptor, "%s\n", text) != (int)sizeof(text) || close(descriptor))
		return bench_failed(-1, "%s: %s", run->shared_key, strerror(errno));
	return 0;
}

/* Reads the results to go on from: none, if there is no such file, or if it is of something else. */
static int earlier_read(const struct bench_options *options, struct bench_report *report, struct bench_report *earlier)
{
	const char *differs;

	if (access(options->json_file, F_OK))
		return 0;
	if (bench_json_read(options->json_file, earlier))
		return -1;
	differs = bench_report_differs(earlier, report);
	if (differs) {
		bench_error("--resume: %s is not of the same %s: everything is measured anew", options->json_file,
			    differs);
		bench_report_free(earlier);
	} else {
		memcpy(report->date, earlier->date, sizeof(report->date));
	}
	return 0;
}

static int work_do(struct bench_run *run, struct bench_report *report)
{
	const struct bench_options *options = run->options;
	struct bench_report earlier = {0};
	const char *bullet = "";
	int status = options->resume ? earlier_read(options, report, &earlier) : 0;

	if (status == 0)
		groups_resume(report, &earlier, options->runs);
	bench_report_free(&earlier);
	if (status)
		return -1;
	status = -1;
	run->shared = mmap(NULL, sizeof(*run->shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (run->shared != MAP_FAILED) {
		status = key_make(run);
		if (status == 0)
			status = groups_measure(run, report);
		(void)munmap(run->shared, sizeof(*run->shared));
	}
	if (status == 0) {
		bench_published_print(report);
		bench_knees_print(stdout, &bullet, report);
		(void)fputs(report->skipped, stdout);
	}
	return status;
}

static int measure(const struct bench_options *options, struct bench_report *report)
{
	const char *temporary = getenv("TMPDIR");
	struct bench_run run = {.options = options, .block = -1};
	char root[PATH_MAX], work[PATH_MAX + 32];
	int status;

	bench_signals_catch();
	/* Where this was called is not where those that are started look for it. */
	if (!realpath(temporary && *temporary ? temporary : "/tmp", root))
		(void)snprintf(root, sizeof(root), "%s", temporary ? temporary : "/tmp");
	(void)snprintf(work, sizeof(work), "%s/k2hft-bench.XXXXXX", root);
	if (!mkdtemp(work))
		return bench_failed(STATUS_FAILED, "%s: %s", work, strerror(errno));
	run.work = work;
	if (options->receiver) {
		(void)snprintf(run.host, sizeof(run.host), "%s", options->host);
		(void)snprintf(run.ports[0], sizeof(run.ports[0]), "%s", options->port);
	}
	status = work_do(&run, report);
	if (run.block >= 0)
		(void)close(run.block);
	free(run.series);
	free(run.free_mib);
	bench_folder_remove(work);
	if (access(work, F_OK) == 0)
		bench_error("%s: it could not be removed", work);
	if (status && bench_interrupted())
		bench_error("interrupted");
	return status ? STATUS_FAILED : STATUS_OK;
}

/* Saved results become the same tables and files, nothing is measured. */
static int report_again(const struct bench_options *options, struct bench_report *report)
{
	const char *bullet = "";
	unsigned number;

	if (bench_json_read(options->from_file, report))
		return STATUS_FAILED;
	bench_table_head(report);
	for (number = 0; report->row_count == 0 && number < report->count; number++)
		bench_table_line(report, &report->results[number]);
	for (number = 0; number < report->row_count; number++)
		bench_row_print(&report->rows[number]);
	bench_published_print(report);
	bench_knees_print(stdout, &bullet, report);
	text_show(stdout, report->skipped, true);
	if (bench_files_write(options, report, false))
		return STATUS_FAILED;
	return bench_files_write(options, report, true);
}

/* The points of saved results, with the log and the receiver that they had unless others are named. */
static int repeated_read(struct bench_options *options, struct bench_report *saved)
{
	if (bench_json_read(options->repeat_file, saved))
		return STATUS_FAILED;
	options->repeated = saved;
	if (!options->input_file && *saved->input)
		options->input_file = saved->input;
	if (!options->receiver && *saved->receiver)
		options->receiver = saved->receiver;
	if (options->runs == 0 && saved->count)
		options->runs = saved->results[0].runs;
	return bench_repeated_check(options);
}

int k2i_command_bench(int argc, char **argv)
{
	struct bench_options options = {0};
	struct bench_report report = {0}, saved = {0};
	int status = bench_options_parse(&options, argc, argv);

	if (status || options.help)
		return status;
	if (options.compare_file)
		return bench_compare(&options);
	status = options.repeat_file ? repeated_read(&options, &saved) : STATUS_OK;
	if (status == STATUS_OK)
		status = bench_files_check(&options);
	if (status == STATUS_OK && options.from_file) {
		status = report_again(&options, &report);
	} else if (status == STATUS_OK) {
		bench_machine_take(&report, &options, argc, argv);
		status = bench_plan_make(&report, &options) ? STATUS_FAILED : measure(&options, &report);
	}
	bench_report_free(&report);
	bench_report_free(&saved);
	return status;
}
