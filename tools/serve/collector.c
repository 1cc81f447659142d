/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "tools/serve/serve.h"

#define FIND_NS (5 * K2I_SECOND_NS) /* how often the host is searched: programs seldom come and go */

struct asking {
	struct serve_target *targets;
	int timeout_ms;
};

static void target_ask(void *context, size_t number)
{
	const struct asking *asking = context;
	struct serve_target *target = &asking->targets[number];
	char *text = stat_fetch(target->name, asking->timeout_ms, target->reason, sizeof(target->reason));
	size_t at;

	target->verdict = STAT_STUCK;
	target->status = text ? json_parse(text, strlen(text), &at) : NULL;
	if (!json_get(target->status, "program")) {
		if (text)
			(void)snprintf(target->reason, sizeof(target->reason), "its answer is not a status");
		json_free(target->status);
		free(text);
		target->status = NULL;
		return;
	}
	target->text = text;
	target->verdict =
		stat_verdict_make(target->status, k2i_clock_ns(CLOCK_REALTIME), target->reason, sizeof(target->reason));
}

static void documents_free(struct serve_documents *documents)
{
	free(documents->status);
	free(documents->metrics);
	free(documents->health);
}

/* Without memory for all of them, those before stay. */
static void documents_make(struct serve_collector *collector, const struct serve_target *targets, size_t count)
{
	struct serve_documents made = {0}, before;

	made.status = serve_status_make(targets, count);
	made.metrics = serve_metrics_make(targets, count);
	made.health = serve_health_make(targets, count, &made.healthy);
	if (!made.status || !made.metrics || !made.health) {
		documents_free(&made);
		return;
	}
	(void)pthread_mutex_lock(&collector->mutex);
	before = collector->documents;
	collector->documents = made;
	(void)pthread_mutex_unlock(&collector->mutex);
	documents_free(&before);
}

static void collect(struct serve_collector *collector, const struct stat_targets *names)
{
	struct serve_target *targets = calloc(names->count + 1, sizeof(*targets));
	struct asking asking = {.targets = targets, .timeout_ms = collector->timeout_ms};

	if (!targets)
		return;
	for (size_t at = 0; at < names->count; at++)
		targets[at].name = names->names[at];
	stat_targets_ask(target_ask, &asking, names->count);
	documents_make(collector, targets, names->count);
	for (size_t at = 0; at < names->count; at++) {
		json_free(targets[at].status);
		free(targets[at].text);
	}
	free(targets);
}

static void *collector_run(void *argument)
{
	struct serve_collector *collector = argument;
	struct stat_targets found = {0};
	uint64_t found_ns = 0, now_ns;
	struct timespec pause = k2i_timespec(collector->interval_ms * K2I_MILLISECOND_NS);

	for (;;) {
		now_ns = k2i_clock_now_ns();
		if (!collector->asked && (!found_ns || now_ns - found_ns > FIND_NS)) {
			stat_targets_free(&found);
			found = (struct stat_targets){0};
			stat_targets_find(&found);
			found_ns = now_ns;
		}
		collect(collector, collector->asked ? collector->asked : &found);
		(void)nanosleep(&pause, NULL);
	}
	return NULL;
}

int serve_collector_start(struct serve_collector *collector)
{
	pthread_t thread;
	int error = pthread_mutex_init(&collector->mutex, NULL);

	error = error ? error : pthread_create(&thread, NULL, collector_run, collector);
	if (!error)
		(void)pthread_detach(thread);
	return -error;
}
