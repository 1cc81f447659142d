/* SPDX-License-Identifier: MIT */
/* The files of a report, which are written whole, again and again. */
#include "tools/bench/bench.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/base/output.h"

static void tsv_head_write(FILE *output)
{
	unsigned column;

	for (column = 0; column < BENCH_PARAMETERS; column++)
		(void)fprintf(output, "%s\t", bench_parameters[column].name);
	(void)fputs("runs", output);
	for (column = 0; column < BENCH_METRICS; column++)
		(void)fprintf(output, "\t%s", bench_metrics[column].name);
	for (column = 0; column < BENCH_TEXTS; column++)
		(void)fprintf(output, "\tall_%s", bench_texts[column].name);
	for (column = 0; column < BENCH_NUMBERS; column++)
		(void)fprintf(output, "\tall_%s", bench_numbers[column].name);
	(void)fputc('\n', output);
}

/* So that lines of several machines can stand in one table. Their names differ from parameters', as those of input. */
static void tsv_machine_write(FILE *output, const struct bench_report *report)
{
	const char *text;
	unsigned column;

	for (column = 0; column < BENCH_TEXTS; column++) {
		(void)fputc('\t', output);
		for (text = bench_text_get(report, column); *text; text++)
			(void)fputc((unsigned char)*text < ' ' ? ' ' : *text, output);
	}
	for (column = 0; column < BENCH_NUMBERS; column++)
		(void)fprintf(output, "\t%" PRIu64, bench_number_get(report, column));
	(void)fputc('\n', output);
}

static void tsv_result_write(FILE *output, const struct bench_result *result)
{
	unsigned column;

	for (column = 0; column < BENCH_PARAMETERS; column++) {
		uint64_t value = bench_parameter_get(&result->point, column);

		if (bench_parameters[column].words)
			(void)fprintf(output, "%s\t", bench_parameters[column].words[value]);
		else
			(void)fprintf(output, "%" PRIu64 "\t", value);
	}
	(void)fprintf(output, "%" PRIu64, result->runs);
	for (column = 0; column < BENCH_METRICS; column++)
		if (isnan(result->medians[column]))
			(void)fputs("\t-", output);
		else
			(void)fprintf(output, "\t%.10g", result->medians[column]);
}

static void tsv_write(FILE *output, const struct bench_report *report)
{
	unsigned number;

	tsv_head_write(output);
	for (number = 0; number < report->count; number++) {
		if (report->results[number].runs == 0)
			continue;
		tsv_result_write(output, &report->results[number]);
		tsv_machine_write(output, report);
	}
}

struct target {
	int given;                     /* descriptor that is the file already, as /dev/stdout says; -1: none */
	char temporary[PATH_MAX + 32]; /* this process's own, to be renamed; "": it is written to as it is */
	char real[PATH_MAX];
};

/*
 * Into a file beside it first: who looks at it, or goes on from it, has a whole one. Where a link leads to, so that it stays
 * one; and what is no file, as a terminal or /dev/null, must not become one.
 */
static void target_find(const char *path, struct target *target)
{
	struct stat status;
	bool exists = stat(path, &status) == 0, is_file = !exists || S_ISREG(status.st_mode); /* or is to be one */

	if (output_is_standard(path)) {
		*target = (struct target){.given = STDOUT_FILENO, .real = "-"};
		return;
	}
	target->given = exists ? output_given_find(&status) : -1;
	/* /dev/stdout leads to a pipe by no path. */
	if (!is_file || !realpath(path, target->real))
		(void)snprintf(target->real, sizeof(target->real), "%s", path);
	target->temporary[0] = '\0';
	if (is_file && target->given < 0)
		(void)snprintf(target->temporary, sizeof(target->temporary), "%s.%ld.new", target->real,
			       (long)getpid());
}

static FILE *target_open(const struct target *target)
{
	return output_open(target->temporary[0] ? target->temporary : target->real, target->given,
			   target->temporary[0] ? O_EXCL : O_TRUNC);
}

/* `once`: of what can be written to once only, or of the others. */
static int file_write(const char *path, const struct bench_report *report, bool once,
		      void (*write)(FILE *output, const struct bench_report *report))
{
	struct target target;
	FILE *output;
	bool failed;

	if (!path)
		return STATUS_OK;
	target_find(path, &target);
	if (once != (target.temporary[0] == '\0'))
		return STATUS_OK;
	output = target_open(&target);
	if (output) {
		write(output, report);
		failed = ferror(output) != 0;
		if (fclose(output) == 0 && !failed && (once || rename(target.temporary, target.real) == 0))
			return STATUS_OK;
		if (!once)
			(void)remove(target.temporary);
	}
	return bench_failed(STATUS_FAILED, "%s: %s", output_name(path), strerror(errno));
}

int bench_files_write(const struct bench_options *options, const struct bench_report *report, bool once)
{
	int status = file_write(options->tsv_file, report, once, tsv_write);

	if (file_write(options->json_file, report, once, bench_json_write))
		status = STATUS_FAILED;
	if (file_write(options->markdown_file, report, once, bench_markdown_write))
		status = STATUS_FAILED;
	return file_write(options->html_file, report, once, bench_html_write) ? STATUS_FAILED : status;
}

static int file_check(const char *path, const char *mark)
{
	struct target target;
	FILE *output;
	int error;

	target_find(path, &target);
	if (target.given >= 0)
		return 0;
	if (target.temporary[0] == '\0')
		return output_check(target.real);
	error = output_own_check(path, mark);
	if (error)
		return error;
	output = target_open(&target);
	if (!output)
		return -errno;
	(void)fclose(output);
	(void)remove(target.temporary);
	return 0;
}

int bench_files_check(const struct bench_options *options)
{
	const char *const paths[] = {options->tsv_file, options->json_file, options->markdown_file, options->html_file};
	static const char *const marks[] = {"\tall_program\t", "\"program\": \"k2hft ", "\n# Results of k2hft bench\n",
					    "<title>k2hft bench</title>"};
	size_t count = sizeof(paths) / sizeof(paths[0]), number;
	int error = output_standard_count(paths, count) ? output_standard_keep() : 0;

	if (error)
		bench_error("standard output: %s", strerror(-error));
	for (number = 0; !error && number < count; number++) {
		error = paths[number] ? file_check(paths[number], marks[number]) : 0;
		if (error)
			bench_error("%s: %s", paths[number], output_error_text(error));
	}
	return error ? STATUS_FAILED : STATUS_OK;
}
