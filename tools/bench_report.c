/* SPDX-License-Identifier: MIT */
#include "bench.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <time.h>

#include <k2hft/version.h>

/* A sweep's knee is where this part of its best is reached. */
#define KNEE_SHARE 0.9

static const char *const metric_names[BENCH_METRICS] = {
	"bytes",
	"produced_records_per_s",
	"committed_records_per_s",
	"produced_mb_per_s",
	"committed_mb_per_s",
	"pipe_mb_per_s",
	"committed_of_pipe",
	"cpu_writer_s_per_gb",
	"cpu_sender_s_per_gb",
	"cpu_receiver_s_per_gb",
	"cpu_all_s_per_gb",
	"cpu_pipe_s_per_gb",
	"peak_writer_mib",
	"peak_sender_mib",
	"peak_receiver_mib",
	"latency_p50_us",
	"latency_p99_us",
	"latency_p999_us",
	"latency_max_us",
};

static void number_print(int width, int digits, double number)
{
	if (isnan(number))
		(void)printf(" %*s", width, "-");
	else
		(void)printf(" %*.*f", width, digits, number);
}

void bench_table_head(const struct bench_options *options)
{
	(void)printf("%-7s %7s %4s %6s %12s %12s %9s %9s %6s", "way", "bytes", "-g", "-c", "produced/s", "committed/s",
		     "MB/s", "pipe MB/s", "ratio");
	(void)printf(options->rate ? " %9s %9s %9s %9s\n" : " %7s %8s %7s %7s\n", options->rate ? "p50 us" : "CPU/GB",
		     options->rate ? "p99 us" : "its pipe", options->rate ? "p99.9 us" : "send MB",
		     options->rate ? "max us" : "recv MB");
	(void)fflush(stdout);
}

void bench_table_line(const struct bench_options *options, const struct bench_result *result)
{
	const struct bench_point *point = &result->point;
	const double *medians = result->medians;
	enum bench_metric metric;

	(void)printf("%-7s %7llu %4llu %6llu", bench_way_names[point->way], (unsigned long long)point->size,
		     (unsigned long long)point->senders, (unsigned long long)point->per_write);
	number_print(12, 0, medians[BENCH_PRODUCED_RECORDS]);
	number_print(12, 0, medians[BENCH_COMMITTED_RECORDS]);
	number_print(9, 1, medians[BENCH_COMMITTED_MB]);
	number_print(9, 1, medians[BENCH_PIPE_MB]);
	number_print(6, 2, medians[BENCH_RATIO]);
	if (options->rate) {
		for (metric = BENCH_LATENCY_P50; metric <= BENCH_LATENCY_MAX; metric++)
			number_print(9, 0, medians[metric]);
	} else {
		number_print(7, 2, medians[BENCH_CPU_ALL]);
		number_print(8, 2, medians[BENCH_CPU_PIPE]);
		number_print(7, 1, medians[point->way == BENCH_LIBRARY ? BENCH_PEAK_WRITER : BENCH_PEAK_SENDER]);
		number_print(7, 1, medians[BENCH_PEAK_RECEIVER]);
	}
	(void)putchar('\n');
	(void)fflush(stdout);
}

/* Whether two points differ in what is swept only. */
static bool same_sweep(const struct bench_point *a, const struct bench_point *b, bool of_senders)
{
	return a->way == b->way && a->size == b->size &&
	       (of_senders ? a->per_write == b->per_write : a->senders == b->senders);
}

static void knee_print(const struct bench_result *results, unsigned count, unsigned first, bool of_senders)
{
	const struct bench_point *point = &results[first].point;
	unsigned number, best = first, knee = UINT32_MAX;
	uint64_t value, lowest = UINT64_MAX;

	for (number = 0; number < count; number++) {
		if (!same_sweep(&results[number].point, point, of_senders))
			continue;
		if (number < first)
			return; /* was told then */
		if (results[number].medians[BENCH_COMMITTED_MB] > results[best].medians[BENCH_COMMITTED_MB])
			best = number;
	}
	for (number = first; number < count; number++) {
		value = of_senders ? results[number].point.senders : results[number].point.per_write;
		if (same_sweep(&results[number].point, point, of_senders) && value < lowest &&
		    results[number].medians[BENCH_COMMITTED_MB] >=
			    KNEE_SHARE * results[best].medians[BENCH_COMMITTED_MB]) {
			lowest = value;
			knee = number;
		}
	}
	if (knee == UINT32_MAX)
		return;
	(void)printf("knee: %s, %llu bytes, %s %llu: at %s %llu, %.1f MB/s; the best, %.1f, at %llu\n",
		     bench_way_names[point->way], (unsigned long long)point->size, of_senders ? "-c" : "-g",
		     (unsigned long long)(of_senders ? point->per_write : point->senders), of_senders ? "-g" : "-c",
		     (unsigned long long)lowest, results[knee].medians[BENCH_COMMITTED_MB],
		     results[best].medians[BENCH_COMMITTED_MB],
		     (unsigned long long)(of_senders ? results[best].point.senders : results[best].point.per_write));
}

void bench_knees_print(const struct bench_options *options, const struct bench_result *results, unsigned count)
{
	unsigned number;

	for (number = 0; options->rate == 0 && number < count; number++) {
		if (options->senders.count > 1)
			knee_print(results, count, number, true);
		if (options->per_write.count > 1)
			knee_print(results, count, number, false);
	}
}

static void tsv_write(FILE *output, const struct bench_options *options, const struct bench_result *results,
		      unsigned count)
{
	unsigned number, metric;

	(void)fputs("way\tsize\tsenders\tper_write\tformat\tcompress\tlevel\trate\truns", output);
	for (metric = 0; metric < BENCH_METRICS; metric++)
		(void)fprintf(output, "\t%s", metric_names[metric]);
	(void)fputc('\n', output);
	for (number = 0; number < count; number++) {
		const struct bench_point *point = &results[number].point;

		(void)fprintf(output, "%s\t%llu\t%llu\t%llu\t%s\t%s\t%s\t%llu\t%llu", bench_way_names[point->way],
			      (unsigned long long)point->size, (unsigned long long)point->senders,
			      (unsigned long long)point->per_write, options->json ? "json" : "raw",
			      bench_compress_names[options->compress], bench_level_names[options->level],
			      (unsigned long long)options->rate, (unsigned long long)options->runs);
		for (metric = 0; metric < BENCH_METRICS; metric++)
			if (isnan(results[number].medians[metric]))
				(void)fputs("\t-", output);
			else
				(void)fprintf(output, "\t%.10g", results[number].medians[metric]);
		(void)fputc('\n', output);
	}
}

static void json_text(FILE *output, const char *name, const char *text)
{
	(void)fprintf(output, "\"%s\": \"", name);
	for (; *text; text++)
		if (*text == '"' || *text == '\\' || (unsigned char)*text < ' ')
			(void)fprintf(output, "\\u%04x", (unsigned)(unsigned char)*text);
		else
			(void)fputc(*text, output);
	(void)fputc('"', output);
}

/* "model name" of the first processor; "" where the kernel has none. */
static void processor_name(char *name, size_t room)
{
	FILE *processors = fopen("/proc/cpuinfo", "re");
	char line[256];

	name[0] = '\0';
	while (processors && !name[0] && fgets(line, sizeof(line), processors))
		if (strncmp(line, "model name", 10) == 0 && strchr(line, ':'))
			(void)snprintf(name, room, "%.*s", (int)strcspn(strchr(line, ':') + 1, "\n"),
				       strchr(line, ':') + 1);
	if (processors)
		(void)fclose(processors);
}

static void machine_write(FILE *output)
{
	struct utsname system_name = {0};
	struct sysinfo information = {0};
	char processor[200], date[40] = "";
	time_t now = time(NULL);
	struct tm parts;

	(void)uname(&system_name);
	(void)sysinfo(&information);
	processor_name(processor, sizeof(processor));
	if (gmtime_r(&now, &parts))
		(void)strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%SZ", &parts);
	(void)fputs("{\n  \"machine\": {", output);
	json_text(output, "host", system_name.nodename);
	(void)fputs(", ", output);
	json_text(output, "kernel", system_name.release);
	(void)fputs(", ", output);
	json_text(output, "architecture", system_name.machine);
	(void)fputs(", ", output);
	json_text(output, "processor", processor + strspn(processor, " "));
	(void)fprintf(output, ", \"processors\": %d, \"memory_bytes\": %llu},\n  ", get_nprocs(),
		      (unsigned long long)information.totalram * information.mem_unit);
	json_text(output, "version", k2hft_version_string());
	(void)fputs(",\n  ", output);
	json_text(output, "date", date);
}

static void json_write(FILE *output, const struct bench_options *options, const struct bench_result *results,
		       unsigned count)
{
	unsigned number, metric;

	machine_write(output);
	(void)fputs(",\n  \"parameters\": {", output);
	json_text(output, "receiver", options->receiver[0] ? options->host : "");
	(void)fprintf(output,
		      ", \"records\": %llu, \"bytes\": %llu, \"seconds\": %llu, \"rate\": %llu, \"runs\": %llu, "
		      "\"format\": \"%s\", \"compress\": \"%s\", \"level\": \"%s\"},\n  \"results\": [",
		      (unsigned long long)options->records, (unsigned long long)options->bytes,
		      (unsigned long long)options->seconds, (unsigned long long)options->rate,
		      (unsigned long long)options->runs, options->json ? "json" : "raw",
		      bench_compress_names[options->compress], bench_level_names[options->level]);
	for (number = 0; number < count; number++) {
		const struct bench_point *point = &results[number].point;

		(void)fprintf(output,
			      "%s\n    {\"way\": \"%s\", \"size\": %llu, \"senders\": %llu, \"per_write\": %llu",
			      number ? "," : "", bench_way_names[point->way], (unsigned long long)point->size,
			      (unsigned long long)point->senders, (unsigned long long)point->per_write);
		for (metric = 0; metric < BENCH_METRICS; metric++)
			if (isnan(results[number].medians[metric]))
				(void)fprintf(output, ", \"%s\": null", metric_names[metric]);
			else
				(void)fprintf(output, ", \"%s\": %.10g", metric_names[metric],
					      results[number].medians[metric]);
		(void)fputc('}', output);
	}
	(void)fputs("\n  ]\n}\n", output);
}

static int file_write(const char *path, const struct bench_options *options, const struct bench_result *results,
		      unsigned count,
		      void (*write)(FILE *output, const struct bench_options *options,
				    const struct bench_result *results, unsigned count))
{
	FILE *output = path ? fopen(path, "we") : NULL;
	bool failed;

	if (!path)
		return BENCH_OK;
	if (output) {
		write(output, options, results, count);
		failed = ferror(output) != 0;
		if (fclose(output) == 0 && !failed)
			return BENCH_OK;
	}
	bench_error("%s: %s", path, strerror(errno));
	return BENCH_FAILED;
}

int bench_files_write(const struct bench_options *options, const struct bench_result *results, unsigned count)
{
	int status = file_write(options->tsv_file, options, results, count, tsv_write);

	return file_write(options->json_file, options, results, count, json_write) ? BENCH_FAILED : status;
}
