/* SPDX-License-Identifier: MIT */
#ifndef K2I_TOOLS_STAT_STAT_H
#define K2I_TOOLS_STAT_STAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "app/program/counters.h"
#include "app/program/latency.h"
#include "app/program/report.h"
#include "tools/base/json.h"

/* k2hft stat: where a status comes from, what is in it, how it is shown. */

/* All mounts, receivers and rings of senders that this user can see on this host. Zero at first. */
struct stat_targets {
	char **names;
	size_t count;
	size_t silent; /* receivers that can't be asked, since they have no CTLPORT */
	char own_pid[24];
};
void stat_targets_find(struct stat_targets *found);
void stat_targets_free(struct stat_targets *found);

/*
 * The status of a receiver (HOST:CTLPORT), a mount (its directory) or a ring (its file), as JSON, to be free()d. NULL: it
 * could not be had within `timeout_ms`, and `reason` says why.
 */
#define STAT_REASON_ROOM 1024u
char *stat_fetch(const char *target, int timeout_ms, char *reason, size_t room);
/*
 * Calls `ask` for each number below `count`, on several threads at the same time, and returns when all have returned: a target
 * that hangs does not hold up the answers of others.
 */
void stat_targets_ask(void (*ask)(void *context, size_t at), void *context, size_t count);
/* The same of a receiver: -errno with a reason. */
char *stat_http_get(const char *host, const char *port, int timeout_ms, char *reason, size_t room);
/* All up to the end, terminated, to be free()d; `timeout_ms` is for the whole, -1: for ever. NULL with errno. */
char *stat_answer_read(int descriptor, int64_t timeout_ms);

/*
 * The files of the rings of a mount (its directory), or of a ring. -errno with a reason. stat_targets_free in any case.
 */
int stat_rings_find(const char *target, int timeout_ms, struct stat_targets *rings, char *reason, size_t room);
/* Adds the member "backlog" of the files of all rings of a sender, if they can be read. */
#define STAT_LANES_MAX 64u
void stat_backlog_report(struct k2i_report *report, const char *const ring_paths[], size_t count);

/* The backlog of a lane, by its ring's file; NULL: it is not known. */
const struct json_value *stat_lane_backlog(const struct json_value *status, const struct json_value *lane);

enum stat_verdict {
	STAT_FINE,     /* nothing waits but what is on its way */
	STAT_PROGRESS, /* records wait, and the receiver takes them */
	STAT_STUCK,
};
/* Writes a line to `text`: whether all is well, else what waits, since when, and why. `now_ns`: since 1970. */
enum stat_verdict stat_verdict_make(const struct json_value *status, uint64_t now_ns, char *text, size_t room);

/* Whether this status has the table. */
bool stat_table_there(const struct json_value *status, const struct k2i_counter_table *table);
uint64_t stat_counter(const struct json_value *status, const struct k2i_counter_table *table, size_t at);
/* Whether a counter of losses is above 0. */
bool stat_lossy(const struct json_value *status);

/* false: the status, which need not be of this version, has no such histogram. */
/* The same from the array of its buckets. */
bool stat_latency_chunks(const struct json_value *chunks, struct k2i_latency *latency);
bool stat_latency_get(const struct json_value *status, struct k2i_latency *latency);

/* A target that is asked again and again. */
struct stat_target {
	const char *name;
	struct json_value *now, *before; /* now: NULL: it did not answer, and `reason` says why */
	char *text;                      /* its answer, until that is shown */
	uint64_t asked_ns, asked_before_ns;
	char reason[STAT_REASON_ROOM];
};
/* Those first for which most records wait. */
void stat_targets_sort(const struct stat_target **targets, size_t count);
/* A line of at most `width` columns, if that is 71 or more, for each target and each of its lanes. */
void stat_rows_show(FILE *output, const struct stat_target *const *targets, size_t count, unsigned width);

/* For people; `before`, `seconds` ago, is for rates, and NULL at first. `all`: counters that are 0 too. */
void stat_show_table(FILE *output, const char *target, const struct json_value *now, const struct json_value *before,
		     double seconds, bool all);
/* A line with the counters that are not 0, or with all. */
void stat_show_line(FILE *output, const char *target, const struct json_value *now, bool all);
void stat_show_metrics(FILE *output, const struct json_value *now);

#endif
