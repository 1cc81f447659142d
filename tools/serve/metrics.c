/* SPDX-License-Identifier: MIT */
/* Metrics of all targets, in Prometheus's text format 0.0.4. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "app/program/flow.h"
#include "base/clock.h"
#include "tools/serve/serve.h"

static void head_add(struct k2i_report *report, const char *name, const char *type, const char *help)
{
	k2i_report_add(report, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

/* `lane`, `stream`: NULL, or whose it is. */
static void sample_add(struct k2i_report *report, const char *name, const struct serve_target *target,
		       const struct json_value *lane, const struct json_value *stream, double value)
{
	k2i_report_add(report, "%s{", name);
	report->comma = false;
	k2i_report_label(report, "target", target->name);
	if (lane)
		k2i_report_label(report, "lane", json_text(lane, "home"));
	if (stream) {
		k2i_report_label(report, "stream", json_text(stream, "path"));
		k2i_report_label(report, "sender", json_text(stream, "host"));
	}
	k2i_report_add(report, "} %.17g\n", value);
}

static void counters_add(struct k2i_report *report, const struct k2i_counter_table *table,
			 const struct serve_target *targets, size_t count)
{
	char name[128];

	for (size_t number = 0; number < table->count; number++) {
		const struct k2i_counter *counter = &table->counters[number];
		bool headed = false;

		(void)snprintf(name, sizeof(name), "k2hft_%s_%s%s", table->program, counter->name,
			       counter->kind == K2I_COUNTER ? "_total" : "");
		for (size_t at = 0; at < count; at++) {
			if (!targets[at].status || !stat_table_there(targets[at].status, table))
				continue;
			if (!headed)
				head_add(report, name, counter->kind == K2I_COUNTER ? "counter" : "gauge",
					 counter->help);
			headed = true;
			sample_add(report, name, &targets[at], NULL, NULL,
				   (double)stat_counter(targets[at].status, table, number));
		}
	}
}

static double age_s(double oldest_ns)
{
	double now_ns = (double)k2i_clock_ns(CLOCK_REALTIME);

	return oldest_ns > 0 && oldest_ns < now_ns ? (now_ns - oldest_ns) / 1e9 : 0;
}

/* Gauges that a target can have or not; what each is made of. */
struct gauge {
	const char *name, *help;
	bool (*get)(const struct serve_target *target, double *value);
};

static bool up_get(const struct serve_target *target, double *value)
{
	*value = target->status != NULL;
	return true;
}

static bool stuck_get(const struct serve_target *target, double *value)
{
	*value = target->verdict == STAT_STUCK;
	return true;
}

static bool connected_get(const struct serve_target *target, double *value)
{
	const struct json_value *client = json_get(target->status, "client");

	*value = strcmp(json_text(client, "state"), "connected") == 0;
	return client != NULL;
}

static bool ack_age_get(const struct serve_target *target, double *value)
{
	double last_ns = json_number(json_get(target->status, "client"), "last_ack_ns", 0);

	*value = age_s(last_ns);
	return last_ns > 0;
}

static bool backlog_get(const struct serve_target *target, const char *name, double *value)
{
	const struct json_value *backlog = json_get(target->status, "backlog");

	*value = json_number(backlog, name, 0);
	return backlog != NULL;
}

static bool backlog_records_get(const struct serve_target *target, double *value)
{
	return backlog_get(target, "records", value);
}

static bool backlog_bytes_get(const struct serve_target *target, double *value)
{
	return backlog_get(target, "bytes", value);
}

static bool backlog_age_get(const struct serve_target *target, double *value)
{
	bool there = backlog_get(target, "oldest_ns", value);

	*value = age_s(*value);
	return there;
}

static const struct gauge gauges[] = {
	{"k2hft_up", "whether the target answered", up_get},
	{"k2hft_stuck", "whether records wait that nobody takes, or that can't be written", stuck_get},
	{"k2hft_connected", "whether the sender is connected to its receiver", connected_get},
	{"k2hft_last_ack_age_seconds", "time since the receiver acknowledged something", ack_age_get},
	{"k2hft_backlog_records", "records that are written and not acknowledged", backlog_records_get},
	{"k2hft_backlog_bytes", "bytes of these records", backlog_bytes_get},
	{"k2hft_backlog_age_seconds", "age of the oldest of these records", backlog_age_get},
};

static void gauge_add(struct k2i_report *report, const struct gauge *gauge, const struct serve_target *targets,
		      size_t count)
{
	double value;

	head_add(report, gauge->name, "gauge", gauge->help);
	for (size_t at = 0; at < count; at++)
		if (gauge->get(&targets[at], &value))
			sample_add(report, gauge->name, &targets[at], NULL, NULL, value);
}

struct stream_gauge {
	const char *name, *help;
	double (*get)(const struct json_value *stream);
};

static double stream_records(const struct json_value *stream)
{
	return json_number(stream, "records", 0);
}

static double stream_bytes(const struct json_value *stream)
{
	return json_number(stream, "bytes", 0);
}

static double stream_age(const struct json_value *stream)
{
	return age_s(json_number(stream, "oldest_ns", 0));
}

static const struct stream_gauge stream_gauges[] = {
	{"k2hft_stream_backlog_records", "records of a stream that are written and not acknowledged", stream_records},
	{"k2hft_stream_backlog_bytes", "bytes of these records", stream_bytes},
	{"k2hft_stream_backlog_age_seconds", "age of the oldest of these records", stream_age},
};

static void streams_add(struct k2i_report *report, const struct stream_gauge *gauge, const struct serve_target *targets,
			size_t count)
{
	head_add(report, gauge->name, "gauge", gauge->help);
	for (size_t at = 0; at < count; at++) {
		const struct json_value *streams = json_get(json_get(targets[at].status, "backlog"), "streams");
		const struct json_value *stream = streams ? streams->first : NULL;

		for (unsigned shown = 0; stream && shown < K2I_FLOW_SAMPLES_MAX; stream = stream->next, shown++)
			sample_add(report, gauge->name, &targets[at], NULL, stream, gauge->get(stream));
	}
}

/* The same of each lane of senders that have several. */
struct lane_gauge {
	const char *name, *help;
	double (*get)(const struct json_value *status, const struct json_value *lane);
};

static double lane_connected(const struct json_value *status, const struct json_value *lane)
{
	(void)status;
	return strcmp(json_text(lane, "state"), "connected") == 0;
}

static double lane_records(const struct json_value *status, const struct json_value *lane)
{
	(void)status;
	return json_number(lane, "unacked_records", 0);
}

static double lane_bytes(const struct json_value *status, const struct json_value *lane)
{
	(void)status;
	return json_number(lane, "unacked_bytes", 0);
}

static double lane_age(const struct json_value *status, const struct json_value *lane)
{
	return age_s(json_number(stat_lane_backlog(status, lane), "oldest_ns", 0));
}

static double lane_ack_age(const struct json_value *status, const struct json_value *lane)
{
	(void)status;
	return age_s(json_number(lane, "last_ack_ns", 0));
}

static const struct lane_gauge lane_gauges[] = {
	{"k2hft_lane_connected", "whether the lane is connected to a receiver", lane_connected},
	{"k2hft_lane_backlog_records", "records of the lane that are written and not acknowledged", lane_records},
	{"k2hft_lane_backlog_bytes", "room of the lane's ring that they take", lane_bytes},
	{"k2hft_lane_backlog_age_seconds", "age of the oldest of them; 0 if the ring can't be read", lane_age},
	{"k2hft_lane_last_ack_age_seconds", "time since a receiver acknowledged something; 0: never", lane_ack_age},
};

static void lanes_add(struct k2i_report *report, const struct lane_gauge *gauge, const struct serve_target *targets,
		      size_t count)
{
	head_add(report, gauge->name, "gauge", gauge->help);
	for (size_t at = 0; at < count; at++) {
		const struct json_value *lanes = json_get(targets[at].status, "lanes");
		const struct json_value *lane = lanes ? lanes->first : NULL;

		for (unsigned shown = 0; lane && shown < STAT_LANES_MAX; lane = lane->next, shown++)
			sample_add(report, gauge->name, &targets[at], lane, NULL, gauge->get(targets[at].status, lane));
	}
}

static void latencies_add(struct k2i_report *report, const struct serve_target *targets, size_t count)
{
	struct k2i_report labels;
	struct k2i_latency latency;
	bool headed = false;

	for (size_t at = 0; at < count; at++) {
		if (!stat_latency_get(targets[at].status, &latency))
			continue;
		if (!headed)
			k2i_latency_metrics_begin(report);
		headed = true;
		labels = (struct k2i_report){0};
		k2i_report_label(&labels, "target", targets[at].name);
		if (labels.text && !labels.failed)
			k2i_latency_metrics(report, K2I_LATENCY_NAME, &latency, labels.text);
		report->failed |= labels.failed;
		free(labels.text);
	}
}

/* Rows of a receiver's status, one for each sender or stream, and the members that name a row. */
struct flow_kind {
	const char *array, *kind;
	const char *labels[2], *members[2];
};

static const struct flow_kind flow_kinds[] = {
	{"connections", "sender", {"sender", "lane"}, {"host", "ring"}},
	{"streams", "stream", {"sender", "stream"}, {"host", "path"}},
};

static bool flow_get(const struct json_value *row, struct k2i_flow_values *values)
{
	const struct json_value *chunks = json_get(row, "latency_chunks");

	*values = (struct k2i_flow_values){(uint64_t)json_number(row, "records", 0),
					   (uint64_t)json_number(row, "bytes", 0),
					   (uint64_t)json_number(row, "last_ns", 0),
					   {.sum_us = (uint64_t)json_number(row, "latency_sum_ms", 0) * 1000}};
	/* A connection whose sender has not said its name has none. */
	return chunks && stat_latency_chunks(chunks, &values->latency);
}

static void flows_add(struct k2i_report *report, const struct flow_kind *kind, const struct serve_target *targets,
		      size_t count)
{
	struct k2i_flow_samples samples = {0};

	for (size_t at = 0; at < count; at++) {
		const struct json_value *rows = json_get(targets[at].status, kind->array);
		const struct json_value *row = rows ? rows->first : NULL;

		for (unsigned shown = 0; row && shown < K2I_FLOW_SAMPLES_MAX; row = row->next) {
			struct k2i_flow_values values;
			struct k2i_report labels = {0};

			if (!flow_get(row, &values))
				continue;
			shown++;
			k2i_report_label(&labels, "target", targets[at].name);
			for (size_t label = 0; label < 2; label++)
				k2i_report_label(&labels, kind->labels[label], json_text(row, kind->members[label]));
			k2i_flow_sample_add(&samples, &labels, &values);
		}
	}
	k2i_flow_metrics(report, kind->kind, &samples);
}

#define SINKS_MAX 256u

static void sinks_add(struct k2i_report *report, const struct serve_target *targets, size_t count)
{
	struct k2i_sink_sample samples[SINKS_MAX] = {{0}};
	size_t filled = 0;

	for (size_t at = 0; at < count; at++) {
		const struct json_value *rows = json_get(targets[at].status, "sinks"), *row = rows ? rows->first : NULL;

		for (; row && filled < SINKS_MAX && !report->failed; row = row->next) {
			struct k2i_report labels = {0};

			k2i_report_label(&labels, "target", targets[at].name);
			k2i_report_label(&labels, "sink", json_text(row, "sink"));
			report->failed |= labels.failed;
			samples[filled++] = (struct k2i_sink_sample){labels.text, json_number(row, "held", 0),
								     json_number(row, "waiting_bytes", 0),
								     json_number(row, "waiting_s", 0)};
		}
	}
	if (!report->failed)
		k2i_sink_metrics(report, samples, filled);
	while (filled)
		free(samples[--filled].labels);
}

char *serve_metrics_make(const struct serve_target *targets, size_t count)
{
	struct k2i_report report = {0};

	for (size_t at = 0; at < sizeof(gauges) / sizeof(gauges[0]); at++)
		gauge_add(&report, &gauges[at], targets, count);
	for (size_t at = 0; at < sizeof(lane_gauges) / sizeof(lane_gauges[0]); at++)
		lanes_add(&report, &lane_gauges[at], targets, count);
	for (size_t at = 0; at < sizeof(stream_gauges) / sizeof(stream_gauges[0]); at++)
		streams_add(&report, &stream_gauges[at], targets, count);
	latencies_add(&report, targets, count);
	for (size_t at = 0; at < sizeof(flow_kinds) / sizeof(flow_kinds[0]); at++)
		flows_add(&report, &flow_kinds[at], targets, count);
	sinks_add(&report, targets, count);
	for (size_t table = 0; table < K2I_COUNTER_TABLES; table++)
		counters_add(&report, k2i_counter_tables[table], targets, count);
	return report.text;
}
