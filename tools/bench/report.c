/* SPDX-License-Identifier: MIT */
/* The names of all parameters and figures, the tables on the terminal, and the files. */
#include "tools/bench/bench.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <time.h>

#include <k2hft/version.h>

#include "tools/bench/chart.h"
#include "base/log.h"
#include "tools/base/output.h"

const char *const bench_way_names[] = {"library", "push", "mount", "mount-append", "record", "idle", NULL};
const char *const bench_format_names[] = {"raw", "json", NULL};

#define PARAMETER(name, words)                                                                                         \
	{                                                                                                              \
#name, offsetof(struct bench_point, name), words, 0                                                    \
	}

const struct bench_parameter bench_parameters[BENCH_PARAMETERS] = {
	PARAMETER(way, bench_way_names),
	PARAMETER(size, NULL),
	PARAMETER(senders, NULL),
	{"writers", offsetof(struct bench_point, writers), NULL, .absent = 1},
	PARAMETER(per_write, NULL),
	PARAMETER(records, NULL),
	PARAMETER(bytes, NULL),
	PARAMETER(seconds, NULL),
	PARAMETER(rate, NULL),
	PARAMETER(sustain, NULL),
	PARAMETER(format, bench_format_names),
	PARAMETER(unify, NULL),
	PARAMETER(rules, NULL),
	PARAMETER(input, NULL),
	PARAMETER(tls, NULL),
	PARAMETER(compress, compress_names),
	PARAMETER(level, level_names),
	PARAMETER(link_mbit, NULL),
	PARAMETER(memory_limit, NULL),
	PARAMETER(ring_bytes, NULL),
};
_Static_assert(sizeof(struct bench_point) == BENCH_PARAMETERS * sizeof(uint64_t), "each parameter has its name");

const struct bench_metric_name bench_metrics[BENCH_METRICS] = {
	[BENCH_BYTES] = {"sent_bytes", 0},
	[BENCH_PRODUCED_RECORDS] = {"produced_records_per_s", 1},
	[BENCH_COMMITTED_RECORDS] = {"committed_records_per_s", 1},
	[BENCH_PRODUCED_MB] = {"produced_mb_per_s", 1},
	[BENCH_COMMITTED_MB] = {"committed_mb_per_s", 1},
	[BENCH_OUTPUT_MB] = {"output_mb_per_s", 1},
	[BENCH_PIPE_MB] = {"pipe_mb_per_s", 0},
	[BENCH_RATIO] = {"committed_of_pipe", 1},
	[BENCH_TMPFS_MB] = {"tmpfs_mb_per_s", 0},
	[BENCH_OF_TMPFS] = {"produced_of_tmpfs", 1},
	[BENCH_LINE_MB] = {"line_mb_per_s", 0},
	[BENCH_OF_LINE] = {"committed_of_line", 1},
	[BENCH_CPU_WRITER] = {"cpu_writer_s_per_gb", -1},
	[BENCH_CPU_SENDER] = {"cpu_sender_s_per_gb", -1},
	[BENCH_CPU_RECEIVER] = {"cpu_receiver_s_per_gb", -1},
	[BENCH_CPU_ALL] = {"cpu_all_s_per_gb", -1},
	[BENCH_CPU_PIPE] = {"cpu_pipe_s_per_gb", 0},
	[BENCH_PEAK_WRITER] = {"peak_writer_mib", -1},
	[BENCH_PEAK_SENDER] = {"peak_sender_mib", -1},
	[BENCH_PEAK_RECEIVER] = {"peak_receiver_mib", -1},
	[BENCH_LATENCY_P50] = {"latency_p50_us", -1},
	[BENCH_LATENCY_P99] = {"latency_p99_us", -1},
	[BENCH_LATENCY_P999] = {"latency_p999_us", -1},
	[BENCH_LATENCY_MAX] = {"latency_max_us", -1},
	[BENCH_RECORD_NS] = {"record_ns", -1},
	[BENCH_IDLE_MOUNT] = {"idle_mount_percent", -1},
	[BENCH_IDLE_RECEIVER] = {"idle_receiver_percent", -1},
	[BENCH_FIRST_MB] = {"first_quarter_mb_per_s", 1},
	[BENCH_LAST_MB] = {"last_quarter_mb_per_s", 1},
	[BENCH_LAST_OF_FIRST] = {"last_of_first_quarter", 1},
};

uint64_t bench_parameter_get(const struct bench_point *point, unsigned number)
{
	return *(const uint64_t *)((const char *)point + bench_parameters[number].offset);
}

__attribute__((format(printf, 3, 4))) static void text_add(char *text, size_t room, const char *format, ...)
{
	size_t used = strlen(text);
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(text + used, room - used, format, arguments);
	va_end(arguments);
}

void bench_point_text(const struct bench_point *point, char *text, size_t room)
{
	char size[BENCH_FIGURE_ROOM];

	(void)snprintf(text, room, "%s", bench_way_names[point->way]);
	if (point->input)
		text_add(text, room, ", lines of a log");
	else if (point->size && point->way != BENCH_IDLE)
		text_add(text, room, ", %" PRIu64 " bytes", point->size);
	if (point->senders > 1)
		text_add(text, room, ", -g %" PRIu64, point->senders);
	if (point->writers > 1)
		text_add(text, room, ", %" PRIu64 " writers", point->writers);
	if (point->per_write)
		text_add(text, room, ", -c %" PRIu64, point->per_write);
	if (point->rate)
		text_add(text, room, ", %" PRIu64 "/s", point->rate);
	if (point->sustain)
		text_add(text, room, ", %" PRIu64 " s", point->seconds);
	text_add(text, room, "%s%s%s", point->format ? ", JSON" : "", point->unify ? ", unified" : "",
		 point->tls ? ", TLS" : "");
	if (point->rules)
		text_add(text, room, ", %" PRIu64 " rules", point->rules);
	if (point->link_mbit)
		text_add(text, room, ", %" PRIu64 " Mbit/s", point->link_mbit);
	if (point->memory_limit)
		text_add(text, room, ", %" PRIu64 " MiB of memory", point->memory_limit >> 20);
	if (point->ring_bytes != bench_ring_bytes(point->way))
		text_add(text, room, ", --ring %s", bench_size_text(point->ring_bytes, size));
	if (point->compress)
		text_add(text, room, ", compress %s", compress_names[point->compress]);
	if (point->level != 1)
		text_add(text, room, ", %s", level_names[point->level]);
}

/* "model name" of the first processor; "" where the kernel has none. */
static void processor_name(char *name, size_t room)
{
	FILE *processors = fopen("/proc/cpuinfo", "re");
	char line[256], *value;

	while (processors && !name[0] && fgets(line, sizeof(line), processors)) {
		value = strncmp(line, "model name", 10) == 0 ? strchr(line, ':') : NULL;
		if (value)
			(void)snprintf(name, room, "%.*s", (int)strcspn(value + 2, "\n"), value + 2);
	}
	if (processors)
		(void)fclose(processors);
}

static void file_system_name(char *name, size_t room)
{
	static const struct {
		uint32_t type;
		const char *name;
	} known[] = {{0xef53, "ext4"}, {0x58465342, "xfs"},       {0x9123683e, "btrfs"}, {0x01021994, "tmpfs"},
		     {0x6969, "nfs"},  {0x794c7630, "overlayfs"}, {0x2fc12fc1, "zfs"},   {0xf2f52010, "f2fs"}};
	const char *temporary = getenv("TMPDIR");
	struct statfs status;
	size_t number;

	if (statfs(temporary && *temporary ? temporary : "/tmp", &status))
		return;
	(void)snprintf(name, room, "type %lx", (unsigned long)status.f_type);
	for (number = 0; number < sizeof(known) / sizeof(known[0]); number++)
		if ((uint32_t)status.f_type == known[number].type)
			(void)snprintf(name, room, "%s", known[number].name);
}

void bench_machine_take(struct bench_report *report, const struct bench_options *options, int argc, char **argv)
{
	struct utsname system_name = {0};
	struct sysinfo information = {0};
	time_t now = time(NULL);
	struct tm parts;
	int number;

	(void)uname(&system_name);
	(void)sysinfo(&information);
	(void)snprintf(report->program, sizeof(report->program), "k2hft %s", K2HFT_VERSION_STRING);
	if (gmtime_r(&now, &parts))
		(void)strftime(report->date, sizeof(report->date), "%Y-%m-%dT%H:%M:%SZ", &parts);
	for (number = 0; number < argc; number++)
		text_add(report->command, sizeof(report->command), "%s%s", number ? " " : "", argv[number]);
	(void)snprintf(report->note, sizeof(report->note), "%s", options->note ? options->note : "");
	if (options->receiver[0])
		(void)snprintf(report->receiver, sizeof(report->receiver),
			       strchr(options->host, ':') ? "[%s]:%s" : "%s:%s", options->host, options->port);
	(void)snprintf(report->host, sizeof(report->host), "%s", system_name.nodename);
	(void)snprintf(report->kernel, sizeof(report->kernel), "%s", system_name.release);
	(void)snprintf(report->architecture, sizeof(report->architecture), "%s", system_name.machine);
	processor_name(report->processor, sizeof(report->processor));
	file_system_name(report->file_system, sizeof(report->file_system));
	(void)snprintf(report->input, sizeof(report->input), "%s", options->input_file ? options->input_file : "");
	report->processors = (uint64_t)get_nprocs();
	report->memory_mib = (uint64_t)information.totalram * information.mem_unit / (1024 * 1024);
}

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

static bool is_still(const struct bench_point *point)
{
	return point->way == BENCH_RECORD || point->way == BENCH_IDLE;
}

/* What a line begins with, where it differs from another's. */
static const struct {
	const char *name, *option;
	size_t offset;
} columns[] = {
	{"way", "--by", offsetof(struct bench_point, way)},
	{"bytes", "--size", offsetof(struct bench_point, size)},
	{"-g", "-g", offsetof(struct bench_point, senders)},
	{"writers", "--writers", offsetof(struct bench_point, writers)},
	{"-c", "-c", offsetof(struct bench_point, per_write)},
	{"--ring", "--ring", offsetof(struct bench_point, ring_bytes)},
};
#define COLUMNS (sizeof(columns) / sizeof(columns[0]))
#define SIZE_COLUMN 1u
#define FIRST_AXIS 2u /* from here on in the order of bench_axis */
_Static_assert(COLUMNS == FIRST_AXIS + BENCH_AXES, "each axis has its column");

static const char *column_text(const struct bench_point *point, size_t column, char text[BENCH_FIGURE_ROOM])
{
	uint64_t value = *(const uint64_t *)((const char *)point + columns[column].offset);

	if (column == SIZE_COLUMN && (point->input || point->way == BENCH_IDLE))
		return point->input ? "lines" : "-";
	if (columns[column].offset == offsetof(struct bench_point, way))
		return bench_way_names[value];
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

static void constants_print(const struct bench_report *report)
{
	const char *separator = "", *same;
	char text[BENCH_FIGURE_ROOM];
	size_t column;

	for (column = 0; column < COLUMNS; column++) {
		same = column_text(&report->results[0].point, column, text);
		if (column_width(report, column) || strcmp(same, "-") == 0)
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
}

void bench_table_head(const struct bench_report *report)
{
	bool rates = false; /* costs and idle processes say what they are themselves */
	int indent = 0, width;
	unsigned number;
	size_t column;

	if (report->count == 0)
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
	else
		(void)printf(" of a core, the mount %s %%, the receiver %s %%\n",
			     bench_figure_text(medians[BENCH_IDLE_MOUNT], figure),
			     bench_figure_text(medians[BENCH_IDLE_RECEIVER], other));
}

static void rates_print(const struct bench_result *result)
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
	(void)putchar('\n');
	if (result->point.sustain)
		(void)printf("  %u seconds: first quarter %s MB/s, last quarter %s, ratio %s\n", result->series_count,
			     bench_figure_text(medians[BENCH_FIRST_MB], first),
			     bench_figure_text(medians[BENCH_LAST_MB], last),
			     bench_figure_text(medians[BENCH_LAST_OF_FIRST], ratio));
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
		rates_print(result);
	(void)fflush(stdout);
}

static void axis_print(FILE *output, const struct bench_point *point, enum bench_axis axis)
{
	char text[BENCH_FIGURE_ROOM];

	(void)fprintf(output, ", %s %s", columns[FIRST_AXIS + axis].option,
		      column_text(point, FIRST_AXIS + axis, text));
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
	unsigned best, knee, axis;

	if (bench_knee(report, first, swept, &best, &knee) < (report->row_count ? 3 : 2))
		return;
	(void)fprintf(output, "%sknee: %s, %s %s", bench_bullet(bullet), bench_way_names[point->way],
		      column_text(point, SIZE_COLUMN, text), point->input ? "of a log" : "bytes");
	for (axis = 0; axis < BENCH_AXES; axis++)
		if (axis != swept && column_width(report, FIRST_AXIS + axis))
			axis_print(output, point, (enum bench_axis)axis);
	(void)fprintf(output, ": %.1f MB/s", report->results[knee].medians[BENCH_COMMITTED_MB]);
	axis_print(output, &report->results[knee].point, swept);
	(void)fprintf(output, "; best %.1f", report->results[best].medians[BENCH_COMMITTED_MB]);
	axis_print(output, &report->results[best].point, swept);
	(void)fputc('\n', output);
}

void bench_knees_print(FILE *output, const char **bullet, const struct bench_report *report)
{
	unsigned number, axis;

	for (number = 0; number < report->count; number++)
		for (axis = 0; axis < BENCH_AXES; axis++)
			knee_print(output, bullet, report, number, (enum bench_axis)axis);
}

/* What it is set against, and the spread, stand below it: as one line they would have 130 columns. */
void bench_row_print(const struct bench_row *row)
{
	char value[BENCH_FIGURE_ROOM], against[BENCH_FIGURE_ROOM], lowest[BENCH_FIGURE_ROOM],
		highest[BENCH_FIGURE_ROOM];
	struct bench_row shown = *row;

	/* It can come from a file. */
	k2i_log_clean(shown.what);
	k2i_log_clean(shown.unit);
	k2i_log_clean(shown.against_what);
	(void)printf("%-56s %11s %s\n    ", shown.what, bench_figure_text(row->value, value), shown.unit);
	if (!isnan(row->ratio))
		(void)printf("%.3f of %s %s ", row->ratio, shown.against_what,
			     bench_figure_text(row->against, against));
	(void)printf("(%s to %s)\n", bench_figure_text(row->lowest, lowest), bench_figure_text(row->highest, highest));
	(void)fflush(stdout);
}

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
	int given;                    /* descriptor that is the file already, as /dev/stdout says; -1: none */
	char temporary[PATH_MAX + 8]; /* to be renamed; "": it is written to as it is */
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
		(void)snprintf(target->temporary, sizeof(target->temporary), "%s.new", target->real);
}

static FILE *target_open(const struct target *target)
{
	return output_open(target->temporary[0] ? target->temporary : target->real, target->given);
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

static int file_check(const char *path)
{
	struct target target;
	FILE *output;

	target_find(path, &target);
	if (target.given >= 0)
		return 0;
	if (target.temporary[0] == '\0')
		return output_check(target.real);
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
	size_t count = sizeof(paths) / sizeof(paths[0]), number;
	int error = output_standard_count(paths, count) ? output_standard_keep() : 0;

	if (error)
		bench_error("standard output: %s", strerror(-error));
	for (number = 0; !error && number < count; number++) {
		error = paths[number] ? file_check(paths[number]) : 0;
		if (error)
			bench_error("%s: %s", paths[number], strerror(-error));
	}
	return error ? STATUS_FAILED : STATUS_OK;
}
