/* SPDX-License-Identifier: MIT */
#include "app/program/report.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <k2hft/version.h>

#include "base/clock.h"
#include "app/format/parts.h"
#include "base/utf8.h"
#include "base/uuid.h"

#define ROOM_FIRST 1024u
#define UUID_DIGITS_SHOWN 8 /* enough to find it in the log */

/* Room for `bytes` and the end. */
static bool room_make(struct k2i_report *report, size_t bytes)
{
	size_t room = report->room ? report->room : ROOM_FIRST;
	char *text;

	if (report->failed)
		return false;
	while (room - report->bytes <= bytes)
		room *= 2;
	if (room == report->room)
		return true;
	text = realloc(report->text, room);
	report->failed = !text;
	if (!text)
		return false;
	report->text = text;
	report->room = room;
	return true;
}

void k2i_report_add(struct k2i_report *report, const char *format, ...)
{
	va_list arguments;
	int bytes;

	va_start(arguments, format);
	bytes = vsnprintf(NULL, 0, format, arguments);
	va_end(arguments);
	if (bytes < 0 || !room_make(report, (size_t)bytes))
		return;
	va_start(arguments, format);
	(void)vsnprintf(report->text + report->bytes, report->room - report->bytes, format, arguments);
	va_end(arguments);
	report->bytes += (size_t)bytes;
}

/* JSON ----------------------------------------------------------------------------------------------------------- */

static void key_put(struct k2i_report *report, const char *key)
{
	k2i_report_add(report, "%s", report->comma ? ",\n" : "");
	if (key)
		k2i_report_add(report, "\"%s\": ", key);
	report->comma = true;
}

void k2i_report_open(struct k2i_report *report, const char *key, char bracket)
{
	key_put(report, key);
	k2i_report_add(report, "%c", bracket);
	report->comma = false;
}

void k2i_report_close(struct k2i_report *report, char bracket)
{
	k2i_report_add(report, "%c", bracket);
	report->comma = true;
}

void k2i_report_number(struct k2i_report *report, const char *key, uint64_t number)
{
	key_put(report, key);
	k2i_report_add(report, "%" PRIu64, number);
}

void k2i_report_text(struct k2i_report *report, const char *key, const char *text)
{
	size_t bytes = strlen(text);

	key_put(report, key);
	k2i_report_add(report, "\"");
	if (!room_make(report, bytes * K2I_JSON_GROWTH))
		return;
	report->bytes += k2i_json_escape(text, bytes, report->text + report->bytes);
	k2i_report_add(report, "\"");
}

static const char *uuid_begin(const uint8_t uuid[16], char text[K2I_UUID_TEXT_BYTES])
{
	(void)k2i_uuid_text(uuid, text);
	text[UUID_DIGITS_SHOWN] = '\0';
	return text;
}

void k2i_report_uuid(struct k2i_report *report, const char *key, const uint8_t uuid[16])
{
	char text[K2I_UUID_TEXT_BYTES];

	k2i_report_text(report, key, uuid_begin(uuid, text));
}

void k2i_report_begin(struct k2i_report *report, const char *program, uint64_t uptime_ns)
{
	k2i_report_text(report, "program", program);
	k2i_report_text(report, "version", K2HFT_VERSION_STRING);
	k2i_report_number(report, "pid", (uint64_t)getpid());
	k2i_report_number(report, "uptime_s", uptime_ns / K2I_SECOND_NS);
}

void k2i_report_counters(struct k2i_report *report, const char *key, const struct k2i_counter_table *table,
			 const uint64_t *values)
{
	char lost[64];

	k2i_report_open(report, key, '{');
	for (size_t at = 0; at < table->count; at++)
		k2i_report_number(report, table->counters[at].name, values[at]);
	k2i_report_close(report, '}');
	(void)snprintf(lost, sizeof(lost), "%s_lost", key);
	k2i_report_open(report, lost, '[');
	for (size_t at = 0; at < table->count; at++) {
		if (table->counters[at].loss && values[at])
			k2i_report_text(report, NULL, table->counters[at].name);
	}
	k2i_report_close(report, ']');
}

void k2i_report_ring_state(struct k2i_report *report, const struct k2hft_ring_stats *stats)
{
	k2i_report_open(report, "ring_state", '{');
	k2i_report_uuid(report, "uuid", stats->uuid);
	k2i_report_number(report, "bytes", stats->ring_bytes);
	k2i_report_number(report, "tail", stats->tail);
	k2i_report_number(report, "read", stats->read);
	k2i_report_number(report, "acked", stats->acked);
	k2i_report_number(report, "head", stats->head);
	k2i_report_close(report, '}');
}

void k2i_report_ring(struct k2i_report *report, const struct k2hft_ring_stats *stats)
{
	uint64_t values[K2I_RING_COUNTER_COUNT];

	k2i_report_ring_state(report, stats);
	k2i_ring_counters_get(stats, values);
	k2i_report_counters(report, "ring", &k2i_ring_counter_table, values);
}

static const char *name_of(const char *const names[4], uint32_t number)
{
	return number < 4 ? names[number] : "unknown";
}

static void client_state(struct k2i_report *report, const struct k2hft_client_stats *stats)
{
	static const char *const states[4] = {"waiting", "connecting", "greeting", "connected"};
	static const char *const statuses[4] = {"ok", "slow", "full", "failed"};
	uint64_t now_ns = k2i_clock_now_ns();

	k2i_report_text(report, "state", name_of(states, stats->state));
	k2i_report_text(report, "receiver_status", name_of(statuses, stats->status));
	k2i_report_number(report, "last_ack_ns",
			  stats->acked_ns && now_ns > stats->acked_ns
				  ? k2i_clock_ns(CLOCK_REALTIME) - (now_ns - stats->acked_ns)
				  : 0);
}

void k2i_report_client(struct k2i_report *report, const char *host, const char *port,
		       const struct k2hft_client_stats *stats)
{
	k2i_report_open(report, "client", '{');
	k2i_report_text(report, "host", host);
	k2i_report_text(report, "port", port);
	client_state(report, stats);
	k2i_report_number(report, "acked", stats->acked);
	k2i_report_number(report, "window_end", stats->window_end);
	k2i_report_text(report, "error", stats->last_error);
	k2i_report_close(report, '}');
}

void k2i_report_lane(struct k2i_report *report, const char *home, const char *goes_to, const char *ring_file,
		     const struct k2hft_ring_stats *ring, const struct k2hft_client_stats *client)
{
	k2i_report_open(report, NULL, '{');
	k2i_report_text(report, "home", home);
	k2i_report_text(report, "goes_to", goes_to);
	k2i_report_text(report, "ring_file", ring_file);
	client_state(report, client);
	k2i_report_number(report, "acked_records", ring->acked_records);
	k2i_report_number(report, "unacked_records", ring->unacked_records);
	k2i_report_number(report, "unacked_bytes", ring->tail > ring->head ? ring->tail - ring->head : 0);
	k2i_report_number(report, "dropped_records", ring->dropped_records);
	k2i_report_number(report, "expired_records", ring->expired_records);
	k2i_report_number(report, "moves", ring->moves);
	k2i_report_number(report, "settled_records", ring->settled_records);
	k2i_report_number(report, "retracted_records", ring->retracted_records);
	k2i_report_number(report, "unsettled", client->unsettled);
	k2i_report_uuid(report, "ring", ring->uuid);
	k2i_report_text(report, "error", client->last_error);
	k2i_report_close(report, '}');
}

/* Metrics -------------------------------------------------------------------------------------------------------- */

/* Control characters have no place in a label; \ and " are escaped. */
void k2i_report_label(struct k2i_report *report, const char *name, const char *value)
{
	size_t left = strlen(value), length;

	k2i_report_add(report, "%s%s=\"", report->comma ? "," : "", name);
	report->comma = true;
	for (; left; value += length, left -= length) {
		unsigned char first = (unsigned char)*value;

		length = first < 0x80 ? 1 : k2i_utf8_length((const unsigned char *)value, left);
		if (!length) {
			length = 1;
			k2i_report_add(report, "\uFFFD");
		} else if (first < 0x20 || first == 0x7f)
			k2i_report_add(report, "?");
		else
			k2i_report_add(report, "%s%.*s", *value == '\\' || *value == '"' ? "\\" : "", (int)length,
				       value);
	}
	k2i_report_add(report, "\"");
}

void k2i_report_label_uuid(struct k2i_report *report, const char *name, const uint8_t uuid[16])
{
	char text[K2I_UUID_TEXT_BYTES];

	k2i_report_label(report, name, uuid_begin(uuid, text));
}

void k2i_report_metrics_begin(struct k2i_report *report, const struct k2i_counter_table *table, uint64_t uptime_ns)
{
	k2i_report_add(report,
		       "# HELP k2hft_%s_info version of the program\n# TYPE k2hft_%s_info gauge\n"
		       "k2hft_%s_info{version=\"%s\"} 1\n",
		       table->program, table->program, table->program, K2HFT_VERSION_STRING);
	k2i_report_add(report,
		       "# HELP k2hft_%s_uptime_seconds time since it was started\n"
		       "# TYPE k2hft_%s_uptime_seconds gauge\nk2hft_%s_uptime_seconds %" PRIu64 "\n",
		       table->program, table->program, table->program, uptime_ns / K2I_SECOND_NS);
}

void k2i_report_metrics_certificate(struct k2i_report *report, const struct k2i_counter_table *table,
				    uint64_t expires_s)
{
	/* None at all rather than 0, which an alarm would take for one that has expired. */
	if (expires_s)
		k2i_report_add(report,
			       "# HELP k2hft_%s_certificate_expires_seconds when its certificate expires, since 1970\n"
			       "# TYPE k2hft_%s_certificate_expires_seconds gauge\n"
			       "k2hft_%s_certificate_expires_seconds %" PRIu64 "\n",
			       table->program, table->program, table->program, expires_s);
}

void k2i_report_metrics(struct k2i_report *report, const struct k2i_counter_table *table, const uint64_t *values)
{
	for (size_t at = 0; at < table->count; at++) {
		const struct k2i_counter *counter = &table->counters[at];
		const char *total = counter->kind == K2I_COUNTER ? "_total" : "";
		const char *type = counter->kind == K2I_COUNTER ? "counter" : "gauge";

		k2i_report_add(report, "# HELP k2hft_%s_%s%s %s\n# TYPE k2hft_%s_%s%s %s\nk2hft_%s_%s%s %" PRIu64 "\n",
			       table->program, counter->name, total, counter->help, table->program, counter->name,
			       total, type, table->program, counter->name, total, values[at]);
	}
}
