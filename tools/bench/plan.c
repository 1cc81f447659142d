/* SPDX-License-Identifier: MIT */
/* Which points are measured, in which groups, and which lines of a preset's table come from them. */
#include "tools/bench/bench.h"

#include <inttypes.h>
#include <math.h>
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
#define RECEIVERS_SECONDS 2
/* Each of 128 writers fills up to 64 KiB, while as much of it is on its way. */
#define WRITERS_RING_BYTES (UINT64_C(16) << 20)
#define APPENDS UINT64_C(1000000)
#define IDLE_SECONDS 5
#define IDLE_BYTES 10 /* of the one record before it */
#define LATENCY_SECONDS 3
#define FAILOVER_BYTES 100
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
					     .receivers = 1,
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

/*
 * Adds a row of the point that was added last, against `base_metric` of the points from `base` to it; BENCH_METRICS: with
 * nothing to compare it with.
 */
static struct bench_row *row_add(struct plan *plan, enum bench_metric metric, const char *what, const char *against,
				 enum bench_metric base_metric, unsigned base)
{
	struct bench_row *row = &plan->report->rows[plan->report->row_count++];

	*row = (struct bench_row){.result = last(plan),
				  .metric = metric,
				  .base = base,
				  .base_last = base_metric == metric && base + 1 == last(plan) ? base : last(plan),
				  .base_metric = base_metric,
				  .scale = 1,
				  .against = (double)NAN,
				  .kafka = (double)NAN,
				  .fluentd = (double)NAN};
	(void)snprintf(row->what, sizeof(row->what), "%s", what);
	(void)snprintf(row->unit, sizeof(row->unit), "%s", bench_metrics[metric].unit);
	(void)snprintf(row->against_what, sizeof(row->against_what), "%s", against ? against : "");
	return row;
}

static void skip(struct plan *plan, const char *what)
{
	char *skipped = plan->report->skipped;
	size_t used = strlen(skipped);

	(void)snprintf(skipped + used, sizeof(plan->report->skipped) - used, "%s\n", what);
}

/* A line or two of a preset's table; `base_metric` is of the same point, or if it is `metric`, of the point before. */
struct line {
	const char *what;
	enum bench_metric metric;
	const char *against; /* NULL: nothing */
	enum bench_metric base_metric;
};

/* Fields of the point that are 0 have their defaults. */
static const struct measurement {
	struct bench_point point;
	bool beside; /* takes turns with the one before */
	struct line lines[3];
} measurements[] = {
#define OF_PIPE(name)                                                                                                  \
	{name ", committed", BENCH_COMMITTED_MB, "pipe", BENCH_PIPE_MB},                                               \
	{                                                                                                              \
		name ", CPU", BENCH_CPU_ALL, "pipe", BENCH_CPU_PIPE                                                    \
	}
#define OF_TWIN(name, against)                                                                                         \
	{                                                                                                              \
		{                                                                                                      \
			name, BENCH_COMMITTED_MB, against, BENCH_COMMITTED_MB                                          \
		}                                                                                                      \
	}
#define LATENCY(by, name, each_second)                                                                                 \
	{                                                                                                              \
		.point = {.way = by, .size = 100, .rate = each_second, .seconds = LATENCY_SECONDS}, .lines =           \
		{ {.what = name ", " #each_second " records/s, write to committed, p50", .metric = BENCH_LATENCY_P50}, \
		  {.what = name ", " #each_second " records/s, write to committed, p99", .metric = BENCH_LATENCY_P99}  \
		}                                                                                                      \
	}
	{.point = {.way = BENCH_MOUNT, .size = 10, .ring_bytes = LARGE_RING_BYTES},
	 .lines = {OF_PIPE("mount, records of 10 bytes")}},
	{.point = {.way = BENCH_MOUNT, .size = 1024, .ring_bytes = LARGE_RING_BYTES},
	 .lines = {OF_PIPE("mount, records of 1024 bytes")}},
	{.point = {.way = BENCH_MOUNT, .size = 4096, .ring_bytes = LARGE_RING_BYTES},
	 .lines = {OF_PIPE("mount, records of 4096 bytes")}},
	{.point = {.way = BENCH_LIBRARY, .size = 10},
	 .lines = {OF_PIPE("library, records of 10 bytes"),
		   {.what = "library, records of 10 bytes from one thread, committed",
		    .metric = BENCH_COMMITTED_RECORDS}}},
	{.point = {.way = BENCH_LIBRARY, .size = 1024}, .lines = {OF_PIPE("library, records of 1024 bytes")}},
	{.point = {.way = BENCH_LIBRARY, .size = 4096}, .lines = {OF_PIPE("library, records of 4096 bytes")}},
	{.point = {.way = BENCH_PUSH, .size = 10}, .lines = {OF_PIPE("push, records of 10 bytes")}},
	{.point = {.way = BENCH_PUSH, .size = 1024}, .lines = {OF_PIPE("push, records of 1024 bytes")}},
	{.point = {.way = BENCH_PUSH, .size = 4096}, .lines = {OF_PIPE("push, records of 4096 bytes")}},
	/* A small ring stays in the processor's cache, whatever the receiver does. */
	{.point = {.way = BENCH_MOUNT, .size = 1024}, .lines = {OF_PIPE("mount, RINGSIZE = 2M, 1 KiB")}},
	{.point = {.way = BENCH_RECORD, .size = 10},
	 .lines = {{.what = "library, one record of 10 bytes into the writer's chunk", .metric = BENCH_RECORD_NS}}},
	{.point = {.way = BENCH_MOUNT, .size = 1024, .unify = 1}},
	{.point = {.way = BENCH_MOUNT, .size = 1024, .unify = 1, .senders = 3},
	 .beside = true,
	 .lines = OF_TWIN("mount, 3 senders to one unified file, 1 KiB", "1 sender")},
	{.point = {.way = BENCH_LIBRARY, .size = 1024, .unify = 1}},
	{.point = {.way = BENCH_LIBRARY, .size = 1024, .unify = 1, .senders = 3},
	 .beside = true,
	 .lines = OF_TWIN("library, 3 senders to one unified file, 1 KiB", "1 sender")},
	{.point = {.way = BENCH_APPEND, .size = 10, .records = APPENDS},
	 .lines = {{"mount, appends of 10 bytes, each a write", BENCH_PRODUCED_MB, "tmpfs", BENCH_TMPFS_MB},
		   {"mount, appends of 10 bytes, committed", BENCH_COMMITTED_MB, "tmpfs", BENCH_TMPFS_MB}}},
	{.point = {.way = BENCH_APPEND, .size = 100, .records = APPENDS},
	 .lines = {{"mount, appends of 100 bytes, each a write", BENCH_PRODUCED_MB, "tmpfs", BENCH_TMPFS_MB},
		   {"mount, appends of 100 bytes, committed", BENCH_COMMITTED_MB, "tmpfs", BENCH_TMPFS_MB}}},
	LATENCY(BENCH_LIBRARY, "library", 100),
	LATENCY(BENCH_LIBRARY, "library", 1000),
	LATENCY(BENCH_PUSH, "push", 100),
	LATENCY(BENCH_PUSH, "push", 1000),
	LATENCY(BENCH_MOUNT, "mount", 100),
	LATENCY(BENCH_MOUNT, "mount", 1000),
	LATENCY(BENCH_APPEND, "mount-append", 1000),
	{.point = {.way = BENCH_LIBRARY, .size = 1024}},
	{.point = {.way = BENCH_LIBRARY, .size = 1024, .format = 1},
	 .beside = true,
	 .lines = OF_TWIN("FORMAT = JSON, records of 1 KiB, committed", "as they are")},
	{.point = {.way = BENCH_LIBRARY, .size = 1024, .sink = BENCH_SINK_EXEC},
	 .lines = {{"PLUGIN = /bin/cat, records of 1 KiB, committed", BENCH_COMMITTED_MB, "pipe | cat", BENCH_PIPE_MB},
		   {"PLUGIN = /bin/cat, records of 1 KiB, CPU", BENCH_CPU_ALL, "pipe | cat", BENCH_CPU_PIPE}}},
	{.point = {.way = BENCH_LIBRARY, .size = 1024}},
	{.point = {.way = BENCH_LIBRARY, .size = 1024, .sink = BENCH_SINK_RELAY},
	 .beside = true,
	 .lines = {{"by a relay, records of 1 KiB, committed", BENCH_COMMITTED_MB, "direct", BENCH_COMMITTED_MB},
		   {"by a relay, records of 1 KiB, CPU", BENCH_CPU_ALL, "direct", BENCH_CPU_ALL},
		   {"by a relay, records of 1 KiB, committed", BENCH_COMMITTED_MB, "two pipes in a row",
		    BENCH_PIPE_MB}}},
	{.point = {.way = BENCH_LIBRARY, .size = 1024}},
	{.point = {.way = BENCH_LIBRARY, .size = 1024, .tls = 1},
	 .beside = true,
	 .lines = OF_TWIN("TLS, records of 1 KiB, committed", "plain")},
	{.point = {.way = BENCH_MOUNT, .input = 1, .bytes = VOLUME_LOG}},
	{.point = {.way = BENCH_MOUNT, .input = 1, .bytes = VOLUME_LOG, .rules = BENCH_RULES_MAX},
	 .beside = true,
	 .lines = OF_TWIN("mount, 16 ALLOW patterns on lines of a log", "none")},
	{.point = {.way = BENCH_LIBRARY,
		   .input = 1,
		   .link_mbit = LINK_MBIT,
		   .per_write = 1000,
		   .compress = COMPRESS_ALWAYS},
	 .lines = {{"lines of a log over 1 Gbit/s, COMPRESS = always", BENCH_COMMITTED_MB, "line rate",
		    BENCH_LINE_MB}}},
	{.point = {.way = BENCH_LIBRARY, .size = 1024}},
	{.point = {.way = BENCH_LIBRARY, .size = 1024, .receivers = 4},
	 .beside = true,
	 .lines = OF_TWIN("library, 4 receivers on this machine, 1 KiB, committed", "1 receiver")},
	{.point = {.way = BENCH_MOUNT, .size = 1024}},
	{.point = {.way = BENCH_MOUNT, .size = 1024, .receivers = 4},
	 .beside = true,
	 .lines = OF_TWIN("mount, 4 receivers on this machine, 1 KiB, committed", "1 receiver")},
	{.point = {.way = BENCH_FAILOVER, .size = FAILOVER_BYTES, .receivers = 2},
	 .lines = {{.what = "fail-over, FAILOVERTIME = 1, last record at one receiver to first at another",
		    .metric = BENCH_FAILOVER_MS}}},
	{.point = {.way = BENCH_IDLE, .size = IDLE_BYTES, .seconds = IDLE_SECONDS},
	 .lines = {{.what = "idle, CPU of the mount", .metric = BENCH_IDLE_MOUNT},
		   {.what = "idle, CPU of the receiver", .metric = BENCH_IDLE_RECEIVER}}},
#undef OF_PIPE
#undef OF_TWIN
#undef LATENCY
};

static void measurement_plan(struct plan *plan, const struct measurement *measurement)
{
	const struct bench_point *wanted = &measurement->point;
	struct bench_point *point, defaults;

	if ((bench_way_mounts(wanted->way) && !mounts(plan)) || (wanted->input && !plan->options->input_file))
		return;
	plan->group += !measurement->beside;
	point = point_add(plan, wanted->way, wanted->size);
	defaults = *point;
	*point = *wanted;
	point->senders = wanted->senders ? wanted->senders : defaults.senders;
	point->writers = defaults.writers;
	point->receivers = wanted->receivers ? wanted->receivers : defaults.receivers;
	point->level = defaults.level;
	point->records = part_of(plan, wanted->records);
	point->bytes = wanted->records || wanted->seconds || wanted->way == BENCH_FAILOVER ? 0
		       : wanted->bytes ? part_of(plan, wanted->bytes)
				       : defaults.bytes;
	point->ring_bytes = wanted->ring_bytes ? wanted->ring_bytes : defaults.ring_bytes;
	for (const struct line *line = measurement->lines; line < measurement->lines + 3 && line->what; line++)
		(void)row_add(plan, line->metric, line->what, line->against,
			      line->against ? line->base_metric : BENCH_METRICS,
			      last(plan) - (line->against && line->base_metric == line->metric));
}

static void plan_sweep(struct plan *plan, uint64_t way, enum bench_axis axis, const struct number_list *list,
		       uint64_t seconds)
{
	static const char *const what[] = {[BENCH_SENDERS] = "senders at once",
					   [BENCH_WRITERS] = "writers of one sender",
					   [BENCH_RECEIVERS] = "receivers"};
	unsigned first = plan->report->count, number;
	char text[BENCH_TEXT_ROOM], against[BENCH_TEXT_ROOM];
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
	(void)snprintf(text, sizeof(text), "%s, %" PRIu64 " %s, 1 KiB", bench_way_names[way], number_list_most(list),
		       what[axis]);
	(void)snprintf(against, sizeof(against), "best of 1 to %" PRIu64, number_list_most(list));
	(void)row_add(plan, BENCH_COMMITTED_MB, text, against, BENCH_COMMITTED_MB, first);
}

static void plan_sweeps(struct plan *plan)
{
	static const struct number_list doubling = {.values = {1, 2, 4, 8, 16, 32, 64, 128}, .count = 8};
	/* Those of a mount share its ring and its connection, so the steps in between have little to tell. */
	static const struct number_list fleet = {.values = {1, 2, 4, 8}, .count = 4};
	static const struct number_list few = {.values = {1, 8, 128}, .count = 3};

	plan_sweep(plan, BENCH_LIBRARY, BENCH_SENDERS, &doubling, SWEEP_SECONDS);
	plan_sweep(plan, BENCH_LIBRARY, BENCH_WRITERS, &doubling, WRITERS_SECONDS);
	plan_sweep(plan, BENCH_LIBRARY, BENCH_RECEIVERS, &fleet, RECEIVERS_SECONDS);
	if (mounts(plan))
		plan_sweep(plan, BENCH_MOUNT, BENCH_SENDERS, &few, SWEEP_SECONDS);
}

static void plan_sustain(struct plan *plan)
{
	uint64_t limit = plan->options->base.memory_limit ? plan->options->base.memory_limit : MEMORY_LIMIT;
	char why[BENCH_TEXT_ROOM], text[BENCH_TEXT_ROOM], memory[64];
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
	(void)snprintf(text, sizeof(text), "%" PRIu64 " s without pause%s, last quarter", point->seconds, memory);
	(void)row_add(plan, BENCH_LAST_MB, text, "first quarter", BENCH_FIRST_MB, last(plan));
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
	if (!plan->options->input_file)
		skip(plan, "rules and a link of 1 Gbit/s on lines of a log: no log was found here, --input names one");
	for (size_t number = 0; number < sizeof(measurements) / sizeof(measurements[0]); number++)
		measurement_plan(plan, &measurements[number]);
	plan_sweeps(plan);
	plan_sustain(plan);
}

/* A line of the published table, with its figures: of three machines that send to one over 10 Gbit/s, version 1.0.23. */
static struct bench_row *published_add(struct plan *plan, enum bench_metric metric, const char *what, double against)
{
	struct bench_row *row = row_add(plan, metric, what, "K2HFTFUSE, published", BENCH_METRICS, last(plan));

	row->against = against;
	return row;
}

static void published_make(struct plan *plan)
{
	static const struct {
		uint64_t size;
		double records, mebibytes, json_mebibytes, kafka, fluentd; /* a second */
	} published[] = {{10, 937779, 8.9, 31.3, 1.4, 2.5},
			 {1024, 219578, 214.4, 130.2, 91.3, 14.8},
			 {4096, 64943, 253.7, 207.2, 110.1, 22.9}};
	const struct bench_point *base = &plan->options->base;

	if (!mounts(plan))
		skip(plan, "the mount, by the library instead: /dev/fuse can't be used here");
	(void)snprintf(plan->report->remark, sizeof(plan->report->remark),
		       "one machine here; published are four, three that send to one over 10 Gbit/s");
	for (unsigned number = 0; number < 6; number++) {
		unsigned at = number % 3;
		bool json = number >= 3;
		struct bench_point *point;
		struct bench_row *row;
		char text[BENCH_TEXT_ROOM];

		plan->group++;
		point = point_add(plan, mounts(plan) ? BENCH_MOUNT : BENCH_LIBRARY, published[at].size);
		point->senders = 3;
		point->unify = 1;
		point->format = json ? BENCH_FORMAT_PUBLISHED : 0;
		point->warmup = base->warmup;
		point->window = base->window;
		point->sustain = base->sustain;
		if (base->window) {
			point->bytes = 0;
			point->seconds = base->seconds;
		}
		(void)snprintf(text, sizeof(text), "3 senders, %" PRIu64 " bytes, %s", published[at].size,
			       json ? "JSON" : "raw");
		if (!json)
			(void)published_add(plan, BENCH_COMMITTED_RECORDS, text, published[at].records);
		bench_text_add(text, sizeof(text), ", the file");
		row = published_add(plan, BENCH_OUTPUT_MB, text,
				    json ? published[at].json_mebibytes : published[at].mebibytes);
		/* Theirs count what is in the file, in 1,048,576 bytes. */
		row->scale = 1e6 / 1048576;
		row->kafka = json ? (double)NAN : published[at].kafka;
		row->fluentd = json ? (double)NAN : published[at].fluentd;
	}
}

/* Clears options that have no meaning for the point's way, so that several combinations become one point. */
static void point_fit(const struct bench_options *options, struct bench_point *point, bool volume_given)
{
	if (point->way == BENCH_APPEND && !volume_given && !point->rate && !point->seconds) {
		point->bytes = 0;
		point->records = APPENDS;
	}
	if (bench_way_still(point->way)) {
		point->senders = 1;
		point->receivers = point->way != BENCH_FAILOVER ? 1 : point->receivers > 1 ? point->receivers : 2;
		point->sink = point->per_write = point->rate = point->records = point->bytes = point->seconds = 0;
	}
	if (point->way == BENCH_IDLE) {
		point->seconds = options->base.seconds ? options->base.seconds : IDLE_SECONDS;
		point->size = IDLE_BYTES;
		point->input = 0;
	}
	if (point->way == BENCH_FAILOVER) {
		point->size = FAILOVER_BYTES;
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
		report->results[report->count++] = (struct bench_result){.point = fitted, .group = plan->group};
}

/* The value of a list that a combination's number stands for; `rest` is what stands for those of the other lists. */
static uint64_t value_take(const struct number_list *list, size_t *rest)
{
	uint64_t value = list->values[*rest % list->count];

	*rest /= list->count;
	return value;
}

/* Each combination of the lists, each a group of its own, whose sinks take turns. */
static int lists_make(struct plan *plan)
{
	const struct bench_options *options = plan->options;
	size_t count = (size_t)options->ways.count * options->sizes.count * options->per_write.count *
		       options->senders.count * options->writers.count * options->receivers.count *
		       options->rings.count * options->sinks.count;
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
		plan->group += number % options->sinks.count == 0;
		point.sink = value_take(&options->sinks, &rest);
		point.ring_bytes = value_take(&options->rings, &rest);
		point.writers = value_take(&options->writers, &rest);
		point.receivers = value_take(&options->receivers, &rest);
		point.senders = value_take(&options->senders, &rest);
		point.per_write = value_take(&options->per_write, &rest);
		point.size = value_take(&options->sizes, &rest);
		point.way = value_take(&options->ways, &rest);
		combination_add(plan, &point, volume_given);
	}
	return 0;
}

/* The points as they were saved, in their groups. */
static int repeated_make(struct plan *plan)
{
	const struct bench_report *saved = plan->options->repeated;
	struct bench_report *report = plan->report;

	report->results = calloc((size_t)saved->count, sizeof(*report->results));
	for (; report->results && report->count < saved->count; report->count++)
		report->results[report->count] = (struct bench_result){.point = saved->results[report->count].point,
								       .group = saved->results[report->count].group};
	return report->results ? 0 : -1;
}

int bench_plan_make(struct bench_report *report, const struct bench_options *options)
{
	struct plan plan = {.report = report, .options = options};
	int status = options->repeated                     ? repeated_make(&plan)
		     : options->all || options->seed_table ? preset_room(report)
							   : lists_make(&plan);

	if (status)
		bench_error("out of memory");
	else if (options->all)
		all_make(&plan);
	else if (options->seed_table)
		published_make(&plan);
	report->planned = report->count;
	return status;
}
