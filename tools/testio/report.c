/* SPDX-License-Identifier: MIT */
#include "tools/testio/testio.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/base/json.h"
#include "tools/base/output.h"

static const char *const way_names[TESTIO_WAYS] = {"write", "read"};
static const char *const mode_names[] = {"buffered", "dsync", "sync"};
static const char *const cache_names[] = {"drop", "keep"};

static void list_print(const struct number_list *list, FILE *output)
{
	for (size_t i = 0; i < list->count; i++)
		(void)fprintf(output, "%s%llu", i ? ", " : "", (unsigned long long)list->values[i]);
}

void testio_header_print(const struct testio_options *options, FILE *output)
{
	(void)fprintf(output,
		      "file               %s/" TESTIO_FILE_NAME "\n"
		      "size               %llu bytes\n"
		      "timeout            %llu ms\n"
		      "runs               %llu\n"
		      "directIO           %s\n"
		      "file mode          %s\n"
		      "cache              %s\n"
		      "Max # files to use %llu\n",
		      options->directory, (unsigned long long)options->file_mb * 1000000,
		      (unsigned long long)options->limit_s * 1000, (unsigned long long)options->runs,
		      options->store.direct ? "true" : "false", mode_names[options->store.mode],
		      cache_names[options->store.cache], (unsigned long long)options->files);
}

static void cell_print(double rate, FILE *output)
{
	if (rate < 0)
		(void)fprintf(output, "|%-9s", "-");
	else
		(void)fprintf(output, "|%-9.2f", rate);
}

/* FileCatalyst's layout. */
void testio_table_print(const struct testio_options *options, const struct testio_results *results, enum testio_way way,
			FILE *output)
{
	(void)fprintf(output, "\n%s, MB/s\n%-13s", way_names[way], "# of THREADS");
	for (size_t threads = 0; threads < options->threads.count; threads++)
		(void)fprintf(output, "|%-9llu", (unsigned long long)options->threads.values[threads]);
	(void)fprintf(output, "\n%-13s", "Buffer size");
	for (size_t threads = 0; threads < options->threads.count; threads++)
		(void)fputs("+=========", output);
	(void)fputs("+\n", output);
	for (size_t buffer = 0; buffer < options->buffers_kb.count; buffer++) {
		(void)fprintf(output, "%-13llu", (unsigned long long)options->buffers_kb.values[buffer]);
		for (size_t threads = 0; threads < options->threads.count; threads++)
			cell_print(results->rates[way][buffer][threads], output);
		(void)fputs("\n", output);
	}
}

struct best {
	size_t buffer, threads;
	double rate;
};

/* The best of cells that are as fast: the one with the smaller buffer and the fewer threads. */
static struct best best_find(const struct testio_options *options, const struct testio_results *results,
			     enum testio_way way)
{
	struct best best = {0, 0, -1};

	for (size_t buffer = 0; buffer < options->buffers_kb.count; buffer++) {
		for (size_t threads = 0; threads < options->threads.count; threads++) {
			if (results->rates[way][buffer][threads] > best.rate)
				best = (struct best){buffer, threads, results->rates[way][buffer][threads]};
		}
	}
	return best;
}

bool testio_measured(const struct testio_options *options, const struct testio_results *results)
{
	return best_find(options, results, options->ways[TESTIO_WRITE] ? TESTIO_WRITE : TESTIO_READ).rate >= 0;
}

void testio_advice_print(const struct testio_options *options, const struct testio_results *results, FILE *output)
{
	struct best best;

	(void)fputs("\n", output);
	for (int way = 0; way < TESTIO_WAYS; way++) {
		if (!options->ways[way])
			continue;
		best = best_find(options, results, (enum testio_way)way);
		(void)fprintf(output, "best %s: %llu KB, %llu threads, %.2f MB/s\n", way_names[way],
			      (unsigned long long)options->buffers_kb.values[best.buffer],
			      (unsigned long long)options->threads.values[best.threads], best.rate);
	}
	if (!options->ways[TESTIO_WRITE])
		return;
	best = best_find(options, results, TESTIO_WRITE);
	if (options->store.direct)
		(void)fputs(
			"\nThe receiver does not write with O_DIRECT: measure without it for lines that set this.\n",
			output);
	else
		(void)fprintf(output,
			      "\nIn the receiver's configuration:\n\n"
			      "[GLOBAL]\n"
			      "SOCKTHREADCNT = %llu\n"
			      "[K2HFTFUSESVR]\n"
			      "WRITEBUF = %llu\n"
			      "OPENMODE = %s\n"
			      "CACHE = %s\n",
			      (unsigned long long)options->threads.values[best.threads],
			      (unsigned long long)options->buffers_kb.values[best.buffer] * 1024,
			      mode_names[options->store.mode], cache_names[options->store.cache]);
}

static const char tsv_head[] = "way\tbuffer_kb\tthreads\tmb_per_s\n", json_head[] = "{\n \"directory\": ";

/* A line for each cell that was measured. */
static void cells_print(const struct testio_options *options, const struct testio_results *results, FILE *output,
			bool json)
{
	const char *before = json ? "\n" : "";

	for (int way = 0; way < TESTIO_WAYS; way++) {
		for (size_t buffer = 0; options->ways[way] && buffer < options->buffers_kb.count; buffer++) {
			for (size_t threads = 0; threads < options->threads.count; threads++) {
				double rate = results->rates[way][buffer][threads];

				if (rate < 0)
					continue;
				(void)fprintf(output,
					      json ? "%s  {\"way\": \"%s\", \"buffer_kb\": %llu, \"threads\": %llu, "
						     "\"mb_per_s\": %.2f}"
						   : "%s%s\t%llu\t%llu\t%.2f\n",
					      before, way_names[way],
					      (unsigned long long)options->buffers_kb.values[buffer],
					      (unsigned long long)options->threads.values[threads], rate);
				before = json ? ",\n" : "";
			}
		}
	}
}

static void tsv_print(const struct testio_options *options, const struct testio_results *results, FILE *output)
{
	(void)fputs(tsv_head, output);
	cells_print(options, results, output, false);
}

static void json_print(const struct testio_options *options, const struct testio_results *results, FILE *output)
{
	(void)fputs(json_head, output);
	json_string_write(output, options->directory);
	(void)fprintf(
		output,
		",\n \"file_mb\": %llu,\n \"limit_s\": %llu,\n \"runs\": %llu,\n \"files\": %llu,\n \"direct\": %s,\n"
		" \"open_mode\": \"%s\",\n \"cache\": \"%s\",\n \"buffers_kb\": [",
		(unsigned long long)options->file_mb, (unsigned long long)options->limit_s,
		(unsigned long long)options->runs, (unsigned long long)options->files,
		options->store.direct ? "true" : "false", mode_names[options->store.mode],
		cache_names[options->store.cache]);
	list_print(&options->buffers_kb, output);
	(void)fputs("],\n \"threads\": [", output);
	list_print(&options->threads, output);
	(void)fputs("],\n \"results\": [", output);
	cells_print(options, results, output, true);
	(void)fputs("\n ]\n}\n", output);
}

static int file_check(const char *path, const char *mark)
{
	int made, error;

	if (output_is_standard(path))
		return 0;
	made = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	error = made < 0 ? -errno : 0;
	if (error == -EEXIST && (error = output_check(path)) == 0)
		error = output_own_check(path, mark);
	if (error)
		testio_error("%s: %s", path, output_error_text(error));
	if (made >= 0) {
		(void)close(made);
		(void)unlink(path);
	}
	return error;
}

int testio_files_check(const struct testio_options *options)
{
	const char *const paths[] = {options->tsv, options->json};
	int kept = output_standard_count(paths, 2) ? output_standard_keep() : 0;
	int error = options->tsv ? file_check(options->tsv, tsv_head) : 0;
	int json_error = options->json ? file_check(options->json, json_head) : 0;

	if (kept)
		testio_error("standard output: %s", strerror(-kept));
	error = error ? error : json_error;
	return error ? error : kept;
}

static int file_write(const char *path, const struct testio_options *options, const struct testio_results *results,
		      void (*print)(const struct testio_options *, const struct testio_results *, FILE *))
{
	struct stat status;
	FILE *output = output_open(path, stat(path, &status) == 0 ? output_given_find(&status) : -1, O_TRUNC);
	int error = 0;

	if (!output) {
		error = -errno;
	} else {
		print(options, results, output);
		error = ferror(output) ? -EIO : 0;
		if (fclose(output) && !error)
			error = -errno;
	}
	if (error)
		testio_error("%s: %s", output_name(path), strerror(-error));
	return error;
}

int testio_files_write(const struct testio_options *options, const struct testio_results *results)
{
	int error = options->tsv ? file_write(options->tsv, options, results, tsv_print) : 0;
	int json_error = options->json ? file_write(options->json, options, results, json_print) : 0;

	return error ? error : json_error;
}
