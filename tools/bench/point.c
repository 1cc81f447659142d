/* SPDX-License-Identifier: MIT */
/* The names of a point's parameters and of all figures, and the values that an option leaves open. */
#include "tools/bench/bench.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "tools/bench/chart.h"

const char *const bench_way_names[] = {"library", "push", "mount", "mount-append", "record", "idle", "failover", NULL};
const char *const bench_format_names[] = {"raw", "json", "published", NULL};
const char *const bench_sink_names[] = {"file", "exec", "relay", "kafka", "forward", "otlp", NULL};

#define PARAMETER(name, words)                                                                                         \
	{                                                                                                              \
#name, offsetof(struct bench_point, name), words, 0                                                    \
	}

const struct bench_parameter bench_parameters[BENCH_PARAMETERS] = {
	PARAMETER(way, bench_way_names),
	PARAMETER(size, NULL),
	PARAMETER(senders, NULL),
	{"writers", offsetof(struct bench_point, writers), NULL, .absent = 1},
	{"receivers", offsetof(struct bench_point, receivers), NULL, .absent = 1},
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
	PARAMETER(drop_caches, NULL),
	PARAMETER(warmup, NULL),
	PARAMETER(window, NULL),
	PARAMETER(sink, bench_sink_names),
};
_Static_assert(sizeof(struct bench_point) == BENCH_PARAMETERS * sizeof(uint64_t), "each parameter has its name");

const struct bench_metric_name bench_metrics[BENCH_METRICS] = {
	[BENCH_BYTES] = {"sent_bytes", 0, NULL},
	[BENCH_ELAPSED] = {"elapsed_s", 0, NULL},
	[BENCH_PRODUCED_RECORDS] = {"produced_records_per_s", 1, "records/s"},
	[BENCH_COMMITTED_RECORDS] = {"committed_records_per_s", 1, "records/s"},
	[BENCH_PRODUCED_MB] = {"produced_mb_per_s", 1, "MB/s"},
	[BENCH_COMMITTED_MB] = {"committed_mb_per_s", 1, "MB/s"},
	[BENCH_OUTPUT_MB] = {"output_mb_per_s", 1, "MiB/s"},
	[BENCH_PIPE_MB] = {"pipe_mb_per_s", 0, NULL},
	[BENCH_RATIO] = {"committed_of_pipe", 1, NULL},
	[BENCH_TMPFS_MB] = {"tmpfs_mb_per_s", 0, NULL},
	[BENCH_OF_TMPFS] = {"produced_of_tmpfs", 1, NULL},
	[BENCH_LINE_MB] = {"line_mb_per_s", 0, NULL},
	[BENCH_OF_LINE] = {"committed_of_line", 1, NULL},
	[BENCH_CPU_WRITER] = {"cpu_writer_s_per_gb", -1, NULL},
	[BENCH_CPU_SENDER] = {"cpu_sender_s_per_gb", -1, NULL},
	[BENCH_CPU_RECEIVER] = {"cpu_receiver_s_per_gb", -1, NULL},
	[BENCH_CPU_ALL] = {"cpu_all_s_per_gb", -1, "s/GB"},
	[BENCH_CPU_PIPE] = {"cpu_pipe_s_per_gb", 0, NULL},
	[BENCH_PEAK_WRITER] = {"peak_writer_mib", -1, NULL},
	[BENCH_PEAK_SENDER] = {"peak_sender_mib", -1, NULL},
	[BENCH_PEAK_RECEIVER] = {"peak_receiver_mib", -1, NULL},
	[BENCH_LATENCY_P50] = {"latency_p50_us", -1, "us"},
	[BENCH_LATENCY_P99] = {"latency_p99_us", -1, "us"},
	[BENCH_LATENCY_P999] = {"latency_p999_us", -1, NULL},
	[BENCH_LATENCY_MAX] = {"latency_max_us", -1, NULL},
	[BENCH_RECORD_NS] = {"record_ns", -1, "ns"},
	[BENCH_IDLE_MOUNT] = {"idle_mount_percent", -1, "% of a core"},
	[BENCH_IDLE_RECEIVER] = {"idle_receiver_percent", -1, "% of a core"},
	[BENCH_FAILOVER_MS] = {"failover_ms", -1, "ms"},
	[BENCH_LEAST_OF_MEAN] = {"least_receiver_of_mean", 1, NULL},
	[BENCH_FIRST_MB] = {"first_quarter_mb_per_s", 1, NULL},
	[BENCH_LAST_MB] = {"last_quarter_mb_per_s", 1, "MB/s"},
	[BENCH_LAST_OF_FIRST] = {"last_of_first_quarter", 1, NULL},
	[BENCH_WINDOW_LOWEST] = {"window_lowest_mb_per_s", 1, NULL},
	[BENCH_WINDOW_HIGHEST] = {"window_highest_mb_per_s", 1, NULL},
};

uint64_t bench_parameter_get(const struct bench_point *point, unsigned number)
{
	return *(const uint64_t *)((const char *)point + bench_parameters[number].offset);
}

void bench_text_add(char *text, size_t room, const char *format, ...)
{
	size_t used = strlen(text);
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(text + used, room - used, format, arguments);
	va_end(arguments);
}

void bench_point_text(const struct bench_point *point, char *text, size_t room)
{
	static const char *const formats[] = {"", ", JSON", ", published JSON"};
	char size[BENCH_FIGURE_ROOM];

	(void)snprintf(text, room, "%s", bench_way_names[point->way]);
	if (point->input)
		bench_text_add(text, room, ", lines of a log");
	else if (point->size && point->way != BENCH_IDLE && point->way != BENCH_FAILOVER)
		bench_text_add(text, room, ", %" PRIu64 " bytes", point->size);
	if (point->senders > 1)
		bench_text_add(text, room, ", -g %" PRIu64, point->senders);
	if (point->writers > 1)
		bench_text_add(text, room, ", %" PRIu64 " writers", point->writers);
	if (point->receivers > 1)
		bench_text_add(text, room, ", %" PRIu64 " receivers", point->receivers);
	if (point->per_write)
		bench_text_add(text, room, ", -c %" PRIu64, point->per_write);
	if (point->rate)
		bench_text_add(text, room, ", %" PRIu64 "/s", point->rate);
	if (point->sustain && !point->window)
		bench_text_add(text, room, ", %" PRIu64 " s", point->seconds);
	if (point->drop_caches)
		bench_text_add(text, room, ", caches dropped after %" PRIu64 " s", point->drop_caches);
	if (point->window)
		bench_text_add(text, room, ", %u windows of %" PRIu64 " s after %" PRIu64 " s", BENCH_WINDOWS,
			       point->window, point->warmup);
	bench_text_add(text, room, "%s%s%s", formats[point->format], point->unify ? ", unified" : "",
		       point->tls ? ", TLS" : "");
	if (point->sink)
		bench_text_add(text, room, ", sink %s", bench_sink_names[point->sink]);
	if (point->rules)
		bench_text_add(text, room, ", %" PRIu64 " rules", point->rules);
	if (point->link_mbit)
		bench_text_add(text, room, ", %" PRIu64 " Mbit/s", point->link_mbit);
	if (point->memory_limit)
		bench_text_add(text, room, ", %" PRIu64 " MiB of memory", point->memory_limit >> 20);
	if (point->ring_bytes != bench_ring_bytes(point->way))
		bench_text_add(text, room, ", --ring %s", bench_size_text(point->ring_bytes, size));
	if (point->compress)
		bench_text_add(text, room, ", compress %s", compress_names[point->compress]);
	if (point->level != 1)
		bench_text_add(text, room, ", %s", level_names[point->level]);
}

bool bench_way_mounts(uint64_t way)
{
	return way == BENCH_MOUNT || way == BENCH_APPEND || way == BENCH_IDLE;
}

bool bench_way_still(uint64_t way)
{
	return way == BENCH_RECORD || way == BENCH_IDLE || way == BENCH_FAILOVER;
}

/*
 * A small ring's memory is still in the processor's cache from the lap before. The mount fetches 5 ms
 * of small appends at once.
 */
uint64_t bench_ring_bytes(uint64_t way)
{
	return UINT64_C(1) << (way == BENCH_APPEND ? 23 : 21);
}

bool bench_point_equal(const struct bench_point *a, const struct bench_point *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}

uint64_t *bench_axis_value(struct bench_point *point, enum bench_axis axis)
{
	switch (axis) {
	case BENCH_SENDERS:
		return &point->senders;
	case BENCH_WRITERS:
		return &point->writers;
	case BENCH_RECEIVERS:
		return &point->receivers;
	case BENCH_PER_WRITE:
		return &point->per_write;
	default:
		return &point->ring_bytes;
	}
}

enum bench_metric bench_against_metric(const struct bench_point *point)
{
	return point->way == BENCH_APPEND ? BENCH_TMPFS_MB : point->link_mbit ? BENCH_LINE_MB : BENCH_PIPE_MB;
}

enum bench_metric bench_ratio_metric(const struct bench_point *point)
{
	return point->way == BENCH_APPEND ? BENCH_OF_TMPFS : point->link_mbit ? BENCH_OF_LINE : BENCH_RATIO;
}

uint64_t bench_per_write(const struct bench_point *point)
{
	uint64_t records = point->size ? BENCH_WRITE_BYTES / point->size : 0;

	if (point->per_write)
		return point->per_write;
	if (point->way == BENCH_LIBRARY || point->way == BENCH_APPEND || point->way == BENCH_TMPFS || point->rate ||
	    (records == 0 && point->size))
		return 1;
	return records;
}
