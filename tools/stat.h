/* SPDX-License-Identifier: MIT */
#ifndef STAT_H
#define STAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "counters.h"

/* k2hft stat: where a status comes from, what is in it, how it is shown. */
#define STAT_TARGET_DEFAULT "127.0.0.1:8021"
#define STAT_BYTES_MAX ((size_t)16 * 1024 * 1024)

/*
 * The status of a receiver (HOST:CTLPORT), a mount (its directory) or a ring (its file), as JSON, to be free()d. NULL: it
 * could not be had within `timeout_ms`; one line on standard error has said why.
 */
char *stat_fetch(const char *target, int timeout_ms);
/* The same of a receiver: -errno with a reason. */
char *stat_http_get(const char *host, const char *port, int timeout_ms, char *reason, size_t room);

/* One value of a JSON text. */
struct stat_value {
	char *path; /* "connections.0.peer" */
	char *text; /* a string's text, unescaped; else as it stands there */
};
struct stat_values {
	struct stat_value *values;
	size_t count, room;
};
/* -EBADMSG it is not JSON, or deeper than anything that is expected; -ENOMEM. stat_values_free in any case. */
int stat_json_read(const char *text, struct stat_values *values);
void stat_values_free(struct stat_values *values);
/* NULL: there is none. */
const char *stat_value_find(const struct stat_values *values, const char *path);

/* Whether this status has the table. */
bool stat_table_there(const struct stat_values *values, const struct k2i_counter_table *table);
uint64_t stat_counter(const struct stat_values *values, const struct k2i_counter_table *table, size_t at);
/* Whether a counter of losses is above 0. */
bool stat_lossy(const struct stat_values *values);

/* For people; `before`, `seconds` ago, is for rates, and NULL at first. `all`: counters that are 0 too. */
void stat_show_table(FILE *output, const char *target, const struct stat_values *now, const struct stat_values *before,
		     double seconds, bool all);
/* One line with what is not 0, or with all. */
void stat_show_line(FILE *output, const char *target, const struct stat_values *now, bool all);
void stat_show_metrics(FILE *output, const struct stat_values *now);

#endif
