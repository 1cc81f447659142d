/* SPDX-License-Identifier: MIT */
#include "receiver/control/status.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "receiver/listen/secure.h"
#include "receiver/base/text.h"
#include "receiver/sink/sink.h"

static void gauge_set(atomic_uint_fast64_t *gauge, uint64_t value)
{
	atomic_store_explicit(gauge, value, memory_order_relaxed);
}

/* relaxed: each number is right by itself. */
static uint64_t shown_number(const atomic_uint_fast64_t *shown)
{
	return atomic_load_explicit(shown, memory_order_relaxed);
}

static void held_count(void *argument, struct k2i_peer *peer)
{
	uint64_t *held = argument;

	*held += atomic_load_explicit(&peer->stall_error, memory_order_relaxed) != 0;
}

/* Connections whose records can't be written now. */
static uint64_t held_get(const struct k2i_status *status)
{
	uint64_t held = 0;

	k2i_peers_each(&status->service->peers, held_count, &held);
	return held;
}

static struct k2i_latency latency_get(const struct k2i_status *status)
{
	struct k2i_latency latency;

	k2i_histogram_copy(&status->service->counters->latency, &latency);
	return latency;
}

static void values_get(const struct k2i_status *status, uint64_t values[K2I_RECEIVER_COUNTER_COUNT])
{
	struct k2i_service *service = status->service;
	struct k2i_counters *counters = service->counters;

	gauge_set(&counters->held_now, held_get(status));
	gauge_set(&counters->connections_open, atomic_load(&service->connections));
	gauge_set(&counters->starved_now, atomic_load(&service->budget.starved));
	gauge_set(&counters->buffer_bytes, atomic_load(&service->budget.taken));
	gauge_set(&counters->ledger_rings, k2i_ledger_ring_count(service->destination->ledger));
	k2i_counters_copy(counters, values);
}

struct listing {
	struct k2i_report *report;
	uint64_t now_ns;
	unsigned count;
};

/* The loop may have set `then_ns` after `now_ns` was read. */
static uint64_t seconds_since(uint64_t then_ns, uint64_t now_ns)
{
	return now_ns > then_ns ? (now_ns - then_ns) / K2I_SECOND_NS : 0;
}

static struct k2i_flow_values peer_flow(const struct k2i_peer *peer, uint64_t now_ns)
{
	struct k2i_flow_values values = {shown_number(&peer->records), shown_number(&peer->bytes), 0, {{0}, 0}};
	uint64_t record_ns = shown_number(&peer->record_ns);

	if (values.records)
		values.last_ns = k2i_clock_ns(CLOCK_REALTIME) - (now_ns > record_ns ? now_ns - record_ns : 0);
	k2i_histogram_copy(&peer->latency, &values.latency);
	return values;
}

static void peer_report(void *argument, struct k2i_peer *peer)
{
	struct listing *listing = argument;
	struct k2i_report *report = listing->report;
	int error = atomic_load_explicit(&peer->stall_error, memory_order_relaxed);
	struct k2i_flow_values flow = peer_flow(peer, listing->now_ns);

	if (listing->count++ >= K2I_STATUS_LISTED_MAX)
		return;
	k2i_report_open(report, NULL, '{');
	k2i_report_text(report, "peer", peer->address);
	k2i_report_number(report, "connected_s", seconds_since(peer->connected_ns, listing->now_ns));
	if (atomic_load(&peer->greeted)) {
		k2i_report_text(report, "host", peer->host);
		k2i_report_uuid(report, "ring", peer->ring_uuid);
		k2i_report_number(report, "position", shown_number(&peer->committed));
		k2i_flow_report(report, &flow);
		k2i_report_number(report, "bytes_per_s", shown_number(&peer->bytes_per_s));
		k2i_report_number(report, "idle_s", seconds_since(shown_number(&peer->record_ns), listing->now_ns));
		k2i_report_number(report, "duplicate_chunks", shown_number(&peer->duplicates));
		k2i_report_text(report, "level",
				atomic_load(&peer->level) == K2HFT_LEVEL_SYNCED ? "synced" : "written");
		k2i_report_text(report, "held", error ? k2i_text_error(error) : "");
	}
	k2i_report_close(report, '}');
}

static void stream_report(void *argument, const char *path, const char *host, const struct k2i_flow_values *values)
{
	struct k2i_report *report = argument;

	k2i_report_open(report, NULL, '{');
	k2i_report_text(report, "path", path);
	k2i_report_text(report, "host", host);
	k2i_flow_report(report, values);
	k2i_report_close(report, '}');
}

static void sinks_report(const struct k2i_status *status, struct k2i_report *report,
			 struct k2i_sink_state states[K2I_SINKS_MAX])
{
	memset(states, 0, K2I_SINKS_MAX * sizeof(states[0]));
	K2I_SINKS_EACH(&status->service->destination->sinks, sink)
		(*sink)->ops->show(*sink, report, K2I_STATUS_LISTED_MAX, states++);
}

bool k2i_status_healthy(const struct k2i_status *status)
{
	struct k2i_sink_state states[K2I_SINKS_MAX];
	struct k2i_report shown = {0};
	uint64_t held = held_get(status);

	sinks_report(status, &shown, states);
	free(shown.text);
	for (uint32_t at = 0; at < status->service->destination->sinks.count; at++)
		held += states[at].held;
	return !held;
}

void k2i_status_json(const struct k2i_status *status, struct k2i_report *report)
{
	uint64_t values[K2I_RECEIVER_COUNTER_COUNT];
	uint64_t now_ns = k2i_clock_now_ns(), expires_s = k2i_secure_expires_s(status->service->secure);
	struct listing connections = {report, now_ns, 0};
	struct k2i_sink_state states[K2I_SINKS_MAX];
	struct k2i_latency latency = latency_get(status);

	values_get(status, values);
	k2i_report_open(report, NULL, '{');
	k2i_report_begin(report, "k2hftfusesvr", now_ns - status->started_ns);
	if (expires_s)
		k2i_report_number(report, "certificate_expires_s", expires_s);
	(void)pthread_mutex_lock(status->reload_mutex);
	k2i_reload_report(report, status->reload);
	(void)pthread_mutex_unlock(status->reload_mutex);
	k2i_report_counters(report, "receiver", &k2i_receiver_counter_table, values);
	k2i_latency_report(report, &latency);
	k2i_report_open(report, "connections", '[');
	k2i_peers_each(&status->service->peers, peer_report, &connections);
	k2i_report_close(report, ']');
	k2i_report_open(report, "streams", '[');
	k2i_flows_each(&status->service->streams.flows, stream_report, report);
	k2i_report_close(report, ']');
	sinks_report(status, report, states);
	k2i_report_open(report, "sinks", '[');
	for (uint32_t at = 0; at < status->service->destination->sinks.count; at++) {
		k2i_report_open(report, NULL, '{');
		k2i_report_text(report, "sink", states[at].name);
		k2i_report_number(report, "held", states[at].held);
		k2i_report_number(report, "waiting_bytes", states[at].waiting_bytes);
		k2i_report_number(report, "waiting_s", states[at].waiting_ns / K2I_SECOND_NS);
		k2i_report_close(report, '}');
	}
	k2i_report_close(report, ']');
	k2i_report_close(report, '}');
	k2i_report_add(report, "\n");
}

struct sampling {
	struct k2i_flow_samples samples;
	uint64_t now_ns;
};

static void peer_sample(void *argument, struct k2i_peer *peer)
{
	struct sampling *sampling = argument;
	struct k2i_flow_values values = peer_flow(peer, sampling->now_ns);
	struct k2i_report labels = {0};

	if (!atomic_load(&peer->greeted) || sampling->samples.count >= K2I_FLOW_SAMPLES_MAX)
		return;
	k2i_report_label(&labels, "sender", peer->host);
	k2i_report_label_uuid(&labels, "lane", peer->ring_uuid);
	k2i_flow_sample_add(&sampling->samples, &labels, &values);
}

static void stream_sample(void *argument, const char *path, const char *host, const struct k2i_flow_values *values)
{
	struct sampling *sampling = argument;
	struct k2i_report labels = {0};

	if (sampling->samples.count >= K2I_FLOW_SAMPLES_MAX)
		return;
	k2i_report_label(&labels, "sender", host);
	k2i_report_label(&labels, "stream", path);
	k2i_flow_sample_add(&sampling->samples, &labels, values);
}

static void flows_metrics(const struct k2i_status *status, struct k2i_report *report)
{
	struct sampling sampling = {.now_ns = k2i_clock_now_ns()};

	k2i_peers_each(&status->service->peers, peer_sample, &sampling);
	k2i_flow_metrics(report, "sender", &sampling.samples);
	k2i_flows_each(&status->service->streams.flows, stream_sample, &sampling);
	k2i_flow_metrics(report, "stream", &sampling.samples);
}

static void sinks_metrics(const struct k2i_status *status, struct k2i_report *report)
{
	struct k2i_report shown = {0}, labels;
	struct k2i_sink_state states[K2I_SINKS_MAX];
	struct k2i_sink_sample samples[K2I_SINKS_MAX] = {{0}};
	size_t count = status->service->destination->sinks.count;

	sinks_report(status, &shown, states);
	free(shown.text);
	for (size_t at = 0; at < count; at++) {
		labels = (struct k2i_report){0};
		k2i_report_label(&labels, "sink", states[at].name);
		report->failed |= labels.failed;
		samples[at] =
			(struct k2i_sink_sample){labels.text, (double)states[at].held, (double)states[at].waiting_bytes,
						 (double)states[at].waiting_ns / 1e9};
	}
	if (!report->failed)
		k2i_sink_metrics(report, samples, count);
	while (count)
		free(samples[--count].labels);
}

void k2i_status_metrics(const struct k2i_status *status, struct k2i_report *report)
{
	uint64_t values[K2I_RECEIVER_COUNTER_COUNT], expires_s = k2i_secure_expires_s(status->service->secure);
	struct k2i_latency latency = latency_get(status);

	values_get(status, values);
	k2i_report_metrics_begin(report, &k2i_receiver_counter_table, k2i_clock_now_ns() - status->started_ns);
	k2i_report_metrics_certificate(report, &k2i_receiver_counter_table, expires_s);
	k2i_report_metrics(report, &k2i_receiver_counter_table, values);
	k2i_latency_metrics_begin(report);
	k2i_latency_metrics(report, K2I_LATENCY_NAME, &latency, "");
	flows_metrics(status, report);
	sinks_metrics(status, report);
}
