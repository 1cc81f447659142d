/* SPDX-License-Identifier: MIT */
/* The first line of a status: whether all is well, else what waits, since when, and why. */
#include "tools/stat/stat.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "tools/base/numbers.h"

/* Records that are younger are on their way: a batch, a round trip, a disk. */
#define ON_THEIR_WAY_NS (2 * K2I_SECOND_NS)
/* A receiver that is busy says so every second: one that is silent for longer hangs, or is behind a slow link. */
#define SILENT_NS (5 * K2I_SECOND_NS)
/* A plug-in that leaves records for so long hangs. */
#define PLUGIN_HANGS_S 10u

static uint64_t number_of(const struct json_value *object, const char *name)
{
	const struct json_value *member = json_get(object, name);

	/* As it stood there: a double does not hold nanoseconds since 1970. */
	return member && member->type == JSON_NUMBER ? strtoull(member->text, NULL, 10) : 0;
}

static unsigned count_of(const struct json_value *array)
{
	unsigned count = 0;

	for (const struct json_value *member = array ? array->first : NULL; member; member = member->next)
		count++;
	return count;
}

static void age_print(FILE *output, uint64_t age_ns)
{
	uint64_t seconds = age_ns / K2I_SECOND_NS, minutes = seconds / 60, hours = minutes / 60;

	if (seconds < 60)
		(void)fprintf(output, "%" PRIu64 " s", seconds);
	else if (minutes < 60)
		(void)fprintf(output, "%" PRIu64 " min", minutes);
	else if (hours < 48)
		(void)fprintf(output, "%" PRIu64 " h %" PRIu64 " min", hours, minutes % 60);
	else
		(void)fprintf(output, "%" PRIu64 " days", hours / 24);
}

/* Since when, by the clock on the wall, with the day if that was not today. */
static void since_print(FILE *output, uint64_t oldest_ns, uint64_t now_ns)
{
	time_t then = (time_t)(oldest_ns / K2I_SECOND_NS), now = (time_t)(now_ns / K2I_SECOND_NS);
	struct tm then_tm, now_tm;
	char text[32];

	if (!oldest_ns || !localtime_r(&then, &then_tm) || !localtime_r(&now, &now_tm))
		return;
	if (strftime(text, sizeof(text),
		     then_tm.tm_yday == now_tm.tm_yday && then_tm.tm_year == now_tm.tm_year ? "%H:%M:%S"
											    : "%Y-%m-%d %H:%M",
		     &then_tm) == 0)
		return;
	(void)fprintf(output, " since %s (", text);
	age_print(output, now_ns > oldest_ns ? now_ns - oldest_ns : 0);
	(void)fputs(")", output);
}

/* Tells of the plug-in for which records have waited longest, unless that is not long. */
static bool plugin_print(FILE *output, const struct json_value *status, enum stat_verdict *verdict)
{
	const struct json_value *array = json_get(status, "plugins"), *row = array ? array->first : NULL,
				*longest = row;
	char number[NUMBER_TEXT_ROOM];
	uint64_t waiting_s;

	for (; row; row = row->next)
		longest = number_of(row, "waiting_s") > number_of(longest, "waiting_s") ? row : longest;
	waiting_s = longest ? number_of(longest, "waiting_s") : 0;
	if (waiting_s * K2I_SECOND_NS < ON_THEIR_WAY_NS)
		return false;
	(void)fprintf(output, "%s bytes wait for the plug-in of %s for ",
		      number_text(number_of(longest, "waiting_bytes"), number), json_text(longest, "path"));
	age_print(output, waiting_s * K2I_SECOND_NS);
	*verdict = waiting_s >= PLUGIN_HANGS_S ? STAT_STUCK : STAT_PROGRESS;
	if (*json_text(longest, "held")) {
		(void)fprintf(output, ": it can't be started: %s", json_text(longest, "held"));
		*verdict = STAT_STUCK;
	} else if (number_of(longest, "pid")) {
		(void)fprintf(output, ": process %" PRIu64 " does not read them", number_of(longest, "pid"));
	} else {
		(void)fputs(": its process ended, and is started again", output);
	}
	return true;
}

/* For how long records have waited without an acknowledgement of any. */
static uint64_t silence_ns(const struct json_value *client, uint64_t oldest_ns, uint64_t now_ns)
{
	uint64_t acked_ns = number_of(client, "last_ack_ns"), since_ns = acked_ns > oldest_ns ? acked_ns : oldest_ns;

	return since_ns && now_ns > since_ns ? now_ns - since_ns : 0;
}

/* Why records of a ring wait. `client`: NULL, of a ring whose client does not tell. */
static void reason_print(FILE *output, const struct json_value *status, const struct json_value *client,
			 uint64_t silent_ns)
{
	const char *state = json_text(client, "state"), *slow = json_text(client, "receiver_status");
	const char *error = json_text(client, "error");

	if (!client) {
		(void)fputs(strcmp(json_text(status, "sender"), "runs") == 0 ? "a sender runs, ask it or read its log"
									     : "no sender runs",
			    output);
		return;
	}
	(void)fprintf(output, "%s:%s ", json_text(client, "host"), json_text(client, "port"));
	if (strcmp(state, "connected") != 0) {
		(void)fprintf(output, "is not connected%s%s", *error ? ": " : "", error);
	} else if (strcmp(slow, "ok") == 0 && silent_ns > ON_THEIR_WAY_NS) {
		(void)fputs("is connected, but has acknowledged nothing for ", output);
		age_print(output, silent_ns);
	} else {
		(void)fputs(strcmp(slow, "full") == 0     ? "has no room on its disk"
			    : strcmp(slow, "failed") == 0 ? "can't write: its log says why"
			    : strcmp(slow, "slow") == 0   ? "waits for its disk"
							  : "is connected and takes them",
			    output);
	}
}

static void full_print(FILE *output, const struct json_value *ring_state)
{
	uint64_t bytes = number_of(ring_state, "bytes"),
		 taken = number_of(ring_state, "tail") - number_of(ring_state, "head");

	/* Writers wait a little before the last byte: for what the kernel still holds, or for a whole chunk. */
	if (bytes && taken > bytes / 8 * 7)
		(void)fputs("; the ring is full, writers wait or are refused", output);
}

static enum stat_verdict ring_verdict(FILE *output, const struct json_value *status, uint64_t now_ns)
{
	const struct json_value *client = json_get(status, "client"), *backlog = json_get(status, "backlog");
	uint64_t records =
		backlog ? number_of(backlog, "records") : number_of(json_get(status, "ring"), "unacked_records");
	uint64_t oldest_ns = number_of(backlog, "oldest_ns"), silent_ns = silence_ns(client, oldest_ns, now_ns);
	unsigned streams = count_of(json_get(backlog, "streams"));
	/* A ring whose client does not tell has a sender, or none. */
	bool connected = client ? strcmp(json_text(client, "state"), "connected") == 0
				: strcmp(json_text(status, "sender"), "runs") == 0;
	enum stat_verdict verdict;
	char number[NUMBER_TEXT_ROOM];

	if (connected && client && strcmp(json_text(client, "receiver_status"), "ok") == 0 &&
	    plugin_print(output, status, &verdict))
		return verdict;
	if (!records && (connected || !client)) {
		(void)fputs("fine: nothing waits", output);
		return STAT_FINE;
	}
	if (!records) {
		(void)fputs("nothing waits, but ", output);
		reason_print(output, status, client, 0);
		return STAT_FINE;
	}
	if (connected && oldest_ns + ON_THEIR_WAY_NS > now_ns) {
		(void)fprintf(output, "fine: %s record%s on the way", number_text(records, number),
			      records == 1 ? " is" : "s are");
		return STAT_FINE;
	}
	(void)fprintf(output, "%s record%s", number_text(records, number), records == 1 ? "" : "s");
	if (streams)
		(void)fprintf(output, " of %u file%s", streams, streams == 1 ? "" : "s");
	(void)fputs(records == 1 ? " waits" : " wait", output);
	since_print(output, oldest_ns, now_ns);
	(void)fputs(": ", output);
	reason_print(output, status, client, silent_ns);
	full_print(output, json_get(status, "ring_state"));
	return connected && client && strcmp(json_text(client, "receiver_status"), "ok") == 0 && silent_ns < SILENT_NS
		       ? STAT_PROGRESS
		       : STAT_STUCK;
}

/* Tells how many outputs, or connections, have data that can't be written now, and the first one with its reason. */
static bool held_print(FILE *output, const struct json_value *array, const char *what, const char *name)
{
	const struct json_value *first = NULL;
	unsigned held = 0;

	for (const struct json_value *row = array ? array->first : NULL; row; row = row->next) {
		if (!*json_text(row, "held"))
			continue;
		first = first ? first : row;
		held++;
	}
	if (first)
		(void)fprintf(output, "%u %s%s can't be written: %s: %s", held, what, held == 1 ? "" : "s",
			      json_text(first, name), json_text(first, "held"));
	return first != NULL;
}

/* The first destination on other machines that holds records, since when, and why. */
static bool destination_print(FILE *output, const struct json_value *status)
{
	static const char *const names[] = {"forward", "kafka", "otlp"};

	for (size_t number = 0; number < sizeof(names) / sizeof(names[0]); number++) {
		const struct json_value *array = json_get(status, names[number]), *row = array ? array->first : NULL;

		while (row && !*json_text(row, "held"))
			row = row->next;
		if (!row)
			continue;
		(void)fprintf(output, "records for %s wait for ", names[number]);
		age_print(output, number_of(row, "waiting_s") * K2I_SECOND_NS);
		(void)fprintf(output, ": %s", json_text(row, "held"));
		return true;
	}
	return false;
}

/* The first next stage of a relay that records wait for, and why. */
static bool stage_print(FILE *output, const struct json_value *status)
{
	const struct json_value *lanes = json_get(status, "lanes"), *lane = lanes ? lanes->first : NULL;
	char number[NUMBER_TEXT_ROOM];

	for (; lane; lane = lane->next) {
		uint64_t records = number_of(lane, "unacked_records");
		bool away = strcmp(json_text(lane, "state"), "connected") != 0;
		const char *why = away ? json_text(lane, "error") : json_text(lane, "receiver_status");

		if (!records || (!away && (strcmp(why, "ok") == 0 || strcmp(why, "slow") == 0)))
			continue;
		(void)fprintf(output, "%s record%s for the next stage: %s is %s%s%s", number_text(records, number),
			      records == 1 ? " waits" : "s wait", json_text(lane, "goes_to"),
			      away ? "not connected" : why, away && *why ? ": " : "", away ? why : "");
		return true;
	}
	return false;
}

static enum stat_verdict receiver_verdict(FILE *output, const struct json_value *status)
{
	unsigned senders = count_of(json_get(status, "connections"));
	enum stat_verdict verdict;

	if (plugin_print(output, status, &verdict))
		return verdict;
	if (destination_print(output, status) || stage_print(output, status) ||
	    held_print(output, json_get(status, "files"), "file", "path") ||
	    held_print(output, json_get(status, "connections"), "sender's data", "peer"))
		return STAT_STUCK;
	if (senders)
		(void)fprintf(output, "fine: %u sender%s connected", senders, senders == 1 ? " is" : "s are");
	else
		(void)fputs("fine, but no sender is connected", output);
	return STAT_FINE;
}

/* Tells of a sender with several lanes how many receivers are away, and how many have to take something back. */
static void lanes_print(FILE *output, const struct json_value *status)
{
	const struct json_value *lanes = json_get(status, "lanes"), *lane = lanes ? lanes->first : NULL;
	unsigned count = 0, away = 0, unsettled = 0;

	for (; lane; lane = lane->next) {
		count++;
		/* Another one may have taken over. */
		away += strcmp(json_text(lane, "state"), "connected") != 0 ||
			strcmp(json_text(lane, "home"), json_text(lane, "goes_to")) != 0;
		unsettled += number_of(lane, "unsettled") > 0;
	}
	if (away)
		(void)fprintf(output, "; %u of %u receivers %s away", away, count, away == 1 ? "is" : "are");
	if (unsettled)
		(void)fprintf(output, "; %u lane%s to settle what moved", unsettled,
			      unsettled == 1 ? " waits" : "s wait");
}

static void losses_print(FILE *output, const struct json_value *status)
{
	const char *before = "; lost or doubtful since it began: ";
	char name[64], number[NUMBER_TEXT_ROOM];

	for (size_t table = 0; table < K2I_COUNTER_TABLES; table++) {
		const char *program = k2i_counter_tables[table]->program;
		const struct json_value *lost;

		(void)snprintf(name, sizeof(name), "%s_lost", program);
		lost = json_get(status, name);
		for (lost = lost ? lost->first : NULL; lost; lost = lost->next) {
			if (lost->type != JSON_STRING)
				continue;
			(void)fprintf(output, "%s%s %s", before, lost->text,
				      number_text(number_of(json_get(status, program), lost->text), number));
			before = ", ";
		}
	}
}

enum stat_verdict stat_verdict_make(const struct json_value *status, uint64_t now_ns, char *text, size_t room)
{
	enum stat_verdict verdict;
	FILE *output;

	*text = '\0';
	output = fmemopen(text, room, "w");
	if (!output)
		return STAT_FINE;
	verdict =
		json_get(status, "receiver") ? receiver_verdict(output, status) : ring_verdict(output, status, now_ns);
	lanes_print(output, status);
	losses_print(output, status);
	if (*json_text(status, "process"))
		(void)fprintf(output, "; the sender is %s", json_text(status, "process"));
	(void)fclose(output);
	text[room - 1] = '\0';
	return verdict;
}
