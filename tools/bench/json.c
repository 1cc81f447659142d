/* SPDX-License-Identifier: MIT */
/* Results as JSON, written and read again. */
#include "tools/bench/bench.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tools/base/json.h"

#define FILE_BYTES_MAX (64 * 1024 * 1024)
#define RESULTS_MAX 100000u
#define SERIES_MAX 1000000u
#define PARAMETER_MAX 9e15 /* whole numbers are exact below */

const struct bench_text bench_texts[BENCH_TEXTS] = {
	{"program", offsetof(struct bench_report, program), false},
	{"date", offsetof(struct bench_report, date), true},
	{"command", offsetof(struct bench_report, command), true},
	{"note", offsetof(struct bench_report, note), false},
	{"remark", offsetof(struct bench_report, remark), true},
	{"receiver", offsetof(struct bench_report, receiver), false},
	{"host", offsetof(struct bench_report, host), false},
	{"kernel", offsetof(struct bench_report, kernel), false},
	{"architecture", offsetof(struct bench_report, architecture), false},
	{"processor", offsetof(struct bench_report, processor), false},
	{"file_system", offsetof(struct bench_report, file_system), false},
	{"input", offsetof(struct bench_report, input), false},
};
const struct bench_text bench_numbers[BENCH_NUMBERS] = {
	{"processors", offsetof(struct bench_report, processors), false},
	{"memory_mib", offsetof(struct bench_report, memory_mib), true},
	{"planned", offsetof(struct bench_report, planned), true},
};

#define ROW_FIELD(field)                                                                                               \
	{                                                                                                              \
#field, offsetof(struct bench_row, field), sizeof(((struct bench_row *)NULL)->field)                   \
	}
static const struct {
	const char *name;
	size_t at, room;
} row_texts[] = {ROW_FIELD(what), ROW_FIELD(unit), ROW_FIELD(against_what)},
  row_numbers[] = {ROW_FIELD(value),   ROW_FIELD(against), ROW_FIELD(ratio),  ROW_FIELD(lowest),
		   ROW_FIELD(highest), ROW_FIELD(kafka),   ROW_FIELD(fluentd)};
#define ROW_TEXTS (sizeof(row_texts) / sizeof(row_texts[0]))
#define ROW_NUMBERS (sizeof(row_numbers) / sizeof(row_numbers[0]))

const char *bench_text_get(const struct bench_report *report, unsigned number)
{
	return (const char *)report + bench_texts[number].offset;
}

uint64_t bench_number_get(const struct bench_report *report, unsigned number)
{
	return *(const uint64_t *)((const char *)report + bench_numbers[number].offset);
}

static void text_write(FILE *output, const char *name, const char *text)
{
	(void)fprintf(output, "\"%s\": ", name);
	json_string_write(output, text);
}

/* JSON has no word for what was not measured. */
static void number_write(FILE *output, const char *before, double number)
{
	if (isnan(number) || isinf(number))
		(void)fprintf(output, "%snull", before);
	else
		(void)fprintf(output, "%s%.17g", before, number); /* which is read again as the same */
}

static void numbers_write(FILE *output, const double *values, uint64_t count)
{
	uint64_t number;

	(void)fputc('[', output);
	for (number = 0; number < count; number++)
		number_write(output, number ? ", " : "", values[number]);
	(void)fputc(']', output);
}

static void result_write(FILE *output, const struct bench_result *result)
{
	const char *separator = "";
	unsigned number;

	(void)fputs("    {", output);
	for (number = 0; number < BENCH_PARAMETERS; number++) {
		uint64_t value = bench_parameter_get(&result->point, number);

		if (bench_parameters[number].words)
			text_write(output, bench_parameters[number].name, bench_parameters[number].words[value]);
		else
			(void)fprintf(output, "\"%s\": %" PRIu64, bench_parameters[number].name, value);
		(void)fputs(", ", output);
	}
	(void)fprintf(output, "\"group\": %u, \"runs\": %" PRIu64, result->group, result->runs);
	for (number = 0; number < BENCH_METRICS; number++) {
		(void)fprintf(output, ",\n     \"%s\"", bench_metrics[number].name);
		number_write(output, ": ", result->medians[number]);
	}
	(void)fputs(",\n     \"of_each_run\": {", output);
	for (number = 0; number < BENCH_METRICS; number++) {
		if (isnan(result->medians[number]))
			continue;
		(void)fprintf(output, "%s\"%s\": ", separator, bench_metrics[number].name);
		numbers_write(output, result->values + number * result->runs, result->runs);
		separator = ",\n      ";
	}
	(void)fputs("},\n     \"series_mb_per_s\": ", output);
	numbers_write(output, result->series, result->series_count);
	(void)fputs(",\n     \"series_free_mib\": ", output);
	numbers_write(output, result->free_mib, result->free_mib ? result->series_count : 0);
	(void)fputc('}', output);
}

static void row_write(FILE *output, const struct bench_row *row)
{
	unsigned number;

	(void)fputs("    {", output);
	for (number = 0; number < ROW_TEXTS; number++) {
		text_write(output, row_texts[number].name, (const char *)row + row_texts[number].at);
		(void)fputs(", ", output);
	}
	(void)fprintf(output, "\"runs\": %" PRIu64, row->runs);
	for (number = 0; number < ROW_NUMBERS; number++) {
		(void)fprintf(output, ", \"%s\"", row_numbers[number].name);
		number_write(output, ": ", *(const double *)((const char *)row + row_numbers[number].at));
	}
	(void)fputc('}', output);
}

void bench_json_write(FILE *output, const struct bench_report *report)
{
	const char *separator = "\n";
	unsigned number;

	(void)fputs("{\n", output);
	for (number = 0; number < BENCH_TEXTS; number++) {
		(void)fputs("  ", output);
		text_write(output, bench_texts[number].name, bench_text_get(report, number));
		(void)fputs(",\n", output);
	}
	for (number = 0; number < BENCH_NUMBERS; number++)
		(void)fprintf(output, "  \"%s\": %" PRIu64 ",\n", bench_numbers[number].name,
			      bench_number_get(report, number));
	(void)fputs("  ", output);
	text_write(output, "skipped", report->skipped);
	(void)fputs(",\n  \"results\": [", output);
	for (number = 0; number < report->count; number++) {
		if (report->results[number].runs == 0)
			continue;
		(void)fputs(separator, output);
		result_write(output, &report->results[number]);
		separator = ",\n";
	}
	(void)fputs("\n  ],\n  \"rows\": [", output);
	separator = "\n";
	for (number = 0; number < report->row_count; number++) {
		if (!report->rows[number].done)
			continue;
		(void)fputs(separator, output);
		row_write(output, &report->rows[number]);
		separator = ",\n";
	}
	(void)fputs("\n  ]\n}\n", output);
}

const char *bench_report_differs(const struct bench_report *a, const struct bench_report *b)
{
	unsigned number;

	for (number = 0; number < BENCH_TEXTS; number++)
		if (!bench_texts[number].each && strcmp(bench_text_get(a, number), bench_text_get(b, number)) != 0)
			return bench_texts[number].name;
	for (number = 0; number < BENCH_NUMBERS; number++)
		if (!bench_numbers[number].each && bench_number_get(a, number) != bench_number_get(b, number))
			return bench_numbers[number].name;
	return NULL;
}

static unsigned members_count(const struct json_value *array, unsigned most)
{
	const struct json_value *member;
	unsigned count = 0;

	for (member = array && array->type == JSON_ARRAY ? array->first : NULL; member && count < most;
	     member = member->next)
		count++;
	return count;
}

static void numbers_read(const struct json_value *array, double *values, uint64_t count)
{
	const struct json_value *member = array && array->type == JSON_ARRAY ? array->first : NULL;
	uint64_t number;

	for (number = 0; number < count; number++) {
		values[number] = member && member->type == JSON_NUMBER ? member->number : (double)NAN;
		member = member ? member->next : NULL;
	}
}

static int parameter_read(const struct json_value *object, const struct bench_parameter *parameter,
			  struct bench_point *point)
{
	double number = json_number(object, parameter->name, (double)parameter->absent);
	uint64_t *value = (uint64_t *)((char *)point + parameter->offset);

	if (parameter->words)
		return word_parse(json_text(object, parameter->name), parameter->words, value);
	if (!(number >= 0 && number < PARAMETER_MAX))
		return -1;
	*value = (uint64_t)number;
	return 0;
}

static int result_read(const struct json_value *object, struct bench_result *result)
{
	const struct json_value *values = json_get(object, "of_each_run"),
				*series = json_get(object, "series_mb_per_s"),
				*free_mib = json_get(object, "series_free_mib");
	double runs = json_number(object, "runs", 0), group = json_number(object, "group", 0);
	unsigned number;

	result->group = group >= 0 && group <= RESULTS_MAX ? (unsigned)group : 0;
	for (number = 0; number < BENCH_PARAMETERS; number++)
		if (parameter_read(object, &bench_parameters[number], &result->point))
			return -1;
	if (!(runs >= 1 && runs <= BENCH_RUNS_MAX))
		return -1;
	result->runs = (uint64_t)runs;
	result->series_count = members_count(series, SERIES_MAX);
	result->values = calloc(BENCH_METRICS * (size_t)result->runs, sizeof(*result->values));
	result->series = calloc((size_t)result->series_count + 1, sizeof(*result->series));
	if (members_count(free_mib, SERIES_MAX) == result->series_count)
		result->free_mib = calloc((size_t)result->series_count + 1, sizeof(*result->free_mib));
	if (!result->values || !result->series)
		return -1;
	for (number = 0; number < BENCH_METRICS; number++)
		numbers_read(json_get(values, bench_metrics[number].name), result->values + number * result->runs,
			     result->runs);
	numbers_read(series, result->series, result->series_count);
	if (result->free_mib)
		numbers_read(free_mib, result->free_mib, result->series_count);
	bench_result_sum(result);
	return 0;
}

static void row_read(const struct json_value *object, struct bench_row *row)
{
	double runs = json_number(object, "runs", 0);
	unsigned number;

	for (number = 0; number < ROW_TEXTS; number++)
		(void)snprintf((char *)row + row_texts[number].at, row_texts[number].room, "%s",
			       json_text(object, row_texts[number].name));
	row->runs = runs >= 0 && runs <= BENCH_RUNS_MAX ? (uint64_t)runs : 0;
	for (number = 0; number < ROW_NUMBERS; number++)
		*(double *)((char *)row + row_numbers[number].at) =
			json_number(object, row_numbers[number].name, (double)NAN);
	row->done = true;
}

static int report_read(const struct json_value *object, struct bench_report *report)
{
	const struct json_value *results = json_get(object, "results"), *rows = json_get(object, "rows"), *member;
	unsigned room = members_count(results, RESULTS_MAX), row_room = members_count(rows, RESULTS_MAX);
	size_t number;

	if (!results || results->type != JSON_ARRAY)
		return -1;
	for (number = 0; number < BENCH_TEXTS; number++)
		(void)snprintf((char *)report + bench_texts[number].offset, BENCH_TEXT_ROOM, "%s",
			       json_text(object, bench_texts[number].name));
	(void)snprintf(report->skipped, sizeof(report->skipped), "%s", json_text(object, "skipped"));
	for (number = 0; number < BENCH_NUMBERS; number++) {
		double value = json_number(object, bench_numbers[number].name, 0);

		*(uint64_t *)((char *)report + bench_numbers[number].offset) =
			value >= 0 && value < PARAMETER_MAX ? (uint64_t)value : 0;
	}
	report->results = calloc((size_t)room + 1, sizeof(*report->results));
	report->rows = calloc((size_t)row_room + 1, sizeof(*report->rows));
	if (!report->results || !report->rows)
		return -1;
	for (member = results->first; member && report->count < room; member = member->next)
		if (result_read(member, &report->results[report->count++]))
			return -1;
	for (member = rows ? rows->first : NULL; member && report->row_count < row_room; member = member->next)
		row_read(member, &report->rows[report->row_count++]);
	return 0;
}

static char *file_read(const char *path, size_t *bytes)
{
	FILE *input = fopen(path, "re");
	struct stat status;
	char *text = NULL;

	*bytes = 0;
	if (!input || fstat(fileno(input), &status))
		bench_error("%s: %s", path, strerror(errno));
	else if (!S_ISREG(status.st_mode) || status.st_size == 0 || status.st_size > FILE_BYTES_MAX)
		bench_error("%s: a file that k2hft bench --json has written is needed", path);
	else if ((text = calloc(1, (size_t)status.st_size + 1)))
		*bytes = fread(text, 1, (size_t)status.st_size, input);
	else
		bench_error("%s: %s", path, strerror(errno));
	if (input)
		(void)fclose(input);
	return text;
}

int bench_json_read(const char *path, struct bench_report *report)
{
	struct json_value *object;
	size_t bytes, at = 0;
	char *text = file_read(path, &bytes);
	int status;

	if (!text)
		return -1;
	object = json_parse(text, bytes, &at);
	status = object ? report_read(object, report) : -1;
	if (!object)
		bench_error("%s: byte %zu: this is not JSON", path, at);
	else if (status)
		bench_error("%s: these are not results of this k2hft bench", path);
	json_free(object);
	free(text);
	return status;
}

void bench_report_free(struct bench_report *report)
{
	unsigned number;

	for (number = 0; report->results && number < report->count; number++) {
		free(report->results[number].values);
		free(report->results[number].series);
		free(report->results[number].free_mib);
	}
	free(report->results);
	free(report->rows);
	*report = (struct bench_report){0};
}
