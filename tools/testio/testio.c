/* SPDX-License-Identifier: MIT */
#include "tools/testio/testio.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "tools/base/commands.h"

/* The volume that a run of a cell writes. */
static uint64_t cell_bytes(const struct testio_options *options, uint64_t threads)
{
	return options->file_mb * 1000000 * (options->files < threads ? options->files : threads);
}

/* The figures of the cell with the most threads, and of that with the fewest. */
static void bytes_range(const struct testio_options *options, uint64_t *least, uint64_t *most)
{
	*least = UINT64_MAX;
	*most = 0;
	for (size_t i = 0; i < options->threads.count; i++) {
		uint64_t bytes = cell_bytes(options, options->threads.values[i]);

		*least = bytes < *least ? bytes : *least;
		*most = bytes > *most ? bytes : *most;
	}
}

static int directory_check(const struct testio_options *options)
{
	uint64_t least, wanted, free_bytes;
	const char *wrong = testio_directory_wrong(options->directory);
	struct statvfs system;

	if (!wrong && statvfs(options->directory, &system) < 0)
		wrong = strerror(errno);
	if (wrong)
		return testio_failed(STATUS_FAILED, "%s: %s", options->directory, wrong);
	bytes_range(options, &least, &wanted);
	free_bytes = (uint64_t)system.f_bavail * system.f_frsize;
	/* Without blocks it does not say how large it is, as ramfs. */
	if (wanted <= free_bytes || system.f_blocks == 0)
		return STATUS_OK;
	return testio_failed(STATUS_FAILED, "%s: %llu MB are needed, %llu MB are free", options->directory,
			     (unsigned long long)(wanted / 1000000), (unsigned long long)(free_bytes / 1000000));
}

static void memory_warn(const struct testio_options *options)
{
	long pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
	uint64_t memory = pages > 0 && page_bytes > 0 ? (uint64_t)pages * (uint64_t)page_bytes : 0, least, most;

	bytes_range(options, &least, &most);
	if (least >= memory || options->store.direct)
		return;
	testio_error("warning: %llu MB are less than this machine's memory, %llu MB, which can hold them: "
		     "the disk may be slower than it seems",
		     (unsigned long long)(least / 1000000), (unsigned long long)(memory / 1000000));
}

/* A run of each way; rates are added up. */
static int cell_run(struct testio_cell *cell, struct testio_files *files, double rates[TESTIO_WAYS])
{
	const bool *ways = cell->options->ways;
	double rate = 0;
	int error = 0;

	if (ways[TESTIO_WRITE] || files->threads != cell->threads)
		error = testio_run(cell, TESTIO_WRITE, files, &rate);
	rates[TESTIO_WRITE] += rate;
	if (!error && ways[TESTIO_READ]) {
		error = testio_run(cell, TESTIO_READ, files, &rate);
		rates[TESTIO_READ] += rate;
	}
	return error;
}

static int cell_measure(const struct testio_options *options, size_t buffer, size_t threads, struct testio_files *files,
			struct testio_results *results)
{
	struct testio_cell cell = {
		.options = options,
		.write_bytes = (size_t)options->buffers_kb.values[buffer] * 1024,
		.threads = (unsigned)options->threads.values[threads],
		.count = options->buffers_kb.count * options->threads.count * options->runs,
	};
	double rates[TESTIO_WAYS] = {0};
	int error = 0;

	cell.files = options->files < cell.threads ? (unsigned)options->files : cell.threads;
	for (uint64_t number = 0; number < options->runs && !error; number++) {
		cell.number = (threads * options->buffers_kb.count + buffer) * options->runs + number + 1;
		error = cell_run(&cell, files, rates);
	}
	for (int way = 0; way < TESTIO_WAYS && !error; way++) {
		if (options->ways[way])
			results->rates[way][buffer][threads] = rates[way] / (double)options->runs;
	}
	return error;
}

static int grid_measure(const struct testio_options *options, struct testio_results *results)
{
	struct testio_files files = {.count = 0};
	int error = 0;

	for (size_t threads = 0; threads < options->threads.count && !error; threads++) {
		for (size_t buffer = 0; buffer < options->buffers_kb.count && !error; buffer++)
			error = cell_measure(options, buffer, threads, &files, results);
	}
	testio_files_close(&files);
	return error;
}

static int results_tell(const struct testio_options *options, const struct testio_results *results)
{
	for (int way = 0; way < TESTIO_WAYS; way++) {
		if (options->ways[way])
			testio_table_print(options, results, (enum testio_way)way, stdout);
	}
	testio_advice_print(options, results, stdout);
	return testio_files_write(options, results);
}

static int measure(const struct testio_options *options)
{
	struct testio_results results;
	int status = STATUS_OK;

	for (size_t i = 0; i < sizeof(results.rates) / sizeof(double); i++)
		(&results.rates[0][0][0])[i] = -1;
	if (directory_check(options) != STATUS_OK || testio_files_check(options))
		return STATUS_FAILED;
	memory_warn(options);
	testio_header_print(options, stdout);
	(void)fflush(stdout);
	if (testio_signals_catch() || grid_measure(options, &results))
		status = STATUS_FAILED;
	/* Cells that were measured until then are not lost. */
	if (testio_measured(options, &results) && results_tell(options, &results))
		status = STATUS_FAILED;
	return testio_signal() ? 128 + testio_signal() : status;
}

int k2i_command_testio(int argc, char **argv)
{
	struct testio_options options;
	int status = testio_options_parse(argc, argv, &options);

	if (status == STATUS_OK && !options.help)
		status = measure(&options);
	free(options.answer);
	return status;
}
