/* SPDX-License-Identifier: MIT */
/* The tables on the terminal. */
#include "tools/bench/bench.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "tools/bench/chart.h"
#include "tools/base/terminal.h"
#include "base/text.h"

/* Gives up digits rather than its column. */
static void number_print(int width, int digits, double number)
{
	while (digits && snprintf(NULL, 0, "%.*f", digits, number) > width)
		digits--;
	if (isnan(number))
		(void)printf(" %*s", width, "-");
	else
		(void)printf(" %*.*f", width, digits, number);
}

/* Connecting takes some milliseconds. */
#define SHORT_S 0.1

static bool is_still(const struct bench_point *point)
{
	return bench_way_still(point->way);
}

/* Columns that a line begins with, where lines differ. */
static const struct {
	const char *name, *option;
	size_t offset;
} columns[] = {
	{"way", "--by", offsetof(struct bench_point, way)},
	{"bytes", "--size", offsetof(struct bench_point, size)},
	{"sink", "--sink", offsetof(struct bench_point, sink)},
	{"-g", "-g", offsetof(struct bench_point, senders)},
	{"writers", "--writers", offsetof(struct bench_point, writers)},
	{"receivers", "--receivers", offsetof(struct bench_point, receivers)},
	{"-c", "-c", offsetof(struct bench_point, per_write)},
	{"--ring", "--ring", offsetof(struct bench_point, ring_bytes)},
};
#define COLUMNS (sizeof(columns) / sizeof(columns[0]))
#define SIZE_COLUMN 1u
#define FIRST_AXIS 3u /* from here on in the order of bench_axis */
_Static_assert(COLUMNS == FIRST_AXIS + BENCH_AXES, "each axis has its column");

static const char *column_text(const struct bench_point *point, size_t column, char text[BENCH_FIGURE_ROOM])
{
	uint64_t value = *(const uint64_t *)((const char *)point + columns[column].offset);

	if (column == SIZE_COLUMN && (point->input || point->way == BENCH_IDLE || point->way == BENCH_FAILOVER))
		return point->input ? "lines" : "-";
	if (columns[column].offset == offsetof(struct bench_point, way))
		return bench_way_names[value];
	if (columns[column].offset == offsetof(struct bench_point, sink))
		return bench_sink_names[value];
	if (columns[column].offset == offsetof(struct bench_point, ring_bytes))
		return bench_size_text(value, text);
	(void)snprintf(text, BENCH_FIGURE_ROOM, "%" PRIu64, value);
	return text;
}

/* 0: all lines have the same, which the heading says. */
static int column_width(const struct bench_report *report, size_t column)
{
	char first[BENCH_FIGURE_ROOM], text[BENCH_FIGURE_ROOM];
	const char *same = column_text(&report->results[0].point, column, first), *other;
	size_t width = strlen(columns[column].name);
	bool differs = false;
	unsigned number;

	for (number = 0; number < report->count; number++) {
		other = column_text(&report->results[number].point, column, text);
		differs |= strcmp(same, other) != 0;
		if (strlen(other) > width)
			width = strlen(other);
	}
	return differs ? (int)width : 0;
}

/* Words at the left, numbers at the right. */
static void column_print(size_t column, int width, const char *text)
{
	if (width)
		(void)printf(column == 0 ? "%-*s" : " %*s", width, text);
}

/* A single receiver, with files, is what there is where nobody speaks of others. */
static bool is_usual(size_t column, const char *text)
{
	return columns[column].offset == offsetof(struct bench_point, receivers) ? strcmp(text, "1") == 0
										 : strcmp(text, "file") == 0;
}

static void constants_print(const struct bench_report *report)
{
	const char *separator = "", *same;
	char text[BENCH_FIGURE_ROOM];
	size_t column;

	for (column = 0; column < COLUMNS; column++) {
		same = column_text(&report->results[0].point, column, text);
		if (column_width(report, column) || strcmp(same, "-") == 0 || is_usual(column, same))
			continue;
		if (strcmp(same, "lines") == 0)
			(void)printf("%slines of a log", separator);
		else
			(void)printf("%s%s %s", separator, columns[column].option, same);
		separator = ", ";
	}
	(void)printf("%s", *separator ? "\n" : "");
}

/* With a rate: costs and idle processes have none. */
static bool is_timed(const struct bench_report *report)
{
	unsigned number;

	for (number = 0; number < report->count; number++)
		if (report->results[number].point.rate)
			return true;
	return false;
}

/* How long runs took is a figure where their records were given. */
static bool is_counted(const struct bench_report *report)
{
	unsigned number = 0;

	while (number < report->count && !report->results[number].point.records)
		number++;
	return number < report->count && !is_timed(report);
}

static void figures_head(const struct bench_report *report, int indent)
{
	bool rate = is_timed(report);

	(void)printf("%*s %19s %21s", indent, "", "records/s", "");
	(void)printf(rate ? " %29s\n" : " %11s %11s\n", rate ? "latency, us" : "CPU s/GB", "peak MiB");
}

static void figures_names(const struct bench_report *report)
{
	bool rate = is_timed(report);

	(void)printf(" %9s %9s %7s %7s %5s", "produced", "committed", "MB/s", "against", "ratio");
	(void)printf(rate ? " %6s %6s %7s %7s" : " %5s %5s %5s %5s", rate ? "p50" : "all", rate ? "p99" : "pipe",
		     rate ? "p99.9" : "send", rate ? "max" : "recv");
	if (is_counted(report))
		(void)printf(" %8s", "seconds");
}

void bench_table_head(const struct bench_report *report)
{
	bool rates = false; /* costs and idle processes say what they are themselves */
	int indent = 0, width;
	unsigned number;
	size_t column;

	if (*report->remark) {
		text_show(stdout, report->remark, false);
		(void)putchar('\n');
	}
	if (report->count == 0 || report->row_count)
		return;
	constants_print(report);
	for (number = 0; number < report->count; number++)
		rates |= !is_still(&report->results[number].point);
	for (column = 0; column < COLUMNS; column++) {
		width = column_width(report, column);
		indent += width + (column && width);
	}
	if (rates)
		figures_head(report, indent);
	for (column = 0; column < COLUMNS; column++)
		column_print(column, column_width(report, column), columns[column].name);
	if (rates)
		figures_names(report);
	if (rates || indent)
		(void)putchar('\n');
	(void)fflush(stdout);
}

static void still_print(const struct bench_result *result)
{
	const double *medians = result->medians;
	char figure[BENCH_FIGURE_ROOM], other[BENCH_FIGURE_ROOM];

	if (result->point.way == BENCH_RECORD)
		(void)printf(" a record costs its writer %s ns\n", bench_figure_text(medians[BENCH_RECORD_NS], figure));
	else if (result->point.way == BENCH_FAILOVER)
		(void)printf(" a stream goes on at another receiver after %s ms\n",
			     bench_figure_text(medians[BENCH_FAILOVER_MS], figure));
	else
		(void)printf(" of a core, the mount %s %%, the receiver %s %%\n",
			     bench_figure_text(medians[BENCH_IDLE_MOUNT], figure),
			     bench_figure_text(medians[BENCH_IDLE_RECEIVER], other));
}

static void rates_print(const struct bench_report *report, const struct bench_result *result)
{
	const double *medians = result->medians;
	char first[BENCH_FIGURE_ROOM], last[BENCH_FIGURE_ROOM], ratio[BENCH_FIGURE_ROOM];
	enum bench_metric metric;

	number_print(9, 0, medians[BENCH_PRODUCED_RECORDS]);
	number_print(9, 0, medians[BENCH_COMMITTED_RECORDS]);
	number_print(7, 1, medians[BENCH_COMMITTED_MB]);
	number_print(7, 1, medians[bench_against_metric(&result->point)]);
	number_print(5, 2, medians[bench_ratio_metric(&result->point)]);
	if (result->point.rate) {
		for (metric = BENCH_LATENCY_P50; metric <= BENCH_LATENCY_MAX; metric++)
			number_print(metric < BENCH_LATENCY_P999 ? 6 : 7, 0, medians[metric]);
	} else {
		number_print(5, 2, medians[BENCH_CPU_ALL]);
		number_print(5, 2, medians[BENCH_CPU_PIPE]);
		number_print(5, 1, medians[result->point.way == BENCH_LIBRARY ? BENCH_PEAK_WRITER : BENCH_PEAK_SENDER]);
		number_print(5, 1, medians[BENCH_PEAK_RECEIVER]);
	}
	if (is_counted(report))
		number_print(8, 3, medians[BENCH_ELAPSED]);
	(void)putchar('\n');
	if (result->point.receivers > 1)
		(void)printf("  %" PRIu64 " receivers: the least had %s of their mean\n", result->point.receivers,
			     bench_figure_text(medians[BENCH_LEAST_OF_MEAN], first));
	if (result->point.sustain)
		(void)printf("  %u seconds: first quarter %s MB/s, last quarter %s, ratio %s\n", result->series_count,
			     bench_figure_text(medians[BENCH_FIRST_MB], first),
			     bench_figure_text(medians[BENCH_LAST_MB], last),
			     bench_figure_text(medians[BENCH_LAST_OF_FIRST], ratio));
	if (result->point.window)
		(void)printf("  %u windows of %" PRIu64 " s after %" PRIu64 " s: %s to %s MB/s\n", BENCH_WINDOWS,
			     result->point.window, result->point.warmup,
			     bench_figure_text(medians[BENCH_WINDOW_LOWEST], first),
			     bench_figure_text(medians[BENCH_WINDOW_HIGHEST], last));
}

void bench_table_line(const struct bench_report *report, const struct bench_result *result)
{
	char text[BENCH_FIGURE_ROOM];
	size_t column;

	for (column = 0; column < COLUMNS; column++)
		column_print(column, column_width(report, column), column_text(&result->point, column, text));
	if (is_still(&result->point))
		still_print(result);
	else
		rates_print(report, result);
	(void)fflush(stdout);
}

static void column_name(FILE *output, const struct bench_point *point, size_t column)
{
	char text[BENCH_FIGURE_ROOM];

	(void)fprintf(output, ", %s %s", columns[column].option, column_text(point, column, text));
}

const char *bench_bullet(const char **bullet)
{
	const char *first = *bullet;

	*bullet += strspn(first, "\n");
	return first;
}

static void knee_print(FILE *output, const char **bullet, const struct bench_report *report, unsigned first,
		       enum bench_axis swept)
{
	const struct bench_point *point = &report->results[first].point;
	char text[BENCH_FIGURE_ROOM];
	unsigned best, knee;

	if (bench_knee(report, first, swept, &best, &knee) < (report->row_count ? 3 : 2))
		return;
	(void)fprintf(output, "%sknee: %s, %s %s", bench_bullet(bullet), bench_way_names[point->way],
		      column_text(point, SIZE_COLUMN, text), point->input ? "of a log" : "bytes");
	for (size_t column = SIZE_COLUMN + 1; column < COLUMNS; column++)
		if (column != FIRST_AXIS + swept && column_width(report, column))
			column_name(output, point, column);
	(void)fprintf(output, ": %.1f MB/s", report->results[knee].medians[BENCH_COMMITTED_MB]);
	column_name(output, &report->results[knee].point, FIRST_AXIS + swept);
	(void)fprintf(output, "; best %.1f", report->results[best].medians[BENCH_COMMITTED_MB]);
	column_name(output, &report->results[best].point, FIRST_AXIS + swept);
	(void)fputc('\n', output);
}

void bench_knees_print(FILE *output, const char **bullet, const struct bench_report *report)
{
	unsigned number, axis;

	for (number = 0; number < report->count; number++)
		for (axis = 0; axis < BENCH_AXES; axis++)
			knee_print(output, bullet, report, number, (enum bench_axis)axis);
}

/* The comparison and the spread stand below the value: as one line they would have 130 columns. */
void bench_row_print(const struct bench_row *row)
{
	char value[BENCH_FIGURE_ROOM], against[BENCH_FIGURE_ROOM], lowest[BENCH_FIGURE_ROOM],
		highest[BENCH_FIGURE_ROOM];
	struct bench_row shown = *row;

	/* It can come from a file. */
	k2i_text_controls_mask(shown.what);
	k2i_text_controls_mask(shown.unit);
	k2i_text_controls_mask(shown.against_what);
	(void)printf("%-56s %11s %s\n    ", shown.what, bench_figure_text(row->value, value), shown.unit);
	if (!isnan(row->ratio))
		(void)printf("%.3f of %s %s ", row->ratio, shown.against_what,
			     bench_figure_text(row->against, against));
	(void)printf("(%s to %s)\n", bench_figure_text(row->lowest, lowest), bench_figure_text(row->highest, highest));
	(void)fflush(stdout);
}

void bench_short_warn(const struct bench_report *report)
{
	double shortest = INFINITY;

	for (unsigned number = 0; number < report->count; number++)
		if (report->results[number].runs && !is_still(&report->results[number].point))
			shortest = fmin(shortest, report->results[number].medians[BENCH_ELAPSED]);
	if (shortest < SHORT_S)
		bench_error(
			"warning: runs of %.0f ms: what starting costs dominates their rates; --seconds, or a larger "
			"-n, says more",
			shortest * 1e3);
}

void bench_published_print(const struct bench_report *report)
{
	char text[BENCH_FIGURE_ROOM];
	bool headed = false;

	for (unsigned number = 0; number < report->row_count; number++) {
		const struct bench_row *row = &report->rows[number];
		const double figures[] = {row->value, row->against, row->kafka, row->fluentd};
		struct bench_row shown = *row;

		if (!row->done || !(row->kafka > 0))
			continue;
		k2i_text_controls_mask(shown.what);
		k2i_text_controls_mask(shown.unit);
		if (!headed)
			(void)printf("\n%-36.36s %9s %10s %9s %9s\n", shown.unit, "here", "K2HFTFUSE", "kafka",
				     "fluentd");
		headed = true;
		(void)printf("%-36.36s", shown.what);
		for (size_t figure = 0; figure < sizeof(figures) / sizeof(figures[0]); figure++)
			(void)printf(" %*s", figure == 1 ? 10 : 9, bench_figure_text(figures[figure], text));
		(void)putchar('\n');
	}
}
