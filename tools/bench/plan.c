/* SPDX-License-Identifier: MIT */
/* Which points are measured, in which groups, and which lines of a preset's table come from them. */
#include "tools/bench/bench.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PRESET_RESULTS 96u
#define PRESET_ROWS 96u
#define VOLUME (UINT64_C(1) << 30)
#define VOLUME_LOG (UINT64_C(256) << 20)
/* Many senders: 128 rings that are touched first are 256 MiB, which must be little of what a run carries. */
#define SWEEP_SECONDS 10
/* Writers of one sender share its ring, which is soon warm. */
#define WRITERS_SECONDS 1
/* Each of 128 writers fills up to 64 KiB, while as much of it is on its way. */
#define WRITERS_RING_BYTES (UINT64_C(16) << 20)
#define APPENDS UINT64_C(1000000)
#define IDLE_SECONDS 5
#define IDLE_BYTES 10 /* of the one record before it */
#define LATENCY_SECONDS 3
#define SUSTAIN_SECONDS 120
#define LARGE_RING_BYTES (UINT64_C(64) << 20)
#define LINK_MBIT 1000
/* A link that is a process looks to a sender like a receiver that is slow, for which auto does not compress. */
#define COMPRESS_ALWAYS 2
#define MEMORY_LIMIT (UINT64_C(512) << 20)
#define INPUT_BYTES_MIN 10000
/* The part of a volume and of a time that --brief leaves. */
#define BRIEF_PART 8u

struct plan {
	struct bench_report *report;
	const struct bench_options *options;
	unsigned group;
};

const char *bench_input_find(void)
{
	static const char *const known[] = {"/var/log/syslog",      "/var/log/messages", "/var/log/kern.log",
					    "/var/log/dpkg.log",    "/var/log/dnf.log",  "/var/log/pacman.log",
					    "/var/log/apt/term.log"};
	struct stat status;
	size_t number;

	for (number = 0; number < sizeof(known) / sizeof(known[0]); number++)
		if (access(known[number], R_OK) == 0 && stat(known[number], &status) == 0 && S_ISREG(status.st_mode) &&
		    status.st_size >= INPUT_BYTES_MIN)
			return known[number];
	return NULL;
}

static bool mounts(const struct plan *plan)
{
	return !plan->options->no_mount;
}

static uint64_t part_of(const struct plan *plan, uint64_t whole)
{
	return plan->options->brief && whole > BRIEF_PART ? whole / BRIEF_PART : whole;
}

static void ring_fit(struct bench_point *point)
{
	if (point->ring_bytes == 0)
		point->ring_bytes = bench_ring_bytes(point->way);
}

static struct bench_point *point_add(struct plan *plan, uint64_t way, uint64_t size)
{
	struct bench_result *result = &plan->report->results[plan->report->count++];

	*result = (struct bench_result){.group = plan->group};
	result->point = (struct bench_point){.way = way,
					     .size = size,
					     .senders = 1,
					     .writers = 1,
					     .level = 1,
					     .bytes = part_of(plan, VOLUME),
					     .ring_bytes = plan->options->rings.values[0]};
	ring_fit(&result->point);
	return &result->point;
}

static unsigned last(const struct plan *plan)
{
	return plan->report->count - 1;
}

/* Adds a row of the point that was added last, with nothing to compare it with. */
__attribute__((format(printf, 4, 5))) static struct bench_row *row_add(struct plan *plan, enum bench_metric metric,
								       const char *unit, const char *what, ...)
{
	struct bench_row *row = &plan->report->rows[plan->report->row_count++];
	va_list arguments;

	*row = (struct bench_row){.result = last(plan),
				  .metric = metric,
				  .base = last(plan),
				  .base_last = last(plan),
				  .base_metric = BENCH_METRICS,
				  .scale = 1,
				  .against = (double)NAN};
	va_start(arguments, what);
	(void)vsnprintf(row->what, sizeof(row->what), what, arguments);
	va_end(arguments);
	(void)snprintf(row->unit, sizeof(row->unit), "%s", unit);
	return row;
}

static void row_against(struct bench_row *row, const char *what, enum bench_metric metric)
{
	row->base_metric = metric;
	(void)snprintf(row->against_what, sizeof(row->against_what), "%s", what);
}

static void row_against_other(struct bench_row *row, const char *what, unsigned first, unsigned last_one)
{
	row_against(row, what, row->metric);
	row->base = first;
	row->base_last = last_one;
}

static void skip(struct plan *plan, const char *what)
{
	char *skipped = plan->report->skipped;
	size_t used = strlen(skipped);

	(void)snprintf(skipped + used, sizeof(plan->report->skipped) - used, "%s\n", what);
}

static void plan_pipe(struct plan *plan)
{
	static const uint64_t sizes[] = {10, 1024, 4096};
	static const uint64_t ways[] = {BENCH_MOUNT, BENCH_LIBRARY, BENCH_PUSH};
	unsigned way, size;

	for (way = 0; way < 3; way++) {
		if (ways[way] == BENCH_MOUNT && !mounts(plan))
			continue;
		for (size = 0; size < 3; size++) {
			plan->group++;
			point_add(plan, ways[way], sizes[size]);
			row_against(row_add(plan, BENCH_COMMITTED_MB, "MB/s",
					    "%s, records of %" PRIu64 " bytes, committed", bench_way_names[ways[way]],
					    sizes[size]),
				    "pipe", BENCH_PIPE_MB);
			row_against(row_add(plan, BENCH_CPU_ALL, "s/GB", "%s, records of %" PRIu64 " bytes, CPU",
					    bench_way_names[ways[way]], sizes[size]),
				    "pipe", BENCH_CPU_PIPE);
			if (ways[way] == BENCH_LIBRARY && sizes[size] == 10)
				(void)row_add(plan, BENCH_COMMITTED_RECORDS, "records/s",
					      "library, records of 10 bytes from one thread, committed");
		}
	}
}

/* The ring as it is where nothing is set, which bridges outages but does not stay in the processor's cache. */
static void plan_large_ring(struct plan *plan)
{
	if (!mounts(plan))
		return;
	plan->group++;
	point_add(plan, BENCH_MOUNT, 1024)->ring_bytes = LARGE_RING_BYTES;
	row_against(row_add(plan, BENCH_COMMITTED_MB, "MB/s", "mount, RINGSIZE = 64M, 1 KiB, committed"), "pipe",
		    BENCH_PIPE_MB);
	row_against(row_add(plan, BENCH_CPU_ALL, "s/GB", "mount, RINGSIZE = 64M, 1 KiB, CPU"), "pipe", BENCH_CPU_PIPE);
}

static void plan_record(struct plan *plan)
{
	plan->group++;
	point_add(plan, BENCH_RECORD, 10);
	(void)row_add(plan, BENCH_RECORD_NS, "ns", "library, one record of 10 bytes into the writer's chunk");
}

static void plan_unified(struct plan *plan)
{
	static const uint64_t ways[] = {BENCH_MOUNT, BENCH_LIBRARY};
	struct bench_point *point;
	unsigned way;

	for (way = 0; way < 2; way++) {
		if (ways[way] == BENCH_MOUNT && !mounts(plan))
			continue;
		plan->group++;
		point_add(plan, ways[way], 1024)->unify = 1;
		point = point_add(plan, ways[way], 1024);
		point->unify = 1;
		point->senders = 3;
		row_against_other(row_add(plan, BENCH_COMMITTED_MB, "MB/s", "%s, 3 senders to one unified file, 1 KiB",
					  bench_way_names[ways[way]]),
				  "1 sender", last(plan) - 1, last(plan) - 1);
	}
}

static void plan_appends(struct plan *plan)
{
	static const uint64_t sizes[] = {10, 100};
	unsigned size;
	struct bench_point *point;

	for (size = 0; size < 2; size++) {
		plan->group++;
		point = point_add(plan, BENCH_APPEND, sizes[size]);
		point->bytes = 0;
		point->records = part_of(plan, APPENDS);
		row_against(row_add(plan, BENCH_PRODUCED_MB, "MB/s",
				    "mount, appends of %" PRIu64 " bytes, each a write", sizes[size]),
			    "tmpfs", BENCH_TMPFS_MB);
		row_against(row_add(plan, BENCH_COMMITTED_MB, "MB/s", "mount, appends of %" PRIu64 " bytes, committed",
				    sizes[size]),
			    "tmpfs", BENCH_TMPFS_MB);
	}
}

static void plan_latency(struct plan *plan, uint64_t way, uint64_t rate)
{
	struct bench_point *point;

	plan->group++;
	point = point_add(plan, way, 100);
	point->bytes = 0;
	point->rate = rate;
	point->seconds = LATENCY_SECONDS;
	(void)row_add(plan, BENCH_LATENCY_P50, "us", "%s, %" PRIu64 " records/s, write to committed, p50",
		      bench_way_names[way], rate);
	(void)row_add(plan, BENCH_LATENCY_P99, "us", "%s, %" PRIu64 " records/s, write to committed, p99",
		      bench_way_names[way], rate);
}

static void plan_latencies(struct plan *plan)
{
	plan_latency(plan, BENCH_LIBRARY, 100);
	plan_latency(plan, BENCH_LIBRARY, 1000);
	plan_latency(plan, BENCH_PUSH, 100);
	plan_latency(plan, BENCH_PUSH, 1000);
	if (!mounts(plan))
		return;
	plan_latency(plan, BENCH_MOUNT, 100);
	plan_latency(plan, BENCH_MOUNT, 1000);
	plan_latency(plan, BENCH_APPEND, 1000);
}

static void plan_formats(struct plan *plan)
{
	plan->group++;
	point_add(plan, BENCH_LIBRARY, 1024);
	point_add(plan, BENCH_LIBRARY, 1024)->format = 1;
	row_against_other(row_add(plan, BENCH_COMMITTED_MB, "MB/s", "FORMAT = JSON, records of 1 KiB, committed"),
			  "as they are", last(plan) - 1, last(plan) - 1);
	plan->group++;
	point_add(plan, BENCH_LIBRARY, 1024);
	point_add(plan, BENCH_LIBRARY, 1024)->tls = 1;
	row_against_other(row_add(plan, BENCH_COMMITTED_MB, "MB/s", "TLS, records of 1 KiB, committed"), "plain",
			  last(plan) - 1, last(plan) - 1);
}

static void plan_log(struct plan *plan)
{
	struct bench_point *point;

	if (!plan->options->input_file) {
		skip(plan, "rules and a link of 1 Gbit/s on lines of a log: no log was found here, --input names one");
		return;
	}
	if (mounts(plan)) {
		plan->group++;
		point = point_add(plan, BENCH_MOUNT, 0);
		point->input = 1;
		point->bytes = part_of(plan, VOLUME_LOG);
		*point_add(plan, BENCH_MOUNT, 0) = *point;
		point = &plan->report->results[last(plan)].point;
		point->rules = BENCH_RULES_MAX;
		row_against_other(
			row_add(plan, BENCH_COMMITTED_MB, "MB/s", "mount, 16 ALLOW patterns on lines of a log"), "none",
			last(plan) - 1, last(plan) - 1);
	}
	plan->group++;
	point = point_add(plan, BENCH_LIBRARY, 0);
	point->input = 1;
	point->link_mbit = LINK_MBIT;
	point->per_write = 1000;
	point->compress = COMPRESS_ALWAYS;
	row_against(row_add(plan, BENCH_COMMITTED_MB, "MB/s", "lines of a log over 1 Gbit/s, COMPRESS = always"),
		    "line rate", BENCH_LINE_MB);
}

static void plan_sweep(struct plan *plan, uint64_t way, enum bench_axis axis, const struct number_list *list,
		       uint64_t seconds)
{
	static const char *const what[] = {
		[BENCH_SENDERS] = "senders at once", [BENCH_WRITERS] = "writers of one sender"};
	unsigned first = plan->report->count, number;
	struct bench_point *point;

	plan->group++;
	for (number = 0; number < list->count; number++) {
		point = point_add(plan, way, 1024);
		*bench_axis_value(point, axis) = list->values[number];
		point->bytes = 0;
		point->seconds = plan->options->brief ? 1 : seconds;
		if (axis == BENCH_WRITERS)
			point->ring_bytes = WRITERS_RING_BYTES;
	}
	row_against_other(
		row_add(plan, BENCH_COMMITTED_MB, "MB/s", "%s, 128 %s, 1 KiB", bench_way_names[way], what[axis]),
		"best of 1 to 128", first, last(plan));
}

static void plan_sweeps(struct plan *plan)
{
	static const struct number_list doubling = {.values = {1, 2, 4, 8, 16, 32, 64, 128}, .count = 8};
	/* Those of a mount share its ring and its connection, so the steps in between have little to tell. */
	static const struct number_list few = {.values = {1, 8, 128}, .count = 3};

	plan_sweep(plan, BENCH_LIBRARY, BENCH_SENDERS, &doubling, SWEEP_SECONDS);
	plan_sweep(plan, BENCH_LIBRARY, BENCH_WRITERS, &doubling, WRITERS_SECONDS);
	if (mounts(plan))
		plan_sweep(plan, BENCH_MOUNT, BENCH_SENDERS, &few, SWEEP_SECONDS);
}

static void plan_idle(struct plan *plan)
{
	struct bench_point *point;

	if (!mounts(plan))
		return;
	plan->group++;
	point = point_add(plan, BENCH_IDLE, IDLE_BYTES);
	point->bytes = 0;
	point->seconds = IDLE_SECONDS;
	(void)row_add(plan, BENCH_IDLE_MOUNT, "% of a core", "idle, CPU of the mount");
	(void)row_add(plan, BENCH_IDLE_RECEIVER, "% of a core", "idle, CPU of the receiver");
}

static void plan_sustain(struct plan *plan)
{
	uint64_t limit = plan->options->base.memory_limit ? plan->options->base.memory_limit : MEMORY_LIMIT;
	char why[BENCH_TEXT_ROOM], memory[64];
	struct bench_point *point;

	plan->group++;
	(void)snprintf(memory, sizeof(memory), " in %" PRIu64 " MiB of memory", limit >> 20);
	if (bench_memory_limit(limit, why)) {
		skip(plan, why);
		limit = 0;
		memory[0] = '\0';
	}
	bench_memory_release();
	point = point_add(plan, BENCH_LIBRARY, 1024);
	point->bytes = 0;
	point->sustain = 1;
	point->memory_limit = limit;
	point->seconds = plan->options->sustain_s ? plan->options->sustain_s : part_of(plan, SUSTAIN_SECONDS);
	row_against(row_add(plan, BENCH_LAST_MB, "MB/s", "%" PRIu64 " s without pause%s, last quarter", point->seconds,
			    memory),
		    "first quarter", BENCH_FIRST_MB);
}

static int preset_room(struct bench_report *report)
{
	report->results = calloc(PRESET_RESULTS, sizeof(*report->results));
	report->rows = calloc(PRESET_ROWS, sizeof(*report->rows));
	return report->results && report->rows ? 0 : -1;
}

static void all_make(struct plan *plan)
{
	if (!mounts(plan))
		skip(plan, "everything that goes through a mount: /dev/fuse can't be used here");
	plan_pipe(plan);
	plan_large_ring(plan);
	plan_record(plan);
	plan_unified(plan);
	if (mounts(plan))
		plan_appends(plan);
	plan_latencies(plan);
	plan_formats(plan);
	plan_log(plan);
	plan_sweeps(plan);
	plan_idle(plan);
	plan_sustain(plan);
}

/* K2HFTFUSE's published figures: three machines that send to one, over 10 Gbit/s, its version 1.0.23. */
static void seed_make(struct plan *plan)
{
	static const struct {
		uint64_t size, format;
		double records, mebibytes; /* a second; 0: not published */
	} published[] = {{10, 0, 937779, 8.9}, {1024, 0, 219578, 214.4}, {4096, 0, 64943, 253.7},
			 {10, 1, 0, 31.3},     {1024, 1, 0, 130.2},      {4096, 1, 0, 207.2}};
	static const char from[] = "K2HFTFUSE, published";
	uint64_t way = mounts(plan) ? BENCH_MOUNT : BENCH_LIBRARY;
	unsigned number;

	if (!mounts(plan))
		skip(plan, "the mount, by the library instead: /dev/fuse can't be used here");
	for (number = 0; number < sizeof(published) / sizeof(published[0]); number++) {
		struct bench_point *point;
		struct bench_row *row;
		const char *form = published[number].format ? "JSON" : "raw";

		plan->group++;
		point = point_add(plan, way, published[number].size);
		point->senders = 3;
		point->unify = 1;
		point->format = published[number].format;
		if (published[number].records > 0) {
			row = row_add(plan, BENCH_COMMITTED_RECORDS, "records/s", "3 senders, %" PRIu64 " bytes, %s",
				      published[number].size, form);
			row->against = published[number].records;
			(void)snprintf(row->against_what, sizeof(row->against_what), "%s", from);
		}
		/* Theirs count what is in the file, in 1,048,576 bytes. */
		row = row_add(plan, BENCH_OUTPUT_MB, "MiB/s", "3 senders, %" PRIu64 " bytes, %s, the file",
			      published[number].size, form);
		row->scale = 1e6 / 1048576;
		row->against = published[number].mebibytes;
		(void)snprintf(row->against_what, sizeof(row->against_what), "%s", from);
	}
}

/* Clears options that have no meaning for the point's way, so that several combinations become one point. */
static void point_fit(const struct bench_options *options, struct bench_point *point, bool volume_given)
{
	if (point->way == BENCH_APPEND && !volume_given && !point->rate && !point->seconds) {
		point->bytes = 0;
		point->records = APPENDS;
	}
	if (point->way == BENCH_RECORD || point->way == BENCH_IDLE) {
		point->senders = 1;
		point->per_write = point->rate = point->records = point->bytes = point->seconds = 0;
	}
	if (point->way == BENCH_IDLE) {
		point->seconds = options->base.seconds ? options->base.seconds : IDLE_SECONDS;
		point->size = IDLE_BYTES;
		point->input = 0;
	}
}

static bool result_known(const struct bench_report *report, const struct bench_point *point)
{
	unsigned number;

	for (number = 0; number < report->count; number++)
		if (bench_point_equal(&report->results[number].point, point))
			return true;
	return false;
}

static void combination_add(struct plan *plan, const struct bench_point *point, bool volume_given)
{
	struct bench_report *report = plan->report;
	struct bench_point fitted = *point;

	ring_fit(&fitted);
	point_fit(plan->options, &fitted, volume_given);
	if (!result_known(report, &fitted))
		report->results[report->count++] = (struct bench_result){.point = fitted, .group = ++plan->group};
}

/* The value of a list that a combination's number stands for; `rest` is what stands for those of the other lists. */
static uint64_t value_take(const struct number_list *list, size_t *rest)
{
	uint64_t value = list->values[*rest % list->count];

	*rest /= list->count;
	return value;
}

/* Each combination of the lists, each a group of its own. */
static int lists_make(struct plan *plan)
{
	const struct bench_options *options = plan->options;
	size_t count = (size_t)options->ways.count * options->sizes.count * options->per_write.count *
		       options->senders.count * options->writers.count * options->rings.count;
	struct bench_point point = options->base;
	bool volume_given = options->base.records || options->base.seconds || options->base.bytes;
	size_t number, rest;

	plan->report->results = calloc(count, sizeof(*plan->report->results));
	if (!plan->report->results)
		return -1;
	if (!volume_given && (number_list_most(&options->senders) > 1 || number_list_most(&options->writers) > 1))
		point.seconds = SWEEP_SECONDS;
	else if (!volume_given)
		point.bytes = VOLUME / 4;
	for (number = 0; number < count; number++) {
		rest = number;
		point.ring_bytes = value_take(&options->rings, &rest);
		point.writers = value_take(&options->writers, &rest);
		point.senders = value_take(&options->senders, &rest);
		point.per_write = value_take(&options->per_write, &rest);
		point.size = value_take(&options->sizes, &rest);
		point.way = value_take(&options->ways, &rest);
		combination_add(plan, &point, volume_given);
	}
	return 0;
}

int bench_plan_make(struct bench_report *report, const struct bench_options *options)
{
	struct plan plan = {.report = report, .options = options};
	int status = options->all || options->seed_table ? preset_room(report) : lists_make(&plan);

	if (status)
		bench_error("out of memory");
	else if (options->all)
		all_make(&plan);
	else if (options->seed_table)
		seed_make(&plan);
	report->planned = report->count;
	return status;
}
