/* SPDX-License-Identifier: MIT */
#include "app/program/flow.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

void k2i_flow_report(struct k2i_report *report, const struct k2i_flow_values *values)
{
	k2i_report_number(report, "records", values->records);
	k2i_report_number(report, "bytes", values->bytes);
	k2i_report_number(report, "last_ns", values->last_ns);
	k2i_report_open(report, "latency_chunks", '[');
	for (unsigned at = 0; at < K2I_LATENCY_BUCKETS; at++)
		k2i_report_number(report, NULL, values->latency.chunks[at]);
	k2i_report_close(report, ']');
	k2i_report_number(report, "latency_sum_ms", values->latency.sum_us / 1000);
}

static void head_add(struct k2i_report *report, const char *name, const char *type, const char *help, const char *kind)
{
	k2i_report_add(report, "# HELP %s %s %s\n# TYPE %s %s\n", name, help, kind, name, type);
}

static bool sample_known(const struct k2i_flow_samples *samples, const char *labels)
{
	size_t at = samples->count > K2I_FLOW_SAMPLES_MAX ? samples->count - K2I_FLOW_SAMPLES_MAX : 0;

	while (at < samples->count && strcmp(samples->list[at].labels, labels) != 0)
		at++;
	return at < samples->count;
}

static bool room_make(struct k2i_flow_samples *samples)
{
	size_t room = samples->room ? samples->room * 2 : 16;
	struct k2i_flow_sample *list;

	if (samples->count < samples->room)
		return true;
	list = realloc(samples->list, room * sizeof(*list));
	if (!list)
		return false;
	samples->list = list;
	samples->room = room;
	return true;
}

void k2i_flow_sample_add(struct k2i_flow_samples *samples, struct k2i_report *labels,
			 const struct k2i_flow_values *values)
{
	bool made = labels->text && !labels->failed, known = made && sample_known(samples, labels->text);

	if (made && !known && room_make(samples)) {
		samples->list[samples->count++] = (struct k2i_flow_sample){labels->text, *values};
		return;
	}
	samples->failed |= !known;
	free(labels->text);
}

static void samples_print(struct k2i_report *report, const char *kind, const struct k2i_flow_sample *samples,
			  size_t count)
{
	const struct k2i_flow_sample *end = samples + count, *sample;
	uint64_t now_ns = k2i_clock_ns(CLOCK_REALTIME);
	char name[96];

	(void)snprintf(name, sizeof(name), "k2hft_receiver_%s_records_total", kind);
	head_add(report, name, "counter", "records committed of the", kind);
	for (sample = samples; sample < end; sample++)
		k2i_report_add(report, "%s{%s} %" PRIu64 "\n", name, sample->labels, sample->values.records);
	(void)snprintf(name, sizeof(name), "k2hft_receiver_%s_bytes_total", kind);
	head_add(report, name, "counter", "payload bytes committed of the", kind);
	for (sample = samples; sample < end; sample++)
		k2i_report_add(report, "%s{%s} %" PRIu64 "\n", name, sample->labels, sample->values.bytes);
	(void)snprintf(name, sizeof(name), "k2hft_receiver_%s_last_commit_age_seconds", kind);
	head_add(report, name, "gauge", "time since records were committed of the", kind);
	for (sample = samples; sample < end; sample++)
		if (sample->values.last_ns)
			k2i_report_add(report, "%s{%s} %.3f\n", name, sample->labels,
				       now_ns > sample->values.last_ns ? (double)(now_ns - sample->values.last_ns) / 1e9
								       : 0);
	(void)snprintf(name, sizeof(name), "k2hft_receiver_%s_latency_seconds", kind);
	head_add(report, name, "histogram", "time from write to commit, in chunks, of the", kind);
	for (sample = samples; sample < end; sample++)
		k2i_latency_metrics(report, name, &sample->values.latency, sample->labels);
}

void k2i_flow_metrics(struct k2i_report *report, const char *kind, struct k2i_flow_samples *samples)
{
	if (samples->count)
		samples_print(report, kind, samples->list, samples->count);
	report->failed |= samples->failed;
	while (samples->count)
		free(samples->list[--samples->count].labels);
	free(samples->list);
	*samples = (struct k2i_flow_samples){0};
}

static void sink_gauge(struct k2i_report *report, const char *name, const char *help,
		       const struct k2i_sink_sample *samples, size_t count, size_t offset)
{
	k2i_report_add(report, "# HELP k2hft_receiver_sink_%s %s\n# TYPE k2hft_receiver_sink_%s gauge\n", name, help,
		       name);
	for (size_t at = 0; at < count; at++)
		k2i_report_add(report, "k2hft_receiver_sink_%s{%s} %.12g\n", name, samples[at].labels,
			       *(const double *)((const char *)&samples[at] + offset));
}

void k2i_sink_metrics(struct k2i_report *report, const struct k2i_sink_sample *samples, size_t count)
{
	if (!count)
		return;
	sink_gauge(report, "held", "files, processes or peers of the sink that can't take records now", samples, count,
		   offsetof(struct k2i_sink_sample, held));
	sink_gauge(report, "waiting_bytes", "bytes that the sink has taken and not stored", samples, count,
		   offsetof(struct k2i_sink_sample, waiting_bytes));
	sink_gauge(report, "waiting_seconds", "how long the oldest of them has waited; 0: none waits, or a relay",
		   samples, count, offsetof(struct k2i_sink_sample, waiting_s));
}
