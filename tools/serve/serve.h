/* SPDX-License-Identifier: MIT */
#ifndef K2I_TOOLS_SERVE_SERVE_H
#define K2I_TOOLS_SERVE_SERVE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "app/program/report.h"
#include "tools/base/json.h"
#include "tools/stat/stat.h"

/* k2hft serve: the state of all mounts, receivers and senders of a host, by HTTP. */

/* A target as it was when it was asked last. */
struct serve_target {
	const char *name;
	char *text;                /* its status; NULL: it did not answer */
	struct json_value *status; /* the same */
	enum stat_verdict verdict;
	char reason[STAT_REASON_ROOM]; /* the verdict's line */
};

/* The answers, made anew each second by a thread, so that a target that hangs holds up nobody who asks. */
struct serve_documents {
	char *status, *metrics, *health;
	bool healthy;
};

struct serve_collector {
	const struct stat_targets *asked; /* by name; NULL: all of this host */
	uint64_t interval_ms;
	int timeout_ms; /* of each target */
	pthread_mutex_t mutex;
	struct serve_documents documents; /* under the mutex; status is NULL before the first are made */
};
/* Makes the first documents, then others on a thread that ends with the process. 0 or -errno. */
int serve_collector_start(struct serve_collector *collector);

/* document.c: what is said of all targets. The text is NULL without memory. */
char *serve_status_make(const struct serve_target *targets, size_t count);
char *serve_metrics_make(const struct serve_target *targets, size_t count);
/* A line for each target; `*healthy`: none is stuck. */
char *serve_health_make(const struct serve_target *targets, size_t count, bool *healthy);

#endif
