/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "app/program/report.h"
#include "base/clock.h"
#include "tools/stat/stat.h"
#include "tools/base/numbers.h"
#include "tools/base/terminal.h"

#define VERDICT_ROOM 1024u
#define ROWS_MAX 40u /* of connections and of files, for people */

/* The text of a number or string in an object of the status, or in the status itself; NULL: there is none. */
static const char *text_of(const struct json_value *status, const char *object, const char *name)
{
	const struct json_value *member = json_get(object ? json_get(status, object) : status, name);

	return member ? member->text : NULL;
}

bool stat_table_there(const struct json_value *status, const struct k2i_counter_table *table)
{
	return text_of(status, table->program, table->counters[0].name) != NULL;
}

uint64_t stat_counter(const struct json_value *status, const struct k2i_counter_table *table, size_t at)
{
	const char *text = text_of(status, table->program, table->counters[at].name);

	return text ? strtoull(text, NULL, 10) : 0;
}

/* The status itself says which counters are losses: it can be of a version that has others. */
bool stat_lossy(const struct json_value *status)
{
	const struct json_value *lost;
	char name[64];
	size_t table;

	for (table = 0; table < K2I_COUNTER_TABLES; table++) {
		(void)snprintf(name, sizeof(name), "%s_lost", k2i_counter_tables[table]->program);
		lost = json_get(status, name);
		if (lost && lost->first)
			return true;
	}
	return false;
}

bool stat_latency_chunks(const struct json_value *chunks, struct k2i_latency *latency)
{
	const struct json_value *bucket = chunks ? chunks->first : NULL;
	unsigned at = 0;

	for (; bucket && at < K2I_LATENCY_BUCKETS; bucket = bucket->next)
		latency->chunks[at++] = bucket->type == JSON_NUMBER ? strtoull(bucket->text, NULL, 10) : 0;
	return at == K2I_LATENCY_BUCKETS && !bucket;
}

bool stat_latency_get(const struct json_value *status, struct k2i_latency *latency)
{
	const struct json_value *object = json_get(status, "latency_ms");

	*latency = (struct k2i_latency){.sum_us = (uint64_t)(json_number(object, "sum", 0) * 1000)};
	return stat_latency_chunks(json_get(object, "chunks"), latency);
}

/* "within 5 ms", or, behind the last bound, that it took longer. */
static void quantile_show(FILE *output, const struct k2i_latency *latency, const char *share, unsigned per_mille)
{
	uint64_t bound_ms = k2i_latency_quantile_ms(latency, per_mille);

	if (bound_ms == UINT64_MAX)
		(void)fprintf(output, "%s over 1 min", share);
	else if (bound_ms < 1000)
		(void)fprintf(output, "%s within %" PRIu64 " ms", share, bound_ms);
	else
		(void)fprintf(output, "%s within %" PRIu64 " s", share, bound_ms / 1000);
}

static void latency_show(FILE *output, const struct json_value *now)
{
	struct k2i_latency latency;
	char number[NUMBER_TEXT_ROOM];

	if (!stat_latency_get(now, &latency) || !k2i_latency_count(&latency))
		return;
	quantile_show(output, &latency, "  from write to commit: 50%", 500);
	quantile_show(output, &latency, ", 90%", 900);
	quantile_show(output, &latency, ", 99%", 990);
	quantile_show(output, &latency, ", 99.9%", 999);
	(void)fprintf(output, " (%s chunks)\n", number_text(k2i_latency_count(&latency), number));
}

/* For people, who don't count in seconds since 1970. */
static void certificate_show(FILE *output, const char *expires_s)
{
	long long wanted = expires_s ? strtoll(expires_s, NULL, 10) : 0;
	time_t second = (time_t)wanted;
	struct tm utc;
	char text[32];

	/* A time_t of 32 bits ends in 2038. */
	if (second > 0 && second == wanted && gmtime_r(&second, &utc) &&
	    strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &utc))
		(void)fprintf(output, ", certificate expires %s", text);
}

static void head_show(FILE *output, const char *target, const struct json_value *now)
{
	static const struct {
		const char *object, *name;
		const char *usual; /* goes without saying */
	} shown[] = {{NULL, "program", ""},     {NULL, "version", ""},
		     {NULL, "pid", ""},         {NULL, "uptime_s", ""},
		     {NULL, "mount_point", ""}, {NULL, "sender", ""},
		     {"client", "host", ""},    {"client", "port", ""},
		     {"client", "state", ""},   {"client", "receiver_status", "ok"},
		     {"client", "error", ""},   {"ring_state", "uuid", ""}};
	char verdict[VERDICT_ROOM];
	const char *text, *object;
	enum stat_verdict kind;
	size_t at;

	kind = stat_verdict_make(now, k2i_clock_ns(CLOCK_REALTIME), verdict, sizeof(verdict));
	text_show(output, target, false);
	(void)fputs(": ", output);
	colour_begin(output, kind == STAT_STUCK ? COLOUR_BAD : kind == STAT_FINE ? COLOUR_GOOD : COLOUR_DOUBTFUL);
	text_show(output, verdict, false);
	colour_end(output);
	(void)fputs("\n", output);
	for (at = 0; at < sizeof(shown) / sizeof(shown[0]); at++) {
		object = shown[at].object;
		text = text_of(now, object, shown[at].name);
		if (!text || !*text || strcmp(text, shown[at].usual) == 0)
			continue;
		(void)fprintf(output, "%s%s%s%s ", at ? ", " : "  ", object ? object : "", object ? "." : "",
			      shown[at].name);
		text_show(output, text, false);
	}
	certificate_show(output, text_of(now, NULL, "certificate_expires_s"));
	(void)fputs("\n", output);
}

static void counters_show(FILE *output, const struct k2i_counter_table *table, const struct json_value *now,
			  const struct json_value *before, double seconds, bool all)
{
	char number[NUMBER_TEXT_ROOM], rate[NUMBER_TEXT_ROOM + 2], per_second[NUMBER_TEXT_ROOM];
	size_t at;

	for (at = 0; at < table->count; at++) {
		const struct k2i_counter *counter = &table->counters[at];
		uint64_t value = stat_counter(now, table, at), old = before ? stat_counter(before, table, at) : 0;

		if (value == 0 && !all)
			continue;
		rate[0] = '\0';
		if (before && counter->kind == K2I_COUNTER && value > old && seconds > 0)
			(void)snprintf(rate, sizeof(rate), "%s/s",
				       number_text((uint64_t)((double)(value - old) / seconds + 0.5), per_second));
		(void)fprintf(output, "%c %-19s %15s ", counter->loss && value ? '!' : ' ', counter->name,
			      number_text(value, number));
		if (before)
			(void)fprintf(output, "%14s ", rate);
		(void)fprintf(output, " %s\n", counter->help);
	}
}

/* A name and its value, of which a moment is shown as its age. Without `all` a value of 0 goes without saying. */
static bool field_show(FILE *output, const struct json_value *field, const char *before, bool all)
{
	bool moment = strcmp(field->name, "last_ack_ns") == 0 || strcmp(field->name, "last_ns") == 0;
	uint64_t now_ns = k2i_clock_ns(CLOCK_REALTIME), then_ns;

	if (!field->text || !*field->text ||
	    (!all && (strcmp(field->text, "0") == 0 || strcmp(field->name, "latency_sum_ms") == 0)))
		return false;
	(void)fputs(before, output);
	if (!all && moment) {
		then_ns = strtoull(field->text, NULL, 10);
		(void)fprintf(output, "%.*s %" PRIu64 " s ago", (int)strlen(field->name) - 3, field->name,
			      now_ns > then_ns ? (now_ns - then_ns) / K2I_SECOND_NS : 0);
		return true;
	}
	text_show(output, field->name, false);
	(void)fputs(" ", output);
	text_show(output, field->text, false);
	return true;
}

/* Objects of one array, a line each: what they have, as name and value. */
static void array_show(FILE *output, const char *name, const struct json_value *now, bool all)
{
	const char *before;
	const struct json_value *array = json_get(now, name), *row, *field;
	struct k2i_latency latency;
	unsigned rows = 0;

	for (row = array ? array->first : NULL; row; row = row->next) {
		if (row->type != JSON_OBJECT || rows++ >= ROWS_MAX)
			continue;
		(void)fprintf(output, "  %s:", name);
		before = " ";
		for (field = row->first; field; field = field->next)
			if (field_show(output, field, before, all))
				before = ", ";
		if (stat_latency_chunks(json_get(row, "latency_chunks"), &latency) && k2i_latency_count(&latency))
			quantile_show(output, &latency, ", 99%", 990);
		(void)fputs("\n", output);
	}
	if (rows > ROWS_MAX)
		(void)fprintf(output, "  %s: %u more, which --json has\n", name, rows - ROWS_MAX);
}

void stat_show_table(FILE *output, const char *target, const struct json_value *now, const struct json_value *before,
		     double seconds, bool all)
{
	size_t table;

	head_show(output, target, now);
	latency_show(output, now);
	for (table = 0; table < K2I_COUNTER_TABLES; table++) {
		if (stat_table_there(now, k2i_counter_tables[table]))
			counters_show(output, k2i_counter_tables[table], now, before, seconds, all);
	}
	array_show(output, "lanes", now, all);
	array_show(output, "connections", now, all);
	array_show(output, "streams", now, all);
	array_show(output, "files", now, all);
	array_show(output, "plugins", now, all);
	array_show(output, "forward", now, all);
	array_show(output, "otlp", now, all);
	array_show(output, "kafka", now, all);
	if (stat_lossy(now))
		(void)fputs("  Records were lost, or may be missing or there twice: see the lines with a !.\n", output);
}

void stat_show_line(FILE *output, const char *target, const struct json_value *now, bool all)
{
	time_t second = time(NULL);
	struct tm utc;
	char text[32] = "";
	size_t number, at;

	if (gmtime_r(&second, &utc))
		(void)strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &utc);
	(void)fprintf(output, "%s ", text);
	text_show(output, target, false);
	for (number = 0; number < K2I_COUNTER_TABLES; number++) {
		const struct k2i_counter_table *table = k2i_counter_tables[number];

		for (at = 0; stat_table_there(now, table) && at < table->count; at++) {
			uint64_t value = stat_counter(now, table, at);

			if (value || all)
				(void)fprintf(output, " %s=%" PRIu64, table->counters[at].name, value);
		}
	}
	(void)fputs("\n", output);
}

static void metrics_add(struct k2i_report *report, const struct k2i_counter_table *table, const struct json_value *now)
{
	uint64_t *values = calloc(table->count, sizeof(*values));
	size_t at;

	report->failed |= !values;
	for (at = 0; values && at < table->count; at++)
		values[at] = stat_counter(now, table, at);
	if (values)
		k2i_report_metrics(report, table, values);
	free(values);
}

void stat_show_metrics(FILE *output, const struct json_value *now)
{
	const char *expires_s = text_of(now, NULL, "certificate_expires_s");
	struct k2i_report report = {0};
	struct k2i_latency latency;
	size_t table;

	for (table = 0; table < K2I_COUNTER_TABLES; table++) {
		if (!stat_table_there(now, k2i_counter_tables[table]))
			continue;
		/* That of the program, which comes before its ring. */
		if (expires_s)
			k2i_report_metrics_certificate(&report, k2i_counter_tables[table],
						       strtoull(expires_s, NULL, 10));
		expires_s = NULL;
		metrics_add(&report, k2i_counter_tables[table], now);
	}
	if (stat_latency_get(now, &latency)) {
		k2i_latency_metrics_begin(&report);
		k2i_latency_metrics(&report, K2I_LATENCY_NAME, &latency, "");
	}
	if (report.text && !report.failed)
		(void)fputs(report.text, output);
	free(report.text);
}
