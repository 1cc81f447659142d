/* SPDX-License-Identifier: MIT */
#ifndef K2I_APP_PROGRAM_REPORT_H
#define K2I_APP_PROGRAM_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <k2hft/client.h>

#include "app/program/counters.h"

/*
 * A text that grows: JSON for `k2hft stat`, or metrics in Prometheus's text format 0.0.4. Zero-initialised; `text` is
 * free()d by whoever made it. Without memory, `failed`, and nothing more is added.
 */
struct k2i_report {
	char *text; /* terminated; NULL: nothing yet */
	size_t bytes, room;
	bool failed;
	bool comma; /* JSON: something stands before the next value */
};

void k2i_report_add(struct k2i_report *report, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A member of an object, or of an array if `key` is NULL. `bracket`: '{' or '[', closed by '}' or ']'. */
void k2i_report_open(struct k2i_report *report, const char *key, char bracket);
void k2i_report_close(struct k2i_report *report, char bracket);
void k2i_report_number(struct k2i_report *report, const char *key, uint64_t number);
/* Any bytes: what is not UTF-8 comes out as U+FFFD. */
void k2i_report_text(struct k2i_report *report, const char *key, const char *text);
/* How the text of an identity begins: who knows all of a ring's can connect in its place, and a status has many readers. */
void k2i_report_uuid(struct k2i_report *report, const char *key, const uint8_t uuid[16]);

/* Members program, version, pid and uptime_s. */
void k2i_report_begin(struct k2i_report *report, const char *program, uint64_t uptime_ns);
/* `values` in the order of the table: an object `key`, and an array `key`_lost with the losses that are not 0. */
void k2i_report_counters(struct k2i_report *report, const char *key, const struct k2i_counter_table *table,
			 const uint64_t *values);

/* A ring: object "ring_state" with its identity and positions. */
void k2i_report_ring_state(struct k2i_report *report, const struct k2hft_ring_stats *stats);
/* The same, and its counters as "ring". */
void k2i_report_ring(struct k2i_report *report, const struct k2hft_ring_stats *stats);
/* A client: object "client" with receiver, state and what is wrong. */
void k2i_report_client(struct k2i_report *report, const char *host, const char *port,
		       const struct k2hft_client_stats *stats);

/* A lane as a member of an array; `goes_to`: the receiver that has it now. */
void k2i_report_lane(struct k2i_report *report, const char *home, const char *goes_to, const char *ring_file,
		     const struct k2hft_ring_stats *ring, const struct k2hft_client_stats *client);

/* A label of a metric, behind a comma if it is not the first of this report. Any bytes: as k2i_report_text. */
void k2i_report_label(struct k2i_report *report, const char *name, const char *value);
void k2i_report_label_uuid(struct k2i_report *report, const char *name, const uint8_t uuid[16]);
/* HELP, TYPE and value of each: k2hft_PROGRAM_NAME, and _total behind it for a counter. */
void k2i_report_metrics(struct k2i_report *report, const struct k2i_counter_table *table, const uint64_t *values);
/* k2hft_PROGRAM_info with the version, and k2hft_PROGRAM_uptime_seconds. */
void k2i_report_metrics_begin(struct k2i_report *report, const struct k2i_counter_table *table, uint64_t uptime_ns);
/* k2hft_PROGRAM_certificate_expires_seconds; 0: it has none. */
void k2i_report_metrics_certificate(struct k2i_report *report, const struct k2i_counter_table *table,
				    uint64_t expires_s);

#endif
