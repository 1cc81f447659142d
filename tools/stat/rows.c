/* SPDX-License-Identifier: MIT */
/* k2hft stat -i: a line for each target and each of its lanes, those first for which most records wait. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "tools/base/numbers.h"
#include "tools/base/terminal.h"
#include "tools/stat/stat.h"

#define NAME_COLUMNS_MIN 20u
#define OTHER_COLUMNS 51u /* of a line, behind the name */

struct row {
	const char *name, *state;
	double records_per_s, bytes_per_s; /* below 0: not known */
	uint64_t waiting, oldest_ns;
	bool lane;
};

static uint64_t number_of(const struct json_value *object, const char *name)
{
	const struct json_value *member = json_get(object, name);

	return member && member->type == JSON_NUMBER ? strtoull(member->text, NULL, 10) : 0;
}

static double rate_of(const struct json_value *now, const struct json_value *before, const char *name, double seconds)
{
	uint64_t value = number_of(now, name), old = number_of(before, name);

	return before && seconds > 0 && value >= old ? (double)(value - old) / seconds : -1;
}

static double seconds_of(const struct stat_target *target)
{
	return (double)(target->asked_ns - target->asked_before_ns) / 1e9;
}

static uint64_t waiting_of(const struct json_value *status)
{
	const struct json_value *backlog = json_get(status, "backlog");

	return backlog ? number_of(backlog, "records") : number_of(json_get(status, "ring"), "unacked_records");
}

static struct row target_row(const struct stat_target *target)
{
	const struct json_value *client = json_get(target->now, "client");
	bool receives = json_get(target->now, "receiver") != NULL;
	const char *counters = receives ? "receiver" : "ring";
	const struct json_value *now = json_get(target->now, counters), *before = json_get(target->before, counters);

	if (!target->now)
		return (struct row){.name = target->name, .state = "no answer", .records_per_s = -1, .bytes_per_s = -1};
	return (struct row){
		.name = target->name,
		.state = receives ? number_of(now, "held_now") ? "held" : "receives"
			 : client ? json_text(client, "state")
				  : json_text(target->now, "sender"),
		.records_per_s = rate_of(now, before, receives ? "records" : "acked_records", seconds_of(target)),
		.bytes_per_s = rate_of(now, before, receives ? "bytes" : "sent_bytes", seconds_of(target)),
		.waiting = waiting_of(target->now),
		.oldest_ns = number_of(json_get(target->now, "backlog"), "oldest_ns"),
	};
}

/* The lane of the answer before that has the same home. */
static const struct json_value *lane_before(const struct json_value *status, const char *home)
{
	const struct json_value *lanes = json_get(status, "lanes"), *lane = lanes ? lanes->first : NULL;

	while (lane && strcmp(json_text(lane, "home"), home) != 0)
		lane = lane->next;
	return lane;
}

static struct row lane_row(const struct stat_target *target, const struct json_value *lane)
{
	const char *home = json_text(lane, "home"), *state = json_text(lane, "state");
	bool moved = strcmp(state, "connected") == 0 && strcmp(home, json_text(lane, "goes_to")) != 0;

	return (struct row){
		.name = home,
		.state = moved ? "taken over" : state,
		.records_per_s = rate_of(lane, lane_before(target->before, home), "acked_records", seconds_of(target)),
		.bytes_per_s = -1,
		.waiting = number_of(lane, "unacked_records"),
		.oldest_ns = number_of(stat_lane_backlog(target->now, lane), "oldest_ns"),
		.lane = true,
	};
}

/* In four columns at most behind the point: 999, 1.2k, 35k, 1.2M. */
static const char *short_text(double value, char text[16])
{
	static const char units[] = " kMGT";
	size_t unit = 0;

	for (; value >= 999.5 && unit < sizeof(units) - 2; unit++)
		value /= 1000;
	if (value < 0)
		(void)snprintf(text, 16, "-");
	else
		(void)snprintf(text, 16, "%.*f%.*s", unit && value < 9.95 ? 1 : 0, value, unit ? 1 : 0, units + unit);
	return text;
}

static void age_text(uint64_t oldest_ns, uint64_t now_ns, char text[16])
{
	uint64_t seconds = oldest_ns && now_ns > oldest_ns ? (now_ns - oldest_ns) / K2I_SECOND_NS : 0;

	if (!oldest_ns)
		(void)snprintf(text, 16, "-");
	else if (seconds < 120)
		(void)snprintf(text, 16, "%us", (unsigned)seconds);
	else if (seconds < 7200)
		(void)snprintf(text, 16, "%umin", (unsigned)(seconds / 60));
	else
		(void)snprintf(text, 16, "%" PRIu64 "h", seconds / 3600);
}

static bool inside_character(char byte)
{
	return (byte & 0xc0) == 0x80;
}

/* Paths differ at their end, hosts at their begin: the rest goes where there is no room. */
static void name_show(FILE *output, const struct row *row, unsigned columns)
{
	unsigned room = columns - (row->lane ? 4 : 0);
	size_t bytes = strlen(row->name), from = !row->lane && bytes > room ? bytes - room + 1 : 0;
	size_t to = row->lane && bytes > room ? room - 1 : bytes;
	char shown[1024];

	while (from < to && inside_character(row->name[from]))
		from++;
	while (to < bytes && to > from && inside_character(row->name[to]))
		to--;
	(void)snprintf(shown, sizeof(shown), "%s%.*s%s", from ? "<" : "", (int)(to - from), row->name + from,
		       to < bytes ? ">" : "");
	(void)fputs(row->lane ? "  > " : "", output);
	text_show(output, shown, false);
	for (bytes = strlen(shown); bytes < room; bytes++)
		(void)fputc(' ', output);
}

static void row_show(FILE *output, const struct row *row, unsigned columns)
{
	char records[16], bytes[16], waiting[16], age[16];

	age_text(row->waiting ? row->oldest_ns : 0, k2i_clock_ns(CLOCK_REALTIME), age);
	name_show(output, row, columns);
	(void)fprintf(output, " %-14.14s %8s %8s %8s %8s\n", row->state, short_text(row->records_per_s, records),
		      short_text(row->bytes_per_s, bytes), short_text((double)row->waiting, waiting), age);
}

static int row_order(const void *one, const void *other)
{
	uint64_t waiting = ((const struct row *)one)->waiting, others = ((const struct row *)other)->waiting;

	return waiting < others   ? 1
	       : waiting > others ? -1
				  : strcmp(((const struct row *)one)->name, ((const struct row *)other)->name);
}

static int target_order(const void *one, const void *other)
{
	const struct row first = target_row(*(const struct stat_target *const *)one),
			 second = target_row(*(const struct stat_target *const *)other);

	return row_order(&first, &second);
}

static void lanes_show(FILE *output, const struct stat_target *target, unsigned columns)
{
	const struct json_value *lanes = json_get(target->now, "lanes"), *lane = lanes ? lanes->first : NULL;
	struct row rows[STAT_LANES_MAX];
	size_t count = 0;

	for (; lane && count < STAT_LANES_MAX; lane = lane->next)
		rows[count++] = lane_row(target, lane);
	if (count)
		qsort(rows, count, sizeof(rows[0]), row_order);
	for (size_t at = 0; at < count; at++)
		row_show(output, &rows[at], columns);
}

void stat_targets_sort(const struct stat_target **targets, size_t count)
{
	qsort(targets, count, sizeof(targets[0]), target_order);
}

void stat_rows_show(FILE *output, const struct stat_target *const *targets, size_t count, unsigned width)
{
	unsigned columns = width > OTHER_COLUMNS + NAME_COLUMNS_MIN ? width - OTHER_COLUMNS : NAME_COLUMNS_MIN;

	(void)fprintf(output, "%-*s %-14s %8s %8s %8s %8s\n", (int)columns, "target", "state", "rec/s", "bytes/s",
		      "waiting", "oldest");
	for (size_t at = 0; at < count; at++) {
		struct row row = target_row(targets[at]);

		row_show(output, &row, columns);
		lanes_show(output, targets[at], columns);
	}
}
